"""Pools of known-item tasks: each topic has a known relevant item, such as the formula that it was made from.

Nothing is judged. The pool has the known items, and the rank at which each run has them. Qrels are made from it, and it
shows how many runs found each item.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.formats.runs.columns import RunColumns
from assay.pools.depth import PooledUnits, Top, numbers_in, union


def pool_known_items(
    runs: Sequence[RunColumns], depths: Sequence[int], known: Mapping[str, Collection[str]]
) -> PooledUnits:
    """The known items of all topics, and their ranks in each run, up to its depth.

    Args:
        depths: (runs,) number of ranks that are searched.
        known: docnos by topic; topics that are in no run are pooled too.
    """
    codes = np.array(sorted({*known, *(code for run in runs for code in run.topics.tolist())}), dtype=np.str_)
    items = {code: {docno.encode() for docno in known.get(code, ())} for code in codes.tolist()}
    tops = []
    for run, depth in zip(runs, depths, strict=True):
        wanted = [np.array(sorted(items[code]), dtype=np.bytes_) for code in run.topics.tolist()]
        spans = zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), wanted, strict=True)
        positions = [
            start + np.flatnonzero(np.isin(run.docno[start : min(end, start + depth)], docnos))
            for start, end, docnos in spans
        ]
        row = np.concatenate([np.empty(0, dtype=np.intp), *positions])
        topic = run.topic_index[row]
        rank = (row - run.offsets[topic] + 1).astype(np.int32)
        tops.append(Top(numbers_in(run, codes)[topic], run.docno[row], rank))
    rows = [(topic, docno) for topic, code in enumerate(codes.tolist()) for docno in sorted(items[code])]
    all_items = Top(
        np.array([topic for topic, _ in rows], dtype=np.int32),
        np.array([docno for _, docno in rows], dtype=np.bytes_),
        np.zeros(len(rows), dtype=np.int32),
    )
    units = union([*tops, all_items], codes)
    # the last "run" is not one: it adds the items that no run has
    return replace(units.of_contributions(units.run < len(runs)), n_runs=len(runs))
