"""The union of the top ranks of runs: which units are pooled, and which run contributed each of them at which rank.

Layout: entries are sorted by topic and docno, both by bytes; contributions are sorted by entry, then run. Ranks are
in the order of trec_eval, from 1, and do not depend on the rank column of the file.

A unit may have *members* with docnos of their own: instances of a formula, or near-duplicates of the citation that is
judged. Members at positions from 1 are shown to the assessor; those at position 0 are not shown.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, plural
from assay.formats.runs.columns import RunColumns, byte_keys, order_in_topics
from assay.protocols.schema import EVERY_RANK


@dataclass(frozen=True, slots=True)
class PooledUnits:
    """The entries of a pool, without an order of presentation.

    Args:
        topics: (t,) codes of all topics of the runs, sorted by bytes.
        topic_index, docno: (n,) the entries: number of the topic, and docno.
        entry, run, rank: (c,) the contributions: an entry, the run that contributed it, and its rank in that run.
        n_runs: number of runs, including those of depth 0.
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
        """(t,) number of entries of each topic."""
        return np.bincount(self.topic_index, minlength=len(self.topics))

    @property
    def best_rank(self) -> NDArray[np.int64]:
        """(n,) the best (smallest) rank of each entry in any run; 0 if no run has it."""
        best = np.full(len(self), np.iinfo(np.int32).max, dtype=np.int64)
        np.minimum.at(best, self.entry, self.rank)
        return np.where(best == np.iinfo(np.int32).max, 0, best)

    def keep_entries(self, kept: NDArray[np.bool_]) -> "PooledUnits":
        """Some of the entries, with their contributions; `kept` (n,) marks them."""
        part = self.keep_contributions(kept[self.entry])
        entry = (np.cumsum(kept) - 1)[part.entry].astype(np.int32)
        return replace(part, topic_index=self.topic_index[kept], docno=self.docno[kept], entry=entry)

    def keep_contributions(self, kept: NDArray[np.bool_]) -> "PooledUnits":
        """All entries with some of the contributions; `kept` (c,) marks them."""
        return replace(self, entry=self.entry[kept], run=self.run[kept], rank=self.rank[kept])


@dataclass(frozen=True, slots=True)
class Members:
    """All members of all entries, sorted by entry, then docno by bytes.

    Args:
        entry: (m,) entry that the member belongs to.
        docno, post, thread: (m,) bytes; post and thread are empty if unknown.
        position: (m,) place among the members that are shown, from 1; 0 if it is not shown.
        member, run, rank: (c,) contributions: a member, a run that has it (at any rank), and its rank there; sorted by
            member, then run.
    """

    entry: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    post: NDArray[np.bytes_]
    thread: NDArray[np.bytes_]
    position: NDArray[np.int32]
    member: NDArray[np.int32]
    run: NDArray[np.int32]
    rank: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.entry)

    def keep_entries(self, kept: NDArray[np.bool_]) -> "Members":
        """The members of some entries, with entries and members renumbered; `kept` (entries,) marks the entries."""
        is_kept = kept[self.entry]
        is_contribution_kept = is_kept[self.member]
        new_entry, new_member = np.cumsum(kept) - 1, np.cumsum(is_kept) - 1
        return replace(
            self,
            entry=new_entry[self.entry[is_kept]].astype(np.int32),
            docno=self.docno[is_kept],
            post=self.post[is_kept],
            thread=self.thread[is_kept],
            position=self.position[is_kept],
            member=new_member[self.member[is_contribution_kept]].astype(np.int32),
            run=self.run[is_contribution_kept],
            rank=self.rank[is_contribution_kept],
        )


class Top(NamedTuple):
    """The contribution of one run: topic number, docno and rank of each unit, in the order of the run."""

    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    rank: NDArray[np.int32]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bytes, int]]) -> "Top":
        """The contribution of rows of topic, docno and rank."""
        topics, docnos, ranks = zip(*rows, strict=True) if rows else ((), (), ())
        docno = np.array(docnos, dtype=np.bytes_) if docnos else np.empty(0, dtype="S1")
        return cls(np.array(topics, dtype=np.int32), docno, np.array(ranks, dtype=np.int32))


