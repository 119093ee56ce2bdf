"""The union of the tops of runs: which units are pooled, and which run brought each of them at which rank.

Entries are sorted by topic and docno, both by bytes; contributions by entry, then run. Ranks are those of
trec_eval's order, from 1, whatever the rank column of the file says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pooling.columns import RunColumns, byte_keys


@dataclass(frozen=True, slots=True)
class PooledUnits:
    """A pool before it is put into an order of presentation.

    Attributes
    ----------
    topics : (t,) codes of all topics of the runs, sorted by bytes.
    topic_index, docno : (n,) the entries.
    entry, run, rank : (c,) the contributions: an entry, the run that brought it, and its rank there.
    n_runs : number of runs, those of depth 0 included.
    """

    topics: NDArray[np.str_]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    entry: NDArray[np.int32]
    run: NDArray[np.int32]
    rank: NDArray[np.int32]
    n_runs: int

    def __len__(self) -> int:
        return len(self.topic_index)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(t,) entries of each topic."""
        return np.bincount(self.topic_index, minlength=len(self.topics))


def top_k(runs: Sequence[RunColumns], depths: Sequence[int]) -> PooledUnits:
    """Pool the first `depths[i]` documents of each topic of `runs[i]`, duplicates once.

    Raises
    ------
    ValueError
        The two differ in length, or a depth is negative.
    """
    if len(runs) != len(depths) or any(depth < 0 for depth in depths):
        raise ValueError(
            f"{len(runs)} runs, and the depths {list(depths)}; one of at least 0 is needed for each"
        )
    codes = sorted({code for run in runs for code in run.topics.tolist()})
    number = {code: i for i, code in enumerate(codes)}
    parts = [_top(run, depth, number) for run, depth in zip(runs, depths, strict=True)]
    topic_index = np.concatenate([np.empty(0, dtype=np.int32), *(part[0] for part in parts)])
    docno = np.concatenate([np.empty(0, dtype="S1"), *(part[1] for part in parts)])
    rank = np.concatenate([np.empty(0, dtype=np.int32), *(part[2] for part in parts)])
    run = np.repeat(np.arange(len(runs), dtype=np.int32), [len(part[0]) for part in parts])
    keys: list[NDArray[Any]] = [*reversed(byte_keys(docno)), topic_index]
    order = np.lexsort(keys)  # stable, so that the runs of one unit stay in their order
    topic_index, docno = topic_index[order], docno[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (topic_index[1:] != topic_index[:-1]) | (docno[1:] != docno[:-1])
    return PooledUnits(
        topics=np.array(codes, dtype=np.str_),
        topic_index=topic_index[is_first],
        docno=docno[is_first],
        entry=(np.cumsum(is_first) - 1).astype(np.int32),
        run=run[order],
        rank=rank[order],
        n_runs=len(runs),
    )


def _top(
    run: RunColumns, depth: int, number: dict[str, int]
) -> tuple[NDArray[np.int32], NDArray[np.bytes_], NDArray[np.int32]]:
    """Topic number, docno and rank of the first rows of each topic."""
    start, end = run.offsets[:-1], run.offsets[1:]
    taken = np.minimum(end - start, depth)
    within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    rows = np.repeat(start, taken) + within
    renumbered = np.array([number[code] for code in run.topics.tolist()], dtype=np.int32)
    return renumbered[run.topic_index[rows]], run.docno[rows], (within + 1).astype(np.int32)
