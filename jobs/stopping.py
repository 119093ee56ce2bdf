"""A worker that gets SIGTERM lets short jobs end, and hands the others back at their next step.

The processes of a worker share a time: the first of them sets it, and those that run jobs ask whether it has
come. Only what has come from `worker_init` on is shared, so several workers of one process have times of their own.
"""

import time
from multiprocessing.sharedctypes import RawValue
from typing import Any

from celery.signals import worker_init, worker_shutting_down

HAND_BACK_SECONDS = 5.0  # `make run` kills after ten, Compose after sixty
_time: Any = None  # by the monotonic clock, which is that of the machine; 0 if nobody stops the worker


@worker_init.connect
def watch(**_: object) -> None:
    """Let the processes that this one forks see the time."""
    global _time  # noqa: PLW0603  a worker is a process
    _time = RawValue("d", 0.0)


@worker_shutting_down.connect
def stop(**_: object) -> None:
    if _time is not None:
        _time.value = time.monotonic() + HAND_BACK_SECONDS


def is_due() -> bool:
    """Return whether a job of this process has to be handed back."""
    return _time is not None and 0 < _time.value <= time.monotonic()
