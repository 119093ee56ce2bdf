"""Skip recommended points of the checklist, and ask for them again."""

from collections.abc import Collection

from django.db import transaction

from accounts.audit import services as audit
from tracks.checklist.points import Point
from tracks.checklist.selectors import checklist
from tracks.models import Track
from tracks.tracks.services import TrackRefused, lock


@transaction.atomic
def skip(*, track: Track, keys: Collection[str], is_skipped: bool = True) -> list[Point]:
    """Do without recommended points, or no longer; return them. Safe to repeat.

    Raises:
        TrackRefused: The checklist recommends no such point.
    """
    current = lock(track.pk)
    points = {
        point.skip: point for phase in checklist(current).phases for point in phase.points if point.skip
    }
    if not keys or set(keys) - set(points):
        raise TrackRefused(
            f"“{' '.join(keys)}” cannot be skipped in {current}. Points to skip: {', '.join(points)}."
        )
    before = set(current.skipped)
    after = before | set(keys) if is_skipped else before - set(keys)
    skipped = [point for key, point in points.items() if key in keys]
    if after != before:
        current.skipped = sorted(after)
        current.save(update_fields=["skipped"])
        action = "checklist.skipped" if is_skipped else "checklist.resumed"
        names = [point.label for point in skipped]
        audit.record(action=action, subject=current, track=current, details={"points": names})
    return skipped
