"""The storage in an S3-compatible service, against a real one."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from django.core.files.base import ContentFile

from jobs.files.cache import FileCache
from jobs.files.s3 import ObjectStorage
from tests.helpers.s3 import BUCKET, Service


@pytest.fixture
def storage(service: Service, tmp_path: Path, settings: Any) -> ObjectStorage:
    settings.VAR_DIR = tmp_path / "var"
    return ObjectStorage(location="lab", **service.options)


def test_file_is_stored_read_and_deleted(storage: ObjectStorage, service: Service) -> None:
    name = storage.save("runs/original/7", ContentFile(b"run"))

    assert (name, service.names()) == ("runs/original/7", ["lab/runs/original/7"])
    assert (storage.exists(name), storage.size(name)) == (True, 3)
    assert storage.listdir("runs/original") == ([], ["7"])
    with storage.open(name, "rb") as file:
        assert file.read() == b"run"
        file.seek(1)
        assert file.read() == b"un"

    storage.delete(name)
    storage.delete(name)
    assert (storage.exists(name), service.names()) == (False, [])
    with pytest.raises(FileNotFoundError):
        storage.open(name, "rb")


def test_file_is_fetched_once(
    storage: ObjectStorage, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = storage.save("runs/columns/7", ContentFile(b"columns"))
    with storage.open(name, "rb") as file:
        assert file.read() == b"columns"

    monkeypatch.setattr("jobs.files.cache._fetched", lambda *_: pytest.fail("fetched a second time"))
    with storage.open(name, "rb") as file:
        assert file.read() == b"columns"


def test_object_that_was_replaced_is_fetched_again(storage: ObjectStorage, service: Service) -> None:
    name = storage.save("runs/columns/7", ContentFile(b"columns"))
    storage.open(name, "rb").close()

    service.client.put_object(Bucket=BUCKET, Key="lab/runs/columns/7", Body=b"restored")

    with storage.open(name, "rb") as file:
        assert file.read() == b"restored"


def test_two_files_of_one_name_are_both_kept(storage: ObjectStorage) -> None:
    names = [storage.save("demo", ContentFile(text)) for text in (b"one", b"two")]

    contents = []
    for name in names:
        with storage.open(name, "rb") as file:
            contents.append(file.read())
    assert contents == [b"one", b"two"]


def test_service_that_does_not_answer_is_an_os_error(storage: ObjectStorage, service: Service) -> None:
    service.stop()

    with pytest.raises(OSError, match="does not answer"):
        storage.save("runs/original/7", ContentFile(b"run"))
    with pytest.raises(OSError, match="does not answer"):
        storage.open("runs/original/7", "rb")


def test_wrong_key_is_an_os_error(storage: ObjectStorage, service: Service) -> None:
    stranger = ObjectStorage(**service.options | {"secret_key": "wrong"})

    with pytest.raises(OSError, match="does not answer as expected"):
        stranger.save("runs/original/7", ContentFile(b"run"))


def test_file_can_only_be_opened_to_read(storage: ObjectStorage) -> None:
    with pytest.raises(ValueError, match="can only be read"):
        storage.open("runs/original/7", "wb")


def unfinished(service: Service) -> list[Any]:
    with suppress(service.client.exceptions.NoSuchUpload):
        return list(service.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))
    return []


def test_unfinished_upload_shows_nothing_and_is_deleted(storage: ObjectStorage, service: Service) -> None:
    """As a process that was killed while it uploaded a large file leaves it."""
    key = {"Bucket": BUCKET, "Key": "lab/runs/original/7"}
    upload = service.client.create_multipart_upload(**key)["UploadId"]
    service.client.upload_part(**key, UploadId=upload, PartNumber=1, Body=b"x" * (5 << 20))
    assert [each["UploadId"] for each in unfinished(service)] == [upload]
    assert not storage.exists("runs/original/7")

    storage.delete("runs/original/7")

    assert unfinished(service) == []


def test_part_of_an_object_is_read_without_a_copy(storage: ObjectStorage) -> None:
    name = storage.save("downloads/7", ContentFile(b"0123456789"))

    assert b"".join(storage.read_range(name, 3, 7)) == b"3456"
    assert b"".join(storage.read_range(name, 4, 4)) == b""
    assert not any(storage.cache.folder.glob("*"))


def fetching(content: bytes) -> Callable[[BinaryIO], object]:
    return lambda file: file.write(content)


def used(path: Path, seconds_ago: float) -> None:
    at = time.time() - seconds_ago
    os.utime(path, (at, at))


def test_copy_is_fetched_once_and_read_from_its_start(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "new", 100)

    with cache.open("a", 3, fetching(b"abc")) as file:
        assert file.read() == b"abc"
    with cache.open("a", 3, lambda file: pytest.fail("fetched again")) as file:
        assert file.read() == b"abc"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_copies_that_were_not_used_for_longest_are_removed_first(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, 10)
    files: dict[str, Path] = {}
    for seconds_ago, key in ((30, "a"), (20, "b"), (10, "c")):
        cache.open(key, 3, fetching(b"abc")).close()
        (files[key],) = set(tmp_path.iterdir()) - set(files.values())
        used(files[key], seconds_ago)
    with cache.open("a", 3, fetching(b"")) as reading:
        cache.open("d", 3, fetching(b"def")).close()
        assert not files["b"].exists(), "a was used since"
        assert files["a"].exists()

        cache.open("e", 9, fetching(b"123456789")).close()
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10
        assert reading.read() == b"abc", "a file that is open can be read to its end"


def test_file_larger_than_the_cache_is_read_and_not_kept(tmp_path: Path) -> None:
    with FileCache(tmp_path, 2).open("a", 3, fetching(b"abc")) as file:
        assert file.read() == b"abc"

    assert list(tmp_path.iterdir()) == []


def test_incomplete_copy_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, 100)

    with pytest.raises(OSError, match="2 of 3 bytes arrived"):
        cache.open("a", 3, fetching(b"ab"))

    assert list(tmp_path.iterdir()) == []


def test_copy_of_a_killed_process_is_removed_after_a_day(tmp_path: Path) -> None:
    abandoned, recent = tmp_path / "old.part", tmp_path / "new.part"
    for path in (abandoned, recent):
        path.write_bytes(b"ab")
    used(abandoned, 25 * 3600)

    FileCache(tmp_path, 1).open("a", 1, fetching(b"a")).close()

    assert (abandoned.exists(), recent.exists()) == (False, True)
