"""Refusals that are raised at several places, or caught."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from accounts.models import User
from assay.errors import Refused
from assessment.models import Batch, Judgment
from tracks.models import Topic
from web.pages import counted


def batch_not_open(batch: Batch) -> Refused:
    return Refused(
        gettext("The batch “{batch}” is {status}. You can take tasks only while it is open.").format(
            batch=batch, status=gettext(batch.get_status_display())
        ),
        code="batch-not-open",
        title=gettext_noop("This batch is not open"),
    )


def batch_closed(batch: Batch) -> Refused:
    return Refused(
        gettext(
            "The batch “{batch}” is closed, so your judgment did not change. Ask the organizer if it must change."
        ).format(batch=batch),
        code="batch-closed",
        title=gettext_noop("This batch is closed"),
    )


def topic_withdrawn(topic: Topic) -> Refused:
    return Refused(
        gettext("Topic {topic} is no longer assigned to you, so your judgment did not change.").format(
            topic=topic
        ),
        code="topic-withdrawn",
    )


def not_an_assessor(user: User, track: object) -> Refused:
    return Refused(
        f"{user} is not an assessor of {track}; add them to the track's assessors first.",
        code="not-an-assessor",
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


class AnswerRefused(Refused):
    """A choice, its comment or an answer to a question is missing or not accepted; `field` names it."""

    def __init__(self, field: str, message: str, *, code: str) -> None:
        super().__init__(message, code=code)
        self.field = field


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
