"""The leaderboards that a user may see, and what all of their pages share.

Organizers see everything. Members of the track's teams see a leaderboard that is released to participants, and the
evaluations of their own runs. Everybody sees a public leaderboard with all of its evaluations. A user who sees a
leaderboard sees its qrels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, Q, QuerySet
from django.http import Http404

from accounts.access import AnyUser, overseen_by, oversees
from accounts.models import User
from assay.extensions import ExtensionMissing
from assay.protocols.measures import Measure, MeasureError, parse_measure
from assay.protocols.schema import InteractionRules
from participation.models import Team
from scoring.models import Leaderboard, PhaseBoard
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.statements import Prepared


def leaderboards_for(user: AnyUser) -> QuerySet[Leaderboard]:
    """Leaderboards that the user may see."""
    may_see = Q(release=Leaderboard.Release.PUBLIC) | Q(track__in=overseen_by(user))
    if isinstance(user, User):
        own_tracks = Team.objects.filter(members=user).values("track")
        may_see |= Q(release=Leaderboard.Release.PARTICIPANTS, track__in=own_tracks)
    return _boards().filter(may_see, track__in=tracks_for(user))


def boards_of(user: AnyUser, track: Track) -> QuerySet[Leaderboard]:
    """The leaderboards of a track that the user may see. Those who see everything of it need no long query."""
    boards = _boards() if oversees(user, track.pk) else leaderboards_for(user)
    return boards.filter(track=track)


_OF_TRACK = Prepared(lambda track: _boards().filter(track=track))


def listed_boards(user: AnyUser, track: Track) -> Sequence[Leaderboard]:
    """As `boards_of`, for a page that shows them all."""
    return _OF_TRACK(track=track.pk) if oversees(user, track.pk) else list(boards_of(user, track))


def seen_by(user: Any) -> QuerySet[Leaderboard]:
    """As `leaderboards_for`, by the id of a user, which is None of a visitor: for prepared queries."""
    tracks, releases = Track.objects.order_by(), Leaderboard.Release
    overseen = Q(track__in=tracks.filter(organizers__user=user).values("pk"))
    own = Q(track__in=Team.objects.filter(members=user).order_by().values("track"))
    may_see = Q(release=releases.PUBLIC) | overseen | Q(own, release=releases.PARTICIPANTS)
    return _boards().filter(may_see, overseen | ~Q(track__status=Track.Status.DRAFT))


def _boards() -> QuerySet[Leaderboard]:
    boards = Leaderboard.objects.select_related(
        "track__protocol", "track__collection", "qrels", "job", "created_by", "released_by"
    )
    return boards.defer("qrels__report")


_BOARD = Prepared(lambda board: _boards().filter(pk=board).annotate(dropped=F("qrels__report__dropped")))


def board_or_404(user: AnyUser, board_id: int) -> Leaderboard:
    """A leaderboard that the user may see, with `dropped`, the topics that its qrels leave out.

    Raises:
        Http404: It does not exist, or the user may not see it.
    """
    board = _BOARD.first(board=board_id)
    if board is None or not (
        oversees(user, board.track_id) or leaderboards_for(user).filter(pk=board_id).exists()
    ):
        raise Http404("No leaderboard matches.")
    return board


def public_leaderboards() -> QuerySet[Leaderboard]:
    """The leaderboards that everybody sees, oldest first. One query."""
    boards = Leaderboard.objects.filter(release=Leaderboard.Release.PUBLIC, status=Leaderboard.Status.READY)
    return boards.select_related("qrels").defer("qrels__report", "statistics").order_by("pk")


@dataclass(frozen=True, kw_only=True)
class LeaderboardPage:
    """`measures` are names with titles; `charted` is the one that the page is about."""

    track: Track
    board: Leaderboard
    measures: list[tuple[str, str]]
    charted: str
    is_organizer: bool


def shared_page(user: AnyUser, board: Leaderboard, measure: str = "") -> LeaderboardPage:
    """The part that all pages share; a measure that the leaderboard does not have becomes its first."""
    return LeaderboardPage(
        track=board.track,
        board=board,
        measures=titled(board),
        charted=charted_measure(board, measure),
        is_organizer=oversees(user, board.track_id),
    )


def interaction_rules(board: Leaderboard) -> InteractionRules | None:
    """The rules of the interaction, with the name of the measure that is compared; None if the board lacks it."""
    rules, scoring = board.track.protocol.parsed.interaction, board.track.protocol.parsed.scoring
    if rules is None:
        return None
    measure = str(parse_measure(rules.measure or scoring.measures[0]))
    return replace(rules, measure=measure) if measure in board.measures else None


def provenance(board: Leaderboard) -> dict[str, Any]:
    """The track, the qrels and the protocol of a leaderboard, as its files name them."""
    return {
        "track": board.track.slug,
        "qrels": {
            "version": board.qrels.version,
            "machine": board.qrels.machine_name or None,
            "sha256": board.qrels.sha256,
        },
        "protocol": {"slug": board.track.protocol.slug, "sha256": board.protocol_digest},
    }


def stored_measure(board: Leaderboard | PhaseBoard, name: str) -> Measure:
    """A measure of a leaderboard.

    Raises:
        ExtensionMissing: It needs an extension that is not installed.
    """
    try:
        return parse_measure(name)
    except MeasureError as error:
        _ = board.track.protocol.parsed  # names the extension
        raise ExtensionMissing(f"A measure of the leaderboard cannot be used: {error}") from error


def stored_measures(board: Leaderboard | PhaseBoard) -> list[Measure]:
    """The measures of a leaderboard.

    Raises:
        ExtensionMissing: One needs an extension that is not installed.
    """
    return [stored_measure(board, name) for name in board.measures]


def titled(board: Leaderboard | PhaseBoard) -> list[tuple[str, str]]:
    """Each measure of a leaderboard with its title."""
    return [(name, stored_measure(board, name).title) for name in board.measures]


def charted_measure(board: Leaderboard, measure: str) -> str:
    """The measure asked for, or the first of the leaderboard if it does not have that one."""
    return measure if measure in board.measures else str(board.measures[0])
