"""Change tracks. Page, admin and command call these functions."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from assay.errors import Refused
from tracks.models import Track

FIXED_ONCE_OPENED = {"slug", "protocol", "collection"}  # runs are checked against these fields


class TrackRefused(Refused):
    """The state of the track does not allow the change."""


def lock(track_id: int) -> Track:
    """The track with its protocol, locked until the transaction ends. Other rows may still refer to it.

    Take this lock to open or close the track, to accept or withdraw a run, to create a pool, or to number qrels.
    """
    tracks = Track.objects.select_for_update(no_key=True, of=("self",)).select_related("protocol")
    return tracks.get(pk=track_id)


@transaction.atomic
def edit(*, track: Track, changed: Collection[str]) -> Track:
    """Save the changed fields of a track, and no others, because its status may change at the same time.

    Raises
    ------
    TrackRefused
        The track was opened, and runs may have been checked against one of the fields.
    """
    current = lock(track.pk)
    fixed = FIXED_ONCE_OPENED & set(changed) if current.status != Track.Status.DRAFT else set()
    if fixed:
        raise TrackRefused(
            f"{current} was opened and runs were checked against it: its {', '.join(sorted(fixed))} cannot change."
        )
    if changed:
        track.save(update_fields=list(changed))
    return track


@transaction.atomic
def open_for_runs(*, track: Track) -> Track:
    """Let teams submit runs.

    Raises
    ------
    TrackRefused
        The track has no topics, or its closing time has passed.
    """
    current = lock(track.pk)
    if not current.topics.exists():
        raise TrackRefused(f"{current} has no topics yet. Import its topic file first.")
    if current.closes_at is not None and current.closes_at <= timezone.now():
        raise TrackRefused(
            f"The closing time of {current} has passed. Set a later time or none, then open it."
        )
    current.status = Track.Status.OPEN
    current.save(update_fields=["status"])
    return current


@transaction.atomic
def close(*, track: Track) -> Track:
    """Accept no more runs, and let no run be withdrawn.

    Raises
    ------
    TrackRefused
        The track is a draft.
    """
    current = lock(track.pk)
    if current.status == Track.Status.DRAFT:
        raise TrackRefused(f"{current} is a draft. Only an open track can be closed.")
    current.status = Track.Status.CLOSED
    current.save(update_fields=["status"])
    return current
