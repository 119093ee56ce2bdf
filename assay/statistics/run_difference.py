"""The difference of two runs in their documents, without judgments: what they share, and which ranks changed."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.formats.runs.columns import Ranked
from assay.statistics.rank_correlation import PERSISTENCE, common_ranks, documents_of, rank_biased_overlap

DEPTHS = (1, 5, 10, 20, 50, 100, 1000)


class Move(NamedTuple):
    """A document with its rank in either run, from 1; None where the run does not have it."""

    docno: str
    first: int | None
    second: int | None


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """Two rankings of one topic.

    Args:
        n_first, n_second, n_common: numbers of documents of each run, and of both.
        overlap: by depth of `DEPTHS`, the common documents of the first k ranks, as a share of the longer of the two
            rankings to rank k.
        rbo: rank-biased overlap, extrapolated.
        is_equal: whether both have the same documents in the same order.
    """

    topic: str
    n_first: int
    n_second: int
    n_common: int
    overlap: tuple[float, ...]
    rbo: float
    is_equal: bool


def difference_of_topic(first: Ranked, second: Ranked, topic: str) -> TopicDifference:
    """Compare the rankings of one topic; a topic that a run does not have is an empty ranking."""
    left, right = documents_of(first, topic), documents_of(second, topic)
    ranks = common_ranks(left, right)
    deepest, longest = ranks.max(axis=1, initial=0), max(len(left), len(right))
    return TopicDifference(
        topic=topic,
        n_first=len(left),
        n_second=len(right),
        n_common=len(ranks),
        overlap=tuple(float((deepest <= k).sum()) / (min(k, longest) or 1) for k in DEPTHS),
        rbo=rank_biased_overlap(ranks, len(left), len(right), PERSISTENCE).extrapolated,
        is_equal=bool(np.array_equal(left, right)),
    )


def moves_of_topic(first: Ranked, second: Ranked, topic: str, *, k: int) -> list[Move]:
    """The documents among the first k ranks of either run: those of the first run, then the new ones of the second."""
    left = [docno.decode() for docno in documents_of(first, topic).tolist()]
    right = [docno.decode() for docno in documents_of(second, topic).tolist()]
    rank_in_left = {docno: rank for rank, docno in enumerate(left, 1)}
    rank_in_right = {docno: rank for rank, docno in enumerate(right, 1)}
    shown = dict.fromkeys(left[:k] + right[:k])
    return [Move(docno, rank_in_left.get(docno), rank_in_right.get(docno)) for docno in shown]
