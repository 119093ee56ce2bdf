"""Backups on a schedule, what is kept of them, the alarm, and the drill."""

import os
from datetime import UTC, datetime, time, timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import letters
from assay.digests import sha256_of
from assay.errors import Refused
from config.pages.health import Health, health
from jobs import services as jobs
from jobs import tasks
from jobs.backups import drill, schedule
from jobs.backups.services import Backup
from jobs.models import Job
from server.environment import Retention
from tests.helpers.factories import make_user

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
    monkeypatch.setattr("config.pages.views.health", Health())
    tasks.watch_backups()
    tasks.watch_backups()

    assert sent() == ["root@example.org: Assay: No recent backup"]
    assert "The last good backup is 60 hours old." in mail.outbox[0].body
    answer = client.get("/health/")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "backups": "The last good backup is 60 hours old."}


@pytest.mark.django_db
def test_a_good_backup_ends_the_alarm(folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    backup_job("failed", hours=20)
    letters.post(kind=schedule.ALARM, data={}, site="")
    backup_job("done", hours=1)
    monkeypatch.setattr("config.pages.views.health", Health())

    assert sent() == []
    assert client.get("/health/").json() == {"status": "ok", "backups": "ok"}


@pytest.mark.django_db
def test_without_a_schedule_the_health_check_knows_no_backups(client: Client) -> None:
    assert client.get("/health/").json().keys() == {"status"}
    assert health.backups() == ""


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("restore", *arguments, stdout=out)
    return out.getvalue()


def databases() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE 'assay_drill_%'")
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


@pytest.mark.django_db
def test_drill_fails_if_the_copy_differs_from_the_archive(tmp_path: Path) -> None:
    manifest = SimpleNamespace(tables={"accounts_user": 7}, files=["runs/a"])
    archive = SimpleNamespace(manifest=manifest, sums={"files/runs/a": sha256_of(b"run")})
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a").write_bytes(b"ruin")
    used = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")

    with pytest.raises(drill.DrillFailed, match="accounts_user: expected 7 rows, got 0"):
        drill._compare_tables(manifest, used.geturl())
    with pytest.raises(drill.DrillFailed, match="The restored file runs/a differs"):
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
