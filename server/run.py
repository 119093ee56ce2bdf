"""`make run`: starts the embedded servers, then web, worker and beat, all in the foreground.

Ctrl-C or SIGTERM stops all processes. A process or server that ends unexpectedly is started again. Each process has
its own process group, so that Ctrl-C reaches only this one, which ends each of them once: gunicorn can hang if it gets
two signals at the same time. If this process is killed, the three end too, and the next start waits for their end. It
uses servers that were left running. Decision: ADR 9.
"""

import fcntl
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from django.core.exceptions import ImproperlyConfigured

from server import embedded, environment, health, os_account, paths
from server.processes import RunError, end, locks, no_others, say, start
from server.supervision import Supervisor

DEFAULT_PORT = 8000
PORTS_TO_TRY = 20
READY_SECONDS = 120.0
STOP_SECONDS = 60.0
WORKER = "assay@localhost"


class Stopping:
    """A request to stop, by a signal. The handler only records it."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.asked = True


@contextmanager
def foreground() -> Iterator[None]:
    """Move to an own process group with the terminal, so that Ctrl-C does not reach make, and make sees success."""
    has_terminal = sys.stdin.isatty() and os.tcgetpgrp(0) == os.getpgrp()
    if not has_terminal or os.getpgrp() == os.getpid():
        yield
        return
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    # no Ctrl-Z: the shell knows only make, and could not continue this group
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    shell = os.getpgrp()
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    try:
        yield
    finally:
        os.tcsetpgrp(0, shell)


@contextmanager
def only_one(var: Path) -> Iterator[IO[str]]:
    """Hold the lock of `make run` for this checkout. The file names the holder; a killed process holds no lock."""
    path = os_account.private_folder(var) / "run" / "run.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise RunError(f"Assay is already running: {file.read().strip()}.") from error
        file.truncate(0)
        file.write(f"it is starting (process {os.getpid()})")
        file.flush()
        yield file
        file.truncate(0)


def listen() -> socket.socket:
    """Listen on PORT, which must be free, or else on the first free port from 8000.

    The web process inherits the socket, so that no other program can take the port in between.
    """
    chosen = environment.text("PORT")
    if chosen and not (chosen.isdigit() and 0 < int(chosen) < 65536):
        raise RunError(f"PORT is '{chosen}'; use a number from 1 to 65535.")
    first = int(chosen or DEFAULT_PORT)
    ports = [first] if chosen else range(first, first + PORTS_TO_TRY)
    for port in ports:
        server = _listen(port)
        if server is not None:
            if port != first:
                say(f"Port {first} is in use. Using {port} instead.")
            return server
    raise RunError(
        f"Port {first} is in use. Stop the program that uses it, or choose another port: make run PORT={first + 1}"
    )


def _listen(port: int) -> socket.socket | None:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind(("127.0.0.1", port))
        server.listen(512)
    except PermissionError as error:
        server.close()
        raise RunError(
            f"Only root may use port {port}. Choose a port above 1023: make run PORT=8000"
        ) from error
    except OSError:
        server.close()
        return None
    return server


def prepare(stopping: Stopping, lock: int) -> str:
    """Run migrations, load protocols, collect static files and build the demo; return the output."""
    arguments = ["manage.py", "prepare"]
    if environment.boolean("DEMO", default=True):
        arguments.append("--demo")
    child = start("prepare", *arguments, handles=(lock,))
    lines: list[str] = []
    while not child.has_ended and not stopping.asked:
        time.sleep(0.05)
        lines += child.read()
    lines += child.read()
    end([child])
    if stopping.asked:
        return ""
    if child.process.returncode:
        raise RunError("Preparing the database failed:\n" + "\n".join(lines[-25:]))
    return "\n".join(lines)


def supervisor(server: socket.socket, lock: int, servers: list[embedded.Held]) -> Supervisor:
    """Return what starts web, worker and beat. Web inherits the socket, so a restarted one has the same port."""
    server.set_inheritable(True)
    handle = server.fileno()
    # fmt: off
    commands = {
        "web": ("-m", "gunicorn", "-c", "server/gunicorn.py", "--bind", f"fd://{handle}", "config.wsgi"),
        "worker": ("-m", "celery", "-q", "-A", "config", "worker", "-n", WORKER, "--concurrency", "2",
                   "--loglevel", "WARNING", "--without-gossip", "--without-mingle"),
        "beat": ("-m", "celery", "-q", "-A", "config", "beat", "--loglevel", "WARNING"),
    }
    # fmt: on
    handles = {"web": (lock, handle)}
    starters = {
        name: partial(start, name, *command, handles=handles.get(name, (lock,)))
        for name, command in commands.items()
    }
    return Supervisor(starters, servers)


def serve(stopping: Stopping, lock: IO[str], var: Path) -> None:
    """Start everything, watch it, and stop it."""
    with ExitStack() as stack:
        inherited = stack.enter_context(no_others(var))
        server = stack.enter_context(listen())
        port = server.getsockname()[1]
        address = f"http://localhost:{port}/"
        lock.truncate(0)
        lock.write(
            f"{address} (process {os.getpid()}); press Ctrl-C in its terminal or give `make stop` to stop it"
        )
        lock.flush()
        held = [stack.enter_context(embedded.postgres(var)), stack.enter_context(embedded.redis(var))]
        if paths.data(var) != var / "postgres":
            say(
                f"PostgreSQL refuses to run as root. It runs as another account, with its data in {paths.data(var)}."
            )
        logins = prepare(stopping, inherited)
        if stopping.asked:
            return
        site = supervisor(server, inherited, [service for service in held if service is not None])
        stack.callback(site.end_all)
        site.start_all()
        say_when_ready(
            site, stopping, port, f"\nAssay runs at {address}\n{logins}\nPress Ctrl-C to stop it.\n"
        )
        site.watch(lambda: stopping.asked, restarts=True)


def say_when_ready(site: Supervisor, stopping: Stopping, port: int, message: str) -> None:
    """Print the message as soon as web and worker are ready. Whatever ends before that stops everything."""
    limit = time.monotonic() + READY_SECONDS

    def is_late() -> bool:
        return stopping.asked or time.monotonic() > limit

    def worker_is_ready() -> bool:
        file = paths.worker_file(paths.var_folder())
        return file.exists() and file.read_text() == str(site.children["worker"].process.pid)

    site.watch(lambda: is_late() or not health.web(port), restarts=False)
    site.watch(lambda: is_late() or worker_is_ready(), restarts=False)
    if time.monotonic() > limit:
        raise RunError(f"Web or worker was not ready within {READY_SECONDS:.0f} seconds.")
    if not stopping.asked:
        say(message)


def stop(var: Path) -> None:
    """End the run of this checkout. If the run was killed, stop its servers: this process is their last holder."""
    path = var / "run" / "run.lock"
    was_running = embedded.Postgres(paths.data(var)).is_running or embedded.Redis(var / "redis").is_running
    if not path.exists():
        say("Assay was not running.")
        return
    with path.open("r+") as file:
        if not locks(file.fileno(), 0):
            was_running = True
            match = re.search(r"process (\d+)", file.read())
            if match:
                os.kill(int(match[1]), signal.SIGTERM)
            if not locks(file.fileno(), STOP_SECONDS):
                raise RunError("Assay does not stop. Its terminal or log says why.")
    with embedded.postgres(var, start=False), embedded.redis(var, start=False):
        pass
    say("Assay has stopped." if was_running else "Assay was not running.")


def main() -> int:
    var = paths.var_folder()
    stopping = Stopping()
    try:
        if "--stop" in sys.argv[1:]:
            stop(var)
            return 0
        with foreground(), only_one(var) as lock:
            serve(stopping, lock, var)
            if stopping.asked:
                say("\nAssay has stopped.")
    except (RunError, os_account.ServerError, ImproperlyConfigured) as error:
        say(f"\n{error}")
        return 1
    except PermissionError as error:
        say(f"\nYou may not use {error.filename}. Run Assay as its owner, or remove var/ to start again.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
