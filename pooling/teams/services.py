"""Create and change teams."""

from collections.abc import Collection

from django.db import transaction

from accounts.models import User
from pooling.models import Team
from pooling.teams.errors import TeamRefused
from tracks.models import Track
from tracks.tracks import services as track_services


@transaction.atomic
def create(*, track: Track, name: str, members: Collection[User] = ()) -> Team:
    """Make a team of a track.

    Raises
    ------
    TeamRefused
        The name is taken or empty, or somebody may not be a member.
    """
    track = track_services.lock(track.pk)
    check_name(track=track, name=name)
    team = Team.objects.create(track=track, name=name.strip())
    set_members(team=team, members=members)
    return team


@transaction.atomic
def rename(*, team: Team, name: str) -> Team:
    """Call a team otherwise.

    Raises
    ------
    TeamRefused
        The name is taken or empty.
    """
    check_name(track=track_services.lock(team.track_id), name=name, team=team)
    team.name = name.strip()
    team.save(update_fields=["name"])
    return team


def check_name(*, track: Track, name: str, team: Team | None = None) -> None:
    """Refuse an empty name, and one that another team of the track has in any case of letters."""
    others = Team.objects.filter(track=track, name__iexact=name.strip()).exclude(pk=team.pk if team else 0)
    if not name.strip() or not name.isprintable():
        raise TeamRefused("A team needs a name that can be printed.")
    if others.exists():
        raise TeamRefused(f"{track} has a team of the name {name.strip()} already.")


@transaction.atomic
def set_members(*, team: Team, members: Collection[User]) -> Team:
    """Say who is in a team.

    Raises
    ------
    TeamRefused
        Somebody judges for the track.
    """
    check_members(track=track_services.lock(team.track_id), members=members)
    team.members.set(members)
    return team


def check_members(*, track: Track, members: Collection[User]) -> None:
    """Refuse an assessor of the track: nobody judges what their own team found."""
    judging = (
        track.assessors.filter(user__in=[member.pk for member in members]).select_related("user").first()
    )
    if judging is not None:
        raise TeamRefused(f"{judging.user} judges for {track}, so cannot be a member of one of its teams.")
