"""All readers unpack files with the same limits."""

import bz2
import gzip
import io
import lzma
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from assay.errors import Refused
from assay.formats.compression import Limits, UnpackedFile, Unreadable, is_packed, opened, unpack

TEXT = b"".join(b"line %d\n" % number for number in range(200_000))


def zipped(data: bytes, *, zip64: bool = False) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("run.txt", "w", force_zip64=zip64) as file,
    ):
        file.write(data)
    return with_zip64_records(buffer.getvalue()) if zip64 else buffer.getvalue()


def with_zip64_records(data: bytes, *, size: int | None = None) -> bytes:
    """A zip with the records that end an archive of more than 4 GB; `size` of its directory may be forged."""
    end = data.rindex(b"PK\x05\x06")
    true_size, offset = struct.unpack_from("<LL", data, end + 12)
    record = struct.pack(
        "<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, true_size if size is None else size, offset
    )
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    final = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return data[:end] + record + locator + final


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "xz": partial(lzma.compress, preset=0),
    "bz2": bz2.compress,
    "zip": zipped,
    "zip64": partial(zipped, zip64=True),
}


@cache
def packed(packing: str) -> bytes:
    return PACKINGS[packing](TEXT)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("size", [1000, 65_536, 10_000_000])
def test_unpacked_file_reads_exactly_the_requested_bytes(packing: str, size: int) -> None:
    file = UnpackedFile(io.BytesIO(packed(packing)), "posts")

    blocks = list(iter(lambda: file.read(size), b""))

    assert b"".join(blocks) == TEXT
    assert {len(block) for block in blocks[:-1]} <= {size}


def test_packed_files_are_recognized() -> None:
    assert [packing for packing in PACKINGS if is_packed(packed(packing))] == list(PACKINGS)[1:]


def by_unpack(data: bytes) -> None:
    for _ in unpack(io.BytesIO(data), Limits(), name="some.file"):
        pass


def by_import(data: bytes) -> None:
    file = UnpackedFile(io.BytesIO(data), "some.file")
    while file.read(1 << 20):
        pass


def many_members() -> bytes:
    return gzip.compress(b"1 Q0 a 1 1 r\n") * 10_001


def bomb() -> bytes:
    return gzip.compress(b"0" * (40 << 20))


def two_files() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("b", "2")
    return buffer.getvalue()


def entry_before_the_file() -> bytes:
    data = bytearray(zipped(b"a\n"))
    place = data.rindex(b"PK\x05\x06") + 16  # where the directory is said to begin
    struct.pack_into("<L", data, place, struct.unpack_from("<L", data, place)[0] + 1000)
    return bytes(data)


BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "cut off": (lambda: gzip.compress(TEXT)[:-100], "damaged"),
    "bomb": (bomb, "ratio"),
    "many members": (many_members, "members"),
    "two files": (two_files, "zip-files"),
    "forged zip64 directory": (lambda: with_zip64_records(zipped(b"a\n"), size=1 << 40), "zip-files"),
    "misplaced zip64 record": (lambda: b"PK\x03\x04" + with_zip64_records(zipped(b"a\n")), "damaged"),
    "entry without a name": (lambda: zipped(b"a\n").replace(b"run.txt", b"\0un.txt"), "damaged"),
    "entry before the file": (entry_before_the_file, "damaged"),
    "archive in an archive": (lambda: gzip.compress(gzip.compress(TEXT)), "not-text"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("read", [by_unpack, by_import])
def test_every_reader_refuses_with_the_file_and_what_is_accepted(
    name: str, read: Callable[[bytes], None]
) -> None:
    make, code = BROKEN[name]

    with pytest.raises(Unreadable) as refusal:
        read(make())

    assert refusal.value.code == code
    assert refusal.value.message.startswith("some.file: The ")
    assert f"Accepted: {refusal.value.accepted}" in refusal.value.message
    assert isinstance(refusal.value, Refused)


def test_plain_text_has_no_ratio() -> None:
    data = b"a\n" * (10 << 20)

    assert sum(map(len, unpack(io.BytesIO(data), Limits(max_ratio=1)))) == len(data)


def test_pipe_is_read_once_and_can_be_read_again(tmp_path: Path) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    class PipePath(type(tmp_path)):  # type: ignore[misc]
        def open(self, *_: object, **__: object) -> Pipe:
            return Pipe(packed("gz"))

    def text(file: io.BytesIO) -> Iterator[bytes]:
        return unpack(file, Limits())

    with opened(PipePath(tmp_path), Limits()) as file:
        assert b"".join(text(file)) == b"".join(text(file)) == TEXT  # type: ignore[arg-type]
