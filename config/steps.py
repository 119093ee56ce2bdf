"""What a user does next in a track: the steps of their role, and how far each has come."""

from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Count, Q
from django.urls import reverse

from accounts.access import AnyUser
from accounts.models import User
from assessment.models import Batch, Task, TopicAssignment
from pooling.models import Pool, Run
from scoring.models import Leaderboard, Qrels
from tracks.agreements.selectors import has_accepted
from tracks.assessors.selectors import is_assessor
from tracks.models import Track
from web.counting import counted


class Step(NamedTuple):
    label: str
    state: str
    address: str
    is_done: bool


@dataclass(frozen=True)
class Steps:
    """The steps of a role under a heading; a user without a role has none."""

    heading: str = ""
    steps: list[Step] = field(default_factory=list)


def steps_for(user: AnyUser, track: Track) -> Steps:
    """The steps of the user's role in a track."""
    if not isinstance(user, User):
        return Steps()
    if user.is_organizer:
        return Steps("Campaign", [*_before_runs(track), *_after_runs(track)])
    if is_assessor(user, track):
        return Steps("Your role: assessor", _of_assessor(user, track))
    if user.teams.filter(track=track).exists():
        return Steps("Your role: participant", _of_participant(user, track))
    return Steps()


def _before_runs(track: Track) -> list[Step]:
    n_topics, n_assessors, n_teams = track.topics.count(), track.assessors.count(), track.teams.count()
    collection = track.collection
    is_loaded = collection is not None and collection.status == collection.Status.READY
    collection_state = str(collection) if collection else "none, so documents of runs are not checked"
    topics, teams = (
        reverse("tracks:import_topics", args=[track.slug]),
        reverse("admin:pooling_team_changelist"),
    )
    in_admin = reverse("admin:tracks_track_change", args=[track.pk])
    is_open = track.status != track.Status.DRAFT
    return [
        Step("Collection", collection_state, reverse("corpus:imports"), is_loaded),
        Step("Topics", counted(n_topics, "topic"), topics, n_topics > 0),
        Step("Assessors", counted(n_assessors, "person,people"), in_admin, n_assessors > 0),
        Step("Teams", counted(n_teams, "team"), teams, n_teams > 0),
        Step("Open for runs", track.get_status_display(), track.get_absolute_url(), is_open),
    ]


def _after_runs(track: Track) -> list[Step]:
    n_runs = Run.objects.filter(track=track, status=Run.Status.SUBMITTED).count()
    n_pools = Pool.objects.filter(track=track, status=Pool.Status.READY).count()
    return [
        Step("Runs", counted(n_runs, "run"), reverse("pooling:runs", args=[track.slug]), n_runs > 0),
        Step("Pool", counted(n_pools, "pool"), reverse("pooling:pools", args=[track.slug]), n_pools > 0),
        _judging(track),
        *_scoring(track),
    ]


def _judging(track: Track) -> Step:
    batches = Batch.objects.filter(pool__track=track)
    counts = batches.aggregate(n=Count("pk"), open=Count("pk", filter=Q(status=Batch.Status.OPEN)))
    n_judged = Task.objects.filter(batch__in=batches, status=Task.Status.SUBMITTED).count()
    return Step(
        "Judging",
        f"{counted(counts['n'], 'batch,batches')}, {counts['open']} open, {counted(n_judged, 'judgment')}",
        reverse("assessment:judging", args=[track.slug]),
        counts["n"] > 0 and counts["open"] == 0,
    )


def _scoring(track: Track) -> list[Step]:
    qrels = Qrels.objects.filter(track=track, archived_at=None).first()
    board = Leaderboard.objects.filter(track=track, status=Leaderboard.Status.READY).first()
    release = board.get_release_display() if board and board.release != Leaderboard.Release.HIDDEN else ""
    qrels_list = reverse("scoring:qrels_list", args=[track.slug])
    boards = reverse("scoring:leaderboards", args=[track.slug])
    return [
        Step("Qrels", str(qrels) if qrels else "not frozen yet", qrels_list, qrels is not None),
        Step(
            "Leaderboard", f"released to {release}" if release else "not released yet", boards, bool(release)
        ),
    ]


def _of_assessor(user: User, track: Track) -> list[Step]:
    n_topics = TopicAssignment.objects.filter(
        assessor=user, is_withdrawn=False, batch__pool__track=track, batch__status=Batch.Status.OPEN
    ).count()
    n_judged = Task.objects.filter(
        assessor=user, batch__pool__track=track, status=Task.Status.SUBMITTED
    ).count()
    state = f"{counted(n_topics, 'topic')} assigned to you, {counted(n_judged, 'judgment')} submitted"
    return [Step("Judge", state, reverse("assessment:mine"), False)]


def _agreement(user: User, track: Track) -> list[Step]:
    """The step of the data agreement, if the track has one."""
    if track.agreement_id is None:
        return []
    is_accepted = has_accepted(user, track)
    state = "accepted" if is_accepted else "to accept before you get data or submit runs"
    return [Step("Data agreement", state, reverse("tracks:agreement", args=[track.slug]), is_accepted)]


def _of_participant(user: User, track: Track) -> list[Step]:
    n_topics = track.topics.count()
    n_runs = Run.objects.filter(track=track, team__members=user, status=Run.Status.SUBMITTED).count()
    is_released = Leaderboard.objects.filter(track=track).exclude(release=Leaderboard.Release.HIDDEN).exists()
    runs = reverse("pooling:runs", args=[track.slug])
    boards = reverse("scoring:leaderboards", args=[track.slug])
    return [
        *_agreement(user, track),
        Step("Topics", counted(n_topics, "topic"), reverse("tracks:topics", args=[track.slug]), True),
        Step("Your runs", f"{counted(n_runs, 'run')} submitted", runs, n_runs > 0),
        Step("Leaderboard", "released" if is_released else "not released yet", boards, is_released),
    ]
