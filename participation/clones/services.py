"""Clone a track: a new draft with what stays the same from year to year."""

from django.db import transaction

from accounts.models import User
from participation.teams import services as team_services
from tracks.assessors import services as assessor_services
from tracks.guidelines import services as guidelines_services
from tracks.models import Track
from tracks.tracks import services as track_services


@transaction.atomic
def clone(*, track: Track, name: str, slug: str, assessors: bool, teams: bool, by: User) -> Track:
    """Create a draft with the protocol, the settings and the guidelines of another track, perhaps with its people.

    Topics, runs, pools, judgments, deadlines and leaderboards stay with the old track. The guidelines become a draft:
    their worked examples may name topics that the new track does not have.
    """
    new = Track(
        name=name,
        slug=slug,
        description=track.description,
        protocol=track.protocol,
        collection=track.collection,
    )
    track_services.create(track=new, by=by, cloned_from=track)
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
