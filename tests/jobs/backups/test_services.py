"""A backup of the demo, restored into an empty database and over a used one."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from assay.archive.files import BadArchive
from assay.digests import sha256_of
from jobs.backups import services
from jobs.backups.services import Backup
from jobs.console import Progress
from pooling.models import Run
from server import paths
from tests.fixtures import Factory, wait_until
from tests.helpers import s3
from tests.helpers.factories import make_organizer, make_track, make_user
from tests.helpers.judging import make_team
from tests.helpers.runs import run_bytes
from tracks.models import Download, TopicImport, Track

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
DEFINITIONS = """
    SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' ||
           coalesce(attstattarget::text, 'default')
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE c.relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
    ORDER BY 1
"""
SEQUENCES = """
    SELECT sequencename, last_value FROM pg_sequences
    WHERE schemaname = 'public' AND sequencename NOT LIKE ALL (ARRAY['jobs_unclaimedfile_%', 'django_migrations_%'])
    ORDER BY 1
"""
CHANGING = {"django_migrations", "django_session", "jobs_unclaimedfile"}  # of the installation


@pytest.fixture(autouse=True)
def _no_other_clients(django_db_setup: None) -> None:
    """End the connections that the server threads of earlier tests keep: a restore refuses other clients."""
    connection.close()
    read(
        this_database(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )


def read(database: str, query: str) -> list[Any]:
    """The rows of a query, without Django. The connection is closed, because a restore refuses others."""
    with closing(connect(database)) as made, made.cursor() as cursor:
        return rows_of(cursor, query)


def rows_of(cursor: Any, query: str) -> list[Any]:
    cursor.execute(query)
    return [row[0] if len(row) == 1 else row for row in cursor.fetchall()]


def all_rows(database: str) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    with closing(connect(database)) as made, made.cursor() as cursor:
        names = [name for name in rows_of(cursor, TABLES) if name not in CHANGING]
        return {name: sorted(rows_of(cursor, f'SELECT t::text FROM "{name}" t')) for name in names}


def definitions(database: str) -> list[str]:
    """Everything that is not rows. PostgreSQL may print a condition that it has read again with its casts elsewhere."""
    casts = re.compile(r"::text(\[\])?|::character varying|[()]")
    return sorted(casts.sub("", each) for each in read(database, DEFINITIONS))


def url_of(name: str) -> str:
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


def connect(name: str) -> Any:
    made = psycopg2.connect(url_of(name))
    made.autocommit = True
    return made


@pytest.fixture
def empty_database() -> Iterator[str]:
    """The name of a database without tables."""
    name = f"restored_{os.getpid()}"
    admin = connect("postgres")
    with admin.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
    yield name
    with admin.cursor() as cursor:  # WITH (FORCE) fails if autovacuum is in it
        cursor.execute(f"DROP DATABASE {name}")
    admin.close()


def this_database() -> str:
    return str(connection.settings_dict["NAME"])


def backup(path: Path) -> str:
    out = StringIO()
    call_command("backup", str(path), stdout=out)
    return out.getvalue()


def restore(path: Path, *options: str) -> str:
    out = StringIO()
    call_command("restore", str(path), *options, stdout=out)
    return out.getvalue()


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_demo_in_an_empty_database_equals_the_original(
    transactional_db: None, empty_database: str, tmp_path: Path
) -> None:
    call_command("demo", stdout=StringIO())
    archive = tmp_path / "demo.zip"
    saved = backup(archive)

    done = subprocess.run(
        [sys.executable, "manage.py", "restore", str(archive)],
        cwd=paths.ROOT,
        env=os.environ | {"DATABASE_URL": url_of(empty_database), "ASSAY_VAR": str(tmp_path / "var")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    original = this_database()
    rows = all_rows(original)
    assert all_rows(empty_database) == rows
    assert read(empty_database, SEQUENCES) == read(original, SEQUENCES)
    assert definitions(empty_database) == definitions(original)
    assert len(rows["assessment_judgment"]) > 100
    names = {name for run in Run.objects.all() for name in (run.original.name, run.columns.name)}
    names |= set(TopicImport.objects.exclude(file="").values_list("file", flat=True))
    names |= set(Download.objects.exclude(file="").values_list("file", flat=True))
    assert files_in(tmp_path / "var" / "files") == {name: content_of(name) for name in names}
    assert f"{len(names)} files saved" in saved
    assert archive.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def run(transactional_db: None) -> Run:
    """A run with its files."""
    team = make_team(make_track())
    return Run.objects.create(
        track=team.track,
        team=team,
        tag="run-1",
        kind="primary",
        original=default_storage.save("runs/original/1", ContentFile(run_bytes())),
        columns=default_storage.save("runs/columns/1", ContentFile(b"columns")),
        n_lines=12,
        n_topics=3,
        submitted_by=make_organizer(),
    )


@pytest.fixture
def archive(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "assay.zip"
    backup(path)
    return path


def content_of(name: str) -> bytes:
    with default_storage.open(name) as file:
        return bytes(file.read())


@pytest.fixture
def bucket(settings: Any, tmp_path: Path) -> Iterator[None]:
    """Files are objects, as on several machines. The other tests of this module have them in a folder."""
    service = s3.start(tmp_path / "objects")
    settings.VAR_DIR = tmp_path / "var"
    objects = {"BACKEND": "jobs.files.s3.ObjectStorage", "OPTIONS": service.options}
    settings.STORAGES = settings.STORAGES | {"default": objects}
    yield
    service.stop()


def test_replaced_state_is_that_of_the_backup(bucket: None, run: Run, tmp_path: Path) -> None:
    path, err = tmp_path / "assay.zip", StringIO()
    name, content = run.original.name, content_of(run.original.name)
    gone = default_storage.save("runs/columns/gone", ContentFile(b""))
    other = Run.objects.create(
        track=run.track,
        team=run.team,
        tag="run-2",
        sha256="2",
        columns=gone,
        n_lines=0,
        n_topics=0,
        submitted_by=make_user(),
    )
    default_storage.delete(gone)
    call_command("backup", str(path), stdout=StringIO(), stderr=err)
    before = all_rows(this_database())
    later = default_storage.save("runs/original/later", ContentFile(b"later"))
    Run.objects.filter(pk=other.pk).update(original=later)
    default_storage.delete(name)
    default_storage.save(name, ContentFile(b"other content"))
    make_user("later")

    call_command("restore", str(path), "--replace", stdout=StringIO(), stderr=err)

    run.refresh_from_db()
    assert run.original.name != name  # a file that is there is not overwritten
    assert content_of(run.original.name) == content
    assert not default_storage.exists(later)
    Run.objects.filter(pk=run.pk).update(original=name)
    assert all_rows(this_database()) == before
    assert f"a row names the file {gone}, which does not exist" in err.getvalue()
    assert f"a row names the file {gone}, which the backup does not contain" in err.getvalue()


def test_used_database_is_replaced_only_on_request(archive: Path) -> None:
    before = all_rows(this_database())

    with pytest.raises(CommandError, match=r"The database contains data .* With --replace, they are removed"):
        restore(archive)

    assert all_rows(this_database()) == before


def test_restore_waits_for_other_clients_and_then_refuses(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "CLIENT_SECONDS", 0.0)
    other = connect(this_database())

    with pytest.raises(
        CommandError, match=r"1 other connections use the database. Stop web, worker and beat"
    ):
        restore(archive, "--replace")

    other.close()


def changed(archive: Path, **values: Any) -> Path:
    """A copy of an archive with other values in its manifest; one that is None is missing."""
    copy = archive.with_name("changed.zip")
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(copy, "w") as target:
        contents = {name: source.read(name) for name in source.namelist()}
        manifest = "assay-backup/manifest.json"
        before = contents[manifest]
        given = {name: value for name, value in (json.loads(before) | values).items() if value is not None}
        contents[manifest] = json.dumps(given).encode()
        sums = contents["assay-backup/SHA256SUMS"].decode()
        sums = sums.replace(sha256_of(before), sha256_of(contents[manifest]))
        for name, content in (contents | {"assay-backup/SHA256SUMS": sums.encode()}).items():
            target.writestr(name, content)
    return copy


def test_archive_that_this_version_does_not_know_changes_nothing(archive: Path) -> None:
    before = all_rows(this_database())
    cases: list[tuple[dict[str, Any], str]] = [
        ({"version": "99.0"}, r"made by Assay 99\.0, and this is"),
        ({"format": 2}, "Install a version that knows it"),
        ({"migrations": [["corpus", "0099_unheard_of"]]}, "It has the migrations corpus.0099_unheard_of"),
        (
            {"migrations_sha256": "0" * 64},
            r"its migrations have the names of those of this version, and other",
        ),
        ({"migrations_sha256": None}, "its migrations have the names of those of this version"),
        ({"files": []}, "its files are not those of its manifest"),
        ({"tables": 3}, "its manifest cannot be read"),
        ({"tables": {"accounts_user": 77}}, r"accounts_user: expected 77 rows, got \d"),
        ({"schema": "other"}, "The backup is of the schema other, and this database uses public"),
    ]

    for values, message in cases:
        with pytest.raises(CommandError, match=message):
            restore(changed(archive, **values), "--replace")

        assert all_rows(this_database()) == before


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def is_damaged(path: Path) -> bool:
    try:
        with Backup.of(path) as backup:
            return bool(backup.problems())
    except BadArchive:
        return True


def test_every_wrong_byte_of_the_content_and_every_missing_end_is_noticed(archive: Path) -> None:
    whole = archive.read_bytes()
    damaged = archive.with_name("damaged.zip")
    assert not is_damaged(archive)
    rng = random.Random(7)
    for _ in range(60):
        place = rng.randrange(len(whole))
        damaged.write_bytes(whole[:place])
        assert is_damaged(damaged)
    with zipfile.ZipFile(archive) as source:
        members = source.infolist()
    for member in members:
        start = member.header_offset + 30 + len(member.filename)
        extra = int.from_bytes(whole[member.header_offset + 28 : member.header_offset + 30], "little")
        place = start + extra + member.compress_size // 2
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert is_damaged(damaged) or contents(damaged) == contents(
            archive
        )  # two codes can mean the same bytes


def test_damaged_archive_changes_nothing(archive: Path) -> None:
    before = all_rows(this_database())
    archive.write_bytes(archive.read_bytes()[:-1])

    with pytest.raises(CommandError, match=r"assay.zip: The zip file is damaged or cut off"):
        restore(archive, "--replace")

    assert all_rows(this_database()) == before


def test_backup_does_not_overwrite_a_file(archive: Path) -> None:
    content = archive.read_bytes()

    with pytest.raises(CommandError, match=r"exists already. Choose another name"):
        backup(archive)

    assert archive.read_bytes() == content


def test_table_of_others_is_neither_saved_nor_removed(archive: Path) -> None:
    read(this_database(), "CREATE TABLE of_others AS SELECT 7 AS n; SELECT 1")
    try:
        backup(archive.with_name("again.zip"))
        with zipfile.ZipFile(archive.with_name("again.zip")) as saved:
            assert b"of_others" not in saved.read("assay-backup/database.sql")

        restore(archive, "--replace")

        assert read(this_database(), "SELECT n FROM of_others") == [7]
    finally:
        read(this_database(), "DROP TABLE of_others; SELECT 1")


def test_server_newer_than_pg_dump_is_named(
    transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections["default"].__dict__, "pg_version", 990_000)

    with pytest.raises(CommandError, match=r"in PostgreSQL 99, and the installed pg_dump is of version \d+"):
        backup(tmp_path / "assay.zip")

    assert list(tmp_path.iterdir()) == []


def test_folder_that_does_not_exist_is_named(transactional_db: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"missing/assay.zip cannot be written: No such file"):
        backup(tmp_path / "missing" / "assay.zip")
    with pytest.raises(CommandError, match=r"missing/assay.zip does not exist"):
        restore(tmp_path / "missing" / "assay.zip")


def test_database_of_a_newer_version_is_not_saved(transactional_db: None, tmp_path: Path) -> None:
    MigrationRecorder(connection).record_applied("corpus", "0099_unheard_of")

    with pytest.raises(CommandError, match=r"does not know: corpus.0099_unheard_of"):
        backup(tmp_path / "assay.zip")

    MigrationRecorder(connection).record_unapplied("corpus", "0099_unheard_of")
    assert list(tmp_path.iterdir()) == []


class Interfering(Progress):
    """Does something at the beginning of a step."""

    def __init__(self, step: str, action: Callable[[], None]) -> None:
        self.step, self.action = step, action

    def begin(self, step: str, total: int | None) -> None:
        if step == self.step:
            self.action()


def test_backup_is_of_one_moment(run: Run, tmp_path: Path) -> None:
    def write_meanwhile() -> None:
        other = connect(this_database())
        with other.cursor() as cursor:
            cursor.execute("UPDATE tracks_track SET name = 'meanwhile'")
            cursor.execute("UPDATE accounts_user SET username = 'meanwhile' || id")
        other.close()

    path = tmp_path / "assay.zip"

    services.back_up(place=str(path), progress=Interfering("saving tables", write_meanwhile))

    assert set(Track.objects.values_list("name", flat=True)) == {"meanwhile"}
    with zipfile.ZipFile(path) as saved:
        assert b"meanwhile" not in saved.read("assay-backup/database.sql")


def test_killed_backup_leaves_no_archive(run: Run, tmp_path: Path, fork: Factory) -> None:
    path = tmp_path / "assay.zip"
    part = tmp_path / ".assay.zip.part"
    blocking = psycopg2.connect(url_of(this_database()))
    with blocking.cursor() as cursor:
        cursor.execute("LOCK TABLE tracks_track IN ACCESS EXCLUSIVE MODE")
    running = fork(["manage.py", "backup", str(path)], tmp_path / "log")
    # of this database: other processes of the tests have theirs in the same server
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    wait_until(lambda: read(this_database(), waiting) == [1], reason=running.output)

    with pytest.raises(CommandError, match="Another backup writes to"):
        backup(path)
    running.kill()
    blocking.close()

    assert not path.exists()
    backup(path)
    assert not part.exists()


KILL = """
import os, signal, sys
from jobs.backups import services
from jobs.console import Progress
from jobs.files import storage
from django.core.management import call_command

