"""Add assessors to a track, and set their groups."""

from collections.abc import Callable, Mapping

from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from tracks.models import Assessor, Track
from tracks.tracks import services as track_services
from tracks.tracks.services import track_refused

# (track, groups by user): refuses to move assessors of a track to other groups
GroupCheck = Callable[..., None]
# (track, user): takes back what an assessor has to do; whether anything that they did or were to do is recorded
Ending = Callable[..., bool]
_group_checks: list[GroupCheck] = []
_endings: list[Ending] = []


@transaction.atomic
def add(*, track: Track, user: User, group: str = "") -> Assessor:
    """Make a user an assessor of a track, in one of the groups of its protocol; also one who was removed.

    Raises:
        Refused: The user is a member of one of the track's teams, or the protocol does not define the group.
    """
    current = track_services.lock(track.pk)
    check(track=current, user=user)
    check_group(track=current, group=group)
    assessor, is_new = Assessor.objects.get_or_create(track=track, user=user, defaults={"group": group})
    is_back = assessor.ended_at is not None
    if is_back:
        assessor.ended_at = None
        assessor.save(update_fields=["ended_at"])
        if group != assessor.group:
            set_groups(track=current, groups={user: group})
    if is_new or is_back:
        audit.record(action="assessor.added", subject=user, track=current, details={"group": group})
    return assessor


@transaction.atomic
def remove(*, track: Track, user: User, by: User) -> None:
    """End somebody's work as an assessor of a track. What they have not judged is taken back; their judgments stay.

    Of somebody who never had a topic, nothing stays.

    Raises:
        Refused: The user is no assessor of the track, or is a machine.
    """
    current = track_services.lock(track.pk)
    assessor = current.assessors.filter(user=user, ended_at=None).first()
    if assessor is None or user.is_machine:
        raise track_refused(f"{user.named} is not a person who judges for {current}.")
    traces = [end(track=current, user=user) for end in _endings]
    if any(traces):
        assessor.ended_at = timezone.now()
        assessor.save(update_fields=["ended_at"])
    else:
        assessor.delete()
    audit.record(action="assessor.removed", subject=user, track=current, by=by)


def at_end(end: Ending) -> Ending:
    """Register a function of an app above this one that takes back what an assessor has to do."""
    _endings.append(end)
    return end


@transaction.atomic
def set_groups(*, track: Track, groups: Mapping[User, str]) -> None:
    """Move assessors to other groups of the protocol: all of them, or nobody if one is refused.

    Raises:
        Refused: The protocol does not define a group, or the assessors of a topic would no longer be of different
            groups.
    """
    current = track_services.lock(track.pk)
    for group in groups.values():
        check_group(track=current, group=group)
    for check_with in _group_checks:
        check_with(track=current, groups=groups)
    for user, group in groups.items():
        if not Assessor.objects.filter(track=current, user=user).exclude(group=group).update(group=group):
            continue
        audit.record(action="assessor.moved", subject=user, track=current, details={"group": group})


def check_set_groups(*, track: Track, groups: Mapping[User, str]) -> None:
    """Refuse what `set_groups` would refuse, and change nothing."""
    with transaction.atomic():
        set_groups(track=track, groups=groups)
        transaction.set_rollback(True)


def checks_groups(check_with: GroupCheck) -> GroupCheck:
    """Register a function that refuses groups for a reason of an app above this one."""
    _group_checks.append(check_with)
    return check_with


def check_group(*, track: Track, group: str) -> None:
    """Refuse a group of assessors that the protocol does not define; an empty group is always allowed."""
    groups = track.protocol.parsed.judging.groups
    if group and group not in groups:
        accepted = f"use {', '.join(groups)}" if groups else "it defines no groups, so leave the field empty"
        raise track_refused(f"“{group}” is not a group of assessors of {track.protocol.slug}: {accepted}.")


def check(*, track: Track, user: User) -> None:
    """Refuse members of the track's teams, also former ones: nobody judges documents that their own team retrieved.

    Raises:
        Refused: The user is a member of one of the track's teams, or was one of a team that submitted runs; or the
            user is a machine of another track.
    """
    if user.is_machine and not Assessor.objects.filter(track=track, user=user).exists():
        raise track_refused(f"{user} is a machine of another track. Add it to {track} as a machine.")
    if user.teams.filter(track=track).exists():
        raise track_refused(
            f"{user.named} is a member of a team of {track}, so {user.named} cannot judge for it."
        )
    if user.ended_memberships.filter(team__track=track, team__runs__isnull=False).exists():
        raise track_refused(
            f"{user.named} was a member of a team of {track} that submitted runs, so {user.named} cannot judge for it."
        )