def begins(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """(n,) whether a row differs from the one before it in a column; the first one does."""
    is_first = np.ones(len(columns[0]), dtype=np.bool_)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return is_first


def top_k(runs: Sequence[RunColumns], depths: Sequence[int]) -> PooledUnits:
    """Pool the first `depths[i]` documents of each topic of `runs[i]`. Each document is pooled once.

    Args:
        depths: (runs,) number of ranks; a run of depth 0 contributes nothing.

    Raises ValueError: the numbers of runs and depths differ, or a depth is negative.
    """
    if len(runs) != len(depths) or any(depth < 0 for depth in depths):
        raise InputError(
            f"got {plural(len(runs), 'run')} and the depths {list(depths)}; each run needs a depth of at least 0"
        )
    codes = topics_of(runs)
    reaches = reach_of_rows(runs, depths, codes)
    return union((_top(run, reach, codes) for run, reach in zip(runs, reaches, strict=True)), codes)


def _top(run: RunColumns, reach: NDArray[np.int32], codes: NDArray[np.str_]) -> Top:
    """The first rows of each topic of a run; `reach` (t,) is their number."""
    numbers = numbers_in(run, codes)
    n_rows = reach[numbers].astype(np.int64)
    position = np.arange(n_rows.sum()) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    rows = np.repeat(run.offsets[:-1], n_rows) + position
    return Top(numbers[run.topic_index[rows]], run.docno[rows], (position + 1).astype(np.int32))


def topics_of(runs: Sequence[RunColumns]) -> NDArray[np.str_]:
    """(t,) codes of all topics of the runs, sorted by bytes."""
    return np.array(sorted({code for run in runs for code in run.topics.tolist()}), dtype=np.str_)


def numbers_in(run: RunColumns, codes: NDArray[np.str_]) -> NDArray[np.int32]:
    """(topics of the run,) number of each topic of a run in `codes`, which contains them all."""
    number = {code: i for i, code in enumerate(codes.tolist())}
    return np.array([number[code] for code in run.topics.tolist()], dtype=np.int32)


def reach_of_rows(
    runs: Sequence[RunColumns], depths: Sequence[int], codes: NDArray[np.str_]
) -> NDArray[np.int32]:
    """(runs, t) number of rows taken from each run in each topic, if its depth counts rows."""
    reach = np.zeros((len(runs), len(codes)), dtype=np.int32)
    for of_run, run, depth in zip(reach, runs, depths, strict=True):
        of_run[numbers_in(run, codes)] = np.minimum(np.diff(run.offsets), depth)
    return reach


def union(tops: Iterable[Top], codes: NDArray[np.str_]) -> PooledUnits:
    """The units that the runs contribute, each once; `tops` has one item for each run."""
    parts = list(tops)
    topic_index = np.concatenate([np.empty(0, dtype=np.int32), *(top.topic_index for top in parts)])
    docno = np.concatenate([np.empty(0, dtype="S1"), *(top.docno for top in parts)])
    rank = np.concatenate([np.empty(0, dtype=np.int32), *(top.rank for top in parts)])
    n_rows = [len(top.rank) for top in parts]
    del parts  # they are as large as the columns
    run = np.repeat(np.arange(len(n_rows), dtype=np.int32), n_rows)
    order = order_in_topics(topic_index, *byte_keys(docno))  # the runs of a unit keep their order
    topic_index, docno = topic_index[order], docno[order]
    is_first = begins(topic_index, docno)
    return PooledUnits(
        topics=codes,
        topic_index=topic_index[is_first],
        docno=docno[is_first],
        entry=(np.cumsum(is_first) - 1).astype(np.int32),
        run=run[order],
        rank=rank[order],
        n_runs=len(n_rows),
    )


def round_robin_reach(units: PooledUnits, target: int) -> NDArray[np.int64]:
    """(t,) the rank to which all runs are taken, rank by rank, until a topic has `target` units.

    A rank that is begun is finished in all runs, because protocols do not define an order of runs. A topic that has
    fewer units is taken to the end of every run.
    """
    best = units.best_rank
    order = np.lexsort((best, units.topic_index))
    ends = np.cumsum(units.sizes)
    reach = np.full(len(units.topics), EVERY_RANK, dtype=np.int64)
    for topic, (start, end) in enumerate(zip(ends - units.sizes, ends, strict=True)):
        if end - start >= target:
            reach[topic] = best[order[start + target - 1]]
    return reach


def within(units: PooledUnits, reach: NDArray[np.int64]) -> PooledUnits:
    """The contributions at ranks up to `reach` (t,) of their topic, and their entries."""
    part = units.keep_contributions(units.rank <= reach[units.topic_index[units.entry]])
    kept = np.zeros(len(units), dtype=np.bool_)
    kept[part.entry] = True
    return part.keep_entries(kept)


def pool_known_items(
    runs: Sequence[RunColumns], depths: Sequence[int], known: Mapping[str, Collection[str]]
) -> PooledUnits:
    """The known items of all topics, and their ranks in each run, up to its depth.

    Nothing is judged: qrels are made from the pool, and it shows how many runs found each item.

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
    rows = [(topic, docno, 0) for topic, code in enumerate(codes.tolist()) for docno in sorted(items[code])]
    units = union([*tops, Top.of(rows)], codes)
    # the last "run" is not one: it adds the items that no run has
    return replace(units.keep_contributions(units.run < len(runs)), n_runs=len(runs))
