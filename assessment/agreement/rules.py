"""When the judgments of a unit count as a disagreement."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Rule = Literal["any", "threshold", "steps", "non-answer"]


class Difference(NamedTuple):
    """Which disagreements are wanted: any different choice, grades on both sides of the threshold of relevance, or
    grades that are at least `steps` apart; or a non-answer, also of the only judge."""

    rule: Rule = "any"
    steps: int = 2


class Vote(NamedTuple):
    """A judgment of a unit, by its id; `grade` is None for a non-answer."""

    judgment: int
    assessor: str
    label: str
    grade: int | None


def is_difference(votes: Sequence[Vote], difference: Difference, level: int) -> bool:
    """Whether votes differ as asked; `level` is the grade from which a unit is relevant.

    A non-answer differs from every other choice under the rule "any"; the other rules compare grades only.

    >>> votes = [Vote(1, "ana", "High", 3), Vote(2, "ben", "Medium", 2)]
    >>> is_difference(votes, Difference("any"), 2), is_difference(votes, Difference("threshold"), 2)
    (True, False)
    """
    if difference.rule == "non-answer":
        return any(vote.grade is None for vote in votes)
    if difference.rule == "any":
        return len({vote.label for vote in votes}) > 1
    grades = [vote.grade for vote in votes if vote.grade is not None]
    if len(grades) < 2:
        return False
    if difference.rule == "threshold":
        return min(grades) < level <= max(grades)
    return max(grades) - min(grades) >= difference.steps
