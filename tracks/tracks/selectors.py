"""Tracks, who may see them and get their parts, and the overview page."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404

from accounts.access import AnyUser, overseen_by, oversees
from accounts.models import User
from assay.protocols.schema import Protocol
from tracks.deadline_acceptance import Acceptance, acceptances_for, is_due
from tracks.models import Download, Milestone, Organizer, Track
from tracks.protocols.selectors import protocol_page
from web.confirmation import Check
from web.statements import Prepared

Reader = Callable[[Track], Iterable[Check]]
_readers: dict[str, list[Reader]] = {"opening": [], "closing": []}


def says_before(act: Literal["opening", "closing"]) -> Callable[[Reader], Reader]:
    """Register a function of a noun or an app above this one that yields lines for the page that asks before."""

    def register(reader: Reader) -> Reader:
        _readers[act].append(reader)
        return reader

    return register


def said_before(act: Literal["opening", "closing"], track: Track) -> Iterator[Check]:
    """Yield the lines of all functions that are registered for an act."""
    for reader in _readers[act]:
        yield from reader(track)


@dataclass(frozen=True)
class TrackPage:
    """`facts` describe the protocol, in pairs of a heading and a description."""

    track: Track
    protocol: Protocol
    facts: list[tuple[str, str]]
    n_topics: int
    states: list[Acceptance]
    milestones: list[Milestone]


def tracks_for(user: AnyUser) -> QuerySet[Track]:
    """The tracks that a user may see: all but drafts of others whose opening time has not come; administrators all."""
    tracks = Track.objects.select_related("protocol", "collection")
    if isinstance(user, User) and user.is_administrator:
        return tracks
    return tracks.filter(~Q(status=Track.Status.DRAFT) | is_due() | Q(pk__in=overseen_by(user)))


_TRACK = Prepared(lambda slug: Track.objects.select_related("protocol", "collection").filter(slug=slug))
_PUBLIC_TRACK = Prepared(lambda slug: tracks_for(AnonymousUser()).filter(slug=slug))


def tracks_seen_by(user: Any) -> QuerySet[Track]:
    """As `tracks_for`, by the id of a user who is no administrator, for prepared queries. That of a visitor is None."""
    overseen = Organizer.objects.filter(user=user).order_by().values("track")
    seen = ~Q(status=Track.Status.DRAFT) | is_due() | Q(pk__in=overseen)
    return Track.objects.select_related("protocol", "collection").filter(seen)


def track_or_404(user: AnyUser, slug: str) -> Track:
    """A track that a user may see.

    Raises:
        Http404: There is no such track.
    """
    sees_drafts = isinstance(user, User) and (user.is_administrator or user.role_at(slug) is not None)
    track = (_TRACK if sees_drafts else _PUBLIC_TRACK).first(slug=slug)
    if track is None:
        raise Http404("No track matches.")
    return track


def tracks_organized_by(user: User) -> QuerySet[Track]:
    """The tracks that a user may change."""
    return Track.objects.filter(pk__in=user.organized).select_related("protocol", "collection")


def tracks_overseen_by(user: AnyUser) -> QuerySet[Track]:
    """The tracks of which a user sees everything."""
    return Track.objects.filter(pk__in=overseen_by(user)).select_related("protocol", "collection")


def track_named(slug: str) -> Track | None:
    """The track with a slug, for commands: their user may see everything."""
    return Track.objects.select_related("protocol", "collection").filter(slug=slug).first()


_MEMBERS = Prepared(
    lambda user, track: Track.objects.filter(pk=track, teams__members=user).order_by().only("pk")[:1]
)


def is_member(user: AnyUser, track: Track) -> bool:
    """Return whether the user is in one of the track's teams. One query."""
    return isinstance(user, User) and user.is_active and bool(_MEMBERS(user=user.pk, track=track.pk))


_PARTS = Prepared(
    lambda track: Download.objects.filter(track=track).annotate(has_begun=Q(released_at__lte=Now()))
)


def parts_for(user: AnyUser, track: Track) -> list[Any]:
    """The rows of a track's downloads, with `is_released`: whether a user who sees the track gets them now.

    By the clock of the database. One query, and another one if a part is for teams only.
    """
    parts: list[Any] = _PARTS(track=track.pk)
    sees_all = oversees(user, track.pk)
    is_for_teams = any(part.audience != Download.Audience.EVERYONE for part in parts)
    is_in_team = is_for_teams and not sees_all and is_member(user, track)
    for part in parts:
        is_for_user = is_in_team or part.audience == Download.Audience.EVERYONE
        part.is_released = sees_all or bool(part.has_begun and is_for_user)
    return parts


def track_page(user: AnyUser, track: Track) -> TrackPage:
    """The overview of a track. Four queries."""
    page, n_topics = protocol_page(track.protocol), track.topics.count()
    milestones = list(track.milestones.all())
    return TrackPage(track, page.protocol, page.facts, n_topics, acceptances_for(user, track), milestones)
