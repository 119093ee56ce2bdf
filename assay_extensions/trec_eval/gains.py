"""Measures in which each grade has a gain: nDCG and its variants, G, rank-biased precision."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, discounts
from assay_extensions.trec_eval.options import Parameters
from assay_extensions.trec_eval.ranked import View

COST_OF_A_DOCUMENT = 1.0  # of G: the least cost of a rank, even if its ideal gain is less
PERSISTENCE = 0.9  # probability that a reader goes on to the next rank, in rank-biased precision


class Gained(NamedTuple):
    """The gains of a topic: of the run at its judged documents, and of the best ranking at each rank.

    Args:
        rank, gain: (hits,) of the judged documents.
        ideal: (documents,) positive gains, largest first.
        n_returned, n_relevant: numbers of documents.
        top_gain, least_gain: extremes of the gains of the topic's grades and of the gains in the parameters.
    """

    rank: NDArray[np.int64]
    gain: Values
    ideal: Values
    n_returned: int
    n_relevant: int
    least_gain: float
    top_gain: float


def _by_topic(view: View, parameters: Parameters) -> list[Gained]:
    return _gained(view, tuple(parameters.gains.items()))


@lru_cache(maxsize=1)  # measures with the same gains follow each other
def _gained(view: View, gains: tuple[tuple[int, float], ...]) -> list[Gained]:
    topics = []
    returned, n_relevant, gain_of = view.n_returned.tolist(), view.n_relevant.tolist(), dict(gains)
    for topic, (rank, grade) in enumerate(view.hits_by_topic):
        grades = view.grades_by_topic[topic]
        gain, ideal = grade.astype(np.float64), grades.astype(np.float64)
        for its_grade, its_gain in gains:
            gain[grade == its_grade], ideal[grades == its_grade] = its_gain, its_gain
        ideal = np.sort(ideal)[::-1]
        extremes = (gain_of.get(0, 0.0), *ideal[:1].tolist(), *ideal[-1:].tolist(), *gain_of.values())
        numbers = returned[topic], n_relevant[topic], min(extremes), max(extremes)
        topics.append(Gained(rank, gain, ideal[ideal > 0], *numbers))
    return topics


def measure_per_topic(compute: Callable[[Gained], float]) -> Callable[[View, Parameters], list[Values]]:
    """A measure, from the function that computes it for one topic."""
    return lambda view, parameters: [np.array([compute(topic) for topic in _by_topic(view, parameters)])]


def _discounted(topic: Gained) -> Values:
    """Discounted cumulative gain of the run at each of its judged documents."""
    return np.cumsum(topic.gain / discounts(_depth(topic))[topic.rank])


def _ideal_discounted(topic: Gained) -> Values:
    """Discounted cumulative gain of the best ranking at each rank, from rank 0, where it is 0."""
    return np.append(0.0, np.cumsum(topic.ideal / discounts(_depth(topic))[1 : len(topic.ideal) + 1]))


def _depth(topic: Gained) -> int:
    return max(int(np.max(topic.rank, initial=1)), len(topic.ideal))


def dcg(topic: Gained) -> float:
    """Discounted cumulative gain."""
    return float(_discounted(topic)[-1]) if len(topic.gain) else 0.0


def ideal_dcg(topic: Gained) -> float:
    return float(_ideal_discounted(topic)[-1])


def ndcg(view: View, parameters: Parameters) -> list[Values]:
    """DCG divided by that of the best ranking. Without gains in the parameters, it is the nDCG of leaderboards."""
    if not parameters.gains:
        return [view.value("nDCG")]
    pairs = [(dcg(topic), ideal_dcg(topic)) for topic in _by_topic(view, parameters)]
    return [np.array([value / best if best > 0 else 0.0 for value, best in pairs])]


def ndcg_of_relevant(topic: Gained) -> float:
    """Mean of nDCG at the ranks of documents with a positive gain; at the last rank for those not returned."""
    if not len(topic.ideal):
        return 0.0
    ideal = _ideal_discounted(topic)
    is_positive = topic.gain > 0
    at = topic.rank[is_positive]
    total = float(np.sum(_discounted(topic)[is_positive] / ideal[np.minimum(at, len(ideal) - 1)]))
    total += (len(topic.ideal) - len(at)) * dcg(topic) / ideal[-1]
    return max(float(total), 0.0) / len(topic.ideal)


def ndcg_at_levels(topic: Gained) -> float:
    """Mean of nDCG at the ranks where the gain of the best ranking drops, and at the last rank if it is below them."""
    if not topic.n_relevant or not len(topic.ideal):
        return 0.0
    ideal = _ideal_discounted(topic)
    drops = np.append(np.flatnonzero(topic.ideal[1:] != topic.ideal[:-1]) + 1, len(topic.ideal))
    so_far = np.append(0.0, _discounted(topic))
    values = so_far[np.searchsorted(topic.rank, drops, side="right")] / ideal[drops]
    if topic.n_returned > len(topic.ideal) + 1:
        values = np.append(values, so_far[-1] / ideal[-1])
    return float(np.cumsum(values)[-1]) / len(values)


def normalized_gain(topic: Gained) -> float:
    """G: sum of gain / log2(2 + ideal gain so far - gain so far), divided by the sum of all gains."""
    if not len(topic.ideal):
        return 0.0
    costs = np.append(0.0, np.cumsum(np.maximum(topic.ideal, COST_OF_A_DOCUMENT)))
    below = np.maximum(topic.rank - len(topic.ideal), 0)
    cost = costs[np.minimum(topic.rank, len(topic.ideal))] + COST_OF_A_DOCUMENT * below
    missed = 2.0 + cost - np.cumsum(topic.gain)
    is_defined = (missed > 0) & (missed != 1)
    logarithm = np.log2(missed, where=is_defined, out=np.ones_like(missed))
    total = np.sum(np.divide(topic.gain, logarithm, where=is_defined, out=np.zeros_like(missed)))
    return float(total) / float(np.cumsum(topic.ideal)[-1])


def rank_biased(view: View, parameters: Parameters) -> list[Values]:
    """rbp: (1 - p) times the sum of gain p^(rank - 1). Gains outside 0 to 1 are scaled to that range."""
    persistence, values = parameters.named.get("p", PERSISTENCE), []
    for topic in _by_topic(view, parameters):
        gain = topic.gain
        if topic.least_gain < 0 or topic.top_gain > 1:
            gain = (gain - topic.least_gain) / (topic.top_gain - topic.least_gain)
        values.append((1.0 - persistence) * float(np.sum(gain * persistence ** (topic.rank - 1))))
    return [np.array(values)]


def rank_biased_residual(view: View, parameters: Parameters) -> list[Values]:
    """rbp_resid: how much rbp would increase if all unjudged documents had the full gain; 0 if all are judged."""
    persistence = parameters.named.get("p", PERSISTENCE)
    values = np.zeros(view.judged.n_topics)
    for topic, (rank, _) in enumerate(view.hits_by_topic):
        n_returned = int(view.n_returned[topic])
        if len(rank) < n_returned:
            unjudged = np.delete(np.arange(n_returned), rank - 1)
            values[topic] = (
                persistence**n_returned + (1.0 - persistence) * (persistence ** unjudged.astype(float)).sum()
            )
    return [values]
