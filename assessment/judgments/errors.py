"""Refusals about judgments."""

from collections.abc import Iterable

from assay.errors import Refused
from assay.protocols.schema import FollowUp, Grade, JudgingRules, NonAnswer
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


class FollowUpRefused(Refused):
    """An answer to a follow-up question is missing or not accepted; `key` names the question."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class AnswerNeeded(FollowUpRefused):
    def __init__(self, question: FollowUp) -> None:
        super().__init__(question.key, f"Answer “{question.label}”")


class UnknownAnswer(FollowUpRefused):
    def __init__(self, question: FollowUp, answer: str) -> None:
        accepted = ", ".join(question.choices)
        super().__init__(question.key, f"“{answer}” is not an answer to “{question.label}” Use {accepted}.")


class NotAsked(FollowUpRefused):
    def __init__(self, key: str, question: FollowUp | None, rules: JudgingRules) -> None:
        if question is None:
            keys = ", ".join(each.key for each in rules.follow_ups) or "none"
            super().__init__(key, f"“{key}” is not a follow-up question of this protocol; it has {keys}.")
            return
        after = " or ".join(grade.label for grade in rules.grades if grade.key in question.after)
        documents = f" for documents in {' or '.join(question.languages)}" if question.languages else ""
        super().__init__(
            key, f"“{question.label}” is asked only after {after}{documents}: take its answer back."
        )


class MembersMissing(Refused):
    def __init__(self, n: int) -> None:
        missing = (
            f"{n} {'instance has' if n == 1 else 'instances have'} no choice"
            if n
            else "the choices are for other instances"
        )
        super().__init__(f"All instances of a formula are submitted at once, but {missing}: choose for each.")


class RequestReused(Refused):
    title = "This page was already submitted"

    def __init__(self) -> None:
        super().__init__(
            "This page has already submitted another judgment. Check your choice, and submit it again."
        )


class JudgedElsewhere(Refused):
    """The page did not show the current judgment: it was submitted in another tab or on another computer."""

    title = "Judged in another window"

    def __init__(self, judgment: Judgment, label: str) -> None:
        super().__init__(
            f"You judged this “{label}” in another window, at {judgment.created_at:%H:%M:%S} UTC. "
            "Submit again to change it to your choice here."
        )
        self.judgment = judgment
