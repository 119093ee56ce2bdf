"""Refusals that are raised at several places, or caught."""

from collections.abc import Iterable

from accounts.models import User
from assay.errors import Refused
from assay.languages import any_of
from assay.protocols.schema import FollowUp, Grade, JudgingRules, NonAnswer
from assessment.models import Batch, Judgment
from tracks.models import Topic
from web.counting import counted


class BatchNameTaken(Refused):
    def __init__(self, name: str) -> None:
        super().__init__(f"The pool already has a batch “{name}”; choose another name.")


class WrongState(Refused):
    def __init__(self, batch: Batch, wanted: str) -> None:
        super().__init__(f"The batch “{batch}” is {batch.get_status_display()}; it cannot be {wanted}.")


class BatchNotOpen(Refused):
    title = "This batch is not open"

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"The batch “{batch}” is {batch.get_status_display()}. You can take tasks only while it is open."
        )


class BatchClosed(Refused):
    title = "This batch is closed"

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"The batch “{batch}” is closed, so your judgment did not change. Ask the organizer if it must change."
        )


class TopicWithdrawn(Refused):
    def __init__(self, topic: Topic) -> None:
        super().__init__(f"Topic {topic} is no longer assigned to you, so your judgment did not change.")


class NotAnAssessor(Refused):
    def __init__(self, user: User, track: object) -> None:
        super().__init__(f"{user} is not an assessor of {track}; add them to the track's assessors first.")


class TopicAlreadyAssigned(Refused):
    def __init__(self, topic: Topic, holders: str) -> None:
        super().__init__(
            f"Topic {topic} is already assigned to {holders} in this batch; withdraw it from them first."
        )


class PlanChanged(Refused):
    title = "The plan has changed"

    def __init__(self) -> None:
        super().__init__(
            "Somebody changed the assignments of this batch after you had seen the preview. Nothing was changed now. "
            "Look at the plan, and try again."
        )


class NothingToChange(Refused):
    def __init__(self, reason: str) -> None:
        super().__init__(f"Nothing would change: {reason}")


class NothingToUndo(Refused):
    title = "Nothing to undo"

    def __init__(self) -> None:
        super().__init__(
            "There is no judgment of yours to undo: you have judged nothing else, or it does not count."
        )


class NothingToReturn(Refused):
    title = "Nothing to return"

    def __init__(self) -> None:
        super().__init__(
            "This judgment is not a non-answer that counts: its assessor has changed it, or it was returned already."
        )


class AlreadySubmitted(Refused):
    title = "This task is submitted"

    def __init__(self) -> None:
        super().__init__(
            "You have submitted this task already. To change your judgment, submit another choice."
        )


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
        documents = f" for documents in {any_of(question.languages)}" if question.languages else ""
        super().__init__(
            key, f"“{question.label}” is asked only after {after}{documents}: take its answer back."
        )


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


class NotReady(Refused):
    title = "These judgments cannot be imported"

    def __init__(self, n_complaints: int) -> None:
        problem = f"it has {counted(n_complaints, 'error')}" if n_complaints else "it has nothing new"
        super().__init__(f"Nothing was imported from the file, because {problem}. Its page names the lines.")


class AlreadyImported(Refused):
    title = "Imported already"

    def __init__(self) -> None:
        super().__init__("These judgments were imported already. Judgments are never deleted or changed.")