class Killed(Progress):
    def begin(self, step, total):
        if step == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)

def killed(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "after":
    storage._delete = killed
services.restore(place=sys.argv[1], replace=True, progress=Killed())
"""


@pytest.mark.parametrize(("step", "is_restored"), [("migrating", False), ("after", True)])
def test_killed_restore_leaves_the_old_state_or_the_new(
    run: Run, archive: Path, tmp_path: Path, fork: Factory, step: str, is_restored: bool
) -> None:
    saved = all_rows(this_database())
    make_user("later")
    Run.objects.filter(pk=run.pk).update(original="")
    default_storage.delete(run.original.name)
    current = all_rows(this_database())
    connection.close()

    killed = fork(["-c", KILL, str(archive), step], tmp_path / "log")

    assert killed.process.wait(timeout=120) == -signal.SIGKILL, killed.output()
    assert all_rows(this_database()) == (saved if is_restored else current)
    if not is_restored:
        assert read(this_database(), "SELECT name FROM jobs_unclaimedfile") == [run.original.name]
        restore(archive, "--replace")
        assert all_rows(this_database()) == saved


def test_backup_from_before_a_migration_is_migrated(run: Run, tmp_path: Path) -> None:
    graph = MigrationLoader(connection).graph
    (last,) = graph.leaf_nodes("axes")
    before = max(key for key in graph.nodes if key[0] == "axes" and key != last)
    rows = all_rows(this_database())
    call_command("migrate", *before, verbosity=0)

    backup(tmp_path / "old.zip")
    call_command("migrate", verbosity=0)
    restore(tmp_path / "old.zip", "--replace")

    assert all_rows(this_database()) == rows
    assert last in MigrationRecorder(connection).applied_migrations()
