"""Refusals that are raised at several places, or caught."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from accounts.models import User
from assay.errors import Refused
from assessment.models import Batch, Judgment
from tracks.models import Topic
from web.pages import counted


class WrongState(Refused):
    def __init__(self, batch: Batch, wanted: str) -> None:
        super().__init__(f"The batch “{batch}” is {batch.get_status_display()}; it cannot be {wanted}.")


class BatchNotOpen(Refused):
    title = gettext_noop("This batch is not open")

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            gettext("The batch “{batch}” is {status}. You can take tasks only while it is open.").format(
                batch=batch, status=gettext(batch.get_status_display())
            )
        )


class BatchClosed(Refused):
    title = gettext_noop("This batch is closed")

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            gettext(
                "The batch “{batch}” is closed, so your judgment did not change. Ask the organizer if it must change."
            ).format(batch=batch)
        )


class TopicWithdrawn(Refused):
    def __init__(self, topic: Topic) -> None:
        super().__init__(
            gettext("Topic {topic} is no longer assigned to you, so your judgment did not change.").format(
                topic=topic
            )
        )


class UnitTaken(Refused):
    title = gettext_noop("Somebody else has this unit now")

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "Your time for this unit was over, and somebody else has it or has judged it. Go on with another one."
            ),
            code="unit-taken",
        )


class NotAnAssessor(Refused):
    def __init__(self, user: User, track: object) -> None:
        super().__init__(f"{user} is not an assessor of {track}; add them to the track's assessors first.")


class TopicAlreadyAssigned(Refused):
    def __init__(self, topic: Topic, holders: str) -> None:
        super().__init__(
            f"Topic {topic} is already assigned to {holders} in this batch; withdraw it from them first."
        )


class NothingToChange(Refused):
    def __init__(self, reason: str) -> None:
        super().__init__(f"Nothing would change: {reason}")


class NothingToUndo(Refused):
    title = gettext_noop("Nothing to undo")

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "There is no judgment of yours to undo: you have judged nothing else, or it does not count."
            )
        )


class AnswerRefused(Refused):
    """A choice, its comment or an answer to a question is missing or not accepted; `field` names it."""

    def __init__(self, field: str, message: str, *, code: str) -> None:
        super().__init__(message, code=code)
        self.field = field


class RequestReused(Refused):
    title = gettext_noop("This page was already submitted")

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "This page has already submitted another judgment. Check your choice, and submit it again."
            )
        )


class JudgedElsewhere(Refused):
    """The page did not show the current judgment: it was submitted in another tab or on another computer."""

    title = gettext_noop("Judged in another window")

    def __init__(self, judgment: Judgment, label: str) -> None:
        super().__init__(
            gettext(
                "You judged this “{choice}” in another window, at {time} UTC. "
                "Submit again to change it to your choice here."
            ).format(choice=label, time=f"{judgment.created_at:%H:%M:%S}")
        )
        self.judgment = judgment


class NotReady(Refused):
    title = "These judgments cannot be imported"

    def __init__(self, n_complaints: int, complaints: Sequence[Any] = ()) -> None:
        self.complaints = complaints
        problem = f"it has {counted(n_complaints, 'error')}" if n_complaints else "it has nothing new"
        super().__init__(f"Nothing was imported from the file, because {problem}. Its page names the lines.")


class NuggetRefused(Refused):
    title = gettext_noop("The nuggets were not changed")
