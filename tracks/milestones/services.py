"""Set the milestones of a track."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from django.db import transaction

from accounts.audit import services as audit
from tracks.models import Milestone, Track
from tracks.tracks import services as track_services
from tracks.tracks.services import TrackRefused
from web.times import EARLIEST, LATEST

MOST = 100  # milestones of a track


class MilestonesRefused(TrackRefused):
    title = "The milestones were not changed"


class NewMilestone(NamedTuple):
    """A title with its day, or its first and last day."""

    title: str
    starts_on: date
    ends_on: date | None = None


@transaction.atomic
def set_milestones(*, track: Track, milestones: Sequence[NewMilestone]) -> None:
    """Set all milestones of a track. One that keeps its title stays the same event in a calendar.

    Raises:
        MilestonesRefused: There are too many, two have the same title, or the days of one are not accepted.
    """
    current = track_services.lock(track.pk)
    if len(milestones) > MOST:
        raise MilestonesRefused(f"There are {len(milestones)} milestones; use at most {MOST}.")
    milestones = [each._replace(title=" ".join(each.title.split())) for each in milestones]
    titles = [each.title for each in milestones]
    for each in milestones:
        if titles.count(each.title) > 1:
            raise MilestonesRefused(f"The milestone “{each.title}” is there twice.")
        if not EARLIEST <= each.starts_on.year <= (each.ends_on or each.starts_on).year <= LATEST:
            raise MilestonesRefused(
                f"“{each.title}” has a day that is not in the years {EARLIEST} to {LATEST}."
            )
        if each.ends_on and each.ends_on <= each.starts_on:
            raise MilestonesRefused(f"The last day of “{each.title}” is not after its first day.")
    current.milestones.exclude(title__in=titles).delete()
    for each in milestones:
        Milestone.objects.update_or_create(track=current, title=each.title, defaults=each._asdict())
    days = "; ".join(f"{each.days} {each}" for each in current.milestones.all())
    audit.record(action="milestones.set", subject=current, track=current, details={"days": days or "none"})
