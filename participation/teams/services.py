"""Create and change teams and their members, and write to the members."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import User
from jobs.files.deletion import check_unused, delete_unused
from participation.errors import team_refused
from participation.models import EndedMembership, Membership, Team
from participation.teams.selectors import members_to_mail, team_named
from tracks.models import Track
from tracks.tracks import services as track_services
from web.names import problem_of

MAX_DOCUMENT = 20_000  # characters


@transaction.atomic
def create(*, track: Track, name: str, members: Collection[User] = (), organization: str = "") -> Team:
    """Create a team of a track. The name must be free, and nobody in it may be an assessor of the track."""
    track = track_services.lock(track.pk)
    check_name(track=track, name=name)
    team = Team.objects.create(track=track, name=name.strip(), organization=organization.strip())
    audit.record(action="team.created", subject=team, track=track)
    set_members(team=team, members=members)
    return team


def named_or_new(*, track: Track, name: str, organization: str = "") -> Team:
    """The team with a name, which is created if there is none. The caller has locked the track."""
    return team_named(track, name.strip()) or create(track=track, name=name, organization=organization)


@transaction.atomic
def rename(*, team: Team, name: str) -> Team:
    track = track_services.lock(team.track_id)
    check_name(track=track, name=name, team=team)
    team.name = name.strip()
    return _save(team, "team.renamed", ["name"])


@transaction.atomic
def describe(*, team: Team, name: str, organization: str, documents: Mapping[str, str]) -> Team:
    """Set the name of a team, where its members work, and the documents that it owes."""
    rename(team=team, name=name)
    team.organization = organization.strip()
    _save(team, "team.described", ["organization"])
    return write_documents(team=team, documents=documents)


@transaction.atomic
def write_documents(*, team: Team, documents: Mapping[str, str]) -> Team:
    """Store documents that the team owes, by the words of the protocol; those that are not named stay.

    Raises:
        Refused: The protocol asks for no such document.
    """
    owed = track_services.lock(team.track_id).protocol.parsed.runs.documents
    if unknown := sorted(set(documents) - set(owed)):
        accepted = ", ".join(owed) or "none"
        raise team_refused(
            f"“{unknown[0]}” is not a document that teams owe; the protocol asks for: {accepted}."
        )
    texts = {**team.documents, **{word: text.strip() for word, text in documents.items()}}
    texts = {word: text for word, text in texts.items() if text}
    if texts != team.documents:
        team.documents = texts
        team.save(update_fields=["documents"])
        details = {"documents": sorted(texts)}
        audit.record(action="team.documented", subject=team, track=team.track, details=details)
    return team


@transaction.atomic
def set_disk_limit(*, team: Team, max_megabytes: int | None) -> Team:
    """Set the limit of disk space for a team's runs; None: that of the site. Runs that exceed it already stay."""
    track_services.lock(team.track_id)
    team.max_megabytes = max_megabytes
    return _save(team, "team.limited", ["max_megabytes"])


def _save(team: Team, action: str, names: Sequence[str]) -> Team:
    """Store and record the fields that changed."""
    if differences := audit.changes(Team.objects.get(pk=team.pk), team, names):
        team.save(update_fields=names)
        audit.record(action=action, subject=team, track=team.track, details=differences)
    return team


def check_name(*, track: Track, name: str, team: Team | None = None) -> None:
    """Refuse an empty name, and one that another team of the track has, ignoring case."""
    others = Team.objects.filter(track=track, name__iexact=name.strip()).exclude(pk=team.pk if team else 0)
    if problem := problem_of(name.strip()):
        raise team_refused(problem)
    if others.exists():
        raise team_refused(f"{track} already has a team named {name.strip()}; choose another name.")


def check_members(*, track: Track, members: Collection[User]) -> None:
    """Refuse assessors of the track: nobody may judge what their own team retrieved."""
    assessors = track.assessors.filter(user__in=[member.pk for member in members]).select_related("user")
    if assessor := assessors.first():
        raise team_refused(
            f"{assessor.user} is an assessor of {track} and cannot be a member of one of its teams."
        )


