"""Pytest plugin: a real PostgreSQL and Redis for every session, in a folder of their own. `pyproject.toml` loads it.

The processes of pytest-xdist share the PostgreSQL of the first one, each with a database of its own; each has its own
Redis and its own folder for files. Everything ends with the session, also on an interrupt, an error or SIGTERM. What a
killed session left behind ends when the next one starts: the kernel has released its lock.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import django
import pytest

from server import embedded, paths

PREFIX = "assay-tests-"
LOCK = "lock"


def _remove_abandoned_folders() -> None:
    """Stop the servers of killed sessions and remove their folders. A running session holds the lock of its own."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError), lock.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            embedded.Redis(lock.parent / "redis").stop()
            if (lock.parent / "postgres").exists():
                embedded.Postgres(lock.parent / "postgres", options=embedded.THROWAWAY).stop()
            shutil.rmtree(lock.parent, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the servers, then set Django up: settings are read then, and any conftest may import models."""
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
        os.environ["DATABASE_URL"] = paths.database_url(folder / "postgres")
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    # The processes of pytest-xdist inherit the environment, and must not read settings before they get here.
    del os.environ["DJANGO_SETTINGS_MODULE"]
