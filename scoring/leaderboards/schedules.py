"""Release leaderboards at a set time. Celery beat does it; the clock of the database counts."""

from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from scoring.errors import LeaderboardRefused
from scoring.leaderboards import services
from scoring.leaderboards.releases import is_wider
from scoring.models import Leaderboard, ScheduledRelease
from tracks.tracks import services as track_services
from web import times


@transaction.atomic
def schedule(
    *, leaderboard: Leaderboard, level: str, release_at: datetime, zone: str, by: User, reason: str = ""
) -> ScheduledRelease:
    """Release a leaderboard at a time, instead of the time that was set before.

    The checks of a release run at that time; `reason` overrides it, as in `release`.

    Raises:
        LeaderboardRefused: It is not scored yet, the level shows it to nobody else, or the time has passed.
    """
    track_services.lock(leaderboard.track_id)
    board = Leaderboard.objects.select_for_update(of=("self",)).get(pk=leaderboard.pk)
    if board.status != Leaderboard.Status.READY:
        raise LeaderboardRefused(
            f"The leaderboard is {board.get_status_display()}. You can schedule its release when it is ready."
        )
    if level not in Leaderboard.Release.values or not is_wider(board, level):
        raise LeaderboardRefused("Only a release that shows the leaderboard to more people can be scheduled.")
    if release_at <= times.now():
        raise LeaderboardRefused(
            f"The time has passed: {times.in_words(release_at, zone)}. Enter a later one, or release it now."
        )
    fields = {"level": level, "release_at": release_at, "zone": zone, "reason": reason.strip()}
    fields |= {"problem": "", "created_by": by}
    row, _ = ScheduledRelease.objects.update_or_create(leaderboard=board, defaults=fields)
    details = {"visible to": row.get_level_display(), "time": times.in_words(release_at, zone)}
    audit.record(action="release.scheduled", subject=board, track=board.track, details=details, by=by)
    return row


@transaction.atomic
def cancel(*, leaderboard: Leaderboard, by: User) -> None:
    """Release the leaderboard at no set time. Canceling twice is harmless."""
    n, _ = ScheduledRelease.objects.filter(leaderboard=leaderboard).delete()
    if n:
        audit.record(action="release.canceled", subject=leaderboard, track=leaderboard.track, by=by)


def release_due() -> int:
    """Release the leaderboards whose time has come; the number of those that were released.

    A refused release is not tried again: its row keeps the reason, and the page of the leaderboard shows it.
    """
    due = ScheduledRelease.objects.filter(release_at__lte=Now(), problem="").order_by("release_at", "pk")
    return sum(map(_release, list(due.values_list("pk", flat=True))))


def _release(pk: int) -> bool:
    try:
        with transaction.atomic():
            rows = ScheduledRelease.objects.select_for_update(of=("self",), skip_locked=True)
            due = rows.filter(pk=pk, release_at__lte=Now(), problem="")
            row = due.select_related("leaderboard__track", "created_by").first()
            if row is None:  # another process has it, or it was changed meanwhile
                return False
            services.release(
                leaderboard=row.leaderboard, level=row.level, by=row.created_by, reason=row.reason
            )
            row.delete()
    except Refused as refusal:
        ScheduledRelease.objects.filter(pk=pk).update(problem=refusal.message)
        return False
    return True
