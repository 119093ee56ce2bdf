"""Refusals about judgments."""

from collections.abc import Iterable

from assay.errors import Refused
from assay.protocols.schema import Grade, NonAnswer
from assessment.models import Judgment


class UnknownChoice(Refused):
    field = "choice"

    def __init__(self, choice: str, allowed: Iterable[Grade | NonAnswer]) -> None:
        keys = ", ".join(known.key for known in allowed)
        super().__init__(f"“{choice}” is not a choice of this protocol; use {keys}.")


class CommentNeeded(Refused):
    field = "comment"

    def __init__(self, choice: Grade | NonAnswer) -> None:
        super().__init__(f"“{choice.label}” needs a comment that says why.")


class MembersMissing(Refused):
    def __init__(self, n: int) -> None:
        missing = (
            f"{n} of its formulas {'has' if n == 1 else 'have'} no choice yet" if n else "it holds others"
        )
        super().__init__(f"A unit is judged whole, and {missing}: choose for each formula that is shown.")


class RequestReused(Refused):
    title = "This page was sent before"

    def __init__(self) -> None:
        super().__init__(
            "This page has sent another judgment before. Check your choice, and submit it again."
        )


class JudgedElsewhere(Refused):
    """The page did not show the judgment that stands: another tab, or another computer, has submitted one."""

    title = "Judged in another window"

    def __init__(self, judgment: Judgment, label: str) -> None:
        super().__init__(
            f"You judged this “{label}” in another window, at {judgment.created_at:%H:%M:%S} UTC. "
            "Submit again to change it to your choice here."
        )
        self.judgment = judgment