@transaction.atomic
def set_members(*, team: Team, members: Collection[User], by: User | None = None) -> Team:
    """Set the members of a team. The time of those who are no longer in it ends."""
    track = track_services.lock(team.track_id)
    check_members(track=track, members=members)
    before = set(team.members.all())
    added, removed = set(members) - before, before - set(members)
    for user in removed:
        _end(_membership(team, user), by)
    Membership.objects.bulk_create([Membership(team=team, user=user) for user in added])
    _record(team, track, added, removed)
    return team


def _record(team: Team, track: Track, added: Collection[User], removed: Collection[User]) -> None:
    if added or removed:
        details = {"added": sorted(map(str, added)), "removed": sorted(map(str, removed))}
        audit.record(action="members.changed", subject=team, track=track, details=details)


def _end(membership: Membership, by: User | None) -> EndedMembership:
    ended = EndedMembership.objects.create(
        team=membership.team, user=membership.user, joined_at=membership.joined_at, ended_by=by
    )
    membership.delete()
    return ended


@transaction.atomic
def add_member(*, team: Team, user: User, may_submit: bool = True) -> Membership:
    """Add a member, who must not be an assessor; the first becomes the contact person. A member stays as they are."""
    track = track_services.lock(team.track_id)
    check_members(track=track, members=[user])
    is_first = not team.memberships.exists()
    defaults = {"may_submit": may_submit or is_first, "is_contact": is_first}
    member, is_new = Membership.objects.get_or_create(team=team, user=user, defaults=defaults)
    if is_new:
        _record(team, track, [user], [])
    return member


@transaction.atomic
def end_membership(*, team: Team, user: User, by: User | None) -> EndedMembership:
    """Let a member leave. Their runs stay with the team, and the time of their membership is kept."""
    track = track_services.lock(team.track_id)
    ended = _end(_membership(team, user), by)
    _record(team, track, [], [user])
    return ended


@transaction.atomic
def set_may_submit(*, team: Team, user: User, may_submit: bool) -> Membership:
    """Give a member the right to submit and withdraw runs, or take it away."""
    track = track_services.lock(team.track_id)
    membership = _membership(team, user)
    membership.may_submit = may_submit
    membership.save(update_fields=["may_submit"])
    details = {"member": str(user), "may submit": may_submit}
    audit.record(action="member.changed", subject=team, track=track, details=details)
    return membership


@transaction.atomic
def set_contact(*, team: Team, user: User) -> Membership:
    """Make a member the contact person, who manages the team."""
    track = track_services.lock(team.track_id)
    membership = _membership(team, user)
    team.memberships.filter(is_contact=True).update(is_contact=False)
    membership.is_contact = True
    membership.save(update_fields=["is_contact"])
    audit.record(action="member.changed", subject=team, track=track, details={"contact person": str(user)})
    return membership


def _membership(team: Team, user: User) -> Membership:
    membership = Membership.objects.filter(team=team, user=user).first()
    if membership is None:
        raise team_refused(f"{user} is not a member of {team}.")
    return membership


def notify_members(
    *, team: Team, kind: str, data: Mapping[str, object], wait: timedelta | None = None
) -> None:
    """Send a letter to each member who chose e-mails about runs, at once or gathered after a wait.

    Such a letter has no link and no score: a service does not know the address of the site.
    """
    for user_id in members_to_mail(team):
        letter: dict[str, Any] = {"kind": kind, "data": {**data, "user": user_id}, "site": ""}
        if wait is None:
            letters.post(**letter)
        else:
            letters.post_gathered(**letter, wait=wait)


PARTS = frozenset({
    "participation.EndedMembership", "participation.Invitation", "participation.InvitationUse",
    "participation.JoinRequest", "participation.Membership",
})  # fmt: skip


def check_deletion(team: Team) -> None:
    """Refuse to delete a team with a run, a document, a session or an answer about published runs.

    Raises:
        Refused: It has one of these.
    """
    check_unused(team, PARTS)


@transaction.atomic
def delete(*, team: Team, by: User) -> None:
    """Delete a team that has done nothing, with its memberships and links.

    Raises:
        Refused: As `check_deletion`.
    """
    track = track_services.lock(team.track_id)
    current = Team.objects.select_for_update(of=("self",)).get(pk=team.pk)
    check_deletion(current)
    details = {"members": sorted(map(str, current.members.all()))}
    audit.record(action="team.deleted", subject=current.name, track=track, details=details, by=by)
    delete_unused(current, PARTS)
