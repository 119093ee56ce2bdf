"""The storage in a folder: a file is complete or absent."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.base import ContentFile, File

from jobs.files.storage import FolderStorage


class FullDisk(ContentFile[bytes]):
    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        yield b"first half"
        raise OSError(28, "No space left on device")


def stored(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]


def test_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    name = FolderStorage(tmp_path, file_permissions_mode=0o600).save("runs/7", ContentFile(b"run"))

    assert (name, stored(tmp_path)) == ("runs/7", ["runs/7"])
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        FolderStorage(tmp_path).save("runs/7", FullDisk(b""))

    assert stored(tmp_path) == []


def test_incomplete_file_does_not_have_the_name_yet(tmp_path: Path) -> None:
    storage, seen = FolderStorage(tmp_path), []

    class Watched(ContentFile[bytes]):
        def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
            yield b"first half"
            seen.append(storage.exists("runs/7"))

    storage.save("runs/7", Watched(b""))

    assert (seen, storage.exists("runs/7")) == ([False], True)


def test_deletion_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".7.part").write_bytes(b"first half")

    FolderStorage(tmp_path).delete("runs/7")

    assert stored(tmp_path) == []


def test_file_on_the_disk_is_moved(tmp_path: Path) -> None:
    """As the temporary file of a large upload."""
    (tmp_path / "upload").write_bytes(b"large")

    class Uploaded(File[bytes]):
        def temporary_file_path(self) -> str:
            return str(tmp_path / "upload")

    FolderStorage(tmp_path / "files").save("imports/7", Uploaded(None, "Posts.xml"))

    assert stored(tmp_path) == ["files/imports/7"]
