"""Assessors of tracks."""

from collections import Counter
from collections.abc import Collection

from django.db.models import QuerySet

from accounts.access import AnyUser
from accounts.models import User
from tracks.models import Assessor, Track
from web.statements import Statement

_JUDGED = Statement(
    "SELECT track.id, track.slug FROM tracks_assessor assessor JOIN tracks_track track ON track.id = assessor.track_id"
    " WHERE assessor.user_id = %(user)s AND assessor.ended_at IS NULL"
)


def judged_tracks(user: AnyUser) -> set[str | int]:
    """The ids and the slugs of the tracks for which the user judges. They come with the user of a request."""
    if not isinstance(user, User) or not user.is_active:
        return set()
    if user.known_judged is not None:
        return user.known_judged
    return {track_id for row in _JUDGED.rows(user=user.pk) for track_id in row}


def is_assessor(user: AnyUser, track: Track) -> bool:
    """Return whether the user judges for the track. One query at most."""
    return track.pk in judged_tracks(user)


def judges_for(user: User, track: str | int | None) -> bool:
    """Return whether the user judges for the track with a slug or an id. One query at most."""
    return track in judged_tracks(user)


def judges_anywhere(user: AnyUser) -> bool:
    """Return whether the user judges for any track. One query at most."""
    return bool(judged_tracks(user))


def people_judging(track: Track) -> QuerySet[Assessor]:
    """The assessors of a track who are people, each with the account."""
    return track.assessors.filter(
        user__is_machine=False, user__guest_until=None, ended_at=None
    ).select_related("user")


def tracks_judged_by(user: User, tracks: QuerySet[Track]) -> QuerySet[Track]:
    """Those of some tracks for which a user judges."""
    return tracks.filter(assessors__user=user, assessors__ended_at=None)


def names_of_assessors(track: Track) -> dict[str, str]:
    """The `names_of` everyone who judges or has judged for a track. One query."""
    return names_of([assessor.user for assessor in track.assessors.select_related("user")])


def names_of(people: Collection[User]) -> dict[str, str]:
    """The names of people by username; the username where two have the same name."""
    n_named = Counter(user.named for user in people)
    return {user.username: user.named if n_named[user.named] == 1 else user.username for user in people}


def code_names(track: Track) -> dict[int, str]:
    """The code names of a track's assessors, such as A17, by the id of their account. A machine keeps its name."""
    everyone = Assessor.objects.filter(track=track).select_related("user")
    return {
        # during an upgrade, the previous release adds people without a number
        assessor.user_id: assessor.user.username
        if assessor.user.is_machine
        else f"A{assessor.pseudonym or -assessor.pk}"
        for assessor in everyone
    }
