"""Save the database and the files of the site in one archive, and restore them."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.exceptions import SuspiciousOperation
from django.core.management import call_command
from django.db import Error, transaction
from django.utils import timezone
from django.utils.version import get_version_tuple

from assay.version import VERSION
from backups import files, schemas, states, tables
from backups.archive import FORMAT, Manifest, Reader, TableContent, Writer
from backups.errors import BackupRefused, NewerDatabase, RestoreRefused
from backups.progress import Progress
from backups.states import State
from backups.tables import StoredName

# Tables that a database has rows in before anybody has used it: `manage.py prepare` fills them.
PREPARED = {"auth_permission", "django_content_type", "django_session", "tracks_storedprotocol"}
CLIENTS = """
    SELECT application_name FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
CLIENT_SECONDS = 10.0
CLIENT_POLL_SECONDS = 0.2


def back_up(*, path: Path, progress: Progress) -> Manifest:
    """Save the database as it is at one moment, and the files that its rows name.

    The site may be in use meanwhile. The archive appears under its name when it is complete.

    Raises
    ------
    BackupRefused
        The file exists or cannot be written.
    NewerDatabase
        The database was migrated by a version of Assay that this one does not know.
    """
    try:
        with _new_file(path) as file, Writer(file, advance=progress.advance) as archive:
            with _snapshot():
                state = _known_state("Make the backup with the version that migrated it.")
                contents = _save_tables(state, archive, progress)
                names = tables.stored_names(state)
            manifest = _manifest(state, contents, _save_files(names, archive, progress), archive)
            archive.finish(manifest)
    except OSError as error:
        raise BackupRefused(f"{path} cannot be written: {error.strerror or error}.") from error
    return manifest


def _manifest(
    state: State, contents: list[TableContent], saved: tuple[list[str], list[str]], archive: Writer
) -> Manifest:
    present, missing = saved
    return Manifest(
        format=FORMAT,
        version=VERSION,
        created_at=timezone.now().isoformat(timespec="seconds"),
        migrations=[list(key) for key in state.migrations],
        tables=contents,
        files=present,
        missing=missing,
        members=archive.members,
    )


def restore(*, path: Path, replace: bool, progress: Progress) -> Manifest:
    """Replace the database and the files by those of an archive, and migrate them to this version of Assay.

    The archive is checked completely first. The tables are replaced in one transaction at the end.

    Raises
    ------
    RestoreRefused
        The archive is damaged or of a newer version, the database contains data and `replace` is false, or other
        processes use the database.
    NewerDatabase
        The database in use was migrated by a version of Assay that this one does not know.
    """
    try:
        with Reader(path) as archive:
            _check_version(archive.manifest)
            progress.begin("checking the archive", archive.manifest.n_bytes)
            archive.check(advance=progress.advance)
            old = _known_state("Restore with the version that migrated it, or into an empty database.")
            if not replace:
                _check_empty(old)
            _wait_for_no_other_clients()
            _restore(archive, old, progress)
            return archive.manifest
    except OSError as error:
        raise RestoreRefused(f"{error.filename or path}: {error.strerror or error}.") from error
    except Error as error:
        raise RestoreRefused(f"PostgreSQL refused: {error}".strip()) from error
    except SuspiciousOperation as error:
        raise RestoreRefused(f"The archive names a file outside the storage: {error}.") from error


def _restore(archive: Reader, old: State, progress: Progress) -> None:
    """Build the new state next to the old one, replace the tables, then delete the files of the old state.

    If it is killed before the tables are replaced, the files that it has saved are unclaimed, and beat deletes them.
    """
    old_names, unclaimed = tables.stored_names(old), tables.unclaimed_files(old)
    with schemas.new_schema() as usual:
        restored = files.Restored(usual)
        try:
            names = _load(archive, restored, progress)
            progress.begin("migrating", None)
            call_command("migrate", interactive=False, verbosity=0)
            _wait_for_no_other_clients()
        except BaseException:
            restored.undo()
            raise
        schemas.replace_tables(usual, old.tables)
    files.delete(old_names, unclaimed, keep={restored.renamed.get(each.name, each.name) for each in names})


