"""Measures that are sums of weights and gains: the weight depends on the rank, the gain on the grade of the document.

CG, DCG, P, Grade and RBP are such measures; nDCG and AP are not, because they divide by what other documents are worth.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.runs.columns import Ranked
from assay.measures import kernels
from assay.measures.matching import JudgedDocuments
from assay.protocols.measures import Measure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LINEAR = ("CG", "DCG", "P", "Grade", "RBP")


def check_linear(measure: Measure) -> None:
    """Refuse a measure that is not a sum of weights and gains.

    Raises:
        InputError: It is not, or its gain depends on the highest grade of a topic.
    """
    if measure.family not in LINEAR:
        raise InputError(
            f"{measure} cannot be estimated from sampled units, because it is not a sum over ranks; use "
            f"{', '.join(LINEAR)}, or let people judge whole topics"
        )
    if measure.family == "RBP" and not measure.level and measure.number("max_rel") is None:
        raise InputError(
            f"{measure}: the gain depends on the highest grade of each topic; name the highest grade, such as "
            "RBP(max_rel=4), or a level, such as RBP(rel=2)"
        )


def is_linear(measure: Measure) -> bool:
    """Return whether `check_linear` accepts a measure."""
    try:
        check_linear(measure)
    except InputError:
        return False
    return True


def gains(measure: Measure, grade: Ints) -> Floats:
    """(units,) the gain of each grade; that of a negative one is that of 0.

    >>> from assay.protocols.measures import parse_measures
    >>> gains(parse_measures(["P(rel=2)@5"])[0], np.array([0, 1, 2, 3])).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    check_linear(measure)
    grade = np.maximum(grade, 0)
    top = measure.number("max_rel") if measure.family == "RBP" and not measure.level else None
    if measure.family == "P" or (measure.family == "RBP" and measure.level):
        return (grade >= measure.level).astype(np.float64)
    if top is not None:
        return np.minimum(grade / top, 1.0)
    if measure.family == "DCG":
        return kernels.dcg_gains(grade, measure)
    return grade.astype(np.float64)


def rank_weights(measure: Measure, rank: Ints) -> Floats:
    """(hits,) what a gain of 1 adds to the measure at each rank; 0 below the cutoff."""
    check_linear(measure)
    weight: Floats
    if measure.family == "DCG":
        weight = 1.0 / kernels.discounts(int(rank.max(initial=1)))[rank]
    elif measure.family == "RBP":
        persistence = measure.number("p") or 0.0
        weight = (1.0 - persistence) * np.power(persistence, rank - 1, dtype=np.float64)
    else:
        weight = np.full(len(rank), 1.0 if measure.family == "CG" else 1.0 / (measure.k or 1))
    return np.where(rank <= (measure.k or np.inf), weight, 0.0)


def weights_of(runs: Sequence[Ranked], judged: JudgedDocuments, measure: Measure) -> Floats:
    """(runs, units) the weight of each unit of the qrels in each run; 0 if the run does not have it.

    Args:
        judged: the machine's qrels. A unit with a negative grade is one that the machine skipped. A prime, as in
            `P@10'`, removes documents without a grade of the machine.

    Raises:
        InputError: As for `check_linear`.
    """
    check_linear(measure)
    weights = np.zeros((len(runs), len(judged.topic)))
    for row, run in zip(weights, runs, strict=True):
        hits = judged.hits(run).judged_only() if measure.judged_only else judged.named_hits(run)
        assert hits.entry is not None  # they are of a run
        row[hits.entry] = rank_weights(measure, hits.rank)
    return weights


class Units(NamedTuple):
    """The units that a machine judged, for one measure.

    Args:
        topic: (units,) index of the topic.
        n_topics: number of topics.
        weight: (runs, units) as `weights_of` returns it.
        gain: (units,) gain by the machine's grade.
    """

    topic: Ints
    n_topics: int
    weight: Floats
    gain: Floats

    @property
    def by_machine(self) -> Floats:
        """(runs, topics) the values by the machine alone."""
        return sums_by_topic(self.weight * self.gain, self.topic, self.n_topics)


def sums_by_topic(terms: Floats, topic: Ints, n_topics: int) -> Floats:
    """(rows, topics) sums of the terms (rows, units)."""
    return np.array([np.bincount(topic, weights=row, minlength=n_topics) for row in terms]).reshape(
        len(terms), n_topics
    )
