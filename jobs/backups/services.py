"""Save the database and the files of the site in one archive, and restore them.

manifest.json          what is in the archive
database.sql           the tables, as pg_dump writes them
files/NAME             a file of the storage
SHA256SUMS             the digest of every other file

Decision: ADR 20.
"""

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import BinaryIO

from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import SuspiciousOperation
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import Error, connection, transaction
from django.utils import timezone
from django.utils.version import get_version_tuple

from assay.archive.files import PIECE, BadArchive, SealedZip, Writer
from assay.digests import sha256_of_file
from assay.errors import Refused
from assay.structure import WrongStructure, structured
from assay.version import VERSION
from jobs.backups import dumps, places, states
from jobs.backups.dumps import NotDumped
from jobs.backups.states import UNCLAIMED, WITHOUT_ROWS, FileColumn, State
from jobs.console import Progress
from jobs.files import storage
from jobs.models import UnclaimedFile
from web.pages import counted
from web.statements import analyze

FORMAT = 1
FOLDER, MANIFEST, DATABASE = "assay-backup", "manifest.json", "database.sql"
LEVEL = 1  # of compression: rows shrink to a fifth, and a higher level takes several times as long
# Tables that a database has rows in before anybody has used it: `manage.py prepare` fills them.
PREPARED = {"auth_permission", "django_content_type", "django_session", "tracks_storedprotocol"}
# Bytes of tables on the disk, which is about the size of their rows as text.
SIZE = "SELECT coalesce(sum(pg_table_size(quote_ident(name)::regclass)), 0)::bigint FROM unnest(%s) name"
UNCLAIMED_NAMES = "SELECT name FROM jobs_unclaimedfile"
CLIENTS = """
    SELECT application_name FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
CLIENT_SECONDS = 10.0
CLIENT_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Manifest:
    """The content of an archive.

    `migrations` are pairs of app and name, `migrations_sha256` is the digest of their files, `tables` are numbers of
    rows, and `file_columns` table, column and prefix of the columns with names of files. `missing` are files that rows
    name and that the storage did not have.
    """

    format: int
    version: str
    created_at: str
    schema: str
    migrations: list[list[str]]
    tables: dict[str, int]
    file_columns: list[list[str]]
    files: list[str]
    missing: list[str]
    migrations_sha256: str = ""

    def __str__(self) -> str:
        n_rows = sum(self.tables.values())
        return f"{counted(n_rows, 'row')} of {len(self.tables)} tables and {counted(len(self.files), 'file')}"


class Backup(SealedZip):
    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__(file, name, index=MANIFEST, noun="a backup")
        try:
            self.manifest = structured(Manifest, json.loads(self.read(MANIFEST)))
        except WrongStructure as error:
            raise BadArchive(
                f"{name} is damaged: its manifest cannot be read ({'; '.join(error.problems[:5])})."
            ) from None
        except (ValueError, RecursionError) as error:
            raise BadArchive(f"{name} is damaged: its manifest cannot be read ({error}).") from None


# --- Make a backup


def back_up(*, place: str, progress: Progress) -> Manifest:
    """Save the database as it is at one moment, and the files that its rows name.

    The site may be in use meanwhile. Files never change once they are stored, so reading them after the rows gives the
    same state. The archive appears at its place (`jobs.backups.places`) when it is complete.

    Raises:
        Refused: The place is taken or cannot be written, or `pg_dump` cannot save the database.
        Refused: The database was migrated by a version of Assay that this one does not know.
    """
    try:
        with places.written(place) as file, Writer(file, FOLDER, level=LEVEL) as archive:
            with transaction.atomic(durable=True), connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute("SET LOCAL statement_timeout = 0")
                state = states.current("Make the backup with the version that migrated it.")
                saved = [name for name in state.tables if name not in WITHOUT_ROWS]
                progress.begin("saving tables", dumps.rows(SIZE, saved)[0])
                archive.add(DATABASE, _counted(dumps.dump(state), progress))
                n_rows = {name: dumps.count(name) for name in saved}
                names, schema = state.file_names(), dumps.rows("SELECT current_schema()")[0]
            progress.begin("saving files", None)
            missing = [name for name in sorted(names) if not _saved(name, archive, progress)]
            manifest = Manifest(
                format=FORMAT,
                version=VERSION,
                created_at=timezone.now().isoformat(timespec="seconds"),
                schema=schema,
                migrations=[list(key) for key in state.migrations],
                migrations_sha256=states.digest(state.migrations),
                tables=n_rows,
                file_columns=[list(column) for column in state.file_columns],
                files=sorted(names.keys() - set(missing)),
                missing=[name for name in missing if not names[name].prefix],
            )
            archive.add(MANIFEST, [json.dumps(asdict(manifest), ensure_ascii=False).encode()])
            archive.close()
    except OSError as error:
        raise Refused(f"{place} cannot be written: {error.strerror or error}.") from error
    except NotDumped as error:
        raise Refused(str(error)) from error
    return manifest


def _counted(parts: Iterator[bytes], progress: Progress) -> Iterator[bytes]:
    for part in parts:
        yield part
        progress.advance(len(part))


def _saved(name: str, archive: Writer, progress: Progress) -> bool:
    """Write a file into the archive; False if the storage does not have it."""
    try:
        file = default_storage.open(name, "rb")
    except FileNotFoundError:
        return False
    with file:
        archive.add(f"files/{name}", _counted(iter(lambda: file.read(PIECE), b""), progress))
    return True


# --- Restore a backup


def restore(*, place: str, replace: bool, progress: Progress, identity: Path | None = None) -> Manifest:
    """Replace the database and the files by those of an archive, and migrate them to this version of Assay.

    The archive is checked completely first. The tables are replaced and migrated in one transaction.

    Raises:
        Refused, BadArchive: There is no such backup, or it is encrypted for another identity; the archive is damaged or
            of a newer version; the database contains data and `replace` is false, other processes use it, or it was
            migrated by a version of Assay that this one does not know.
    """
    try:
        with places.opened(place, identity) as file:
            archive = Backup(file, PurePosixPath(place).name)
            _check(archive, progress)
            old = states.current("Restore with the version that migrated it, or into an empty database.")
            used = [name for name in old.tables if name not in PREPARED and dumps.count(name)]
            if used and not replace:
                others = " and others" if used[3:] else ""
                raise Refused(
                    f"The database contains data (tables {', '.join(used[:3])}{others}). "
                    "With --replace, they are removed together with their files."
                )
            _wait_for_no_other_clients()
            _replace(archive, old, progress)
            return archive.manifest
    except OSError as error:
        raise Refused(f"{error.filename or place}: {error.strerror or error}.") from error
    except Error as error:
        raise Refused(f"PostgreSQL refused: {error}".strip()) from error
    except SuspiciousOperation as error:
        raise Refused(f"The archive names a file outside the storage: {error}.") from error


def _check(archive: Backup, progress: Progress) -> None:
    """Check that this version knows the backup, and that it is complete and undamaged."""
    manifest = archive.manifest
    unknown = states.unknown((app, name) for app, name in manifest.migrations)
    is_newer = manifest.format > FORMAT or get_version_tuple(manifest.version) > get_version_tuple(VERSION)
    if is_newer or unknown:
        reason = f" It has the migrations {', '.join(unknown[:5])}." if unknown else ""
        raise Refused(
            f"The archive was made by Assay {manifest.version}, and this is {VERSION}.{reason} "
            f"Install a version that knows it."
        )
    if states.digest((app, name) for app, name in manifest.migrations) != manifest.migrations_sha256:
        raise Refused(
            f"The archive was made by another Assay {manifest.version}: its migrations have the names of those of this "
            "version, and other contents. Install the version that made it."
        )
    schema = dumps.rows("SELECT current_schema()")[0]
    if schema != manifest.schema:
        raise Refused(f"The backup is of the schema {manifest.schema}, and this database uses {schema}.")
    progress.begin("checking the archive", archive.n_bytes)
    problems = archive.problems(progress.advance)
    if archive.names - {"SHA256SUMS"} != {MANIFEST, DATABASE, *(f"files/{name}" for name in manifest.files)}:
        problems.append("its files are not those of its manifest")
    if problems:
        raise BadArchive(f"{archive.name} is damaged: {'; '.join(problems[:5])}.")


def _replace(archive: Backup, old: State, progress: Progress) -> None:
    """Save the files, then replace the tables and migrate them, then delete the files of the old state.

    If it is killed before the tables are replaced, the files that it has saved are unclaimed, and beat deletes them.
    """
    is_recorded = UNCLAIMED in old.tables
    old_names = {*old.file_names(), *(dumps.rows(UNCLAIMED_NAMES) if is_recorded else ())}
    progress.begin("restoring", archive.n_bytes)
    saved: list[str] = []
    try:
        names = {
            name: _restored(name, archive, saved, progress, is_recorded=is_recorded)
            for name in archive.manifest.files
        }
        with transaction.atomic(durable=True):
            dumps.drop([*old.tables, *archive.manifest.tables, *WITHOUT_ROWS, "django_migrations"])
            _load(archive, names, progress)
            progress.begin("migrating", None)
            call_command("migrate", interactive=False, verbosity=0)
            storage.discard(old_names - set(names.values()) - set(archive.manifest.missing))
            _wait_for_no_other_clients()
    except BaseException:
        for name in saved:
            default_storage.delete(name)
        if is_recorded:
            UnclaimedFile.objects.filter(name__in=saved).delete()
        raise
    finally:
        connection.close()  # a dump changes settings of the session
        ContentType.objects.clear_cache()
    for table in archive.manifest.tables:
        analyze(table)


def _load(archive: Backup, names: Mapping[str, str], progress: Progress) -> None:
    """Load the tables, and store the new names of files that have some."""
    n_rows = dumps.load(archive.parts(DATABASE, progress.advance))
    for table, expected in archive.manifest.tables.items():
        if n_rows.get(table) != expected:
            raise Refused(f"{table}: expected {counted(expected, 'row')}, got {n_rows.get(table, 0):,}.")
    for name, new in names.items():
        if new != name:
            for column in archive.manifest.file_columns:
                FileColumn(*column).rename(name, new)
    ContentType.objects.clear_cache()


def _restored(name: str, archive: Backup, saved: list[str], progress: Progress, *, is_recorded: bool) -> str:
    """Save a file of the archive; return its name in the storage, and note it in `saved`.

    A file that is there already is kept; one with other content keeps its name.
    """
    member, new = f"files/{name}", name
    if default_storage.exists(name):
        with default_storage.open(name, "rb") as file:
            if sha256_of_file(file) == archive.sums[member]:  # type: ignore[arg-type]
                return name
        new = str(PurePosixPath(name).with_name(uuid.uuid4().hex))
    with TemporaryFile() as copy:  # complete and checked before the storage gets it
        for part in archive.parts(member, progress.advance):
            copy.write(part)
        copy.seek(0)
        if is_recorded:
            UnclaimedFile.objects.get_or_create(name=new)
        saved.append(new)
        return default_storage.save(new, File(copy))


def _wait_for_no_other_clients() -> None:
    """Refuse while web, worker or beat run: a running job would store its result in the restored tables.

    The server needs a moment to notice that a client was killed.
    """
    deadline = time.monotonic() + CLIENT_SECONDS
    while clients := dumps.rows(f"SELECT pg_stat_clear_snapshot()::text; {CLIENTS}"):
        if time.monotonic() > deadline:
            raise Refused(
                f"{len(clients)} other connections use the database. Stop web, worker and beat, and close other "
                "clients, then try again."
            )
        time.sleep(CLIENT_POLL_SECONDS)
