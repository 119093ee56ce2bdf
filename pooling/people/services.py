"""Carry out a list of people: accounts, teams, assessors and invitations, all or nothing."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from accounts.letters import services as letters
from accounts.models import User
from audit import services as audit
from pooling.invitations import services as invitation_services
from pooling.invitations.services import Place, Terms
from pooling.models import Invitation
from pooling.people.errors import BadPeople, PeopleRefused
from pooling.people.pasted import IN_TEAMS, People
from pooling.people.plans import Plan, Step, plan
from pooling.teams import services as team_services
from pooling.teams.selectors import team_named
from tracks.assessors import services as assessor_services
from tracks.models import Track
from tracks.tracks.services import lock


@dataclass(frozen=True, slots=True)
class Sender:
    """Who adds people. `is_mailing` sends links by e-mail; `site` is their origin."""

    by: User
    site: str = ""
    is_mailing: bool = False


def add(*, track: Track, people: People, sender: Sender) -> Plan:
    """Do what `plan` shows for a list, completely or not at all.

    Raises
    ------
    BadPeople
        The list has problems, also if they came up after the preview.
    """
    try:
        with transaction.atomic():
            return _add(lock(track.pk), people, sender)
    except IntegrityError as error:
        raise PeopleRefused(
            "Somebody else added a person of this list at the same moment. Check the list again."
        ) from error


def _add(track: Track, people: People, sender: Sender) -> Plan:
    steps = plan(track, people)
    if steps.problems:
        raise BadPeople(steps.problems)
    for step in steps.steps:
        if not step.is_done:
            _carry_out(track, step, sender)
    details = {"people": len(steps.steps), "new accounts": steps.n_new_accounts, "new teams": steps.new_teams}
    audit.record(action="people.added", track=track, details=details, by=sender.by)
    return steps


def _carry_out(track: Track, step: Step, sender: Sender) -> None:
    user = step.user or _create(step)
    row = step.row
    if row.role == "assessor":
        assessor_services.add(track=track, user=user, group=row.group)
    elif row.role in IN_TEAMS:
        team = team_named(track, row.team) or team_services.create(track=track, name=row.team)
        member = team_services.add_member(team=team, user=user)
        if member.may_submit != (row.role != "observer"):
            team_services.set_may_submit(team=team, user=user, may_submit=row.role != "observer")
        if row.role == "contact":
            team_services.set_contact(team=team, user=user)
    else:
        User.objects.filter(pk=user.pk).update(is_staff=True)
    if step.user is None or not user.has_usable_password():
        invite_account(track=track, user=user, sender=sender)
    elif sender.is_mailing:
        data = {"user": user.pk, "track": track.pk, "role": row.role, "team": row.team}
        letters.post(kind="pooling.added", data=data, site=sender.site)


def _create(step: Step) -> User:
    """An account without a password: its user sets one with the link."""
    return User.objects.create_user(
        username=step.username,
        email=step.row.email,
        first_name=step.row.first_name[:150],
        last_name=step.row.last_name[:150],
    )


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
