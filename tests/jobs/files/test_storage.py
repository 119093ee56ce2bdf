"""Files are stored and deleted with their rows, also if the process is killed."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from assay.errors import Refused
from jobs import tasks
from jobs.files import storage
from jobs.models import UnclaimedFile

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def store_and_be_killed() -> str:
    """The files that remain when a process is killed before its transaction commits: it deletes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "_delete", lambda names: None)
        try:
            with storage.storing() as store:
                name = store("runs", ContentFile(b"run"))
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            return name


def make_overdue() -> None:
    UnclaimedFile.objects.update(delete_after=timezone.now() - timedelta(seconds=1))


def test_claimed_file_is_kept(folder: Path) -> None:
    with storage.storing() as store:
        name = store("runs", ContentFile(b"run"))
        storage.claim(name)

    make_overdue()
    assert storage.delete_unclaimed() == 0
    assert default_storage.exists(name)


def test_files_of_a_block_that_fails_are_deleted(folder: Path) -> None:
    def fail() -> None:
        with storage.storing() as store:
            store("runs", ContentFile(b"run"))
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()

    assert (files(folder), UnclaimedFile.objects.count()) == ([], 0)


def test_file_of_a_killed_process_is_deleted_when_its_time_has_come(folder: Path) -> None:
    name = store_and_be_killed()
    assert storage.delete_unclaimed() == 0, "its process may still be at work"

    make_overdue()
    tasks.delete_unclaimed()

    assert not default_storage.exists(name)
    assert not UnclaimedFile.objects.exists()


def test_file_that_was_deleted_too_early_cannot_be_claimed() -> None:
    name = store_and_be_killed()
    make_overdue()
    storage.delete_unclaimed()

    with pytest.raises(Refused, match="longer than 1 day"):
        storage.claim(name)


def test_discarded_file_is_deleted_at_the_commit(
    folder: Path, django_capture_on_commit_callbacks: Any
) -> None:
    name = default_storage.save("runs/7", ContentFile(b"run"))

    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        storage.discard([name])
        assert default_storage.exists(name)

    assert (files(folder), UnclaimedFile.objects.count()) == ([], 0)


def test_storage_that_is_down_when_a_file_is_deleted_gets_another_try(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    name = default_storage.save("runs/7", ContentFile(b"run"))

    def fail(name: str) -> None:
        raise OSError("down")

    with monkeypatch.context() as down:
        down.setattr(default_storage._wrapped, "delete", fail)  # type: ignore[attr-defined]
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            storage.discard([name])
        assert storage.delete_unclaimed() == 0

    assert storage.delete_unclaimed() == 1
    assert not default_storage.exists(name)