def _load(archive: Reader, restored: files.Restored, progress: Progress) -> list[StoredName]:
    """Create the tables as they were, load their rows and save the files; return the names of all files."""
    manifest = archive.manifest
    progress.begin("restoring", manifest.n_bytes)
    state = states.state_at([(app, name) for app, name in manifest.migrations])
    if [table.name for table in manifest.tables] != state.saved_tables:
        raise RestoreRefused("The archive does not contain the tables of its migrations.")
    states.migrate_to(state.migrations)
    with tables.bare(state.tables):
        for table in manifest.tables:
            with archive.member(table.member, advance=progress.advance) as member:
                tables.copy_in(table, member)
        names = tables.stored_names(state)
        _restore_files(names, archive, restored, progress)
    tables.analyze(state.tables)
    return names


def _restore_files(
    names: list[StoredName], archive: Reader, restored: files.Restored, progress: Progress
) -> None:
    saved = set(archive.manifest.files)
    for stored in names:
        if stored.name in saved:
            files.copy_in(stored, archive, restored, advance=progress.advance)
            if stored.name in restored.renamed:
                tables.rename_file(stored.column, stored.name, restored.renamed[stored.name])


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that only its owner may read, and that gets its name at the end of the block.

    Until then it has another name, under which a killed backup leaves it; the next one to the same path replaces it.
    """
    if path.exists():
        raise BackupRefused(f"{path} exists already. Choose another name, or move it away.")
    part = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o600), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupRefused(f"Another backup writes to {path}.") from None
        try:
            part.chmod(0o600)
            file.truncate()
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.rename(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def _snapshot() -> Iterator[None]:
    """A transaction that sees the database as it is at its first query."""
    with transaction.atomic(durable=True):
        tables.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        tables.run("SET LOCAL statement_timeout = 0")
        yield


def _known_state(hint: str) -> State:
    """The state of the database, whose migrations must be known."""
    applied = states.applied()
    unknown = states.unknown(applied)
    if unknown:
        raise NewerDatabase(
            f"The database has migrations that Assay {VERSION} does not know: {', '.join(unknown[:5])}. {hint}"
        )
    return states.state_at(applied)


def _save_tables(state: State, archive: Writer, progress: Progress) -> list[TableContent]:
    tables.lock_against_changes(state.saved_tables)
    progress.begin("saving tables", tables.size(state.saved_tables))
    contents = []
    for name in state.saved_tables:
        with archive.member(f"tables/{name}.tsv") as member:
            n_rows = tables.copy_out(name, member)
        contents.append(tables.content(name, n_rows))
    return contents


def _save_files(names: list[StoredName], archive: Writer, progress: Progress) -> tuple[list[str], list[str]]:
    """Save files; return the names of those that were saved, and of those that the storage does not have."""
    progress.begin("saving files", None)
    saved, missing = [], []
    for stored in names:
        if files.copy_out(stored, archive):
            saved.append(stored.name)
        elif not stored.column.is_transient:
            missing.append(stored.name)
    return saved, missing


def _check_version(manifest: Manifest) -> None:
    unknown = states.unknown([(app, name) for app, name in manifest.migrations])
    is_newer = manifest.format > FORMAT or get_version_tuple(manifest.version) > get_version_tuple(VERSION)
    if is_newer or unknown:
        reason = f" It has the migrations {', '.join(unknown[:5])}." if unknown else ""
        raise RestoreRefused(
            f"The archive was made by Assay {manifest.version}, and this is {VERSION}.{reason} "
            f"Install a version that knows it."
        )


def _check_empty(old: State) -> None:
    used = [name for name in old.tables if name not in PREPARED and tables.has_rows(name)]
    if used:
        raise RestoreRefused(
            f"The database contains data (tables {', '.join(used[:3])}{' and others' if used[3:] else ''}). "
            "With --replace, they are removed together with their files."
        )


def _wait_for_no_other_clients() -> None:
    """Refuse while web, worker or beat run: a running job would store its result in the restored tables.

    The server needs a moment to notice that a client was killed.
    """
    deadline = time.monotonic() + CLIENT_SECONDS
    while clients := tables.rows(CLIENTS):
        if time.monotonic() > deadline:
            raise RestoreRefused(
                f"{len(clients)} other connections use the database. Stop web, worker and beat, and close other "
                "clients, then try again."
            )
        time.sleep(CLIENT_POLL_SECONDS)
