"""Assessors of tracks."""

from django.db.models import QuerySet

from accounts.access import AnyUser
from accounts.models import User
from tracks.models import Assessor, Track


def is_assessor(user: AnyUser, track: Track) -> bool:
    """Return whether the user judges for the track. One query."""
    return (
        isinstance(user, User)
        and user.is_active
        and track.assessors.filter(user=user, ended_at=None).exists()
    )


def judges_for(user: User, track: str | int | None) -> bool:
    """Return whether the user judges for the track with a slug or an id. One query."""
    at = {"track__slug": track} if isinstance(track, str) else {"track": track}
    return user.is_active and user.assessor_of.filter(**at, ended_at=None).exists()


def judges_anywhere(user: AnyUser) -> bool:
    """Return whether the user judges for any track. One query."""
    return isinstance(user, User) and user.is_active and user.assessor_of.filter(ended_at=None).exists()


def people_judging(track: Track) -> QuerySet[Assessor]:
    """The assessors of a track who are people, each with the account."""
    return track.assessors.filter(
        user__is_machine=False, user__guest_until=None, ended_at=None
    ).select_related("user")


def tracks_judged_by(user: User, tracks: QuerySet[Track]) -> QuerySet[Track]:
    """Those of some tracks for which a user judges."""
    return tracks.filter(assessors__user=user, assessors__ended_at=None)
