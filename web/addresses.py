"""The track to which an address of a page or of the API belongs, by the names of its arguments.

What may be done at an address is decided once for all of them, before its view runs (ADR 65): an address that names a
track or something in a track is only for people with a role in this track, and for tokens that are valid there. The
table names the models as texts, because this package is below the apps.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from django.apps import apps
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import Http404
from django.urls import Resolver404, ResolverMatch, resolve

from web.statements import Prepared

OF_CHAIRS = "You chair this track: you see all of it, and change nothing. Ask one of its organizers."
OF_TRACK = "tracks/<slug:slug>"  # in the route of each address whose `slug` is that of a track

# The model of what an argument identifies, and the way from its row to the id of the track. The first argument counts.
WAYS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "task_id": ("assessment.Task", "batch__pool__track_id"),
        "judgment_id": ("assessment.Judgment", "batch__pool__track_id"),
        "batch_id": ("assessment.Batch", "pool__track_id"),
        "import_id": ("assessment.JudgmentImport", "track_id"),
        "pool_id": ("pooling.Pool", "track_id"),
        "run_id": ("pooling.Run", "track_id"),
        "nugget_id": ("pooling.Nugget", "topic__track_id"),
        "team_id": ("participation.Team", "track_id"),
        "session_id": ("participation.Nomination", "team__track_id"),
        "nomination_id": ("participation.Nomination", "team__track_id"),
        "document_id": ("participation.TeamDocument", "team__track_id"),
        "announcement_id": ("participation.Announcement", "track_id"),
        "invitation_id": ("participation.Invitation", "track_id"),
        "request_id": ("participation.JoinRequest", "track_id"),
        "machine_id": ("tracks.Machine", "assessor__track_id"),
        "qrels_id": ("scoring.Qrels", "track_id"),
        "board_id": ("scoring.Leaderboard", "track_id"),
        "evaluation_id": ("scoring.Evaluation", "leaderboard__track_id"),
        "analysis_id": ("scoring.Analysis", "leaderboard__track_id"),
        "archive_id": ("publishing.Archive", "track_id"),
    }
)


def belongs_to_track(match: ResolverMatch) -> bool:
    """Return whether an address names a track or something in a track."""
    return OF_TRACK in (match.route or "") or any(name in WAYS for name in match.kwargs)


def track_at(match: ResolverMatch) -> str | int | None:
    """The slug of the track to which an address belongs, or else its id; None if it belongs to none.

    An id takes one query. Nothing is said about whether there is a track with the slug.
    """
    if OF_TRACK in (match.route or ""):
        return str(match.kwargs["slug"])
    for name, (label, way) in WAYS.items():
        if name in match.kwargs:
            key = match.kwargs[name]
            row = _rows_with_track(label, way).first(pk=key)
            return None if row is None else int(row.at_track)
    return None


@cache
def _rows_with_track(label: str, way: str) -> "Prepared[Any]":
    rows: Any = apps.get_model(label)._default_manager
    return Prepared(lambda pk: rows.filter(pk=pk).order_by().annotate(at_track=F(way)).only("pk"))


def track_of_page(path: str) -> str | int | None:
    """As `track_at`, for the path of a page without its first slash; None also if there is no such page."""
    try:
        return track_at(resolve(f"/{path}"))
    except Resolver404:
        return None


def names_job(match: ResolverMatch) -> bool:
    """Return whether an address is that of a job, which belongs to the track of its subject, if it has one."""
    return "job_id" in match.kwargs


def is_within(match: ResolverMatch, track_id: int) -> bool:
    """Return whether an address names a track, something in it, or a job for it. One or two queries."""
    at = track_at(match)
    if names_job(match):
        jobs: Any = apps.get_model("jobs.Job")._default_manager
        path = jobs.filter(pk=match.kwargs["job_id"]).values_list("subject_path", flat=True).first()
        at = track_of_page(path or "")
    if not isinstance(at, str):
        return at == track_id
    tracks: Any = apps.get_model("tracks.Track")._default_manager
    return bool(tracks.filter(pk=track_id, slug=at).exists())


def refuse_chair(user: Any, match: ResolverMatch) -> None:
    """Refuse a change to a chair of the track of an address, whatever else may be their role there.

    Raises:
        PermissionDenied: The user chairs the track.
    """
    if any(role.is_chair for role in user.roles.values()):
        role = user.role_at(track_at(match))
        if role is not None and role.is_chair:
            raise PermissionDenied(OF_CHAIRS)


def enter(user: Any, match: ResolverMatch, *, is_reading: bool, with_administrators: bool = False) -> None:
    """Let in who organizes the track of an address, its chairs if they only read, and perhaps administrators.

    Raises:
        Http404: There is no such row, or it belongs to a track in which this organizer or chair has no role: the answer
            does not show which.
        PermissionDenied: The user has no role in any track, or is a chair who would change something.
    """
    if with_administrators and user.is_administrator:
        return
    role = user.role_at(track_at(match))
    if role is None and user.roles:
        raise Http404
    if role is None:
        raise PermissionDenied
    if role.is_chair and not is_reading:
        raise PermissionDenied(OF_CHAIRS)
