"""Create and change teams."""

from collections.abc import Collection

from django.db import transaction

from accounts.models import User
from audit import services as audit
from pooling.models import Team
from pooling.teams.errors import TeamRefused
from tracks.models import Track
from tracks.tracks import services as track_services


@transaction.atomic
def create(*, track: Track, name: str, members: Collection[User] = ()) -> Team:
    """Create a team of a track.

    Raises
    ------
    TeamRefused
        The name is taken or empty, or a user cannot be a member.
    """
    track = track_services.lock(track.pk)
    check_name(track=track, name=name)
    team = Team.objects.create(track=track, name=name.strip())
    audit.record(action="team.created", subject=team, track=track)
    set_members(team=team, members=members)
    return team


@transaction.atomic
def rename(*, team: Team, name: str) -> Team:
    """Rename a team.

    Raises
    ------
    TeamRefused
        The name is taken or empty.
    """
    track = track_services.lock(team.track_id)
    check_name(track=track, name=name, team=team)
    before = Team.objects.get(pk=team.pk)
    team.name = name.strip()
    if differences := audit.changes(before, team, ["name"]):
        team.save(update_fields=["name"])
        audit.record(action="team.renamed", subject=team, track=track, details=differences)
    return team


@transaction.atomic
def set_disk_limit(*, team: Team, max_megabytes: int | None) -> Team:
    """Set the limit of disk space for a team's runs; None: that of the site. Runs that exceed it already stay."""
    track = track_services.lock(team.track_id)
    before = Team.objects.get(pk=team.pk)
    team.max_megabytes = max_megabytes
    if differences := audit.changes(before, team, ["max_megabytes"]):
        team.save(update_fields=["max_megabytes"])
        audit.record(action="team.limited", subject=team, track=track, details=differences)
    return team


def check_name(*, track: Track, name: str, team: Team | None = None) -> None:
    """Refuse an empty name, and one that another team of the track has, ignoring case."""
    others = Team.objects.filter(track=track, name__iexact=name.strip()).exclude(pk=team.pk if team else 0)
    if not name.strip() or not name.isprintable():
        raise TeamRefused("Enter a name of printable characters.")
    if others.exists():
        raise TeamRefused(f"{track} already has a team named {name.strip()}; choose another name.")


@transaction.atomic
def set_members(*, team: Team, members: Collection[User]) -> Team:
    """Set the members of a team.

    Raises
    ------
    TeamRefused
        A user is an assessor of the track.
    """
    track = track_services.lock(team.track_id)
    check_members(track=track, members=members)
    before = set(team.members.all())
    team.members.set(members)
    added, removed = set(members) - before, before - set(members)
    if added or removed:
        details = {"added": sorted(map(str, added)), "removed": sorted(map(str, removed))}
        audit.record(action="members.changed", subject=team, track=track, details=details)
    return team


def check_members(*, track: Track, members: Collection[User]) -> None:
    """Refuse assessors of the track: nobody may judge what their own team retrieved."""
    assessor = (
        track.assessors.filter(user__in=[member.pk for member in members]).select_related("user").first()
    )
    if assessor is not None:
        raise TeamRefused(
            f"{assessor.user} is an assessor of {track} and cannot be a member of one of its teams."
        )
