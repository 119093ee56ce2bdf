"""Pytest plugin: a real PostgreSQL and Redis for every session, in a folder of their own. `pyproject.toml` loads it.

The processes of pytest-xdist share the PostgreSQL of the first one, each with a database of its own; each has its own
Redis and its own folder for files. Everything ends with the session, also on an interrupt, an error or SIGTERM.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import django
import pytest

from server import embedded, paths


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the servers, then set Django up: settings are read then, and any conftest may import models."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # run the cleanups
    folder = Path(tempfile.mkdtemp(prefix="assay-tests-"))
    early_config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    folder.chmod(0o711)
    (folder / "static").mkdir()  # whitenoise warns about a missing folder
    redis = embedded.Redis(folder / "redis")
    early_config.add_cleanup(redis.stop)
    redis.start()
    os.environ["ASSAY_VAR"] = str(folder)
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
