"""Ends jobs that take too long and workers that hang, and shows that the beat is alive.

While C code such as a regular expression or a parser holds the interpreter's lock, no thread can renew the heartbeat of
the job. Another worker then takes the job over, but the first process would never come back. Threads and signal
handlers do not run in it; the timer of `faulthandler` needs no interpreter.
"""

import faulthandler
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from celery.beat import Scheduler
from django.conf import settings

from jobs import liveness


class TimeIsUp(BaseException):
    """A job reached its time limit. No handler of errors catches it."""


@contextmanager
def in_thread(work: Callable[[threading.Event], object], name: str) -> Iterator[None]:
    """Run a function in a thread during the block, whose end sets the event that the function gets."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=[stop], daemon=True, name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def watched(seconds: float) -> Iterator[None]:
    """End this process, with a traceback on stderr, if no thread of it can run for so many seconds."""

    def watch(stop: threading.Event) -> None:
        while not stop.wait(seconds / 4):
            _restart(seconds)

    _restart(seconds)
    try:
        with in_thread(watch, "watchdog"):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in the block after so many seconds. Only the main thread of a process can be limited."""

    def stop(*_: object) -> None:
        raise TimeIsUp

    earlier = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def _restart(seconds: float) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)


class WatchedScheduler(Scheduler):
    """Notes in every round that it is alive, in a file and in the cache, for the health checks.

    It has no history: every task is safe to repeat.
    """

    def tick(self, *args: Any, **kwargs: Any) -> float:
        file = Path(settings.BEAT_FILE)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        liveness.note(liveness.CLOCK)
        delay: float = super().tick(*args, **kwargs)
        return delay
