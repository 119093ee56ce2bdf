"""Assessors of tracks."""

from django.db.models import QuerySet

from accounts.access import AnyUser
from accounts.models import User
from tracks.models import Assessor, Track


def is_assessor(user: AnyUser, track: Track) -> bool:
    """Whether the user judges for the track. One query."""
    return isinstance(user, User) and user.is_active and track.assessors.filter(user=user).exists()


def judges_anywhere(user: AnyUser) -> bool:
    """Whether the user judges for any track. One query."""
    return isinstance(user, User) and user.is_active and user.assessor_of.exists()


def people_judging(track: Track) -> QuerySet[Assessor]:
    """The assessors of a track who are people, each with the account."""
    return track.assessors.filter(user__is_machine=False).select_related("user")
