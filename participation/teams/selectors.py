"""Teams of a track and of a user, and who may do what in them."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Sum

from accounts.access import AnyUser
from accounts.models import User
from assay.protocols.schema import RunRules
from participation.models import EndedMembership, Membership, Team
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.pages import MEGABYTE, counted
from web.statements import Prepared

# The kinds of the submitted runs of a team
KINDS = ArrayAgg("runs__kind", distinct=True, filter=Q(runs__status="submitted"), default=[])


def competes(kinds: Collection[str], rules: RunRules) -> bool:
    """Return whether a team whose submitted runs are of these kinds counts as one: baselines are not teams."""
    return not kinds or any(not rules.kind(kind).baseline for kind in kinds)


class RunCounts(NamedTuple):
    """The submitted runs of a track, as all pages count them: baselines are no runs of teams, and their teams none."""

    runs: int
    baselines: int
    submitting: int  # teams with runs
    teams: int

    @property
    def words(self) -> str:
        """The runs and, if there are any, the baselines: "4 runs and 2 baselines"."""
        baselines = [counted(self.baselines, "baseline")] if self.baselines else []
        runs = [counted(self.runs, "run")] if self.runs or not baselines else []
        return " and ".join(runs + baselines)

    def __str__(self) -> str:
        baselines = f"{counted(self.baselines, 'baseline')} and " if self.baselines else ""
        runs = counted(self.runs, "run")
        return f"{baselines}{runs} from {self.submitting:,} of {counted(self.teams, 'team')}"


def run_counts(kinds_by_team: Collection[Collection[str]], rules: RunRules) -> RunCounts:
    """Count from the kinds of the submitted runs of each team."""
    teams = [kinds for kinds in kinds_by_team if competes(kinds, rules)]
    every = [kind for kinds in kinds_by_team for kind in kinds]
    baselines = sum(rules.kind(kind).baseline for kind in every)
    return RunCounts(len(every) - baselines, baselines, sum(bool(kinds) for kinds in teams), len(teams))


def teams_of(user: AnyUser, track: Track) -> QuerySet[Team]:
    """The teams for which a user may submit to a track: organizers all, others their own if they have the right."""
    if not isinstance(user, User):
        return Team.objects.none()
    teams = track.teams.all()
    return teams if user.organizes(track.pk) else teams.filter(memberships__in=_rights(user))


def _rights(user: User) -> QuerySet[Membership]:
    return user.memberships.filter(may_submit=True)


def may_submit_for(user: User, team: Team) -> bool:
    """Return whether a user may submit and withdraw runs of a team. One query at most."""
    return user.organizes(team.track_id) or _rights(user).filter(team=team).exists()


def own_teams(user: AnyUser, track: Track) -> QuerySet[Team]:
    return track.teams.filter(members=user) if isinstance(user, User) else Team.objects.none()


_OWN_TEAMS = Prepared(
    lambda user: Team.objects.filter(members=user).annotate(
        may_submit=Exists(Membership.objects.filter(team=OuterRef("pk"), user=user, may_submit=True))
    )
)


def own_teams_with_rights(user: User, tracks: Iterable[Track]) -> list[Team]:
    """The teams of a user in some tracks, and whether the user may submit runs for each."""
    by_id = {track.pk: track for track in tracks}
    teams: list[Team] = [team for team in _OWN_TEAMS(user=user.pk) if team.track_id in by_id]
    for team in teams:
        team.track = by_id[team.track_id]
    return teams


def visible_teams(user: User, track: Track) -> QuerySet[Team]:
    """The teams of a track whose runs a user may see: organizers all, others their own."""
    return track.teams.all() if user.oversees(track.pk) else own_teams(user, track)


def teams_for(user: User) -> QuerySet[Team]:
    """The teams whose page a user may see: those of tracks overseen and their own; administrators all."""
    teams = Team.objects.select_related("track__protocol", "track__collection")
    if user.is_administrator:
        return teams
    own = Team.objects.filter(members=user, track__in=tracks_for(user)).order_by().values("pk")
    return teams.filter(Q(track__in=[*user.roles]) | Q(pk__in=own))


def members_to_mail(team: Team) -> list[int]:
    """Return the ids of the members who want e-mails about the runs of their team."""
    members = team.members.filter(is_active=True, is_mailed_about_runs=True).exclude(email="")
    return list(members.order_by("pk").values_list("pk", flat=True))


def is_manager(user: User, team: Team, members: Collection[Membership]) -> bool:
    """Return whether a user may change a team: organizers, its contact person, and every member if it has none."""
    own = next((member for member in members if member.user_id == user.pk), None)
    has_contact = any(member.is_contact for member in members)
    if user.is_administrator or user.organizes(team.track_id):
        return True
    return own is not None and (own.is_contact or not has_contact)


def deciders(team: Team) -> list[User]:
    """The members who decide about a team: its contact person, or all of them if it has none. One query."""
    return deciders_among(list(team.memberships.select_related("user").order_by("user__username")))


def deciders_among(members: Collection[Membership]) -> list[User]:
    """As `deciders`, of members that were read with their users."""
    contacts = [member.user for member in members if member.is_contact]
    return contacts or [member.user for member in members]


def managed_as_member(user: User) -> QuerySet[Team]:
    """The teams about which a user decides as a member, whatever they organize."""
    contacts = Membership.objects.filter(team=OuterRef("pk"), is_contact=True)
    own = Q(Exists(contacts.filter(user=user))) | ~Q(Exists(contacts))
    return Team.objects.filter(own, members=user)


def managed_teams(user: User) -> QuerySet[Team]:
    """The teams that a user may change, as `is_manager` says."""
    if user.is_administrator:
        return teams_for(user)
    has_contact = Membership.objects.filter(team=OuterRef("pk"), is_contact=True)
    is_contact = has_contact.filter(user=user)
    is_member = Membership.objects.filter(team=OuterRef("pk"), user=user)
    is_managed = Exists(is_contact) | (Exists(is_member) & ~Exists(has_contact))
    return teams_for(user).filter(Q(track__in=user.organized) | is_managed)


def with_members(teams: QuerySet[Team]) -> QuerySet[Team]:
    """Teams, each with its track and its members by name. One more query."""
    by_name = Prefetch("members", queryset=User.objects.order_by("username"))
    return teams.select_related("track").prefetch_related(by_name)


def team_named(track: Track, name: str) -> Team | None:
    """The team of a track with a name, in upper or lower case."""
    return track.teams.filter(name__iexact=name).first()


def team_by_id(team_id: int) -> Team:
    return Team.objects.select_related("track").get(pk=team_id)


def disk_limit(team: Team) -> int:
    """The bytes that the runs of a team may use in the storage."""
    limit: int = settings.TEAM_MAX_BYTES
    return limit if team.max_megabytes is None else team.max_megabytes * MEGABYTE


def disk_use(team: Team) -> int:
    """The bytes that the runs of a team use in the storage, also withdrawn ones. One query."""
    return team.runs.aggregate(n=Sum("n_bytes"))["n"] or 0


def teams_with(user: User, tracks: QuerySet[Track]) -> QuerySet[Team]:
    """The teams of a user in some tracks, each with its track, and whether the user may submit runs for it."""
    memberships = Membership.objects.filter(team=OuterRef("pk"), user=user, may_submit=True)
    return (
        user.teams.filter(track__in=tracks).select_related("track").annotate(may_submit=Exists(memberships))
    )


def former_teams(user: User) -> QuerySet[EndedMembership]:
    """The times for which a user was in a team of a track that they see, latest first."""
    return user.ended_memberships.filter(team__track__in=tracks_for(user)).select_related("team__track")
