"""Tracks, who may see them, and the overview page."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.access import AnyUser
from accounts.models import User
from assay.protocols.schema import Protocol
from tracks.deadlines.selectors import State, is_due, states_for
from tracks.models import Track
from tracks.protocols.selectors import protocol_page


@dataclass(frozen=True)
class TrackPage:
    """`facts` describe the protocol, in pairs of a heading and a description."""

    track: Track
    protocol: Protocol
    facts: list[tuple[str, str]]
    n_topics: int
    states: list[State]


def tracks_for(user: AnyUser) -> QuerySet[Track]:
    """The tracks that a user may see: organizers see all, others all but drafts whose opening time has not come."""
    tracks = Track.objects.select_related("protocol", "collection")
    if isinstance(user, User) and user.is_organizer:
        return tracks
    return tracks.filter(~Q(status=Track.Status.DRAFT) | is_due())


def track_named(slug: str) -> Track | None:
    """The track with a slug, for commands: their user may see everything."""
    return Track.objects.select_related("protocol", "collection").filter(slug=slug).first()


def track_page(user: AnyUser, track: Track) -> TrackPage:
    """The overview of a track. Three queries."""
    page = protocol_page(track.protocol)
    return TrackPage(track, page.protocol, page.facts, track.topics.count(), states_for(user, track))
