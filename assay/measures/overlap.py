"""Measures that compare a run with a best ranking by rank-biased overlap: how many documents both have on top.

The overlap of two rankings is the mean over the depths d = 1 to 1000 of the share of documents that both have in their
top d, with the weight p^(d - 1). A document that is at rank r of the one and s of the other counts from max(r, s) on.

Source:
    Clarke, Vtyurina & Smucker (2020), doi:10.1145/3397271.3401133, and (2021), doi:10.1145/3451161, as
    compatibility.py of claclark/Compatibility, except that documents with equal scores keep the order of the run;
    Luo & Clarke, as greedy_pgc.py of chengxiluo/Greedy-Preference-Graph-Compatibility.
"""

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, counts, share
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic, remembered
from assay.protocols.measures import Measure

DEPTH = 1000  # ranks

Graph = dict[int, set[int]]  # a document -> those that it is preferred to


def _weights(p: float) -> Values:
    """(DEPTH + 2,) the overlap that a document adds which both rankings have from that depth on; 0 below DEPTH."""
    weight = np.cumprod(np.concatenate(([1.0], np.full(DEPTH - 1, p))))
    terms = weight / np.arange(1, DEPTH + 1)
    tails = np.cumsum(terms[::-1])[::-1] / weight.sum()
    return np.concatenate(([0.0], tails, [0.0]))


def _overlap(hits: Hits, best: NDArray[np.int64], weights: Values) -> Values:
    """(topics,) the overlap of a run with rankings: `best` has the rank of each hit there."""
    depth = np.minimum(np.maximum(hits.rank, best), DEPTH + 1)
    total = np.bincount(hits.topic, weights=weights[depth], minlength=len(hits.n_returned))
    return total.astype(np.float64)


def compatibility(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The overlap with the ranking of the relevant documents by grade, in each grade as in the run.

    With `normalize`, it is divided by the overlap of this ranking with itself.
    """
    relevant = hits.kept(hits.grade > 0)
    order = np.lexsort((relevant.rank, -relevant.grade, relevant.topic))
    ranked = relevant.kept(order)
    group = np.cumsum(np.concatenate(([False], (np.diff(ranked.topic) != 0) | (np.diff(ranked.grade) != 0))))
    in_grade = position_in_topic(group[: len(order)], len(order) + 1)
    n_better = np.zeros(len(order), dtype=np.int64)
    for grade in np.unique(ranked.grade).tolist():
        is_grade = ranked.grade == grade
        n_better[is_grade] = judged.n_graded(grade + 1)[ranked.topic[is_grade]]
    weights = _weights(measure.number("p") or 0.0)
    value = _overlap(ranked, n_better + in_grade + 1, weights)
    if measure.word("normalize") == "False":
        return value
    most = np.cumsum(weights)[np.minimum(judged.n_graded(1), DEPTH)]
    return share(value, most)


def preference_compatibility(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The overlap with the ranking that a greedy feedback arc set makes of the preferences of the topic."""
    assert hits.entry is not None  # this measure has no prime
    graphs = _graphs(judged)
    best = np.zeros(len(hits.entry), dtype=np.int64)
    first = np.concatenate(([0], np.cumsum(counts(hits))))
    for topic, (graph, losers) in enumerate(graphs):
        rows = slice(first[topic], first[topic + 1])
        entries = hits.entry[rows].tolist()
        if entries:
            ranks = dict(zip(entries, hits.rank[rows].tolist(), strict=True))
            order = greedy_order(graph | {loser: set() for loser in losers - graph.keys()}, ranks)
            place = {document: n for n, document in enumerate(order, 1)}
            best[rows] = [place[entry] for entry in entries]
    return _overlap(hits, best, _weights(measure.number("p") or 0.0))


@remembered
def _graphs(judged: JudgedDocuments) -> list[tuple[Graph, set[int]]]:
    """The preferences of each topic, and the documents that lose one, as rows of the qrels."""
    codes = judged.topic.tolist()
    row = {
        (topic, docno): n for n, (topic, docno) in enumerate(zip(codes, judged.docno.tolist(), strict=True))
    }
    graphs: list[tuple[Graph, set[int]]] = [({}, set()) for _ in range(judged.n_topics)]
    for winner, (topic, words) in enumerate(zip(codes, judged.parts_of("preferences"), strict=True)):
        losers = {row[topic, loser] for loser in words.split() if (topic, loser) in row}
        if losers:
            graphs[topic][0][winner] = losers
            graphs[topic][1].update(losers)
    return graphs


class _Remaining:
    """The documents of preferences that have no place yet, and the places given from both ends."""

    def __init__(self, wins: Mapping[int, Collection[int]]) -> None:
        self.below: Graph = {document: set(losers) for document, losers in wins.items()}
        self.above: Graph = {document: set() for document in wins}
        for document, losers in wins.items():
            for loser in losers:
                self.above[loser].add(document)
        self.front: list[int] = []
        self.end: list[int] = []

    def move(self, document: int, where: list[int]) -> None:
        """Give a document the next place at one of the ends."""
        where.append(document)
        for loser in self.below.pop(document):
            self.above[loser].discard(document)
        for winner in self.above.pop(document):
            self.below[winner].discard(document)

    def with_most_wins(self) -> list[int]:
        """The documents with the most wins minus losses."""
        surplus = {
            document: len(losers) - len(self.above[document]) for document, losers in self.below.items()
        }
        most = max(surplus.values())
        return [document for document, wins in surplus.items() if wins == most]


def greedy_order(wins: Mapping[int, Collection[int]], ranks: Mapping[int, int]) -> list[int]:
    """The documents of preferences in an order that fulfills many of them.

    Documents that win nothing go to the end, those that lose nothing to the front, else the one with the most wins
    minus losses. Among several, the best of the run is the first to go to the front, the worst or missing one to the
    end.

    >>> greedy_order({1: {2, 3}, 2: {3}, 3: set()}, {2: 1, 1: 2})
    [1, 2, 3]
    """
    left = _Remaining(wins)

    def rank(document: int) -> tuple[float, int]:
        return ranks.get(document, np.inf), document

    while left.below:
        while sinks := [document for document, losers in left.below.items() if not losers]:
            left.move(max(sinks, key=rank), left.end)
        while sources := [document for document, winners in left.above.items() if not winners]:
            left.move(min(sources, key=rank), left.front)
        if left.below:
            left.move(min(left.with_most_wins(), key=rank), left.front)
    return left.front + left.end[::-1]
