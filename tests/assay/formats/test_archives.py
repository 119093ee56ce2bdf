"""Archives of several files: what is read, and what is refused."""

import gzip
import io
from collections.abc import Callable

import pytest

from assay.formats.archives import opened_archive
from assay.formats.compression import Limits, Unreadable
from tests.helpers.run_archives import tar_gz
from tests.helpers.runs import gz_bomb, zip_with_huge_directory, zipped

FILES = (("a/run.txt", b"one"), ("./manifest.csv", b"two"))


@pytest.mark.parametrize("pack", [zipped, tar_gz])
def test_files_are_read_by_their_paths(pack: Callable[..., bytes]) -> None:
    data = pack(*FILES, ("__MACOSX/a/._run.txt", b"x"), ("a/.DS_Store", b"x"))

    contents = {}
    with opened_archive(io.BytesIO(data)) as archive:
        for path, n_bytes in archive.files.items():
            with archive.open(path) as file:
                contents[path] = file.read()
                assert file.seek(0, 2) == n_bytes

    assert contents == {"a/run.txt": b"one", "manifest.csv": b"two"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (lambda: zipped(("../run.txt", b"x")), "path"),
        (lambda: tar_gz(("/etc/run.txt", b"x")), "path"),
        (lambda: zipped(("a\\..\\run.txt", b"x")), "path"),
        (lambda: tar_gz(links=("run.txt",)), "links"),
        (lambda: zipped(("run.txt", b"x" * (32 << 20))), "ratio"),
        (lambda: gz_bomb(b"x" * (1 << 20), 64), "ratio"),
        (lambda: zipped(("run.txt", b"x"), encrypted=True), "zip-method"),
        (zip_with_huge_directory, "zip-files"),
        (lambda: zipped(("run.txt", b"x"))[:-30], "damaged"),
        (lambda: tar_gz(*FILES)[:-20], "damaged"),
        (lambda: gzip.compress(b"no tar"), "damaged"),
        (lambda: b"no archive at all", "damaged"),
        (lambda: b"", "damaged"),
        (lambda: tar_gz(*((f"{n}.txt", b"") for n in range(10_002))), "files"),
    ],
)
def test_hostile_or_broken_archive_is_refused(data: Callable[[], bytes], code: str) -> None:
    with pytest.raises(Unreadable) as refusal, opened_archive(io.BytesIO(data())):
        pass

    assert refusal.value.code == code


def test_archive_above_the_limits_is_refused() -> None:
    data = zipped(("run.txt", b"x" * 100))

    with (
        pytest.raises(Unreadable, match="too large"),
        opened_archive(io.BytesIO(data), limits=Limits(max_text=50)),
    ):
        pass
    with pytest.raises(Unreadable), opened_archive(io.BytesIO(data), limits=Limits(max_file=50)):
        pass
