"""Add a list of people to a track: accounts, teams, assessors and invitations, all or nothing.

`plan` says line by line what a list would change; `add` does it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Lower

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import User
from accounts.selectors import people_named
from assay.errors import Refused
from participation.errors import people_refused
from participation.invitations import services as invitation_services
from participation.invitations.services import Place, Terms
from participation.models import Invitation, Team
from participation.people.pasted import IN_TEAMS, People, Problem, Row
from participation.teams import services as team_services
from tracks.assessors import organizers
from tracks.assessors import services as assessor_services
from tracks.assessors.selectors import is_assessor
from tracks.guidelines import services as guidelines_services
from tracks.models import Track
from tracks.tracks.services import create as create_track
from tracks.tracks.services import lock

ORGANIZING = frozenset(organizers.ROLES)
MAX_USERNAME = 140  # characters, before a number


@dataclass(frozen=True, slots=True)
class Step:
    """A person of the list. `user` is the account that exists, `username` that of the new one.

    `is_done` means that the person has this place already.
    """

    row: Row
    user: User | None
    username: str
    team: Team | None
    is_new_team: bool
    is_done: bool

    @property
    def is_new_account(self) -> bool:
        return self.user is None

    @property
    def account(self) -> str:
        """The user name of the account that exists, or of the new one."""
        return self.user.username if self.user else self.username

    @property
    def kept_name(self) -> str:
        """The name of the account that exists, if the list has another one: only its owner changes it."""
        is_other = self.user is not None and self.row.name not in {"", self.user.get_full_name()}
        return self.user.named if self.user and is_other else ""


@dataclass(frozen=True)
class Plan:
    """All steps, or the problems for which nothing is done."""

    steps: list[Step]
    problems: list[Problem]

    @property
    def n_new_accounts(self) -> int:
        return sum(step.is_new_account for step in self.steps)

    @property
    def new_teams(self) -> list[str]:
        return [step.row.team for step in self.steps if step.is_new_team]


def plan(track: Track, people: People) -> Plan:
    """Return the steps of a list, without taking them.

    Seven queries, two for each person who has an account, and one for each new person with a user name.
    """
    if not people.rows and not people.problems:
        return Plan([], [Problem(0, "", "The list is empty. Paste one line for each person.")])
    accounts = _accounts(people.rows)
    teams = {team.name.lower(): team for team in track.teams.all()}
    names = _free_names(people.rows, accounts)
    first_lines: dict[int, int] = {}  # by account
    steps: list[Step] = []
    problems = list(people.problems)
    new_teams: set[str] = set()
    for row in people.rows:
        users, team = accounts[row.line], teams.get(row.team.lower())
        complaints = list(_complaints(track, row, users, team))
        earlier = first_lines.setdefault(users[0].pk, row.line) if users else row.line
        if earlier != row.line:
            message = f"{users[0]} is in line {earlier} too; list a person once."
            complaints.append(Problem(row.line, "user name", message))
        problems += complaints
        if complaints:
            continue
        is_new_team = row.role in IN_TEAMS and row.team.lower() not in teams.keys() | new_teams
        new_teams |= {row.team.lower()} if is_new_team else set()
        person = users[0] if users else None
        is_done = person is not None and _has_place(track, row, person, team)
        steps.append(Step(row, person, names.get(row.line, ""), team, is_new_team, is_done))
    return Plan(steps, sorted(problems))


def _accounts(rows: Sequence[Row]) -> dict[int, list[User]]:
    """The accounts that the address of each line finds, or its user name if it has no address, by line."""
    addresses = {row.email.lower() for row in rows} - {""}
    usernames = {row.username for row in rows if not row.email}
    users: dict[str, list[User]] = {}
    for user in User.objects.annotate(address=Lower("email")).filter(address__in=addresses):
        users.setdefault(user.email.lower(), []).append(user)
    named = {user.username: [user] for user in people_named(usernames)}
    return {
        row.line: users.get(row.email.lower(), []) if row.email else named.get(row.username, [])
        for row in rows
    }


def _free_names(rows: Sequence[Row], accounts: Mapping[int, list[User]]) -> dict[int, str]:
    """A user name for each person without an account, by line.

    Without one in the list, it is the start of the address, perhaps with a number.
    """
    names = {row.line: row.username for row in rows if row.username}
    wanted = {}
    for row in rows:
        if not accounts[row.line] and not row.username:
            local = re.sub(r"[^a-z0-9._-]", "", row.email.partition("@")[0].lower())
            wanted[row.line] = local[:MAX_USERNAME] or "person"
    if not wanted:
        return names
    pattern = rf"^({'|'.join(sorted({re.escape(name) for name in wanted.values()}))})\d*$"
    known = User.objects.filter(username__iregex=pattern).values_list("username", flat=True)
    taken = {name.lower() for name in [*known, *names.values()]}
    for line, name in wanted.items():
        numbered = (name if n == 1 else f"{name}{n}" for n in count(1))
        names[line] = next(candidate for candidate in numbered if candidate not in taken)
        taken.add(names[line])
    return names


def _complaints(track: Track, row: Row, users: Sequence[User], team: Team | None) -> Iterator[Problem]:
    """Yield the reasons why a person cannot have the place."""
    if len(users) > 1:
        names = ", ".join(user.username for user in users)
        message = f"{len(users)} accounts have this address: {names}. Give one another address."
        yield Problem(row.line, "e-mail", message)
        return
    user = users[0] if users else None
    if user is None and not row.email:
        other = User.objects.filter(username__iexact=row.username).first()
        advice = f"one has the name {other.username}" if other else "give the e-mail address for a new one"
        message = f"there is no account {row.username}; {advice}."
        yield Problem(row.line, "user name", message)
        return
    if user is None and row.username:
        if User.objects.filter(username__iexact=row.username).exists():
            message = (
                f"the account {row.username} has another e-mail address; use that one, or leave it empty."
            )
            yield Problem(row.line, "user name", message)
            return
        try:
            User(username=row.username).clean_fields(
                {field.name for field in User._meta.fields} - {"username"}
            )
            User(username=row.username).clean()
        except ValidationError as error:
            yield Problem(row.line, "user name", " ".join(error.messages))
            return
    if user is not None and not user.is_active:
        yield Problem(
            row.line, "e-mail", f"the account {user} is deactivated; an administrator can activate it."
        )
        return
    try:
        _check(track, row, user, team)
    except Refused as refusal:
        yield Problem(row.line, "group" if row.group else "role", refusal.message)


def _check(track: Track, row: Row, user: User | None, team: Team | None) -> None:
    """Ask the services whether they would refuse."""
    if row.role == "assessor":
        assessor_services.check_group(track=track, group=row.group)
        if user is not None:
            assessor_services.check(track=track, user=user)
            # topics were given out by groups, so an assessor stays in theirs
            assessor = track.assessors.filter(user=user, ended_at=None).first()
            if assessor is not None and row.group and assessor.group != row.group:
                raise people_refused(
                    f"{user} is in the group {assessor.group or 'without a name'}; "
                    "change it among the people of the track."
                )
    elif row.role in ORGANIZING and user is not None and not _has_place(track, row, user, team):
        organizers.check_teams(track=track, user=user)
    elif row.role in IN_TEAMS:
        if user is not None:
            team_services.check_members(track=track, members=[user])
        if team is None:
            team_services.check_name(track=track, name=row.team)


def _has_place(track: Track, row: Row, user: User, team: Team | None) -> bool:
    if row.role == "assessor":
        return is_assessor(user, track)
    if row.role in ORGANIZING:
        return track.organizers.filter(user=user, is_chair=row.role == "chair").exists()
    rights = {"may_submit": row.role != "observer"} | ({"is_contact": True} if row.role == "contact" else {})
    return team is not None and team.memberships.filter(user=user, **rights).exists()


@dataclass(frozen=True, slots=True)
class Sender:
    """The person who adds people. `is_mailing` sends links by e-mail; `site` is their origin."""

    by: User
    site: str = ""
    is_mailing: bool = False


def add(*, track: Track, people: People, sender: Sender) -> Plan:
    """Do what `plan` shows for a list, completely or not at all: problems may have come up after the preview."""
    try:
        with transaction.atomic():
            track = lock(track.pk)
            done = plan(track, people)
            if done.problems:
                raise people_refused(
                    str(done.problems[0]),
                    code="bad-people",
                    errors=[
                        {"line": line or None, "field": column, "code": "invalid", "message": text}
                        for line, column, text in done.problems
                    ],
                )
            for step in done.steps:
                if not step.is_done:
                    _carry_out(track, step, sender)
            details = {
                "people": len(done.steps),
                "new accounts": done.n_new_accounts,
                "new teams": done.new_teams,
            }
            audit.record(action="people.added", track=track, details=details, by=sender.by)
            return done
    except IntegrityError as error:
        raise people_refused(
            "Somebody else added a person of this list at the same moment. Check the list again."
        ) from error


def _carry_out(track: Track, step: Step, sender: Sender) -> None:
    """A new account has no password: its user sets one with the link."""
    row = step.row
    user = step.user or User.objects.create_user(
        username=step.username,
        email=row.email,
        first_name=row.first_name[:150],
        last_name=row.last_name[:150],
    )
    if row.role == "assessor":
        assessor_services.add(track=track, user=user, group=row.group)
    elif row.role in IN_TEAMS:
        team = team_services.named_or_new(track=track, name=row.team)
        member = team_services.add_member(team=team, user=user)
        if member.may_submit != (row.role != "observer"):
            team_services.set_may_submit(team=team, user=user, may_submit=row.role != "observer")
        if row.role == "contact":
            team_services.set_contact(team=team, user=user)
    else:
        organizers.appoint(track=track, user=user, role=row.role, by=sender.by)
    if step.user is None or (not user.has_usable_password() and may_let_in(sender.by, user)):
        invite_account(track=track, user=user, sender=sender)
    elif sender.is_mailing:
        data = {"user": user.pk, "track": track.pk, "role": row.role, "team": row.team}
        letters.post(kind="participation.added", data=data, site=sender.site)


def may_let_in(by: User, person: User) -> bool:
    """Return whether a user may make a link with which a person logs in.

    An organizer may if everything that the person may see belongs to tracks of the organizer: otherwise they would get
    into the tracks of others with it. Administrators may for all but superusers.
    """
    if not person.is_active or person.is_machine or (person.is_superuser and not by.is_superuser):
        return False
    if by.is_administrator:
        return True
    tracks = {
        *person.roles,
        *person.assessor_of.values_list("track_id", flat=True),
        *person.memberships.values_list("team__track_id", flat=True),
    }
    return not person.is_staff and tracks <= set(by.organized)


@transaction.atomic
def invite_account(*, track: Track, user: User, sender: Sender) -> Invitation:
    """Make a link with which the user of a new account sets a password. An earlier link is revoked."""
    for earlier in Invitation.objects.filter(user=user, revoked_at=None):
        invitation_services.revoke(invitation=earlier)
    return invitation_services.invite(
        place=Place(track=track, user=user),
        terms=Terms(name=user.get_full_name(), email=user.email),
        by=sender.by,
        site=sender.site,
        is_mailed=sender.is_mailing,
    )


@transaction.atomic
def clone(*, track: Track, name: str, slug: str, assessors: bool, teams: bool, by: User) -> Track:
    """Create a draft with the protocol, the settings and the guidelines of another track, perhaps with its people.

    Topics, runs, pools, judgments, deadlines and leaderboards stay with the old track. Names that it hides are hidden
    in the new one until the same time. The guidelines become a draft:
    their worked examples may name topics that the new track does not have.
    """
    new = Track(
        name=name,
        slug=slug,
        description=track.description,
        protocol=track.protocol,
        collection=track.collection,
        reminder_days=track.reminder_days,
        names_hidden_until=track.names_hidden_until if track.names_are_hidden else None,
    )
    create_track(track=new, by=by, cloned_from=track)
    if track.guidelines is not None:
        guidelines_services.save_draft(track=new, text=track.guidelines.text, revision=0, by=by)
    if assessors:
        for assessor in (
            track.assessors.filter(machine=None, ended_at=None).select_related("user").order_by("pk")
        ):
            assessor_services.add(track=new, user=assessor.user, group=assessor.group)
    if teams:
        for team in track.teams.prefetch_related("members").order_by("pk"):
            team_services.create(track=new, name=team.name, members=list(team.members.all()))
    return new
