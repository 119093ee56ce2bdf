"""`make run`: one process group that starts whole, says where it is, and stops whole."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg2
import pytest

from server import embedded, paths
from server.processes import RunError
from server.run import Stopping, listen
from tests.fixtures import Running, start_process, wait_until

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

    def run(*options: str, **environment: str) -> Running:
        log = tmp_path / f"run-{len(started)}.log"
        chosen = bare | {"ASSAY_VAR": str(var), "DEMO": "no", "PYTHONPATH": str(paths.ROOT)} | environment
        started.append(start_process(["-m", "server.run", *options], chosen, log))
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


@pytest.mark.long
def test_it_starts_serves_restarts_what_ends_and_stops_completely(start: Start, var: Path) -> None:
    """Also after a first start that was killed, after a kill, on the same port, and then without Redis."""
    port = str(free_port())
    killed = start()
    wait_until(
        lambda: (var / "postgres").is_symlink() or any(var.glob("postgres.new*")) or (var / "run").exists()
    )
    killed.kill()
    first = start(PORT=port, **QUICK)
    address = ready(first)
    second = start()

    with urllib.request.urlopen(address) as page:
        assert page.status == 200
    assert ended(second) == 1
    assert f"Assay is already running: {address}" in second.output()

    end_each_once(first, var)
    assert wait_until(lambda: serves(address), reason=first.output)
    assert embedded.Redis(var / "redis").is_running
    assert state_of_new_job(var, first) == "failed"

    with socket.create_connection(
        ("127.0.0.1", int(port))
    ) as browser:  # keeps a thread of the killed web busy
        browser.sendall(b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        first.process.kill()
        first.process.wait()

        again = start(PORT=port)
        assert ready(again) == address

    stopped = start("--stop")
    assert (ended(stopped), ended(again)) == (0, 0)
    assert stopped.output() == "Assay has stopped.\n"
    assert "Assay has stopped." in again.output()
    assert not embedded.Postgres(paths.data(var)).is_running
    assert not embedded.Redis(var / "redis").is_running
    assert (ended(nothing := start("--stop")), nothing.output()) == (0, "Assay was not running.\n")

    without_redis = start(REDIS_URL="filesystem://", **QUICK)
    ready(without_redis)
    assert state_of_new_job(var, without_redis) == "failed"
    kill_until_all_stops(without_redis)
    assert not embedded.Postgres(paths.data(var)).is_running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_of_these_signals_asks_it_to_stop(number: signal.Signals) -> None:
    """The story above sends one of them."""
    usual = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        stopping = Stopping()
        assert not stopping.asked
        os.kill(os.getpid(), number)
        assert stopping.asked
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)


def end_each_once(running: Running, var: Path) -> None:
    """End both servers, web and beat, and wait until each has been started again."""
    postgres = int((paths.data(var) / "postmaster.pid").read_text().split("\n")[0])
    os.kill(postgres, signal.SIGKILL)
    wait_until(lambda: "PostgreSQL runs again." in running.output(), reason=running.output)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(embedded.Redis(var / "redis").socket))
        client.sendall(b"SHUTDOWN NOSAVE\r\n")
    wait_until(lambda: "Redis runs again." in running.output(), reason=running.output)
    for name, word in (("web", "gunicorn"), ("beat", "beat")):
        kill(running, word)
        assert f"{name} ended unexpectedly (exit code -9). Starting it again." in running.output()


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def process_of(running: Running, word: str) -> int:
    """The number of the process that the run started with a word in its command; 0 if there is none."""
    parent = running.process.pid
    for number in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        try:
            command = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if word.encode() in command:
            return int(number)
    return 0


def serves(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}health/", timeout=5) as page:
            return bool(page.status == 200)
    except OSError:
        return False


def kill(running: Running, word: str) -> None:
    """Kill a process of a run, and wait until another one has its place."""
    number = process_of(running, word)
    os.kill(number, signal.SIGKILL)
    wait_until(lambda: process_of(running, word) not in {0, number}, reason=running.output)


def kill_until_all_stops(running: Running) -> None:
    """Kill the worker as often as it is started, until it has ended too often."""
    for _ in range(4):
        number = process_of(running, "worker")
        os.kill(number, signal.SIGKILL)
        wait_until(
            lambda killed=number: (
                "everything stops" in running.output() or process_of(running, "worker") not in {0, killed}
            ),
            reason=running.output,
        )
    assert ended(running) == 1
    ending = "worker ended unexpectedly (exit code -9). It was started again 3 times within 60 seconds"
    assert ending in running.output()


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
def test_invalid_port_is_named(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", port)

    with pytest.raises(RunError, match=f"PORT is '{port}'; use a number from 1 to 65535."):
        listen()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"HTTPS": "perhaps"}, "HTTPS is 'perhaps'; use true or false."),
        ({"PORT": "http"}, "PORT is 'http'; use a number from 1 to 65535."),
    ],
    ids=["HTTPS", "PORT"],
)
def test_invalid_setting_is_named(start: Start, setting: dict[str, str], message: str) -> None:
    running = start(**setting)

    assert ended(running) == 1
    assert message in running.output()
    assert "Traceback" not in running.output()


QUICK = {"JOB_HEARTBEAT_SECONDS": "0.3", "JOB_LOST_AFTER_SECONDS": "2"}
NEW_JOB = "from jobs.models import Job; Job.objects.create(kind='no.such', title='x')"


def state_of_new_job(var: Path, running: Running) -> str:
    """The end of a job of an unknown kind that a command typed by hand creates: a worker takes it up."""
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", NEW_JOB],
        env=bare | {"ASSAY_VAR": str(var), "PYTHONPATH": str(paths.ROOT)},
        cwd=paths.ROOT,
        check=True,
    )
    database = psycopg2.connect(paths.database_url(paths.data(var)))
    database.autocommit = True

    def state() -> str:
        with database.cursor() as cursor:
            cursor.execute("SELECT state FROM jobs_job ORDER BY id DESC LIMIT 1")
            [row] = cursor.fetchall()
        return str(row[0]) if row[0] in {"failed", "done"} else ""

    with contextlib.closing(database):
        return str(wait_until(state, reason=running.output))
