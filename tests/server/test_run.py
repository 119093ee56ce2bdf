"""`make run`: one process group that starts whole, says where it is, and stops whole."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server import embedded, paths
from tests.conftest import Running, start_process, wait_until

Start = Callable[..., Running]


@pytest.fixture
def var(tmp_path: Path) -> Path:
    folder = tmp_path / "var"
    (folder / "static").mkdir(parents=True)
    return folder


@pytest.fixture
def start(var: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts `python -m server.run` with a `var/` of its own and without the demo."""
    started: list[Running] = []
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}

    def run(**environment: str) -> Running:
        log = tmp_path / f"run-{len(started)}.log"
        chosen = bare | {"ASSAY_VAR": str(var), "DEMO": "no", "PYTHONPATH": str(paths.ROOT)} | environment
        started.append(start_process(["-m", "server.run"], chosen, log))
        return started[-1]

    yield run
    for running in started:
        running.stop()
    embedded.Redis(var / "redis").stop()
    if (var / "postgres").exists():
        embedded.Postgres(paths.data(var)).stop()
        if (var / "postgres").is_symlink():
            subprocess.run(["rm", "-rf", str(paths.data(var).parent)], check=True)


def ready(running: Running) -> str:
    """The address, when all processes are ready."""

    def address() -> str:
        assert running.process.poll() is None, running.output()
        match = re.search(r"Assay runs at (\S+)", running.output())
        return match[1] if match else ""

    return str(wait_until(address, reason=running.output))


def ended(running: Running) -> int:
    return int(running.process.wait(timeout=120))


def test_it_starts_serves_announces_it_once_and_stops_completely(start: Start, var: Path) -> None:
    first = start()
    address = ready(first)
    second = start()

    with urllib.request.urlopen(address) as page:
        assert page.status == 200
    assert ended(second) == 1
    assert f"Assay is already running: {address}" in second.output()

    first.process.send_signal(signal.SIGINT)

    assert ended(first) == 0
    assert "Assay has stopped." in first.output()
    assert not embedded.Postgres(paths.data(var)).is_running
    assert not embedded.Redis(var / "redis").is_running


def test_after_a_kill_it_starts_again(start: Start) -> None:
    first = start()
    ready(first)
    first.kill()

    again = start()
    ready(again)
    again.process.send_signal(signal.SIGTERM)

    assert ended(again) == 0


def test_when_a_process_ends_all_stop_and_its_name_is_printed(start: Start, var: Path) -> None:
    running = start()
    ready(running)

    os.kill(int(paths.worker_file(var).read_text()), signal.SIGKILL)

    assert ended(running) == 1
    assert "worker ended unexpectedly (exit code -9)" in running.output()
    assert not embedded.Postgres(paths.data(var)).is_running


def test_next_start_succeeds_after_a_killed_first_start(start: Start, var: Path) -> None:
    first = start()
    wait_until(
        lambda: (var / "postgres").is_symlink() or (var / "postgres.new").exists() or (var / "run").exists()
    )
    first.kill()
    second = start()
    ready(second)

    assert second.process.poll() is None, second.output()


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield int(server.getsockname()[1])


def test_chosen_port_in_use_is_named_with_what_to_do(start: Start, busy_port: int) -> None:
    running = start(PORT=str(busy_port))

    assert ended(running) == 1
    assert f"Port {busy_port} is in use." in running.output()
    assert f"make run PORT={busy_port + 1}" in running.output()


@pytest.mark.parametrize("port", ["http", "0", "70000"])
def test_invalid_port_is_named(start: Start, port: str) -> None:
    running = start(PORT=port)

    assert ended(running) == 1
    assert f"PORT is '{port}'; use a number from 1 to 65535." in running.output()


def test_invalid_setting_is_named(start: Start) -> None:
    running = start(HTTPS="perhaps")

    assert ended(running) == 1
    assert "HTTPS is 'perhaps'; use true or false." in running.output()
    assert "Traceback" not in running.output()


def test_jobs_run_without_redis(start: Start, var: Path) -> None:
    running = start(REDIS_URL="filesystem://", JOB_HEARTBEAT_SECONDS="0.3", JOB_LOST_AFTER_SECONDS="2")
    ready(running)
    script = "from jobs.models import Job; j = Job.objects.create(kind='no.such', title='x'); print(j.pk)"
    state = "from jobs.models import Job; print(Job.objects.get().state)"

    manage(var, script)

    assert wait_until(lambda: "failed" in manage(var, state), reason=running.output)


def manage(var: Path, script: str) -> str:
    """What a command typed by hand says while `make run` runs."""
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", script],
        env=bare | {"ASSAY_VAR": str(var), "REDIS_URL": "filesystem://"},
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
