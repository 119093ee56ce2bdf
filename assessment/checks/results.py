"""The results of hidden checks: agreement of a track's assessors with known grades and with themselves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay import plots
from assay.statistics.agreement import Kappa, cohen_kappa
from assay.tables import as_tsv, text_of
from assessment.checks.selectors import CheckAnswer, gold_answers, repeat_answers
from tracks.models import Track


def parts(values: Sequence[bool], n: int) -> list[tuple[int, int]]:
    """`n` consecutive parts of almost equal length: how many values are true, of how many.

    >>> parts([True, False, True, True], 2)
    [(1, 2), (2, 2)]
    """
    ends = [len(values) * i // n for i in range(n + 1)]
    return [(sum(values[start:end]), end - start) for start, end in pairwise(ends)]


N_PARTS = 5
EVERYONE = ""


class CheckResult(NamedTuple):
    """The checks of one kind of one assessor.

    equal, two_way : share of answers with the expected grade, and with the same class of grades; nan without answers.
    bias : mean difference of the grade from the expected one; nan without grades.
    kappa : Cohen's kappa of the answers with the expected grades.
    parts : answers as expected, of how many, in five parts in the order of time.
    answered : share of the expected answers to questions that are given; nan if none is expected.
    """

    n: int
    equal: float
    two_way: float
    bias: float
    kappa: Kappa
    parts: list[tuple[int, int]]
    answered: float

    @property
    def answered_percent(self) -> float:
        return 100 * self.answered

    @property
    def shares(self) -> list[float]:
        """The share of answers as expected in each part; empty if a part has no checks."""
        return [equal / n for equal, n in self.parts] if all(n for _, n in self.parts) else []

    @property
    def percent(self) -> float:
        return 100 * self.equal

    @property
    def two_way_percent(self) -> float:
        return 100 * self.two_way

    @property
    def reason(self) -> str:
        """The reason why kappa is undefined; empty if it is defined."""
        if not math.isnan(self.kappa.value):
            return ""
        return (
            "no grades yet" if not self.kappa.n else "all grades are equal, so chance alone gives agreement"
        )


def result_of(answers: Sequence[CheckAnswer], level: int) -> CheckResult:
    """The result of some answers; grades from `level` on are relevant. Non-answers count as unequal to every grade."""
    graded = [
        (answer.grade, answer.expected)
        for answer in answers
        if answer.grade is not None and answer.expected is not None
    ]
    pairs = np.array(graded, dtype=np.int64).reshape(-1, 2)
    same_class = int(((pairs[:, 0] >= level) == (pairs[:, 1] >= level)).sum())
    n_non_answers = sum(answer.grade is None and answer.is_equal for answer in answers)
    n = len(answers)
    equal = [
        answer.answers.get(question) == expected
        for answer in answers
        for question, expected in answer.expected_answers.items()
    ]
    return CheckResult(
        n,
        sum(answer.is_equal for answer in answers) / n if n else math.nan,
        (same_class + n_non_answers) / n if n else math.nan,
        float((pairs[:, 0] - pairs[:, 1]).mean()) if len(pairs) else math.nan,
        cohen_kappa(pairs[:, 0], pairs[:, 1]),
        parts([answer.is_equal for answer in answers], N_PARTS),
        sum(equal) / len(equal) if equal else math.nan,
    )


class AssessorResult(NamedTuple):
    """One assessor, or all of them together (without a name)."""

    name: str
    gold: CheckResult
    repeats: CheckResult


@dataclass(frozen=True)
class ResultsPage:
    """The results of all assessors, and the drift of the chosen one."""

    track: Track
    level: int
    everyone: AssessorResult
    assessors: list[AssessorResult]
    chosen: AssessorResult
    labels: list[str]
    plot: plots.Plot | None
    has_questions: bool


def results_page(track: Track, name: str) -> ResultsPage:
    """The results by assessor; the chart is of the assessor with a name, or of all. The number of queries is fixed."""
    level = track.protocol.parsed.agreement.binary_from
    everyone, assessors = results_of(track, level)
    chosen = next((assessor for assessor in assessors if assessor.name == name), everyone)
    labels = [f"part {n}" for n in range(1, N_PARTS + 1)]
    curves = [
        (label, result.shares)
        for label, result in (("known grades", chosen.gold), ("own judgments", chosen.repeats))
        if result.shares
    ]
    title = f"{track.name}: share of answers to hidden checks that are equal, {name or 'all assessors'}"
    plot = plots.lines("drift", title, labels, curves, across="Time", up="Share equal") if curves else None
    has_questions = bool(track.protocol.parsed.judging.questions)
    return ResultsPage(track, level, everyone, assessors, chosen, labels, plot, has_questions)


def results_of(track: Track, level: int) -> tuple[AssessorResult, list[AssessorResult]]:
    """The result of all assessors together, and of each who answered a check, by name."""
    gold, repeats = gold_answers(track), repeat_answers(track)
    names = sorted({answer.assessor for answer in [*gold, *repeats]})
    assessors = []
    for name in names:
        own_gold = [answer for answer in gold if answer.assessor == name]
        own_repeats = [answer for answer in repeats if answer.assessor == name]
        assessors.append(AssessorResult(name, result_of(own_gold, level), result_of(own_repeats, level)))
    together = AssessorResult(
        EVERYONE,
        result_of(gold, level)._replace(parts=_together([assessor.gold for assessor in assessors])),
        result_of(repeats, level)._replace(parts=_together([assessor.repeats for assessor in assessors])),
    )
    return together, assessors


def _together(results: Sequence[CheckResult]) -> list[tuple[int, int]]:
    """The parts of all assessors together: the first part of each, the second part of each, ..."""
    columns = zip(*(result.parts for result in results), strict=True)
    summed = [(sum(equal for equal, _ in column), sum(n for _, n in column)) for column in columns]
    return summed or [(0, 0)] * N_PARTS


HEADER = (
    "assessor", "gold", "gold_equal", "gold_two_way", "gold_bias", "gold_kappa",
    "repeats", "repeats_equal", "repeats_two_way", "repeats_kappa", "gold_answers", "repeats_answers",
    *(f"{kind}_part_{n}" for kind in ("gold", "repeats") for n in range(1, N_PARTS + 1)),
)  # fmt: skip
OF_SCALES = {"gold_two_way", "gold_bias", "repeats_two_way"}  # columns that need grades in an order


def results_file(track: Track) -> tuple[str, str]:
    """The results of each assessor as TSV, and the name of the file.

    Undefined values are empty. Pairs and forms have no columns of scales.
    """
    protocol = track.protocol.parsed
    _, assessors = results_of(track, protocol.agreement.binary_from)
    left_out = () if protocol.judging.has_scale else OF_SCALES
    rows = []
    for assessor in assessors:
        gold, repeats = assessor.gold, assessor.repeats
        own = [repeats.equal, repeats.two_way, repeats.kappa.value, gold.answered, repeats.answered]
        parts_of_both = [*gold.parts, *repeats.parts]
        own += [equal / n if n else math.nan for equal, n in parts_of_both]
        values = map(text_of, (gold.equal, gold.two_way, gold.bias, gold.kappa.value))
        row = [assessor.name, str(gold.n), *values, str(repeats.n), *map(text_of, own)]
        rows.append([value for name, value in zip(HEADER, row, strict=True) if name not in left_out])
    return as_tsv([name for name in HEADER if name not in left_out], rows), f"{track.slug}-hidden-checks.tsv"
