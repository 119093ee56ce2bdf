"""Backups on a schedule, what is kept of them, the alarm, and the drill."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pyrage
import pytest
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.mail import letters
from assay.digests import sha256_of
from assay.errors import Refused
from home.health import Health, health
from jobs import services as jobs
from jobs import tasks
from jobs.backups import drill, schedule
from jobs.backups.services import Backup
from jobs.models import Job
from server.environment import Retention
from tests.helpers import s3
from tests.helpers.factories import make_user
from tests.helpers.s3 import Service

START = datetime(2026, 1, 1, 3, tzinfo=UTC)


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """The folder of a site with a schedule and a mail server. Its administrator has an address, its organizer too."""
    settings.BACKUP_DIR, settings.SENDS_MAIL = str(tmp_path / "backups"), True
    make_user("root", email="root@example.org", is_staff=True, is_superuser=True)
    make_user("olga", email="olga@example.org", is_staff=True)
    cache.delete(schedule.ALARM)
    return tmp_path / "backups"


def backup_job(state: str, hours: float) -> Job:
    """A scheduled backup that ended so many hours ago."""
    job = Job.objects.create(kind=schedule.KIND, title="Scheduled backup", state=state)
    ended = timezone.now() - timedelta(hours=hours)
    Job.objects.filter(pk=job.pk).update(created_at=ended, started_at=ended, finished_at=ended)
    return job


def sent() -> list[str]:
    """Send what is due; the addresses, each with its subject."""
    mail.outbox.clear()
    letters.send_due()
    return [f"{message.to[0]}: {message.subject}" for message in mail.outbox]


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (Retention(3, 0, 0), ["03-29", "03-30", "03-31"]),
        (Retention(0, 2, 0), ["03-29", "03-31"]),  # a Sunday, and the newest of this week
        (Retention(1, 2, 3), ["01-31", "02-28", "03-29", "03-31"]),
        (Retention(0, 0, 0), ["03-31"]),
    ],
)
def test_latest_of_days_weeks_and_months_are_kept(keep: Retention, kept: list[str]) -> None:
    times = {START + timedelta(days=n) for n in range(90)} | {datetime(2026, 3, 31, 1, tzinfo=UTC)}

    rest = times - schedule.superseded(times, keep)

    assert sorted(f"{each:%m-%d}" for each in rest) == kept


@pytest.mark.parametrize(("hour", "day"), [(2, 23), (3, 24), (4, 24)])
def test_a_backup_is_due_at_the_hour_of_the_setting(settings: Any, hour: int, day: int) -> None:
    settings.BACKUP_AT = time(3)

    assert schedule.last_due(datetime(2026, 11, 24, hour, 0, tzinfo=UTC)).day == day


def test_a_job_makes_the_backup_and_deletes_old_ones(
    transactional_db: None, folder: Path, settings: Any
) -> None:
    settings.BACKUP_KEEP = Retention(1, 0, 0)
    folder.mkdir()
    for name in ("assay-2025-01-01T030000Z.zip", "assay-2025-01-01.zip"):
        (folder / name).touch()

    schedule.watch()
    schedule.watch()  # once a day
    (job,) = Job.objects.filter(kind=schedule.KIND)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error, job.place) == ("done", "", "backups")
    assert job.result["deleted"] == ["assay-2025-01-01T030000Z.zip"]
    assert sorted(path.name for path in folder.iterdir()) == ["assay-2025-01-01.zip", job.result["file"]]
    assert (folder / job.result["file"]).stat().st_mode & 0o777 == 0o600
    with Backup.of(folder / job.result["file"]) as archive:
        assert sum(archive.manifest.tables.values()) == job.result["rows"]
    assert schedule.problem() == ""


@pytest.mark.django_db
def test_a_failed_backup_is_reported_to_administrators(folder: Path, client: Client) -> None:
    folder.write_text("a file in place of the folder")
    schedule.watch()
    (job,) = Job.objects.filter(kind=schedule.KIND)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert job.state == "failed"
    assert str(folder) in job.error
    assert sent() == ["root@example.org: Assay: No recent backup"]
    assert "The last scheduled backup failed." in mail.outbox[0].body
    assert str(folder) in mail.outbox[0].body


@pytest.mark.django_db
def test_an_old_backup_is_reported_once_a_day_and_by_the_health_check(
    folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup_job("done", hours=60)
    monkeypatch.setattr("home.views.health", Health())
    tasks.watch_backups()
    tasks.watch_backups()

    assert sent() == ["root@example.org: Assay: No recent backup"]
    assert "The last good backup is 60 hours old." in mail.outbox[0].body
    answer = client.get("/health/")
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["backups"]) == (
        "ok",
        "The last good backup is 60 hours old.",
    )


@pytest.mark.django_db
def test_a_good_backup_ends_the_alarm(folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    backup_job("failed", hours=20)
    letters.post(kind=schedule.ALARM, data={}, site="")
    backup_job("done", hours=1)
    monkeypatch.setattr("home.views.health", Health())

    assert sent() == []
    assert client.get("/health/").json()["backups"] == "ok"


@pytest.mark.django_db
def test_without_a_schedule_the_health_check_knows_no_backups(client: Client) -> None:
    assert "backups" not in client.get("/health/").json()
    assert health.backups() == ""


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("restore", *arguments, stdout=out)
    return out.getvalue()


def databases() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE current_database() || '_drill_%'")
        return [name for (name,) in cursor.fetchall()]


def test_drill_restores_the_newest_backup_elsewhere_and_compares_it(
    transactional_db: None, folder: Path, settings: Any
) -> None:
    settings.VAR_DIR = folder.parent
    schedule.watch()
    jobs.run(Job.objects.get(kind=schedule.KIND).pk)
    (made,) = folder.iterdir()

    passed = run("--drill")

    assert f"{made}, made on" in passed
    assert "The copy was removed." in passed
    assert databases() == []
    assert list(folder.parent.iterdir()) == [folder]


@dataclass
class Key:
    """A key pair as age-keygen writes it."""

    file: Path
    recipient: str

    @classmethod
    def new(cls, file: Path) -> "Key":
        identity = pyrage.x25519.Identity.generate()
        file.write_text(f"# created: today\n# public key: {identity.to_public()}\n{identity}\n")
        return cls(file, str(identity.to_public()))


@pytest.fixture
def key(tmp_path: Path, settings: Any) -> Key:
    """The key for which the site encrypts its backups."""
    made = Key.new(tmp_path / "key.txt")
    settings.BACKUP_RECIPIENT = [made.recipient]
    return made


def scheduled() -> Job:
    """The job of a backup that is due, after its end."""
    schedule.watch()
    job = Job.objects.filter(kind=schedule.KIND).latest("pk")
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def test_encrypted_backups_in_a_bucket_are_kept_and_pass_a_drill(
    transactional_db: None, folder: Path, key: Key, settings: Any, tmp_path: Path, service: Service
) -> None:
    settings.BACKUP_DIR, settings.BACKUP_KEEP = f"s3://{s3.BUCKET}/lab/", Retention(1, 0, 0)
    settings.S3_OPTIONS, settings.VAR_DIR = service.options, tmp_path
    for name in ("lab/assay-2025-01-01T030000Z.zip", "lab/other", "assay-2025-01-01T030000Z.zip"):
        service.client.put_object(Bucket=s3.BUCKET, Key=name, Body=b"")

    job = scheduled()

    assert (job.state, job.error) == ("done", "")
    assert job.result["deleted"] == ["assay-2025-01-01T030000Z.zip"]
    place = f"s3://{s3.BUCKET}/lab/{job.result['file']}"
    assert service.names() == ["assay-2025-01-01T030000Z.zip", f"lab/{job.result['file']}", "lab/other"]
    assert f"{place}, made on" in run("--drill", "--identity", str(key.file))
    assert databases() == []
    with pytest.raises(CommandError, match=r"is encrypted\. Name the file of the key with --identity"):
        run("--drill")
    with pytest.raises(CommandError, match=f"s3://{s3.BUCKET}/lab/none.zip does not exist"):
        run("--drill", f"s3://{s3.BUCKET}/lab/none.zip")
    assert {path.name for path in tmp_path.iterdir()} == {"key.txt", "objects", "objects.log"}  # no copies


def test_encrypted_backup_is_decrypted_by_age_itself(
    transactional_db: None, folder: Path, key: Key, tmp_path: Path
) -> None:
    age = shutil.which("age")
    if age is None:
        pytest.skip("there is no age")
    place = folder / scheduled().result["file"]
    assert place.stat().st_mode & 0o777 == 0o600

    plain = tmp_path / "plain.zip"
    subprocess.run([age, "-d", "-i", str(key.file), "-o", str(plain), str(place)], check=True)

    with Backup.of(plain) as archive:
        assert archive.problems() == []


def test_backup_that_cannot_be_decrypted_names_the_reason(
    transactional_db: None, folder: Path, key: Key, settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    place = folder / scheduled().result["file"]
    cut = tmp_path / "cut.zip.age"
    cut.write_bytes(place.read_bytes()[:-100])
    (tmp_path / "no-key.txt").write_text(key.recipient)

    for file, identity, reason in (
        (place, Key.new(tmp_path / "other.txt").file, "cannot be decrypted with .*other.txt"),
        (place, tmp_path / "no-key.txt", "no-key.txt has no key of age-keygen"),
        (place, tmp_path / "nowhere.txt", "nowhere.txt cannot be read"),
        (cut, key.file, "cut.zip.age cannot be decrypted"),
    ):
        with pytest.raises(CommandError, match=reason):
            run("--drill", str(file), "--identity", str(identity))


@pytest.mark.django_db
def test_name_of_a_backup_says_that_it_is_encrypted(key: Key, settings: Any, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"choose a name such as .*x\.zip\.age"):
        call_command("backup", str(tmp_path / "x.zip"))
    settings.BACKUP_RECIPIENT = []
    with pytest.raises(CommandError, match="BACKUP_RECIPIENT is not set"):
        call_command("backup", str(tmp_path / "x.zip.age"))


def test_bucket_that_does_not_answer_fails_the_backup(
    transactional_db: None, folder: Path, settings: Any, tmp_path: Path, service: Service
) -> None:
    settings.BACKUP_DIR, settings.S3_OPTIONS = f"s3://{s3.BUCKET}", service.options
    settings.VAR_DIR = tmp_path
    service.stop()

    job = scheduled()

    assert job.state == "failed"
    assert "The file storage does not answer" in job.error
    assert sent() == ["root@example.org: Assay: No recent backup"]
    with pytest.raises(CommandError, match="The file storage does not answer"):
        run("--drill")


@pytest.mark.django_db
def test_drill_fails_if_the_copy_differs_from_the_archive(tmp_path: Path) -> None:
    manifest = SimpleNamespace(tables={"accounts_user": 7}, files=["runs/a"])
    archive = SimpleNamespace(manifest=manifest, sums={"files/runs/a": sha256_of(b"run")})
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a").write_bytes(b"ruin")
    used = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")

    with pytest.raises(Refused, match="accounts_user: expected 7 rows, got 0"):
        drill._compare_tables(manifest, used.geturl())
    with pytest.raises(Refused, match="The restored file runs/a differs"):
        drill._compare_files(archive, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name the file of a backup"),
        (["--drill"], "BACKUP_DIR is not set"),
        (["--drill", "--replace", "x.zip"], "leave out --replace"),
        (["--drill", "/nowhere/x.zip"], "/nowhere/x.zip does not exist"),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_restore_says_what_is_missing(
    arguments: list[str], message: str, settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    with pytest.raises(CommandError, match=message):
        run(*arguments)


def test_an_empty_folder_has_no_newest_backup(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="There is no scheduled backup in"):
        schedule.newest(str(tmp_path))
