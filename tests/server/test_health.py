"""The health checks of containers."""

import os
from pathlib import Path
from typing import Any

import pytest

from server import health


def test_pages_that_respond_are_healthy(live_server: Any) -> None:
    assert health.web(port=live_server.thread.port) == ""


def test_pages_that_do_not_respond_are_unhealthy(unused_port: int) -> None:
    assert "does not respond" in health.web(port=unused_port)


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def test_beat_is_healthy_while_it_touches_its_file(tmp_path: Path) -> None:
    file = tmp_path / "beat"

    assert health.beat(file, 0) == "the beat has not started"

    file.touch()
    os.utime(file, (1000, 1000))

    assert health.beat(file, 1030) == ""
    assert "silent for 500 seconds" in health.beat(file, 1500)


def test_an_unknown_service_gets_the_usage() -> None:
    assert "usage" in health.main(["database"])
