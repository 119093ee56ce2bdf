"""The processes that `make run` starts: each with its own process group, and none left over when it is killed."""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from server import paths

GRACE_SECONDS = 10.0
KILL_SECONDS = 5.0
POLL_SECONDS = 0.05
PR_SET_PDEATHSIG = 1


class RunError(Exception):
    """A start that is not possible, or an end that was not asked for, with what to do."""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


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

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def read(self) -> list[str]:
        """Complete lines since the last call; none if there is no output."""
        try:
            content = os.read(self.output.fileno(), 65536)
        except BlockingIOError:
            return []
        *lines, self.rest = (self.rest + content).split(b"\n")
        text = [line.decode(errors="replace").rstrip() for line in lines]
        self.last.extend(text)
        return text

    def last_lines(self) -> str:
        return "\n".join(f"{self.name:<7}| {line}" for line in self.last)

    def kill_group(self) -> None:
        """Kill what is left of the group of an ended process: processes that it started."""
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses if only zombies are left
            os.killpg(self.process.pid, signal.SIGKILL)


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
    child = Child(name, process)
    os.set_blocking(child.output.fileno(), False)
    return child


def end(children: list[Child]) -> None:
    """End the children, and kill those that do not end. The next start resumes an interrupted job."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        running = [child for child in children if not child.has_ended]
        for child in running:
            if number == signal.SIGKILL:
                child.kill_group()
            else:
                child.process.send_signal(number)
        limit = time.monotonic() + seconds
        while any(not child.has_ended for child in running) and time.monotonic() < limit:
            for child in running:
                child.read()  # a full pipe would block its end
            time.sleep(POLL_SECONDS)
    for child in children:
        child.output.close()


@contextmanager
def no_others(var: Path) -> Iterator[int]:
    """Wait until the processes of a killed run have ended; yields a handle that each new process must inherit.

    The handle has a file lock, which the kernel releases when the last process that inherited it has ended. Then nobody
    uses the port anymore.
    """
    path = var / "run" / "processes.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not locks(handle, 0):
            say("Waiting for the processes of a killed run to end.")
            if not locks(handle, GRACE_SECONDS):
                _kill_holders(path)
        if not locks(handle, KILL_SECONDS):
            raise RunError(
                f"Processes of a killed run do not end. Find them with `fuser {path}`, and end them."
            )
        yield handle
    finally:
        os.close(handle)


def locks(handle: int, seconds: float) -> bool:
    """Lock an open file. False if others hold the lock for these seconds."""
    limit = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= limit:
                return False
            time.sleep(POLL_SECONDS)
        else:
            return True


def _kill_holders(path: Path) -> None:
    """Kill the processes that have a file open, except this one. Only Linux can name them."""
    name = os.path.realpath(path)
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        number = int(link.parts[2])
        with suppress(OSError):
            if str(link.readlink()) == name and number != os.getpid():
                os.kill(number, signal.SIGKILL)
