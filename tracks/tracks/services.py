"""What changes protocols, tracks and their people. Every door (page, admin, command) calls these."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from tracks.models import Track
from tracks.tracks.errors import TrackRefused

SETTLED = {"slug", "protocol", "collection"}  # of a track, once it has been opened


def lock(track_id: int) -> Track:
    """The track with its protocol, locked until the transaction ends; rows that point to it may still be made.

    Whoever opens or closes it, takes or withdraws a run, makes a pool, or numbers qrels goes one after another.
    """
    tracks = Track.objects.select_for_update(no_key=True, of=("self",)).select_related("protocol")
    return tracks.get(pk=track_id)


@transaction.atomic
def edit(*, track: Track, changed: Collection[str]) -> Track:
    """Keep what was changed of a track, and nothing else: its status may be changing at the same time.

    Raises
    ------
    TrackRefused
        The track has been opened, and runs may have been checked against what would change.
    """
    current = lock(track.pk)
    settled = SETTLED & set(changed) if current.status != Track.Status.DRAFT else set()
    if settled:
        what = ", ".join(sorted(settled))
        raise TrackRefused(
            f"{current} has been opened, and runs were checked against it: its {what} cannot change."
        )
    if changed:
        track.save(update_fields=list(changed))
    return track


@transaction.atomic
def open_for_runs(*, track: Track) -> Track:
    """Let the teams submit runs.

    Raises
    ------
    TrackRefused
        The track has no topics, or its closing time has passed.
    """
    current = lock(track.pk)
    if not current.topics.exists():
        raise TrackRefused(f"{current} has no topics yet. Import its topic file first.")
    if current.closes_at is not None and current.closes_at <= timezone.now():
        raise TrackRefused(f"The closing time of {current} has passed. Set a later one, or none, first.")
    current.status = Track.Status.OPEN
    current.save(update_fields=["status"])
    return current


@transaction.atomic
def close(*, track: Track) -> Track:
    """Take no more runs, and let none be withdrawn."""
    current = lock(track.pk)
    if current.status == Track.Status.DRAFT:
        raise TrackRefused(f"{current} is a draft: it has not been opened, so it cannot be closed.")
    current.status = Track.Status.CLOSED
    current.save(update_fields=["status"])
    return current
