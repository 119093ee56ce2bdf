"""Pools of known-item tasks: each topic has a known relevant item, such as the formula that it was made from.

Nothing is judged. The pool has the known items, and the rank at which each run has them. Qrels are made from it, and it
shows how many runs found each item.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.pools.depth import PooledUnits, Top, numbers_in, union


def pool_known_items(
    runs: Sequence[RunColumns], depths: Sequence[int], known: Mapping[str, Collection[str]]
) -> PooledUnits:
    """The known items of all topics, and their ranks in each run, up to its depth.

    Parameters
    ----------
    depths : (runs,) number of ranks that are searched.
    known : docnos by topic; topics that are in no run are pooled too.
    """
    codes = np.array(sorted({*known, *(code for run in runs for code in run.topics.tolist())}), dtype=np.str_)
    items = {code: {docno.encode() for docno in known.get(code, ())} for code in codes.tolist()}
    tops = [_known_rows(run, depth, codes, items) for run, depth in zip(runs, depths, strict=True)]
    rows = [(topic, docno) for topic, code in enumerate(codes.tolist()) for docno in sorted(items[code])]
    all_items = Top(
        np.array([topic for topic, _ in rows], dtype=np.int32),
        np.array([docno for _, docno in rows], dtype=np.bytes_),
        np.zeros(len(rows), dtype=np.int32),
    )
    units = union([*tops, all_items], codes)
    is_found = units.run < len(runs)  # the last "run" is not one: it adds the items that no run has
    return PooledUnits(
        topics=codes,
        topic_index=units.topic_index,
        docno=units.docno,
        entry=units.entry[is_found],
        run=units.run[is_found],
        rank=units.rank[is_found],
        n_runs=len(runs),
    )


def _known_rows(run: RunColumns, depth: int, codes: NDArray[np.str_], items: Mapping[str, set[bytes]]) -> Top:
    numbers = numbers_in(run, codes)
    rows: list[int] = []
    for i, code in enumerate(run.topics.tolist()):
        start, end = int(run.offsets[i]), int(run.offsets[i + 1])
        wanted = np.array(sorted(items[code]), dtype=np.bytes_)
        hits = np.flatnonzero(np.isin(run.docno[start : min(end, start + depth)], wanted))
        rows += (start + hits).tolist()
    row = np.array(rows, dtype=np.intp)
    topic = run.topic_index[row]
    return Top(numbers[topic], run.docno[row], (row - run.offsets[topic] + 1).astype(np.int32))
