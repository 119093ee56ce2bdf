"""Add assessors to a track, and set their groups."""

from random import SystemRandom

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


@transaction.atomic
def pseudonyms(*, track: Track) -> dict[int, str]:
    """The code names of a track's assessors by the id of their account: A1, A2, … in a random order.

    A code name never changes. Assessors who have none yet get the next numbers, shuffled, so that the numbers reveal
    neither names nor the order in which the assessors were added at a time.
    """
    track_services.lock(track.pk)
    assessors = list(Assessor.objects.filter(track=track).order_by("pk"))
    last = max((each.pseudonym or 0 for each in assessors), default=0)
    new = [each for each in assessors if each.pseudonym is None]
    SystemRandom().shuffle(new)
    for number, assessor in enumerate(new, last + 1):
        assessor.pseudonym = number
    Assessor.objects.bulk_update(new, ["pseudonym"])
    return {each.user_id: f"A{each.pseudonym}" for each in assessors}


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
