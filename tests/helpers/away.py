"""The Redis of the tests, stopped or hanging for a while."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from redis import Redis

from server import embedded

Way = Literal["stopped", "hanging"]
WAYS: tuple[Way, ...] = ("stopped", "hanging")
LONGEST = 20  # seconds that an answer may take meanwhile, on a busy machine


@contextmanager
def without_redis(way: Way) -> Iterator[None]:
    """Stop the server, or let it take connections and answer nothing. Afterwards it works again."""
    server = embedded.Redis(Path(os.environ["ASSAY_VAR"]) / "redis")
    if way == "stopped":
        server.stop()
        try:
            yield
        finally:
            server.start()
        return
    with Redis(unix_socket_path=str(server.socket)) as client:
        number = int(client.info("server")["process_id"])
    os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(number, signal.SIGCONT)


@contextmanager
def answered_soon() -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < LONGEST
