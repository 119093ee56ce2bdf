"""Runs PostgreSQL and Redis from PyPI wheels, each in its own folder, for `make run` and the tests.

A process that needs a server holds it (`with embedded.postgres(var)`) by a shared file lock. The last holder stops the
server. The kernel releases the lock of a killed process. The starter of the PostgreSQL wheel is not used, because for
root it opens every folder above the data to everybody.
"""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import psycopg2
from psycopg2 import sql

from server import os_account, paths
from server.os_account import ServerError, account, binaries, locked, make_outside, private_folder

ADMINISTRATOR = "postgres"
START_SECONDS = 60.0
OLDEST = 14  # of PostgreSQL, as Django requires
DURABLE = {"shared_buffers": "256MB", "max_wal_size": "2GB", "wal_compression": "on"}
THROWAWAY = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
    "max_connections": "200",
}


def _runs(number: str, folder: Path) -> bool:
    """Return whether a process with this number runs in a folder, on Linux. A zombie has no command line."""
    command = Path("/proc") / number.strip() / "cmdline"
    try:
        return bool(number.strip()) and os.fsencode(folder) in command.read_bytes()
    except OSError:
        return False


def answers(path: Path) -> bool:
    """Return whether a server listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


@dataclass
class Postgres:
    """A PostgreSQL server, identified by the folder of its data."""

    name: ClassVar[str] = "PostgreSQL"
    data: Path
    options: Mapping[str, str] = field(default_factory=lambda: DURABLE)

    def __post_init__(self) -> None:
        self.account = account(self.data)
        self.binaries = binaries(self.account)
        self.sockets = paths.sockets(self.data)
        self.log = self.data / "server.log"

    @property
    def is_running(self) -> bool:
        return answers(self.sockets / ".s.PGSQL.5432")

    @property
    def is_alive(self) -> bool:
        """True if its main process runs. On Linux this does not connect, because each connection starts a process."""
        if not Path("/proc/self").exists():
            return self.is_running
        try:
            number = (self.data / "postmaster.pid").read_text().partition("\n")[0]
        except OSError:
            return False
        return _runs(number, self.data)

    def start(self) -> None:
        """Start the server unless it runs. Create its data if there are none."""
        if self.is_running:
            return
        if not (self.data / "PG_VERSION").exists():
            self._create()
        private_folder(self.sockets, self.account)
        self._forget_stale_pids()
        if self.log.exists() and self.log.stat().st_size > 10_000_000:
            self.log.unlink()
        own = {"listen_addresses": "", "unix_socket_directories": str(self.sockets), "port": "5432"}
        settings = " ".join(f"-c {name}='{value}'" for name, value in {**own, **self.options}.items())
        self._run("pg_ctl", "start", "-w", "-t", f"{START_SECONDS:.0f}", "-l", str(self.log), "-o", settings)
        self._ensure_database()

    def stop(self) -> None:
        """Stop the server and close its connections."""
        if self.is_running:
            self._run("pg_ctl", "stop", "-w", "-m", "fast")

    def _create(self) -> None:
        """Create the data next to their place, then move them there: a killed start leaves no partial data.

        The folder is new each time: the initdb of a killed start may still run, and empties its folder when it fails.
        """
        new = f"{self.data.name}.new"
        for left in self.data.parent.glob(f"{new}*"):
            shutil.rmtree(left, ignore_errors=True)
        half = self.data.with_name(f"{new}-{secrets.token_hex(4)}")
        private_folder(half, self.account)
        arguments = ["-U", ADMINISTRATOR, "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"]
        self._run("initdb", *arguments, *self._locale(), folder=half)
        if self.data.exists():
            self.data.rmdir()  # fails if the folder is not empty
        half.rename(self.data)

    def _locale(self) -> list[str]:
        """The locale C.UTF-8, which PostgreSQL itself has since version 17, and before that the system."""
        command = [str(self.binaries / "initdb"), "--version"]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd="/", **self.account.options
        )  # type: ignore[call-overload]
        version = re.search(r"\d+", done.stdout)
        if version is None:
            raise ServerError(f"{command[0]} does not work: {done.stderr.strip()}")
        if int(version[0]) < OLDEST:
            raise ServerError(
                f"{self.binaries} has PostgreSQL {version[0]}. Assay needs version {OLDEST} or newer."
            )
        if int(version[0]) < 17:
            return ["--locale=C.UTF-8"]
        return ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]

    def _forget_stale_pids(self) -> None:
        """After a crash, a lock file may name a process id that another program has now, or a zombie.

        Only the id is replaced, by that of a dead process. PostgreSQL uses the rest of the file to find out whether
        a process of the old server still writes.
        """
        for file in (self.data / "postmaster.pid", self.sockets / ".s.PGSQL.5432.lock"):
            number, _, rest = file.read_text().partition("\n") if file.exists() else ("", "", "")
            exists = number and (Path("/proc") / number.strip()).exists()
            if exists and not _runs(number, self.data):
                with subprocess.Popen(["true"]) as dead:
                    file.write_text(f"{dead.pid}\n{rest}")

    def _run(self, program: str, *arguments: str, folder: Path | None = None) -> None:
        command = [str(self.binaries / program), "-D", str(folder or self.data), *arguments]
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
        # the child of pg_ctl keeps the output open, so a pipe would never end
        output = subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE
        done = subprocess.run(  # type: ignore[call-overload]
            command,
            check=False,
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C must not reach it: it stops after the processes that use it
            **self.account.options,
        )
        if done.returncode:
            raise ServerError(f"PostgreSQL: {program} in {self.data} failed.\n{self._complaint(done.stdout)}")

    def _complaint(self, output: bytes | None) -> str:
        text = output.decode(errors="replace") if output else ""
        if not text and self.log.exists():
            text = self.log.read_text(errors="replace")
        return "\n".join(text.strip().splitlines()[-12:])

    def _ensure_database(self) -> None:
        """Create an ordinary role that owns the database, so that the web process has no rights on the server."""
        connection = psycopg2.connect(host=str(self.sockets), user=ADMINISTRATOR, dbname="postgres")
        connection.autocommit = True
        name = sql.Identifier(paths.DATABASE)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [paths.DATABASE])
            if not cursor.fetchone():
                cursor.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEDB").format(name))
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [paths.DATABASE])
            if not cursor.fetchone():
                cursor.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(name, name))
        connection.close()


@dataclass
class Redis:
    """A Redis server, identified by its folder. It stores nothing: the state of jobs is in the database."""

    name: ClassVar[str] = "Redis"
    folder: Path

    def __post_init__(self) -> None:
        self.binary = paths.redis_binary()
        self.socket = paths.redis_socket(self.folder)
        self.log = self.folder / "server.log"

    @property
    def is_running(self) -> bool:
        return answers(self.socket)

    @property
    def is_alive(self) -> bool:
        return self.is_running

    def start(self) -> None:
        """Start the server unless it runs. If no Redis is installed, Celery uses its queue in a folder."""
        private_folder(self.folder)
        if self.binary is None or self.is_running:
            return
        private_folder(self.socket.parent)
        # fmt: off
        command = [str(self.binary), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700",
                   "--dir", str(self.folder), "--logfile", str(self.log), "--save", "", "--appendonly", "no",
                   "--daemonize", "yes"]
        # fmt: on
        self.log.unlink(missing_ok=True)
        done = subprocess.run(command, check=False, capture_output=True, start_new_session=True)
        end = time.monotonic() + START_SECONDS
        while not self.is_running:
            if done.returncode or time.monotonic() > end:
                raise ServerError(f"Redis in {self.folder} did not start.\n{self._complaint(done)}")
            time.sleep(0.02)

    def _complaint(self, done: subprocess.CompletedProcess[bytes]) -> str:
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(
            [*(done.stdout + done.stderr).decode(errors="replace").splitlines(), *log.splitlines()][-8:]
        )

    def stop(self) -> None:
        """Stop the server and wait until it has ended."""
        if not self.is_running:
            return
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket))
            client.sendall(b"SHUTDOWN NOSAVE\r\n")
            client.settimeout(10)
            with suppress(ConnectionError):
                client.recv(1)


@dataclass(frozen=True)
class Held:
    """A server that this process holds."""

    server: Postgres | Redis
    mutex: Path

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def is_alive(self) -> bool:
        return self.server.is_alive

    def start(self) -> None:
        """Start the server unless it runs."""
        with locked(self.mutex):
            self.server.start()

    def start_again(self) -> None:
        """Start a server that has crashed. PostgreSQL refuses until the last process of the old one has ended."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.start()
            except ServerError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)


