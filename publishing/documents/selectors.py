"""Documents of teams, who may get them, and which teams lack one."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.access import AnyUser, overseen_by, oversees
from accounts.models import User
from participation.models import Team, TeamDocument
from participation.teams.selectors import may_submit_for
from scoring.models import Leaderboard
from tracks.models import Track
from tracks.tracks.selectors import tracks_for


def documents_for(user: AnyUser) -> QuerySet[TeamDocument]:
    """The documents that a user may get: of tracks overseen, of their own teams, and public ones.

    Public ones are for everyone from the release of a leaderboard of the track to everyone.
    """
    documents = TeamDocument.objects.select_related("team__track__protocol", "uploaded_by")
    is_released = Leaderboard.objects.filter(
        track=OuterRef("team__track"), release=Leaderboard.Release.PUBLIC
    )
    seen = Q(Exists(is_released), is_public=True) | Q(team__track__in=overseen_by(user))
    if isinstance(user, User):
        seen |= Q(team__in=user.memberships.values("team"))
    return documents.filter(seen, team__track__in=tracks_for(user))


def editable_documents(user: User) -> QuerySet[TeamDocument]:
    """The documents that a user may change: members who may submit, and organizers."""
    own = user.memberships.filter(may_submit=True).values("team")
    return documents_for(user).filter(Q(team__in=own) | Q(team__track__in=user.organized))


def uploading_teams(user: User) -> QuerySet[Team]:
    """The teams for which a user may upload: those for which they may submit runs, and those of tracks organized."""
    own = user.memberships.filter(may_submit=True).values("team")
    teams = Team.objects.filter(track__in=tracks_for(user))
    teams = teams.select_related("track__protocol", "track__collection")
    return teams.filter(Q(pk__in=own) | Q(track__in=user.organized))


@dataclass(frozen=True)
class TeamDocuments:
    """The documents of a team that a user may get. `missing` are the titles of those that it owes."""

    team: Team
    documents: list[TeamDocument]
    missing: list[str]


@dataclass(frozen=True)
class DocumentsPage:
    """The documents of a track by team. Who oversees it sees all teams, and which lack a document."""

    track: Track
    teams: list[TeamDocuments]
    n_documents: int
    n_missing: int  # teams


def documents_page(user: AnyUser, track: Track) -> DocumentsPage:
    """In two queries."""
    by_team: defaultdict[int, list[TeamDocument]] = defaultdict(list)
    for document in documents_for(user).filter(team__track=track).order_by("pk"):
        by_team[document.team_id].append(document)
    teams, sees_all = track.teams.order_by("name"), oversees(user, track.pk)
    if not sees_all:
        teams = teams.filter(pk__in=by_team)
    listed = []
    for team in teams:
        missing = _missing(track, team, by_team[team.pk]) if sees_all else []
        listed.append(TeamDocuments(team, by_team[team.pk], missing))
    n_missing = sum(bool(row.missing) for row in listed)
    return DocumentsPage(track, listed, sum(map(len, by_team.values())), n_missing)


def _missing(track: Track, team: Team, documents: list[TeamDocument]) -> list[str]:
    """The titles of the documents that a team owes; where the protocol names none, any document is enough."""
    owed = track.protocol.parsed.runs.documents
    if not owed:
        return [] if documents else ["any document"]
    uploaded = {document.word for document in documents}
    return [title for word, title in owed.items() if word not in uploaded and not team.documents.get(word)]


@dataclass(frozen=True)
class OfTeam:
    """The documents of a team on its page: those that it owes, with title and text, and files.

    `may_upload`: whether the reader may upload and change files.
    """

    team: Team
    owed: list[tuple[str, str, TeamDocument | None]]
    files: list[TeamDocument]
    may_upload: bool


def documents_of_team(user: User, team: Team) -> OfTeam:
    """In two queries."""
    files = list(documents_for(user).filter(team=team).order_by("pk"))
    by_word = {file.word: file for file in files}
    owed = team.track.protocol.parsed.runs.documents
    rows = [(title, team.documents.get(word, ""), by_word.get(word)) for word, title in owed.items()]
    return OfTeam(team, rows, files, may_submit_for(user, team))


def public_documents(track: Track) -> QuerySet[TeamDocument]:
    """The documents that an archive of a track has, by team."""
    documents = TeamDocument.objects.filter(team__track=track, is_public=True).select_related("team")
    return documents.order_by("team__name", "pk")
