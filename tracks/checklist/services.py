"""Skip recommended points of the checklist or accept what it remarks, and ask for both again."""

from collections.abc import Collection

from django.db import transaction

from accounts.audit import services as audit
from tracks.checklist.selectors import Skippable, checklist
from tracks.models import Track
from tracks.tracks.services import lock, track_refused


@transaction.atomic
def skip(*, track: Track, keys: Collection[str], is_skipped: bool = True) -> list[Skippable]:
    """Do without recommended points and accept problems, or no longer; return them. Safe to repeat.

    Raises:
        Refused: The checklist has no such point or problem.
    """
    current = lock(track.pk)
    known = checklist(current).with_looks().skippable
    if not keys or set(keys) - set(known):
        raise track_refused(
            f"“{' '.join(keys)}” cannot be skipped in {current}. Points to skip: {', '.join(known)}."
        )
    before = set(current.skipped)
    after = before | set(keys) if is_skipped else before - set(keys)
    skipped = [skippable for key, skippable in known.items() if key in keys]
    if after != before:
        current.skipped = sorted(after)
        current.save(update_fields=["skipped"])
        for action in dict.fromkeys(each.action if is_skipped else "checklist.resumed" for each in skipped):
            chosen = [each for each in skipped if not is_skipped or each.action == action]
            details: dict[str, object] = {"points": [each.label for each in chosen]}
            if action == "checklist.marked":
                details["as"] = chosen[0].word.removeprefix("marked as ")
            audit.record(action=action, subject=current, track=current, details=details)
    return skipped
