"""The file form of a pool: two TSVs without header, and a record that says what they were made from.

pool           topic docno position          sorted by topic, then position
contributions  topic docno team tag rank     sorted by topic and docno, then in the order of the runs
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pooling.statistics import statistics
from pooling.strategies import BuiltPool, PoolInput
from protocols.schema import Protocol


def pool_tsv(pool: BuiltPool) -> bytes:
    """The pool as bytes; their sha256 is what a pool is known by."""
    units = pool.units
    order = np.lexsort((pool.position, units.topic_index))
    codes = [code.encode() for code in units.topics.tolist()]
    rows = zip(
        units.topic_index[order].tolist(),
        units.docno[order].tolist(),
        pool.position[order].tolist(),
        strict=True,
    )
    return b"".join(b"%s\t%s\t%d\n" % (codes[topic], docno, position) for topic, docno, position in rows)


def contributions_tsv(pool: BuiltPool, inputs: Sequence[PoolInput]) -> bytes:
    """Which run brought each entry, at which rank."""
    units = pool.units
    codes = [code.encode() for code in units.topics.tolist()]
    names = [f"{one.team}\t{one.tag}".encode() for one in inputs]
    topic, docno = units.topic_index[units.entry], units.docno[units.entry]
    rows = zip(topic.tolist(), docno.tolist(), units.run.tolist(), units.rank.tolist(), strict=True)
    return b"".join(b"%s\t%s\t%s\t%d\n" % (codes[t], d, names[run], rank) for t, d, run, rank in rows)


def record(
    pool: BuiltPool,
    inputs: Sequence[PoolInput],
    *,
    protocol: Protocol,
    seed: int,
    sha256: str,
    sources: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """What is needed to build the same bytes again. `sources` says of each run what file it was."""
    found = statistics(pool, inputs)
    runs = [{**dict(source), **run} for source, run in zip(sources, found.pop("runs"), strict=True)]
    return {
        "protocol": {"slug": protocol.slug, "sha256": protocol.digest},
        "seed": seed,
        "sha256": sha256,
        "runs": runs,
        **found,
    }
