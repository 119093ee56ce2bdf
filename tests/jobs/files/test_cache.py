"""Copies of remote files: few, complete, and no larger than allowed."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from jobs.files.cache import FileCache


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
