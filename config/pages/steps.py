"""The next steps of a user in a track: those of their role, and how far each has come."""

from dataclasses import dataclass, field
from typing import NamedTuple

from django.urls import reverse
from django.utils.translation import gettext

from accounts.access import AnyUser
from accounts.models import User
from assessment.models import Batch, Task, TopicAssignment
from participation.requests.selectors import takes_requests
from pooling.models import Run
from scoring.models import Leaderboard
from tracks.agreements.selectors import has_accepted
from tracks.assessors.selectors import is_assessor
from tracks.models import Track
from web.pages import counted


class Step(NamedTuple):
    label: str
    state: str
    address: str
    is_done: bool


@dataclass(frozen=True)
class Steps:
    """The steps of a role under a heading; a person without a role sees how to get one in an open track."""

    heading: str = ""
    steps: list[Step] = field(default_factory=list)


def steps_for(user: AnyUser, track: Track) -> Steps:
    """The steps of the user's role in a track; organizers have a checklist instead."""
    if not isinstance(user, User):
        return _to_join(track)
    if user.oversees(track.pk):
        return Steps()
    if is_assessor(user, track):
        n_topics = TopicAssignment.objects.filter(
            assessor=user, is_withdrawn=False, batch__pool__track=track, batch__status=Batch.Status.OPEN
        ).count()
        n_judged = Task.objects.filter(
            assessor=user, batch__pool__track=track, status=Task.Status.SUBMITTED
        ).count()
        state = gettext("{topics} assigned to you, {judgments} submitted").format(
            topics=counted(n_topics, "topic"), judgments=counted(n_judged, "judgment")
        )
        judge = Step(gettext("Judge"), state, reverse("assessment:mine"), False)
        return Steps(gettext("Your role: assessor"), [judge])
    if user.teams.filter(track=track).exists():
        n_topics = track.topics.count()
        n_runs = Run.objects.filter(track=track, team__members=user, status=Run.Status.SUBMITTED).count()
        is_released = (
            Leaderboard.objects.filter(track=track).exclude(release=Leaderboard.Release.HIDDEN).exists()
        )
        runs = reverse("pooling:runs", args=[track.slug])
        boards = reverse("scoring:leaderboards", args=[track.slug])
        steps = []
        if track.agreement_id is not None:
            is_accepted = has_accepted(user, track)
            state = "accepted" if is_accepted else "to accept before you get data or submit runs"
            address = reverse("tracks:agreement", args=[track.slug])
            steps.append(Step("Data agreement", state, address, is_accepted))
        return Steps(
            "Your role: participant",
            [
                *steps,
                Step("Topics", counted(n_topics, "topic"), reverse("tracks:topics", args=[track.slug]), True),
                Step("Your runs", f"{counted(n_runs, 'run')} submitted", runs, n_runs > 0),
                Step("Leaderboard", "released" if is_released else "not released yet", boards, is_released),
            ],
        )
    return _to_join(track)


def _to_join(track: Track) -> Steps:
    """The way into a track that takes requests."""
    if not takes_requests(track):
        return Steps()
    address = reverse("participation:ask_to_join", args=[track.slug])
    return Steps("Take part", [Step("Request to join", "an organizer puts you into a team", address, False)])
