"""Signs of life of Redis, the clock (beat) and the workers, for the health check and the metrics.

The clock and the workers note in the shared cache that they are alive, wherever they run. Only the clock sends letters,
opens and closes tracks and starts lost jobs again, so a site without it looks well to its visitors.
"""

import time
from typing import NamedTuple

from django.core.cache import cache

CLOCK, WORKER = "alive:clock", "alive:worker"
KEPT_SECONDS = 7 * 24 * 3600
CLOCK_SECONDS = (
    120.0  # of silence, after which the clock counts as dead: it notes every few seconds that it is alive
)
WORKER_SECONDS = 300.0  # the clock has a task for any worker every few seconds
NO_CACHE = "Redis does not answer: jobs do not start, and nothing limits requests."
NO_CLOCK = "The clock (beat) is silent: no e-mails are sent, and tracks neither open nor close."
NO_WORKER = "No worker takes tasks: none runs, or all are busy with long jobs."


class Liveness(NamedTuple):
    """Answer of the cache: that it is there, and the seconds since the clock and a worker were (None: not known)."""

    has_cache: bool
    clock: float | None
    worker: float | None

    @property
    def problems(self) -> dict[str, str]:
        """A sentence about each part that is away, by its name; empty for one that is there."""
        if not self.has_cache:
            return {"redis": NO_CACHE, "clock": "", "worker": ""}
        is_silent = self.clock is None or self.clock > CLOCK_SECONDS
        is_idle = self.worker is None or self.worker > WORKER_SECONDS
        return {"redis": "", "clock": NO_CLOCK if is_silent else "", "worker": NO_WORKER if is_idle else ""}


def note(part: str) -> None:
    """Note that a part is alive."""
    cache.set(part, time.time(), KEPT_SECONDS)


def liveness() -> Liveness:
    """Ask the cache who is there."""
    cache.set("alive:cache", 1, 60)
    return Liveness(cache.get("alive:cache") is not None, _seconds_since(CLOCK), _seconds_since(WORKER))


def _seconds_since(part: str) -> float | None:
    seen: float | None = cache.get(part)
    return None if seen is None else max(time.time() - seen, 0.0)
