"""Measures of models of readers (C/W/L): the gain per document that a reader inspects, of one who may stop at any rank.

C is (topics, ranks): the probability that a reader who has inspected a rank goes on to the next one. The weight of a
rank is in proportion to the probability that the reader inspects it; weights sum to 1 over 1000 ranks. The value is the
sum of weight times gain. The gain of a document is its grade from `min_rel`, gain 0, to `max_rel`, gain 1; without
`max_rel`, to the highest grade of the qrels. An unjudged document has no gain.

Source:
    Moffat, Bailey, Scholer & Thomas (2017), doi:10.1145/3052768 (INST); Moffat, Scholer & Thomas (2012),
    doi:10.1145/2407085.2407092 (INSQ); Zhang et al. (2017), doi:10.1145/3077136.3080841 (BPM); Azzopardi, Mackenzie
    & Moffat (2021), doi:10.1145/3471158.3472239 (NERR). Values equal those of cwl-eval 1.0.12.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, discounts
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure

DEPTH = 1000  # ranks
RANKS = np.arange(1.0, DEPTH + 1.0)
BLOCK = 1_000  # topics that are computed at once

Matrix = NDArray[np.float64]  # (topics, ranks)
Continuation = Callable[[Matrix, Measure], Matrix]  # gains -> C


def expected_gain(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The gain per document that the reader of a measure inspects."""
    top = hits.kept(hits.rank <= DEPTH)
    lowest = measure.number("min_rel") or 0.0
    highest = measure.number("max_rel") or float(np.max(judged.grade, initial=1))
    gain = np.clip((top.grade - lowest) / max(highest - lowest, 1.0), 0.0, 1.0)
    values = np.zeros(judged.n_topics)
    for first in range(0, judged.n_topics, BLOCK):
        rows = slice(*np.searchsorted(top.topic, [first, first + BLOCK]))
        gains = np.zeros((min(BLOCK, judged.n_topics - first), DEPTH))
        gains[top.topic[rows] - first, top.rank[rows] - 1] = gain[rows]
        inspected = np.cumprod(CONTINUATIONS[measure.family](gains, measure)[:, :-1], axis=1)
        weight = np.hstack([np.ones((len(gains), 1)), inspected])
        values[first : first + BLOCK] = (weight * gains).sum(axis=1) / weight.sum(axis=1)
    return values


def _goal(measure: Measure) -> float:
    return measure.number("T") or 1.0


def _squared(wanted: Matrix | NDArray[np.float64]) -> Matrix:
    return ((wanted - 1.0) / wanted) ** 2


def _expecting(gains: Matrix, measure: Measure) -> Matrix:
    """INSQ: goes on more often with every rank."""
    return np.broadcast_to(_squared(RANKS + 2.0 * _goal(measure)), gains.shape)


def _adapting(gains: Matrix, measure: Measure) -> Matrix:
    """INST: as INSQ, but the gain so far counts."""
    left = _goal(measure) - np.cumsum(gains, axis=1)
    return _squared(RANKS + _goal(measure) + left)


def _until(gains: Matrix, measure: Measure) -> Matrix:
    """BPM: goes on as long as the gain so far is below the goal, and to rank k at most."""
    goes_on = (np.cumsum(gains, axis=1) < _goal(measure)) & ((measure.k or DEPTH) > RANKS)
    return goes_on.astype(np.float64)


def _discounting(gains: Matrix, measure: Measure) -> Matrix:
    """SDCG: the weights of DCG."""
    log = discounts(DEPTH + 1)[1 : DEPTH + 2]
    return np.broadcast_to(
        np.where(measure.k is None or measure.k > RANKS, log[:-1] / log[1:], 0.0), gains.shape
    )


def _satisfied(gains: Matrix, measure: Measure) -> Matrix:
    """NERR8: stops with the gain of the document, or at rank k."""
    return np.where(measure.k is None or measure.k > RANKS, 1.0 - gains, 0.0)


CONTINUATIONS: dict[str, Continuation] = {
    "INST": _adapting,
    "INSQ": _expecting,
    "BPM": _until,
    "SDCG": _discounting,
    "NERR8": _satisfied,
    # As NERR8, and goes on more often with every rank.
    "NERR9": lambda gains, measure: RANKS / (RANKS + 1.0) * _satisfied(gains, measure),
    # As NERR8, and goes on with a fixed probability.
    "NERR10": lambda gains, measure: (measure.number("p") or 0.0) * (1.0 - gains),
    # As NERR8 and INSQ.
    "NERR11": lambda gains, measure: _expecting(gains, measure) * (1.0 - gains),
}
