"""A drill: restores a backup into a database of its own, compares the result with the archive, and removes it again."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psycopg2
from django.conf import settings
from django.db import connection
from psycopg2 import sql

from assay.digests import sha256_of_file
from assay.errors import Refused
from jobs.backups import places
from jobs.backups.services import Backup, Manifest
from server import environment, paths
from web.pages import counted

# Variables that the restored copy must not share
OWN_PLACES = ("DATABASE_URL_FILE", "S3_BUCKET", "BACKUP_DIR")


@dataclass(frozen=True)
class Drill:
    """A drill that passed: what was restored and compared, and how long the restore took."""

    manifest: Manifest
    seconds: float


def drill(*, place: str, identity: Path | None = None) -> Drill:
    """Restore a backup into a new database and a new folder, as after the loss of a server, and compare both.

    The site may be in use meanwhile. It needs the disk space of a second copy, in ASSAY_VAR and on the server.

    Raises:
        Refused: There is no such backup, or it is encrypted for another identity; the archive is damaged, its restore
            failed, or its result differs from the archive.
    """
    begun = time.monotonic()
    with (
        places.opened(place, identity) as file,
        _scratch_database() as url,
        TemporaryDirectory(dir=settings.VAR_DIR, prefix="drill-") as folder,
    ):
        own = {name: value for name, value in os.environ.items() if name not in OWN_PLACES}
        named = Path(folder, PurePath(place).name)
        named.symlink_to(f"/dev/fd/{file.fileno()}")  # of the process that opens it
        done = subprocess.run(
            [sys.executable, "manage.py", "restore", str(named)],
            cwd=paths.ROOT,
            pass_fds=[file.fileno()],
            env=own | {"DATABASE_URL": url, "ASSAY_VAR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - begun
        if done.returncode:
            raise Refused(done.stderr.strip().removeprefix("CommandError: ") or "The restore was killed.")
        archive = Backup(file, named.name)
        _compare_tables(archive.manifest, url)
        _compare_files(archive, Path(folder) / "files")
        return Drill(archive.manifest, seconds)


@contextmanager
def _scratch_database() -> Iterator[str]:
    """The address of an empty database next to the one in use, which is dropped afterwards."""
    own = str(connection.settings_dict["NAME"])  # several sites may share a server
    name = f"{own[:40]}_drill_{uuid.uuid4().hex[:8]}"
    used = environment.text("DATABASE_URL", paths.database_url(paths.data(settings.VAR_DIR)))
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        except psycopg2.Error as error:
            raise Refused(f"No database for the drill could be created: {error}".strip()) from error
    try:
        yield urlsplit(used)._replace(path=f"/{name}").geturl()
    finally:
        # not WITH (FORCE): an ordinary role may not end autovacuum, but the server does
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


def _compare_tables(manifest: Manifest, url: str) -> None:
    """Count the rows of each table of the restored database."""
    restored = psycopg2.connect(url, password=connection.settings_dict["PASSWORD"] or None)
    try:
        with restored.cursor() as cursor:
            for table, expected in manifest.tables.items():
                cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
                [(n_rows,)] = cursor.fetchall()
                if n_rows != expected:
                    raise Refused(f"{table}: expected {counted(expected, 'row')}, got {n_rows:,}.")
    finally:
        restored.close()


def _compare_files(archive: Backup, folder: Path) -> None:
    """Compute the SHA-256 of each restored file."""
    for name in archive.manifest.files:
        try:
            with (folder / name).open("rb") as file:
                is_same = sha256_of_file(file) == archive.sums[f"files/{name}"]
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise Refused(f"The restored file {name} differs from the one in the archive.")
