"""What a person does next in a track: the way of the data, with what has been reached."""

from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q
from django.urls import reverse

from accounts.models import User
from assessment.models import Batch, Task, TopicAssignment
from pooling.models import Pool, Run
from scoring.models import Leaderboard, Qrels
from tracks.assessors.selectors import is_assessor
from tracks.models import Track


class Step(NamedTuple):
    label: str
    state: str
    address: str
    is_done: bool


def steps_for(user: User | AnonymousUser, track: Track) -> dict[str, object]:
    """Heading and steps for the person's part in the track; no steps for a visitor."""
    if not isinstance(user, User):
        return {"steps": []}
    if user.is_organizer:
        return {"heading": "The campaign", "steps": [*_before_runs(track), *_after_runs(track)]}
    if is_assessor(user, track):
        return {"heading": "Your part: assessor", "steps": _of_assessor(user, track)}
    if user.teams.filter(track=track).exists():
        return {"heading": "Your part: participant", "steps": _of_participant(user, track)}
    return {"steps": []}


def _before_runs(track: Track) -> list[Step]:
    n_topics, n_assessors = track.topics.count(), track.assessors.count()
    n_teams = track.teams.count()
    collection = track.collection
    in_admin = reverse("admin:tracks_track_change", args=[track.pk])
    return [
        Step(
            "Collection",
            str(collection) if collection else "none: runs are checked without it",
            reverse("corpus:imports"),
            collection is not None and collection.status == collection.Status.READY,
        ),
        Step(
            "Topics", _n(n_topics, "topic"), reverse("tracks:import_topics", args=[track.slug]), n_topics > 0
        ),
        Step("Assessors", _n(n_assessors, "person", "people"), in_admin, n_assessors > 0),
        Step("Teams", _n(n_teams, "team"), reverse("admin:pooling_team_changelist"), n_teams > 0),
        Step(
            "Open for runs",
            track.get_status_display(),
            track.get_absolute_url(),
            track.status != track.Status.DRAFT,
        ),
    ]


def _after_runs(track: Track) -> list[Step]:
    n_runs = Run.objects.filter(track=track, status=Run.Status.SUBMITTED).count()
    pools = Pool.objects.filter(track=track, status=Pool.Status.READY).count()
    batches = Batch.objects.filter(pool__track=track)
    judging = batches.aggregate(n=Count("pk"), open=Count("pk", filter=Q(status=Batch.Status.OPEN)))
    n_judged = Task.objects.filter(batch__in=batches, status=Task.Status.SUBMITTED).count()
    qrels = Qrels.objects.filter(track=track).first()
    board = Leaderboard.objects.filter(track=track, status=Leaderboard.Status.READY).first()
    released = board is not None and board.release != Leaderboard.Release.HIDDEN
    return [
        Step("Runs", _n(n_runs, "run"), reverse("pooling:runs", args=[track.slug]), n_runs > 0),
        Step("Pool", _n(pools, "pool"), reverse("pooling:pools", args=[track.slug]), pools > 0),
        Step(
            "Judging",
            f"{_n(judging['n'], 'batch', 'batches')}, {judging['open']} open, {_n(n_judged, 'judgment')}",
            reverse("assessment:judging", args=[track.slug]),
            judging["n"] > 0 and judging["open"] == 0,
        ),
        Step(
            "Qrels",
            str(qrels) if qrels else "not frozen yet",
            reverse("scoring:qrels_list", args=[track.slug]),
            qrels is not None,
        ),
        Step(
            "Leaderboard",
            f"released to {board.get_release_display()}" if board and released else "not released yet",
            reverse("scoring:leaderboards", args=[track.slug]),
            released,
        ),
    ]


def _of_assessor(user: User, track: Track) -> list[Step]:
    own = TopicAssignment.objects.filter(
        assessor=user, is_withdrawn=False, batch__pool__track=track, batch__status=Batch.Status.OPEN
    )
    n_judged = Task.objects.filter(
        assessor=user, batch__pool__track=track, status=Task.Status.SUBMITTED
    ).count()
    state = f"{_n(own.count(), 'topic')} given to you, {_n(n_judged, 'judgment')} made"
    return [Step("Judge", state, reverse("assessment:mine"), False)]


def _of_participant(user: User, track: Track) -> list[Step]:
    n_runs = Run.objects.filter(track=track, team__members=user, status=Run.Status.SUBMITTED).count()
    board = Leaderboard.objects.filter(track=track).exclude(release=Leaderboard.Release.HIDDEN).exists()
    runs = reverse("pooling:runs", args=[track.slug])
    boards = reverse("scoring:leaderboards", args=[track.slug])
    return [
        Step("Topics", _n(track.topics.count(), "topic"), reverse("tracks:topics", args=[track.slug]), True),
        Step("Your runs", f"{_n(n_runs, 'run')} submitted", runs, n_runs > 0),
        Step("Leaderboard", "released" if board else "not released yet", boards, board),
    ]


def _n(n: int, singular: str, plural: str = "") -> str:
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
