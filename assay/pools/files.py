"""The file form of a pool: TSVs without header, and a record that says what they were made from.

pool                  topic docno position                       sorted by topic, then position
contributions         topic docno team tag rank                  sorted by topic and docno, then as the runs were given
members               topic docno member post thread position    sorted by topic, docno and member
member contributions  topic docno member team tag rank           the same, then as the runs were given

The last two are of pools whose units have members (`assay.pools.members`). What is not known of a member is empty.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.digests import sha256_of
from assay.errors import InputError
from assay.pools.statistics import statistics
from assay.pools.strategies import BuiltPool, PoolInput
from assay.protocols.schema import Protocol


class PoolFileError(InputError):
    """A file that belongs to a pool and cannot be used."""


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


def members_tsv(pool: BuiltPool) -> bytes:
    """The members of all entries; nothing where units have none."""
    if pool.members is None:
        return b""
    members = pool.members
    rows = zip(
        _entry_names(pool, members.entry),
        members.docno.tolist(),
        members.post.tolist(),
        members.thread.tolist(),
        members.position.tolist(),
        strict=True,
    )
    return b"".join(b"%s\t%s\t%s\t%s\t%d\n" % row for row in rows)


def member_contributions_tsv(pool: BuiltPool, inputs: Sequence[PoolInput]) -> bytes:
    """Which run brought each member, at which rank."""
    if pool.members is None:
        return b""
    members = pool.members
    runs = [f"{one.team}\t{one.tag}".encode() for one in inputs]
    names = [
        b"%s\t%s" % pair
        for pair in zip(_entry_names(pool, members.entry), members.docno.tolist(), strict=True)
    ]
    rows = zip(members.member.tolist(), members.run.tolist(), members.rank.tolist(), strict=True)
    return b"".join(b"%s\t%s\t%d\n" % (names[member], runs[run], rank) for member, run, rank in rows)


def _entry_names(pool: BuiltPool, entry: NDArray[np.int32]) -> list[bytes]:
    """Topic and docno, with a tab between, of some entries."""
    codes = [code.encode() for code in pool.units.topics.tolist()]
    pairs = zip(pool.units.topic_index.tolist(), pool.units.docno.tolist(), strict=True)
    names = [b"%s\t%s" % (codes[topic], docno) for topic, docno in pairs]
    return [names[one] for one in entry.tolist()]


def read_docnos(path: Path, *, column: int = 1) -> dict[str, set[str]]:
    """Docnos by topic from a file of tab-separated lines, such as a pool, its members, or a list of known items.

    Raises
    ------
    PoolFileError
        A line lacks the column, or the file is not UTF-8.
    OSError
        It cannot be read.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise PoolFileError(f"{path.name}: not UTF-8 (byte {error.start + 1})") from None
    found: dict[str, set[str]] = {}
    for number, line in enumerate(lines, 1):
        cells = line.removesuffix("\r").split("\t")
        if len(cells) <= column or not cells[0] or not cells[column]:
            raise PoolFileError(
                f"{path.name}: line {number}: expected a topic and, in column {column + 1}, a docno, with tabs between"
            )
        found.setdefault(cells[0], set()).add(cells[column])
    return found


def record(
    pool: BuiltPool,
    inputs: Sequence[PoolInput],
    *,
    protocol: Protocol,
    seed: int,
    sha256: str,
    sources: Sequence[Mapping[str, Any]],
    others: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What is needed to build the same bytes again.

    `sources` says of each run what file it was, `others` what else went in: formulas, known items, an earlier pool.
    """
    found = statistics(pool, inputs)
    if pool.members is not None:
        found["members"]["sha256"] = sha256_of(members_tsv(pool))
    runs = [{**dict(source), **run} for source, run in zip(sources, found.pop("runs"), strict=True)]
    return {
        "protocol": {"slug": protocol.slug, "sha256": protocol.digest},
        "order": protocol.pool.order,
        "seed": seed,
        "sha256": sha256,
        **(others or {}),
        "runs": runs,
        **found,
    }
