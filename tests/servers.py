"""Pytest plugin: a real PostgreSQL and Redis for every session, in a folder of their own. `pyproject.toml` loads it.

The processes of pytest-xdist share the PostgreSQL of the first one, each with a database of its own, which is a copy of
one that was migrated; each has its own Redis and its own folder for files. Everything ends with the session, also on
an interrupt, an error or SIGTERM. What a killed session left behind ends when the next one starts: the kernel has
released its lock.
"""

import contextlib
import fcntl
import gc
import inspect
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import django
import psycopg2
import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from assay.digests import sha256_of
from server import embedded, os_account, paths

PREFIX = "assay-tests-"
LOCK = "lock"
MIGRATED = (
    "ASSAY_TESTS_MIGRATED"  # the file that is locked while the template is migrated, and then has its name
)
TEMPLATE = "migrated"
DUMPS = paths.ROOT / ".pytest_cache"
FILL = """
exec >"$1.log" 2>&1
if [ ! -f "$2" ]; then
    "$0" manage.py migrate -v 0 && "$3/pg_dump" -Fc -d "$DATABASE_URL" -f "$1.dump" &&
        rm -f "${2%/*}"/migrated-*.dump && mv "$1.dump" "$2"
else
    "$3/pg_restore" -d "$DATABASE_URL" --no-owner "$2"
fi && echo done >"$1"
"""


def _remove_abandoned_folders() -> None:
    """Stop the servers of killed sessions and remove their folders. A running session holds the lock of its own."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError), lock.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            embedded.Redis(lock.parent / "redis").stop()
            if (lock.parent / "postgres").exists():
                embedded.Postgres(lock.parent / "postgres", options=embedded.THROWAWAY).stop()
            shutil.rmtree(lock.parent, ignore_errors=True)


def _prepare(postgres: embedded.Postgres) -> None:
    """Create the template, and let the tests switch triggers and foreign keys off, which only an administrator may."""
    administrator = psycopg2.connect(
        host=str(postgres.sockets), user=embedded.ADMINISTRATOR, dbname="postgres"
    )
    administrator.autocommit = True
    with administrator.cursor() as cursor:
        cursor.execute(f"GRANT SET ON PARAMETER session_replication_role TO {paths.DATABASE}")
        cursor.execute(f"CREATE DATABASE {TEMPLATE} OWNER {paths.DATABASE}")
    administrator.close()


def _dump() -> Path:
    """The dump of a migrated database that an earlier session left. Its name has the digest of all migrations."""
    migrations = MigrationLoader(None).disk_migrations.values()
    files = sorted(inspect.getfile(type(migration)) for migration in migrations)
    return DUMPS / f"migrated-{sha256_of(b''.join(Path(file).read_bytes() for file in files))}.dump"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Fill the template while the processes of pytest-xdist collect the tests. The lock is held until that ends."""
    if name := os.environ.get(MIGRATED):
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{TEMPLATE}").geturl()
        with os_account.locked(Path(name)) as lock:
            DUMPS.mkdir(exist_ok=True)
            process = subprocess.Popen(
                ["sh", "-c", FILL, sys.executable, name, _dump(), str(paths.postgres_binaries())],
                env=os.environ | {"DATABASE_URL": url},
                cwd=paths.ROOT,
                pass_fds=[lock],
            )
            config.add_cleanup(process.wait)


def use_template(config: pytest.Config) -> None:
    """Let Django copy the template instead of migrating the database of this process."""
    if name := os.environ.get(MIGRATED):  # unless DATABASE_URL names another server
        if not hasattr(config, "workerinput"):  # the only process
            pytest_xdist_setupnodes(config)
        with os_account.locked(Path(name), shared=True):
            assert Path(name).read_text(), Path(f"{name}.log").read_text()
        connection.settings_dict["TEST"].update(TEMPLATE=TEMPLATE, MIGRATE=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the servers, then set Django up: settings are read then, and any conftest may import models."""
    gc.disable()  # until all tests are collected: what is imported and collected stays
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # run the cleanups
    _remove_abandoned_folders()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = (folder / LOCK).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    early_config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    early_config.add_cleanup(lock.close)
    folder.chmod(0o711)
    (folder / "static").mkdir()  # whitenoise warns about a missing folder
    redis = embedded.Redis(folder / "redis")
    early_config.add_cleanup(redis.stop)
    redis.start()
    os.environ["ASSAY_VAR"] = str(folder)
    for limit in ("API_REQUESTS_PER_MINUTE", "API_VISITOR_REQUESTS_PER_MINUTE"):
        os.environ[limit] = "1000000"  # tests of limits set their own
    os.environ["REDIS_URL"] = paths.broker_url(folder)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = (
        "true"  # Playwright keeps an event loop in the thread of the tests
    )
    if not os.environ.get("DATABASE_URL"):
        postgres = embedded.Postgres(folder / "postgres", options=embedded.THROWAWAY)
        early_config.add_cleanup(postgres.stop)
        postgres.start()
        _prepare(postgres)
        os.environ["DATABASE_URL"] = paths.database_url(folder / "postgres")
        os.environ[MIGRATED] = str(folder / TEMPLATE)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    # The processes of pytest-xdist inherit the environment, and must not read settings before they get here.
    del os.environ["DJANGO_SETTINGS_MODULE"]
