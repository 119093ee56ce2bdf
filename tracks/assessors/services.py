"""Add assessors to a track, and set their groups."""

from django.db import transaction

from accounts.models import User
from tracks.models import Assessor, Track
from tracks.tracks import services as track_services
from tracks.tracks.services import TrackRefused


@transaction.atomic
def add(*, track: Track, user: User, group: str = "") -> Assessor:
    """Make a user an assessor of a track, in one of the groups of its protocol.

    Raises
    ------
    TrackRefused
        The user is a member of one of the track's teams, or the protocol does not define the group.
    """
    current = track_services.lock(track.pk)
    check(track=current, user=user)
    check_group(track=current, group=group)
    assessor, _ = Assessor.objects.get_or_create(track=track, user=user, defaults={"group": group})
    return assessor


@transaction.atomic
def set_group(*, assessor: Assessor, group: str) -> Assessor:
    """Move an assessor to another group of the protocol. It counts where topics are shared or assigned from now on.

    Raises
    ------
    TrackRefused
        The protocol does not define the group.
    """
    check_group(track=track_services.lock(assessor.track_id), group=group)
    assessor.group = group
    assessor.save(update_fields=["group"])
    return assessor


def check_group(*, track: Track, group: str) -> None:
    """Refuse a group of assessors that the protocol does not define; an empty group is always allowed."""
    groups = track.protocol.parsed.judging.groups
    if group and group not in groups:
        accepted = f"use {', '.join(groups)}" if groups else "it defines no groups, so leave the field empty"
        raise TrackRefused(f"“{group}” is not a group of assessors of {track.protocol.slug}: {accepted}.")


def check(*, track: Track, user: User) -> None:
    """Refuse a member of one of the track's teams: nobody judges documents that their own team retrieved.

    Raises
    ------
    TrackRefused
        The user is a member of one of the track's teams.
    """
    if user.teams.filter(track=track).exists():
        raise TrackRefused(f"{user} is a member of a team of {track}, so {user} cannot judge for it.")
