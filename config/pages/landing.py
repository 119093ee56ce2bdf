"""The first page: for visitors what the site offers, for users their tracks; and where a user's work is."""

from dataclasses import dataclass, field
from math import inf

from django.urls import reverse

from accounts.access import AnyUser
from accounts.models import Role, User
from participation.models import Team
from participation.teams.selectors import teams_with
from scoring.models import Leaderboard
from scoring.selectors import public_leaderboards
from tracks.acceptance import next_closing
from tracks.assessors.selectors import judges_anywhere, tracks_judged_by
from tracks.models import Track
from tracks.tracks.selectors import tracks_for


@dataclass
class ListedTrack:
    """A track with the user's place in it, and its latest published leaderboard."""

    track: Track
    role: Role | None = None
    is_assessor: bool = False
    teams: list[Team] = field(default_factory=list)
    board: Leaderboard | None = None

    @property
    def may_ask(self) -> bool:
        """Return whether the user can request to join."""
        return self.track.status == Track.Status.OPEN and not self.has_role

    @property
    def closing(self) -> float:
        """The time stamp of the next deadline; infinity without one."""
        closing = next_closing(self.track)
        return closing.closes_at.timestamp() if closing and closing.closes_at else inf

    @property
    def has_role(self) -> bool:
        return self.is_assessor or bool(self.teams) or self.role is not None


@dataclass(frozen=True)
class LandingPage:
    """The tracks that the user may see: those in which they have a role first, then open ones."""

    tracks: list[ListedTrack]

    @property
    def open(self) -> list[ListedTrack]:
        """The tracks that accept runs, next deadline first."""
        tracks = (each for each in self.tracks if each.track.status == Track.Status.OPEN)
        return sorted(tracks, key=lambda each: each.closing)

    @property
    def published(self) -> list[ListedTrack]:
        """The tracks whose leaderboard everybody sees, newest leaderboard first."""
        published = (each for each in self.tracks if each.board is not None)
        return sorted(published, key=lambda each: each.board.pk if each.board else 0, reverse=True)

    @property
    def others(self) -> list[ListedTrack]:
        """The tracks that are neither open nor published."""
        return [each for each in self.tracks if each not in self.open and each.board is None]


def landing_page(user: AnyUser) -> LandingPage:
    """Three queries for a visitor, five for a user."""
    visible = tracks_for(user)
    listed = {track.pk: ListedTrack(track) for track in visible.prefetch_related("deadlines")}
    for board in public_leaderboards():
        if board.track_id in listed:
            listed[board.track_id].board = board
    if isinstance(user, User):
        for pk, role in user.roles.items():
            listed[pk].role = role
        for pk in tracks_judged_by(user, visible).values_list("pk", flat=True):
            listed[pk].is_assessor = True
        for team in teams_with(user, visible):
            listed[team.track_id].teams.append(team)
    order = {Track.Status.OPEN: 0, Track.Status.DRAFT: 1, Track.Status.CLOSED: 2}
    return LandingPage(
        sorted(listed.values(), key=lambda each: (not each.has_role, order[Track.Status(each.track.status)]))
    )


def start_of(user: User) -> str:
    """The page after the login: of an assessor the tasks, of a participant the runs, of others the tracks."""
    if user.roles or user.is_administrator:
        return reverse("home")
    if judges_anywhere(user):
        return reverse("assessment:mine")
    tracks = {team.track.slug for team in teams_with(user, tracks_for(user))}
    return reverse("pooling:runs", args=[*tracks]) if len(tracks) == 1 else reverse("home")
