"""Rubrics: weighted criteria of good answers to a topic, and the scores of answers that were graded by them.

The score of an answer is the sum of weight times value, divided by the sum of the positive weights. The value of a
criterion is 1 if the answer satisfies it, 1/2 if it does so in part, and 0 otherwise. A criterion with a negative
weight names what an answer must avoid; so scores can be negative. A rubric without a positive weight has no score.

Source: RAGDoll 1f06719, rubric/metrics.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SATISFIED, PARTLY, NOT = "satisfied", "partially_satisfied", "not_satisfied"
VALUES = {SATISFIED: 1.0, PARTLY: 0.5, NOT: 0.0}
BINARY = {SATISFIED: 1.0, PARTLY: 0.0, NOT: 0.0}
TIERS = ("mandatory", "optional")
FEW, MOST = 0.1, 0.8  # of the systems; criteria between them separate systems


@dataclass(frozen=True)
class Criterion:
    """A criterion of a rubric.

    Args:
        weight: negative for what an answer must avoid.
        tier: one of `TIERS`.
        kind: what it is about, such as "explicit" or "references".
        source: the text of the nugget from which it was made; or empty.
        verdict: one of `VALUES` in a graded answer, else empty.
        more: keys of its file that are not read, with their values.
    """

    text: str
    weight: float
    tier: str = "optional"
    kind: str = "explicit"
    source: str = ""
    verdict: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rubric:
    """The criteria of a topic; or, with a run, an answer that was graded by them. `words` is None if it is unknown."""

    topic: str
    title: str
    criteria: tuple[Criterion, ...]
    run: str = ""
    words: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """The number of mandatory criteria that the answer does not satisfy in full."""
        return sum(each.tier == "mandatory" and each.verdict != SATISFIED for each in self.criteria)


def score(criteria: Iterable[Criterion], values: Mapping[str, float] = VALUES) -> float | None:
    """The score of an answer; None if no weight is positive.

    >>> score([Criterion("Names the year.", 3, verdict=PARTLY), Criterion("Invents a source.", -1, verdict=SATISFIED)])
    0.16666666666666666
    """
    known = list(criteria)
    most = sum(each.weight for each in known if each.weight > 0)
    return sum(each.weight * values[each.verdict] for each in known) / most if most > 0 else None


class Impact(NamedTuple):
    """A criterion with the answers that were graded by it.

    Args:
        runs: number of them.
        satisfied, partly: shares of them.
        verdict: "separates"; "universal" if more than 0.8 of them satisfy it; "hard" if fewer than 0.1 do.
    """

    topic: str
    criterion: Criterion
    runs: int
    satisfied: float
    partly: float

    @property
    def verdict(self) -> str:
        if self.satisfied > MOST:
            return "universal"
        return "hard" if self.satisfied < FEW else "separates"


def impacts(answers: Sequence[Rubric]) -> list[Impact]:
    """The impact of each criterion on each topic, in the order of the answers."""
    verdicts: dict[tuple[str, str], list[str]] = {}
    criteria: dict[tuple[str, str], Criterion] = {}
    for answer in answers:
        for each in answer.criteria:
            key = answer.topic, each.text
            criteria.setdefault(key, each)
            verdicts.setdefault(key, []).append(each.verdict)
    return [
        Impact(
            key[0],
            criteria[key],
            len(given),
            given.count(SATISFIED) / len(given),
            given.count(PARTLY) / len(given),
        )
        for key, given in verdicts.items()
    ]
