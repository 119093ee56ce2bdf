"""Dump files are cut into chunks of complete rows in little memory, and a broken file is refused with its place."""

import gzip
import io
import lzma
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from assay.errors import BadFile
from assay.formats.compression import UnpackedFile
from assay.formats.documents.dump import CHUNK, MAX_ROW, Broken, Reader
from assay.formats.documents.sources import form_of
from tests.helpers.dumps import HEAD, dump, many_posts, question, row


def pieces(data: str | bytes, *, position: int = 0, size: int = CHUNK) -> list[bytes]:
    content = data.encode() if isinstance(data, str) else data
    return [chunk.data for chunk in Reader(io.BytesIO(content), "Posts.xml", position=position, size=size)]


def test_chunks_together_are_all_rows() -> None:
    text = many_posts(300)

    joined = b"".join(pieces(text, size=5000))

    assert joined.strip() == text.encode().partition(b"<posts>")[2].rpartition(b"</posts>")[0].strip()
    assert joined.count(b"<row") == 300


def test_import_continued_at_any_chunk_gives_the_same_chunks() -> None:
    content = many_posts(600).encode()
    first = Reader(io.BytesIO(content), "Posts.xml", size=30_000)
    whole = list(first)

    for number, chunk in enumerate(whole):
        again = Reader(io.BytesIO(content), "Posts.xml", position=chunk.end, size=30_000)
        assert list(again) == whole[number + 1 :]
        assert again.sha256 == first.sha256


def test_rows_of_a_table_are_not_cut_within_quotation_marks() -> None:
    rows = [f'd{n},"line one\nline ""two"" of {n}"\n' for n in range(6000)]
    rows[500] = 'd500,a 12" pipe\n'

    chunks = pieces("docno,text\n" + "".join(rows), size=9000)

    assert "".join(chunk.decode() for chunk in chunks) == "".join(rows)
    assert len(chunks) > 10
    assert all(chunk.startswith(b"d") and chunk.endswith((b'"\n', b"pipe\n")) for chunk in chunks)


def test_chunks_know_their_first_line() -> None:
    content = many_posts(600).encode()

    for chunk in Reader(io.BytesIO(content), "Posts.xml", size=30_000):
        assert chunk.line == content[: chunk.start].count(b"\n") + 1


@pytest.mark.parametrize("size", [1000, 70_000, CHUNK])
def test_cut_off_file_is_refused_with_its_last_line(size: int) -> None:
    content = many_posts(150).encode()[:-200]

    with pytest.raises(
        Broken, match=r"Posts.xml, line [\d,]+ \(byte \d[\d,]*\): .*ends without </posts>"
    ) as refusal:
        pieces(content, size=size)

    assert f"line {content.count(chr(10).encode()) + 1:,} " in refusal.value.message


def test_text_after_the_end_is_refused() -> None:
    with pytest.raises(Broken):
        pieces(dump("posts", question(1)) + "more")


def test_empty_root_has_no_rows() -> None:
    assert b"".join(pieces(f"{HEAD}<posts/>\n")) == b""
    assert b"".join(pieces(f"{HEAD}<posts></posts>")) == b""


def test_row_that_is_too_long_is_left_out_in_little_memory() -> None:
    huge = row(Id=2, PostTypeId=1, Body="x" * 40_000_000)
    content = io.BytesIO(dump("posts", question(1), huge, question(3)).encode())
    del huge

    tracemalloc.start()
    chunks = list(Reader(content, "Posts.xml"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sum(chunk.n_too_long for chunk in chunks) == 1
    assert b"".join(chunk.data for chunk in chunks).count(b"<row") == 2
    assert peak < 3 * MAX_ROW


def test_line_that_is_too_long_is_left_out() -> None:
    content = b'{"docno": "1"}\n{"docno": "' + b"2" * 12_000_000 + b'"}\n{"docno": "3"}\n'

    chunks = list(Reader(io.BytesIO(content), "d.jsonl"))

    assert sum(chunk.n_too_long for chunk in chunks) == 1
    assert b"".join(chunk.data for chunk in chunks).split() == [b'{"docno":', b'"1"}', b'{"docno":', b'"3"}']


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (f"{HEAD}<posts>\n", "posts"),
        ('<?xml version="1.0" ?>\n<posts>\n', "posts"),
        ("<!-- by hand -->\n<comments>", "comments"),
        ("<postlinks/>", "postlinks"),
        ('\ufeff \n{"docno": "1"}', "jsonl"),
    ],
)
def test_form_is_detected_from_the_content(head: str, form: str) -> None:
    assert form_of(head.encode(), "x").name == form


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("<posts>".encode("utf-16"), "UTF-16"),
        (b'<?xml version="1.0" encoding="iso-8859-1"?><posts>', "iso-8859-1"),
        (b'<!DOCTYPE posts [<!ENTITY a "b">]><posts>', "DOCTYPE"),
        (b"%PDF-1.7 ...", "%PDF"),
        (b"", "it is empty"),
        (b"Id,Body\n1,x\n", "neither XML nor"),
    ],
)
def test_other_content_is_named_and_refused(head: bytes, expected: str) -> None:
    with pytest.raises(BadFile) as refusal:
        form_of(head, "upload")

    assert expected in refusal.value.message


@pytest.mark.parametrize(
    "head", [b" " * 20_000, b"<!---->" * 26, b"<" + b"a" * 20_000], ids=["blanks", "comments", "a long name"]
)
def test_hostile_head_is_refused_at_once(head: bytes) -> None:
    began = time.process_time()

    with pytest.raises(BadFile):
        form_of(head, "upload")

    assert time.process_time() - began < 1


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, dump("posts", question(1)))
    return out.getvalue()


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(dump("posts", question(1)).encode()),
        lzma.compress(dump("posts", question(1)).encode()),
        zipped("a"),
    ],
)
def test_packed_files_are_read(packed: bytes) -> None:
    content = UnpackedFile(io.BytesIO(packed), "Posts.gz")

    assert b"".join(chunk.data for chunk in Reader(content, "Posts.gz")).count(b"<row") == 1


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        (gzip.compress(many_posts(300).encode())[:-500], "damaged or cut off"),
        (b"\x1f\x8bnot gzip", "Posts.gz: The gz file is damaged"),
        (b"\xfd7zXZ\x00nothing", "The xz file is damaged"),
        (b"PK\x03\x04nothing", "The zip file is damaged"),
        (zipped("a", "b"), "Accepted: A zip of exactly one file."),
        (b"7z\xbc\xaf\x27\x1c....", "7z archive"),
    ],
)
def test_broken_packing_is_refused(packed: bytes, expected: str) -> None:
    with pytest.raises(BadFile) as refusal:
        list(Reader(UnpackedFile(io.BytesIO(packed), "Posts.gz"), "Posts.gz"))

    assert expected in refusal.value.message


def test_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb") as file:
        file.write(b"<posts>\n")
        for _ in range(300):
            file.write(b" " * 1_000_000)

    with bomb.open("rb") as file, pytest.raises(BadFile, match="decompresses to more than"):
        list(Reader(UnpackedFile(file, "bomb.gz"), "bomb.gz"))