@contextmanager
def held(server: Postgres | Redis, locks: Path, *, start: bool = True) -> Iterator[Held]:
    """Hold a server. The first holder starts it, the last holder stops it."""
    mine = Held(server, locks.with_suffix(".mutex"))
    with locked(locks.with_suffix(".users"), shared=True) as users:
        try:
            if start:
                mine.start()
            yield mine
        finally:
            with locked(mine.mutex), suppress(BlockingIOError):  # another process holds the server too
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                server.stop()


@contextmanager
def postgres(var: Path, *, start: bool = True) -> Iterator[Held | None]:
    """Hold the embedded PostgreSQL, unless DATABASE_URL names another server."""
    if os.environ.get("DATABASE_URL"):
        yield None
        return
    private_folder(var)
    _place_data(var)
    with held(Postgres(paths.data(var)), var / "run" / "postgres", start=start) as server:
        yield server


@contextmanager
def redis(var: Path, *, start: bool = True) -> Iterator[Held | None]:
    """Hold the embedded Redis, unless REDIS_URL names another server or no Redis is installed."""
    if os.environ.get("REDIS_URL"):
        yield None
        return
    private_folder(var)
    with held(Redis(var / "redis"), var / "run" / "redis", start=start) as server:
        yield server if paths.redis_binary() else None


def _place_data(var: Path) -> None:
    """For root, make `var/postgres` a link to a folder that the account can enter.

    If `var/` was removed, the outside data of an earlier link of this checkout are moved to `postgres.old`.
    """
    link = var / "postgres"
    if os.geteuid() != 0 or (link.is_dir() and not link.is_symlink()):
        return
    if link.is_symlink():
        _check_owner(link)
        return
    name = hashlib.sha256(os.fsencode(link)).hexdigest()[:12]
    outside = os_account.OUTSIDE / name / "postgres"
    make_outside()
    private_folder(outside.parent, account(outside))
    if outside.exists():
        Postgres(outside).stop()
        old = outside.with_name("postgres.old")
        shutil.rmtree(old, ignore_errors=True)
        outside.rename(old)
    (outside.parent / "checkout").write_text(str(link))
    link.symlink_to(outside)


def _check_owner(link: Path) -> None:
    """Reject a copied checkout, which would share the data of the original. A moved checkout keeps its data."""
    note = link.resolve().parent / "checkout"
    if not note.exists():
        raise ServerError(
            f"{link} points to data that no longer exist ({link.resolve()}). Remove {link.parent} to start again."
        )
    first = Path(note.read_text())
    if first == link:
        return
    if first.is_symlink() and first.resolve() == link.resolve():
        raise ServerError(
            f"{link.parent} is a copy that uses the database of {first.parent}. Remove {link.parent} to start again."
        )
    note.write_text(str(link))
