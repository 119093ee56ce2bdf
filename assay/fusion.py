"""Fusion: one run from several, topic by topic.

Each score of a run is normalized, and each document gets the weighted sum of its scores; a run that does not have the
document adds nothing. Topics are those that some run has. The order of the runs changes nothing: a document's scores
are added by size, and totals that agree to 13 digits tie.

`sum`  CombSUM: the weighted sum of the normalized scores
`mnz`  CombMNZ: that sum, times the number of runs that have the document
`rrf`  reciprocal rank: the weighted sum of 1 / (k + rank), ranks from 1; scores only order the documents

`min-max`   (s - least) / (greatest - least) of the run's scores for the topic; 1 if all are equal
`z-score`   (s - mean) / standard deviation of the population; 0 if all are equal
`none`      scores as they are

Sources: Shaw and Fox, "Combination of multiple searches" (TREC-2, 1994); Cormack, Clarke and Buettcher, "Reciprocal
rank fusion" (SIGIR 2009), doi:10.1145/1571941.1572114.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, plural
from assay.formats.runs.columns import RunColumns
from assay.ranking import Ranked, best

Method = Literal["sum", "mnz", "rrf"]
Norm = Literal["min-max", "z-score", "none"]
RRF_K = 60
SAME = 1e-13  # share of the added scores; a total below it is 0


class Fusion(NamedTuple):
    """The settings of a fusion. Weights are in the order of the runs; without them each run has the weight 1."""

    method: Method = "sum"
    norm: Norm = "min-max"
    weights: Sequence[float] = ()
    k: int = RRF_K


def fuse(runs: Sequence[RunColumns], fusion: Fusion, *, depth: int) -> Iterator[Ranked]:
    """The fused list of each topic, by codes of topics.

    Raises:
        InputError: There are fewer than two runs or another number of weights, a run has no topic in common with the
            others, or CombMNZ would multiply negative scores.
    """
    _check(runs, fusion)
    places = [{code: n for n, code in enumerate(run.topics.tolist())} for run in runs]
    weights = list(fusion.weights) or [1.0] * len(runs)
    for topic in sorted({code for place in places for code in place}):
        lists = [
            (run, slice(*run.offsets[place[topic] : place[topic] + 2].tolist()), weight)
            for run, place, weight in zip(runs, places, weights, strict=True)
            if topic in place
        ]
        yield _fused(topic, lists, fusion, depth)


def _check(runs: Sequence[RunColumns], fusion: Fusion) -> None:
    if len(runs) < 2:
        raise InputError("fusion needs at least two runs")
    if fusion.weights and len(fusion.weights) != len(runs):
        raise InputError(
            f"got {plural(len(fusion.weights), 'weight')} for {len(runs)} runs; give one for each run"
        )
    if fusion.method == "mnz" and fusion.norm == "z-score":
        raise InputError(
            "CombMNZ cannot use z-scores: they are negative for half of the documents; use min-max"
        )
    if fusion.method == "mnz" and fusion.norm == "none" and any((run.score < 0).any() for run in runs):
        raise InputError("CombMNZ cannot use negative scores; normalize them with min-max")
    for number, run in enumerate(runs, 1):
        others = {code for other in runs if other is not run for code in other.topics.tolist()}
        if others.isdisjoint(run.topics.tolist()):
            raise InputError(f"run {number} has no topic in common with the others")


def _fused(
    topic: str, lists: Sequence[tuple[RunColumns, slice, float]], fusion: Fusion, depth: int
) -> Ranked:
    docno = np.concatenate([run.docno[rows] for run, rows, _ in lists])
    score = np.concatenate([weight * _normalized(run.score[rows], fusion) for run, rows, weight in lists])
    documents, first, place = np.unique(docno, return_index=True, return_inverse=True)
    n_runs = np.bincount(place)
    total = _totals(place, score, n_runs if fusion.method == "mnz" else np.ones_like(n_runs))
    posts = [run.post[rows] for run, rows, _ in lists if run.post is not None]
    post = np.concatenate(posts)[first] if len(posts) == len(lists) else None
    return best(topic, documents, total, k=depth, post=post)


def _totals(
    place: NDArray[np.intp], score: NDArray[np.float64], times: NDArray[np.intp]
) -> NDArray[np.float64]:
    """(documents,) the sum of the scores at each place, times a number, without the rounding errors of adding.

    >>> _totals(np.array([0, 1, 0, 0, 1, 1]), np.array([0.1, 0.3, 0.2, 0.3, 0.2, 0.1]), np.array([1, 2])).tolist()
    [0.6, 1.2]
    """
    by_size = np.lexsort((score, place))
    starts = np.flatnonzero(np.diff(place[by_size], prepend=-1))
    total, size = (np.add.reduceat(values[by_size], starts) for values in (score, np.abs(score)))
    total = np.where(np.abs(total) > SAME * size, total, 0.0) * times
    return np.array([float(f"{value:.12e}") for value in total.tolist()])


def _normalized(score: NDArray[np.float64], fusion: Fusion) -> NDArray[np.float64]:
    """The scores of one topic of a run, in the order of its ranks."""
    if fusion.method == "rrf":
        return 1 / (fusion.k + np.arange(1, len(score) + 1))
    if fusion.norm == "none":
        return score
    least, greatest = score.min(), score.max()
    if least == greatest:
        return np.zeros_like(score) if fusion.norm == "z-score" else np.ones_like(score)
    low, width = (score.mean(), score.std()) if fusion.norm == "z-score" else (least, greatest - least)
    normalized: NDArray[np.float64] = (score - low) / width
    return normalized
