"""The difference of two runs in their documents, without judgments: what they share, and which ranks changed."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import Ranked
from assay.statistics.rank_correlation import PERSISTENCE, documents_of, rank_biased_overlap

DEPTHS = (1, 5, 10, 20, 50, 100, 1000)


class Move(NamedTuple):
    """A document with its rank in either run, from 1; None where the run does not have it."""

    docno: str
    first: int | None
    second: int | None


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """Two rankings of one topic.

    Attributes
    ----------
    n_first, n_second, n_common : numbers of documents of each run, and of both.
    overlap : by depth of `DEPTHS`, the share of common documents among the first k ranks of both.
    rbo : rank-biased overlap, extrapolated.
    is_equal : whether both have the same documents in the same order.
    """

    topic: str
    n_first: int
    n_second: int
    n_common: int
    overlap: tuple[float, ...]
    rbo: float
    is_equal: bool


def topics_of_both(first: Ranked, second: Ranked) -> list[str]:
    """The topics of either run, in the order of bytes."""
    return sorted({*first.topics.tolist(), *second.topics.tolist()}, key=str.encode)


def difference_of_topic(first: Ranked, second: Ranked, topic: str) -> TopicDifference:
    """Compare the rankings of one topic; a topic that a run does not have is an empty ranking."""
    left, right = documents_of(first, topic), documents_of(second, topic)
    ranks = _common_ranks(left, right)
    return TopicDifference(
        topic=topic,
        n_first=len(left),
        n_second=len(right),
        n_common=len(ranks),
        overlap=tuple(_overlap_at(ranks, len(left), len(right), k) for k in DEPTHS),
        rbo=rank_biased_overlap(ranks, len(left), len(right), PERSISTENCE).extrapolated,
        is_equal=bool(np.array_equal(left, right)),
    )


def _common_ranks(left: NDArray[np.bytes_], right: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """(common, 2) ranks of the documents in both rankings, from 1."""
    _, in_left, in_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return np.column_stack((in_left, in_right)) + 1


def _overlap_at(ranks: NDArray[np.int64], n_first: int, n_second: int, k: int) -> float:
    """The common documents of the first k ranks, as a share of the longer of the two rankings to rank k."""
    longest = min(k, max(n_first, n_second))
    return float((ranks.max(axis=1, initial=0) <= k).sum()) / longest if longest else 0.0


def moves_of_topic(first: Ranked, second: Ranked, topic: str, *, k: int) -> list[Move]:
    """The documents among the first k ranks of either run: those of the first run, then the new ones of the second."""
    left = [docno.decode() for docno in documents_of(first, topic).tolist()]
    right = [docno.decode() for docno in documents_of(second, topic).tolist()]
    rank_in_left = {docno: rank for rank, docno in enumerate(left, 1)}
    rank_in_right = {docno: rank for rank, docno in enumerate(right, 1)}
    shown = dict.fromkeys(left[:k] + right[:k])
    return [Move(docno, rank_in_left.get(docno), rank_in_right.get(docno)) for docno in shown]
