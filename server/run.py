"""`make run`: starts the embedded servers, then web, worker and beat, all in the foreground.

Ctrl-C or SIGTERM stops all processes, and so does the end of any of the three. Each of the three has its own process
group, so that Ctrl-C reaches only this process, which ends each of them once: gunicorn can hang if it gets two signals
at the same time. If this process is killed, the three end too. The next start uses servers that were left running.
"""

import ctypes
import fcntl
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from django.core.exceptions import ImproperlyConfigured

from server import embedded, environment, os_account, paths

DEFAULT_PORT = 8000
PORTS_TO_TRY = 20
READY_SECONDS = 120.0
GRACE_SECONDS = 10.0
KILLED_SECONDS = 2.0
PR_SET_PDEATHSIG = 1
WORKER = "assay@localhost"


class RunError(Exception):
    """A start that is not possible, with what to do."""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Stopping:
    """Whether a signal asked to stop. The handler only records it."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.asked = True


@dataclass
class Child:
    """A child process and the last lines of its output."""

    name: str
    process: subprocess.Popen[bytes]
    last: deque[str] = field(default_factory=lambda: deque(maxlen=15))
    rest: bytes = b""

    @property
    def output(self) -> IO[bytes]:
        if self.process.stdout is None:
            raise RunError(f"{self.name} has no output")
        return self.process.stdout

    def read(self) -> list[str]:
        """Complete lines since the last call."""
        content = os.read(self.output.fileno(), 65536)
        *lines, self.rest = (self.rest + content).split(b"\n")
        text = [line.decode(errors="replace").rstrip() for line in lines]
        self.last.extend(text)
        return text


def die_with_parent() -> None:
    """Called in the child: Linux ends it when the parent ends, for whatever reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def start(name: str, *arguments: str, handles: tuple[int, ...] = ()) -> Child:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=paths.ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=handles,
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509  there are no threads here
    )
    return Child(name, process)


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
            raise RunError(f"Assay is already running: {file.read().strip() or 'it is starting'}.") from error
        was_killed = os.fstat(file.fileno()).st_size > 0  # a normal end leaves the file empty
        file.truncate(0)
        if was_killed:
            time.sleep(KILLED_SECONDS)  # its web process may still use the port
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


def prepare(stopping: Stopping) -> str:
    """Run migrations, load protocols, collect static files and build the demo; return the output."""
    arguments = ["manage.py", "prepare"]
    if environment.boolean("DEMO", default=True):
        arguments.append("--demo")
    child = start("prepare", *arguments)
    lines: list[str] = []
    os.set_blocking(child.output.fileno(), False)
    while child.process.poll() is None and not stopping.asked:
        time.sleep(0.05)
        lines += _available(child)
    if stopping.asked:
        end([child])
        return ""
    lines += _available(child)
    if child.process.returncode:
        raise RunError("Preparing the database failed:\n" + "\n".join(lines[-25:]))
    return "\n".join(lines)


def _available(child: Child) -> list[str]:
    try:
        return child.read()
    except BlockingIOError:
        return []


def start_all(server: socket.socket) -> list[Child]:
    server.set_inheritable(True)
    handle = server.fileno()
    # fmt: off
    return [
        start("web", "-m", "gunicorn", "-c", "server/gunicorn.py", "--bind", f"fd://{handle}", "config.wsgi",
              handles=(handle,)),
        start("worker", "-m", "celery", "-q", "-A", "config", "worker", "-n", WORKER, "--concurrency", "2",
              "--loglevel", "WARNING", "--without-gossip", "--without-mingle"),
        start("beat", "-m", "celery", "-q", "-A", "config", "beat", "--loglevel", "WARNING"),
    ]
    # fmt: on


def web_is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def worker_is_ready(worker: Child, var: Path) -> bool:
    file = paths.worker_file(var)
    return file.exists() and file.read_text() == str(worker.process.pid)


def watch(children: list[Child], stopping: Stopping, is_over: Callable[[], bool]) -> None:
    """Print the output of the children until the condition holds, one of them ends, or a signal asks to stop."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.output, selectors.EVENT_READ, child)
        while not stopping.asked and not is_over():
            for key, _ in selector.select(timeout=0.2):
                for line in key.data.read():
                    say(f"{key.data.name:<7}| {line}")
            ended = next((child for child in children if child.process.poll() is not None), None)
            if ended is not None and not stopping.asked:
                raise RunError(_end_message(ended))


def _end_message(child: Child) -> str:
    os.set_blocking(child.output.fileno(), False)
    _available(child)
    last = "\n".join(f"{child.name:<7}| {line}" for line in child.last)
    return f"{child.name} ended unexpectedly (exit code {child.process.returncode}). Its last lines:\n{last}"


def end(children: list[Child]) -> None:
    """End the children, and kill those that do not end. The next start resumes an interrupted job."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, 5.0)):
        running = [child for child in children if child.process.poll() is None]
        for child in running:
            if number == signal.SIGKILL:
                os.killpg(child.process.pid, number)  # its children too
            else:
                child.process.send_signal(number)
        limit = time.monotonic() + seconds
        while any(child.process.poll() is None for child in running) and time.monotonic() < limit:
            for child in running:
                os.set_blocking(child.output.fileno(), False)
                _available(child)  # a full pipe would block its end
            time.sleep(0.05)
    for child in children:
        child.output.close()


def serve(stopping: Stopping, lock: IO[str], var: Path) -> None:
    """Start everything, watch it, and stop it."""
    with ExitStack() as stack:
        server = stack.enter_context(listen())
        port = server.getsockname()[1]
        address = f"http://localhost:{port}/"
        lock.write(f"{address} (process {os.getpid()}); press Ctrl-C in its terminal to stop it")
        lock.flush()
        stack.enter_context(embedded.postgres(var))
        stack.enter_context(embedded.redis(var))
        if paths.data(var) != var / "postgres":
            say(
                f"PostgreSQL refuses to run as root. It runs as another account, with its data in {paths.data(var)}."
            )
        logins = prepare(stopping)
        if stopping.asked:
            return
        children = start_all(server)
        stack.callback(end, children)
        say_when_ready(
            children, stopping, port, f"\nAssay runs at {address}\n{logins}\nPress Ctrl-C to stop it.\n"
        )
        watch(children, stopping, lambda: False)


def say_when_ready(children: list[Child], stopping: Stopping, port: int, message: str) -> None:
    _, worker, _ = children
    limit = time.monotonic() + READY_SECONDS
    watch(children, stopping, lambda: web_is_ready(port) or time.monotonic() > limit)
    watch(children, stopping, lambda: worker_is_ready(worker, paths.var()) or time.monotonic() > limit)
    if time.monotonic() > limit:
        raise RunError(f"Web or worker was not ready within {READY_SECONDS:.0f} seconds.")
    if not stopping.asked:
        say(message)


def stop_left_over(var: Path) -> int:
    """Stop servers that a killed run left running: as their last holder, this process stops them."""
    if (var / "run").is_dir():
        with embedded.postgres(var, start=False), embedded.redis(var, start=False):
            pass
    return 0


def main() -> int:
    var = paths.var()
    if "--stop" in sys.argv[1:]:
        return stop_left_over(var)
    stopping = Stopping()
    try:
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
