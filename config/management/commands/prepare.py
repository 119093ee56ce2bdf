"""`manage.py prepare`: bring the database, the protocols and the static files up to date. Repeating it is harmless."""

import hashlib
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection

from accounts.selectors import has_administrator

LOCK = 0x61737361  # of the database, while it is migrated


class Command(BaseCommand):
    help = (
        "Migrate the database, load the shipped protocols and collect static files that changed. With --demo, also "
        "create the demo campaign."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", action="store_true", help="also create the demo campaign")
        parser.add_argument(
            "--no-static",
            action="store_true",
            help="do not collect static files, because they are collected elsewhere",
        )

    def handle(self, *args: object, demo: bool, no_static: bool, **options: Any) -> None:
        with alone():
            call_command("migrate", interactive=False, verbosity=0)
            call_command("load_protocols", stdout=StringIO())
        if not no_static:
            collect_changed()
        if demo:
            call_command("demo", stdout=self.stdout)
        if not has_administrator():
            self.stdout.write(
                "There is no administrator yet. Create the first with `manage.py createsuperuser`: in a checkout "
                "`.venv/bin/python manage.py createsuperuser`."
            )


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process prepares this database: several machines may start at the same time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def collect_changed() -> None:
    """Collect the static files unless none has changed since they were last collected."""
    root = Path(settings.STATIC_ROOT)
    stamp = root.with_name(f"{root.name}.sha256")
    now = fingerprint()
    if root.is_dir() and stamp.exists() and stamp.read_text() == now:
        return
    stamp.unlink(missing_ok=True)
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(now)


def fingerprint() -> str:
    """Names, sizes and times of all static files."""
    files = (storage.path(name) for finder in get_finders() for name, storage in finder.list([".*", "*~"]))
    state = ((path, Path(path).stat()) for path in sorted(files))
    lines = (f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in state)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
