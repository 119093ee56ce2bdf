"""gunicorn's worker: who asks nothing holds nobody up."""

import os
import socket
import time
import urllib.request
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.conftest import start_process, wait_until


def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """An application that checks when its request arrived."""
    waited = time.monotonic() - environ["assay.arrival"]
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok" if 0 <= waited < 5 else b"no"]


def test_silent_connections_hold_no_thread(tmp_path: Path) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    listening.close()
    wanted = ["-m", "gunicorn", "-k", "server.gunicorn.Worker", "--workers", "1", "--threads", "1"]
    wanted += ["--keep-alive", "600", "--bind", f"127.0.0.1:{port}", "tests.server.test_gunicorn:answer"]
    running = start_process(wanted, dict(os.environ), tmp_path / "gunicorn.log")
    try:
        wait_until(lambda: "Listening" in running.output(), reason=running.output)
        with ExitStack() as silent:
            for _ in range(40):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
            # gunicorn's own class takes 5 seconds for each of them
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as page:
                assert page.read() == b"ok"
    finally:
        running.stop()
