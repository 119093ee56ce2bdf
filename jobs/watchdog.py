"""Ends a worker process that no longer runs Python, so that its job counts as lost and the process is replaced.

While C code such as a regular expression or a parser holds the interpreter's lock, no thread can renew the heartbeat of
the job. Another worker then takes the job over, but the first process would never come back. Threads and signal
handlers do not run in it; the timer of `faulthandler` needs no interpreter.
"""

import faulthandler
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def watched(seconds: float) -> Iterator[None]:
    """End this process, with a traceback on stderr, if no thread of it can run for so many seconds."""
    stop = threading.Event()
    _restart(seconds)
    thread = threading.Thread(target=_watch, args=[seconds, stop], daemon=True, name="watchdog")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        faulthandler.cancel_dump_traceback_later()


def _watch(seconds: float, stop: threading.Event) -> None:
    while not stop.wait(seconds / 4):
        _restart(seconds)


def _restart(seconds: float) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
