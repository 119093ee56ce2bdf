"""The OS account that runs the embedded servers, and the folders and programs that it may read.

PostgreSQL refuses to run as root. For root it runs as the system account `assay-postgres`, which must be able to enter
the folders of its data and programs. The data go to /var/lib/assay; so do the programs if the checkout is closed to it.
"""

import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from server import paths

ACCOUNT = "assay-postgres"
OUTSIDE = Path("/var/lib/assay")


class ServerError(Exception):
    """A server that did not start, with what to do."""


@dataclass(frozen=True)
class Account:
    """The account that runs PostgreSQL: the current one, or another one if the current one is root."""

    uid: int
    gid: int
    switch: bool

    @property
    def options(self) -> Mapping[str, object]:
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}


def account(data: Path) -> Account:
    """The account for PostgreSQL. For root: the owner of the data, or `assay-postgres` if there are no data yet."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid, switch=True)
    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        entry = _new_account()
    return Account(entry.pw_uid, entry.pw_gid, switch=True)


def _new_account() -> pwd.struct_passwd:
    command = [
        "useradd",
        "--system",
        "--user-group",
        "--no-create-home",
        "--shell",
        "/usr/sbin/nologin",
        ACCOUNT,
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ServerError(
            f"PostgreSQL refuses to run as root, and the account '{ACCOUNT}' could not be created ({error}). Create it "
            f"with `{' '.join(command)}`, or run Assay as an ordinary user."
        ) from error
    return pwd.getpwnam(ACCOUNT)


def can_enter(folder: Path, who: Account) -> bool:
    """Return whether an account may enter and read a folder. The system decides, because of groups and ACLs."""
    if not who.switch:
        return True
    test = shutil.which("test") or "/usr/bin/test"
    for right in ("-x", "-r"):
        if subprocess.run([test, right, str(folder)], check=False, cwd="/", **who.options).returncode:  # type: ignore[call-overload]
            return False
    return True


def binaries(who: Account) -> Path:
    """The programs of PostgreSQL; a copy if the account cannot enter the checkout."""
    installed = paths.postgres_binaries()
    if installed is None:
        raise ServerError(
            "PostgreSQL is not installed. Run `make setup`, install PostgreSQL (Debian: apt-get install postgresql), "
            "set ASSAY_POSTGRES_BIN to the folder of its programs, or set DATABASE_URL to your server."
        )
    if not (installed / "initdb").exists():
        raise ServerError(
            f"{installed} has no initdb. Set ASSAY_POSTGRES_BIN to the folder of PostgreSQL's programs."
        )
    if can_enter(installed, who):
        return installed
    if installed.parent.name != "pginstall":
        raise ServerError(f"The account {ACCOUNT}, which runs PostgreSQL, cannot enter {installed}.")
    return _copied(installed)


def _copied(installed: Path) -> Path:
    """A copy in /var/lib/assay, made once per build. The libraries of the wheel are next to its package."""
    package = installed.parent.parent
    postgres = installed / "postgres"
    stamp = f"{postgres.stat().st_size}-{int(postgres.stat().st_mtime)}-{installed}"
    copy = OUTSIDE / f"postgresql-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
    make_outside()
    with locked(OUTSIDE / ".copy.lock"):
        if not copy.exists():
            half = copy.with_suffix(".new")
            shutil.rmtree(half, ignore_errors=True)
            for part in package.parent.glob(f"{package.name}*"):
                if part.suffix in {"", ".libs"}:
                    shutil.copytree(part, half / part.name, symlinks=True)
            for path in [half, *half.rglob("*")]:
                if not path.is_symlink():
                    mode = path.stat().st_mode
                    path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
            half.rename(copy)
    return copy / package.name / "pginstall" / "bin"


def make_outside() -> None:
    OUTSIDE.mkdir(mode=0o755, parents=True, exist_ok=True)
    OUTSIDE.chmod(0o755)  # independent of the umask


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[int]:
    """Hold a file lock. The kernel releases it when the process ends, so a lock is never stale."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def private_folder(folder: Path, who: Account | None = None) -> Path:
    """A folder for one account only. Its owner is checked, because in /tmp anybody can create it first."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    uid = who.uid if who else os.geteuid()
    if os.geteuid() == 0 and who:
        os.chown(folder, who.uid, who.gid)
    if folder.is_symlink() or folder.stat().st_uid != uid:
        owner = folder.stat().st_uid
        raise ServerError(
            f"{folder} belongs to user {owner}, not to {uid}. Remove it, or run Assay as that user."
        )
    folder.chmod(0o700)
    return folder
