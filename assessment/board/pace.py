"""How fast a batch is judged, and when it will be finished at that pace."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

WINDOW = timedelta(days=7)
SHORTEST = timedelta(hours=1)  # a campaign that began a minute ago has no pace yet
FARTHEST_DAYS = 3650


class Pace(NamedTuple):
    """Units judged in the last days, per hour and per day of 24 hours, and the day on which the rest is judged.

    `hours` is the length of the window. `finish` is None if nothing is left, nothing was judged in the window, or the
    rest takes more than ten years.
    """

    n: int
    hours: float
    per_hour: float
    per_day: float
    left: int
    finish: datetime | None

    @property
    def whole_hours(self) -> int:
        """The length of the window, rounded."""
        return round(self.hours)


def pace_of(by_hour: Mapping[datetime, int], *, left: int, now: datetime) -> Pace:
    """The pace of the last seven days, nights and pauses included, or since the first judgment if that is later.

    `by_hour` is the number of units judged in each hour, by the beginning of the hour.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    >>> pace = pace_of({now - timedelta(hours=10): 30, now - timedelta(hours=1): 20}, left=50, now=now)
    >>> pace.per_hour, pace.per_day, str(pace.finish)
    (5.0, 120.0, '2026-03-02 22:00:00+00:00')
    """
    recent = {hour: n for hour, n in by_hour.items() if hour > now - WINDOW}
    first = min(by_hour, default=now)
    window = max(SHORTEST, min(WINDOW, now - first))
    n, hours = sum(recent.values()), window / timedelta(hours=1)
    per_hour = n / hours
    days = left / per_hour / 24 if per_hour else math.inf
    is_projected = left > 0 and days < FARTHEST_DAYS
    return Pace(n, hours, per_hour, 24 * per_hour, left, now + timedelta(days=days) if is_projected else None)
