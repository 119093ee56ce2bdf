"""Fusion that learns from topics with qrels: how relevant the ranks of each run are, or weights and constants.

Each run has a list for each topic of the qrels, which is empty if the run lacks the topic. Methods that are trained
learn from these lists; weights and constants of other methods are those with the best mean of a measure, of a grid: a
convex combination, as Bruch, Gai and Ingber (2023), doi:10.1145/3596512, choose it.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranking, RunColumns
from assay.fusion import METHODS, Fusion, Values, called, check_constant, fuse
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.protocols.measures import Measure

BAYES_ENDS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # ranks at which a segment ends: trec_eval's
SEGFUSE_ENDS = tuple(10 * 2**k - 5 for k in range(10))  # 5, 15, 35, ..., 5115, as in ranx
LEAST = 0.001  # a share for bayesfuse, so that its odds exist
WEIGHTED = frozenset({"sum", "mixed", "wmnz", "borda", "condorcet"})
MOST_WEIGHTED = 5  # runs, which have 1,001 sets of weights
# Constants that are tried, as ranx does
CONSTANTS: dict[str, tuple[float, ...]] = {
    "gmnz": tuple(n / 100 for n in range(1, 101)),
    "logn-isr": tuple(n / 100 for n in range(1, 101)),
    "rbc": tuple(n / 100 for n in range(1, 100)),
    "probfuse": tuple(range(1, 101)),
    "slidefuse": tuple(range(1, 101)),
}
RRF_KS = tuple(range(10, 101, 10))


class Training(NamedTuple):
    """A fusion with what it learned.

    Args:
        fusion: with weights, a constant or values of ranks.
        n_topics: the topics of the qrels.
        value: the mean of the measure for these topics; None if no settings were compared.
    """

    fusion: Fusion
    n_topics: int
    value: float | None = None


def train(
    runs: Sequence[RunColumns], qrels: QrelsColumns, fusion: Fusion, *, measure: Measure, level: int
) -> Training:
    """Learn what a fusion needs, from the topics of qrels.

    Args:
        measure: by which settings are compared.
        level: the grade from which a document is relevant.

    Raises:
        InputError: A run has no topic of the qrels, or the method has nothing to learn.
    """
    known = [_part(run, qrels.topics) for run in runs]
    for number, run in enumerate(known, 1):
        if not len(run):
            raise InputError(f"run {number} has no topic of the qrels from which fusion learns")
    judged = JudgedDocuments(qrels)
    lists = [_lists(run, judged, level) for run in known]
    n_relevant = judged.n_graded(level)

    def with_values(given: Fusion) -> Fusion:
        if not METHODS[given.method].is_trained:
            return given
        return given._replace(learned=[_learned(hits, n_relevant, given) for hits in lists])

    settings = _settings(fusion, len(runs))
    check_constant(settings[0])
    tried = [with_values(each) for each in settings]
    if len(tried) == 1:
        return Training(tried[0], judged.n_topics)
    values = [_mean(known, judged, each, measure) for each in tried]
    best = max(range(len(tried)), key=lambda n: (round(values[n], 12), _evenness(tried[n]), n))
    return Training(tried[best], judged.n_topics, values[best])


def _evenness(settings: Fusion) -> float:
    """Of equal values, the most even weights are chosen."""
    return -sum(weight**2 for weight in settings.weights)


def _settings(fusion: Fusion, n_runs: int) -> list[Fusion]:
    """The settings among which the best is chosen; one if there is nothing to choose."""
    method = fusion.method
    if method in CONSTANTS and fusion.constant is None:
        return [fusion._replace(constant=constant) for constant in CONSTANTS[method]]
    if METHODS[method].is_trained:
        return [fusion]
    if method == "rrf":
        return [fusion._replace(k=k) for k in RRF_KS]
    if method not in WEIGHTED or fusion.weights:
        given = "with weights " if method in WEIGHTED else ""
        raise InputError(f"{called(method)} {given}has nothing to learn from qrels")
    if n_runs > MOST_WEIGHTED:
        raise InputError(f"weights are learned for at most {MOST_WEIGHTED} runs, got {n_runs}; give weights")
    return [fusion._replace(weights=weights) for weights in _weights(n_runs)]


def _weights(n_runs: int) -> Iterator[tuple[float, ...]]:
    """All weights in tenths whose sum is 1.

    >>> list(_weights(2))[:3]
    [(0.0, 1.0), (0.1, 0.9), (0.2, 0.8)]
    """
    for bars in combinations(range(10 + n_runs - 1), n_runs - 1):
        ends = np.array((-1, *bars, 10 + n_runs - 1))
        yield tuple(((np.diff(ends) - 1) / 10).tolist())


def _part(run: RunColumns, topics: NDArray[np.str_]) -> RunColumns:
    """The topics of a run that the qrels have."""
    is_kept = np.isin(run.topics, topics)
    rows = is_kept[run.topic_index]
    index = (np.cumsum(is_kept) - 1)[run.topic_index[rows]].astype(np.int32)
    return RunColumns(run.topics[is_kept], index, run.docno[rows], run.rank[rows], run.score[rows])


def _lists(run: RunColumns, judged: JudgedDocuments, level: int) -> list[NDArray[np.bool_]]:
    """For each topic of the qrels, whether the documents of the run are relevant, best first."""
    hits = judged.hits(run)
    lists = [np.zeros(n, dtype=np.bool_) for n in hits.n_returned.tolist()]
    is_relevant = hits.grade >= level
    for topic, rank in zip(hits.topic[is_relevant].tolist(), hits.rank[is_relevant].tolist(), strict=True):
        lists[topic][rank - 1] = True
    return lists


def _learned(lists: Sequence[NDArray[np.bool_]], n_relevant: NDArray[np.int64], fusion: Fusion) -> Values:
    """The values of a run for a method that is trained."""
    if fusion.method == "mapfuse":
        precisions = [
            (np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1)).sum() / max(n, 1)
            for hits, n in zip(lists, n_relevant.tolist(), strict=True)
        ]
        return np.array([np.mean(precisions)])
    if fusion.method == "probfuse":
        return np.array(np.mean([_shares(hits, int(fusion.constant or 1)) for hits in lists], axis=0))
    if fusion.method in {"posfuse", "slidefuse"}:
        ends = np.arange(1, max(map(len, lists)) + 1)
        n_lists = (np.array([len(hits) for hits in lists])[:, None] >= ends).sum(axis=0)
        return np.array(_padded(lists, len(ends)).sum(axis=0) / n_lists)
    ends = np.array(BAYES_ENDS if fusion.method == "bayesfuse" else SEGFUSE_ENDS)
    sizes = np.diff(ends, prepend=0)
    hits_until = np.cumsum(_padded(lists, ends[-1]).sum(axis=0))[ends - 1]
    share = np.diff(hits_until, prepend=0) / sizes / len(lists)
    if fusion.method == "bayesfuse":
        share = np.where(share == 0, LEAST, share)
        share = np.log(share / np.where(share == 1, LEAST, 1 - share))
    return np.repeat(share, sizes)


def _shares(hits: NDArray[np.bool_], n: int) -> Values:
    """(n,) the share of relevant documents in each segment of a list; 0 for a segment behind its end."""
    size = max(-(-len(hits) // n), 1)
    segment = np.arange(len(hits)) // size
    counts = np.bincount(segment, minlength=n)
    return np.array(np.bincount(segment, weights=hits, minlength=n) / np.maximum(counts, 1))


def _padded(lists: Sequence[NDArray[np.bool_]], width: int) -> NDArray[np.int64]:
    """(lists, width) the lists, cut or filled with documents that are not relevant."""
    matrix = np.zeros((len(lists), width), dtype=np.int64)
    for row, hits in zip(matrix, lists, strict=True):
        row[: len(hits)] = hits[:width]
    return matrix


def _mean(runs: Sequence[RunColumns], judged: JudgedDocuments, fusion: Fusion, measure: Measure) -> float:
    """The mean of a measure of the fused run over the topics of the qrels."""
    ranked = list(fuse(runs, fusion, depth=max(sum(map(len, runs)), 1)))
    offsets = np.cumsum([0, *(len(each.docno) for each in ranked)])
    run = Ranking(
        np.array([each.topic for each in ranked]), offsets, np.concatenate([each.docno for each in ranked])
    )
    return float(score_run(run, judged, [measure]).means("judged")[0])
