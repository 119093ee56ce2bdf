"""The people of a track: roles, invitations, agreement, and when they were last there; and the members of a team."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from django.conf import settings
from django.core.paginator import Page
from django.db.models.functions import Lower
from django.urls import reverse

from accounts.models import User
from participation.invitations.selectors import (
    SharedLink,
    invitations_of,
    open_invitations,
    sent_key,
    shared_links,
)
from participation.models import EndedMembership, JoinRequest, Membership, Team
from participation.requests.selectors import OpenRequest, open_requests_for, open_requests_with_teams
from participation.teams.selectors import deciders_among, is_manager
from tracks.agreements.selectors import acceptances_of
from tracks.models import AgreementAcceptance, Assessor, Organizer, Track
from tracks.tracks.selectors import says_before
from web.confirmation import Check
from web.pages import counted, page_of

NAMED = 5  # people in a sentence

ROLES = ("Organizers", "Assessors", "Members of teams")  # the headings of the page


@dataclass
class Person:
    """A user with a role in a track. `invitation` is the open link for their first login."""

    user: User
    organizer: Organizer | None = None
    assessor: Assessor | None = None
    memberships: list[Membership] = field(default_factory=list)
    acceptance: AgreementAcceptance | None = None
    invitation: SharedLink | None = None
    has_agreed: bool = False

    @property
    def is_judging(self) -> bool:
        return self.assessor is not None and self.assessor.ended_at is None

    @property
    def line(self) -> str:
        """The list with which a former assessor is added again; empty for others, and without an address."""
        if self.assessor is None or self.is_judging or not self.user.email:
            return ""
        return f"E-mail\tRole\tGroup\n{self.user.email}\tassessor\t{self.assessor.group}"

    @property
    def may_be_changed(self) -> bool:
        """Return whether an organizer can do something about the person."""
        return (self.user.is_active or self.organizer is not None) and not self.user.is_machine

    @property
    def role(self) -> str:
        """The heading under which the person is listed."""
        if self.organizer is not None:
            return "Organizers"
        return "Assessors" if self.assessor is not None else "Members of teams"

    @property
    def text(self) -> str:
        """The words that a search reads."""
        user, teams = self.user, [membership.team.name for membership in self.memberships]
        return " ".join([user.username, user.get_full_name(), user.email, *teams]).casefold()

    @property
    def has_password(self) -> bool:
        return self.user.has_usable_password()

    @property
    def last_seen(self) -> datetime | None:
        times = [moment for moment in (self.user.last_login, self.user.last_seen_at) if moment]
        return max(times, default=None)


@dataclass(frozen=True)
class PeoplePage:
    """Everyone with a role in a track, its teams, and what is open."""

    track: Track
    people: Page[Person]  # by role, then by user name
    n_of_role: dict[str, int]
    search: str
    teams: list[Team]
    requests: list[OpenRequest]
    links: list[SharedLink]
    other_links: list[SharedLink]  # not of a person in the table
    are_sent: bool  # the links of people, as an organizer has marked them
    sent_key: str  # the key that marks them; empty if nobody has to send them
    may_change: bool
    sends_mail: bool


def people_page(
    track: Track, site: str, user: User, *, search: str = "", number: str | None = None
) -> PeoplePage:
    """The page for a user; chairs see no links, which let somebody in. Seven queries.

    `search` are words in names, e-mail addresses and teams, `number` is that of a hundred people.
    """
    may_change = user.is_administrator or user.organizes(track.pk)
    links = shared_links(invitations_of(track), site) if may_change else []
    first_logins = {link.invitation.user_id: link for link in links}
    newest = max((link.invitation.pk for link in links if link.invitation.user_id), default=0)
    key = sent_key(track, newest)
    are_sent = bool(newest) and not {key, f"{key}:done"}.isdisjoint(track.skipped)
    people = sorted(people_of(track), key=lambda person: ROLES.index(person.role))
    listed = {person.user.pk for person in people}
    words = search.casefold().split()
    shown = page_of([person for person in people if all(word in person.text for word in words)], number)
    for person in shown:
        person.invitation = first_logins.get(person.user.pk)
    return PeoplePage(
        track=track,
        people=shown,
        n_of_role=dict(Counter(person.role for person in people)),
        search=search,
        teams=list(track.teams.order_by(Lower("name"))),
        requests=open_requests_with_teams(track),
        links=links,
        other_links=[link for link in links if link.invitation.user_id not in listed],
        are_sent=are_sent,
        sent_key="" if are_sent or settings.SENDS_MAIL or not newest else f"{key}:done",
        may_change=may_change,
        sends_mail=settings.SENDS_MAIL,
    )


def people_of(track: Track) -> list[Person]:
    """Everyone with a role in a track, by user name. Four queries."""
    people = _people(track)
    accepted = acceptances_of(track)
    for person in people.values():
        person.acceptance = accepted.get(person.user.pk)
        person.has_agreed = (
            person.acceptance is not None and person.acceptance.version_id == track.agreement_id
        )
    return sorted(people.values(), key=lambda person: person.user.username.lower())


def _people(track: Track) -> dict[int, Person]:
    """The users with a role, by their id. Three queries."""
    people: dict[int, Person] = {}
    for organizer in track.organizers.select_related("user"):
        people.setdefault(organizer.user_id, Person(organizer.user)).organizer = organizer
    for assessor in track.assessors.filter(user__guest_until=None).select_related("user"):
        people.setdefault(assessor.user_id, Person(assessor.user)).assessor = assessor
    memberships = Membership.objects.filter(team__track=track).select_related("user", "team")
    for membership in memberships.order_by("team__name"):
        person = people.setdefault(membership.user_id, Person(membership.user))
        person.memberships.append(membership)
    return people


def person_of(track: Track, user_id: int) -> User | None:
    """A user with a role in the track, by id."""
    person = _people(track).get(user_id)
    return person.user if person else None


@says_before("opening")
def checks_of_opening(track: Track) -> Iterator[Check]:
    """Say before the opening the number of teams, and the people that have not used their link."""
    address = reverse("participation:people", args=[track.slug])
    n_teams = track.teams.count()
    if n_teams:
        yield Check("ok", counted(n_teams, "team"))
    else:
        detail = "Visitors can ask to take part once the track is open."
        yield Check("look", "No teams", detail, address, "Add teams")
    if waiting := list(invitations_of(track)):
        names = [
            invitation.email or str(invitation.team or invitation.get_role_display())
            for invitation in waiting
        ]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        label = f"{counted(len(waiting), 'invitation is,invitations are')} not accepted yet"
        newest = max((each.pk for each in waiting if each.user_id), default=0)
        is_sent = f"{sent_key(track, newest)}:done" in track.skipped
        state: Literal["ok", "look"] = "ok" if is_sent else "look"
        yield Check(state, label, ", ".join(names[:NAMED]) + more, address, "See the links")


@dataclass(frozen=True)
class TeamPage:
    """A team with its members, contact person first. `former` are for organizers only."""

    team: Team
    track: Track
    members: list[Membership]
    former: list[EndedMembership]
    invitations: list[SharedLink]
    own: Membership | None
    is_manager: bool
    requests: list[JoinRequest]
    n_runs: int


def team_page(team: Team, user: User, site: str) -> TeamPage:
    """The page of a team for a user. Four queries, five for people who decide about the team."""
    members = list(team.memberships.select_related("user").order_by("-is_contact", "user__username"))
    manager = is_manager(user, team, members)
    former = team.ended_memberships.select_related("user", "ended_by")
    return TeamPage(
        team=team,
        track=team.track,
        members=members,
        former=list(former) if user.oversees(team.track_id) else [],
        invitations=shared_links(open_invitations().filter(team=team), site) if manager else [],
        own=next((member for member in members if member.user_id == user.pk), None),
        is_manager=manager,
        requests=open_requests_for(team) if user in deciders_among(members) else [],
        n_runs=team.runs.filter(status="submitted").count(),
    )
