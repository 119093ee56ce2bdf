"""Run files for tests: a good one, and many that must be refused."""

import bz2
import gzip
import io
import lzma
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

TOPICS = ["A.1", "A.2", "A.3"]


def lines_of(n: int = 4, *, topics: list[str] = TOPICS, tag: str = "run-1", first: int = 100) -> list[str]:
    """Good ARQMath lines: n documents per topic, decreasing scores, no ties."""
    return [
        f"{topic}\t{first + rank}\t{rank}\t{10 - rank / 8}\t{tag}"
        for topic in topics
        for rank in range(1, n + 1)
    ]


def run_bytes(lines: list[str] | None = None, **options: object) -> bytes:
    lines = lines_of(**options) if lines is None else lines  # type: ignore[arg-type]
    return "".join(f"{line}\n" for line in lines).encode()


def trec_bytes(n: int = 4, *, topics: list[str] = TOPICS, tag: str = "run-1") -> bytes:
    return run_bytes([f"{t} Q0 {100 + r} {r} {10 - r / 8} {tag}" for t in topics for r in range(1, n + 1)])


def changed(line: int, text: str | bytes) -> bytes:
    """The good run with one line (from 1) replaced."""
    lines: list[bytes] = [good.encode() for good in lines_of()]
    lines[line - 1] = text.encode() if isinstance(text, str) else text
    return b"\n".join(lines) + b"\n"


def zipped(*files: tuple[str, bytes], encrypted: bool = False) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    packed = bytearray(buffer.getvalue())
    if encrypted:  # only the flag, in the local and the central header
        packed[6] |= 1
        packed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


@cache
def gz_bomb(block: bytes, n: int) -> bytes:
    """A block repeated n times, as gz: some hundred kilobytes that decompress to hundreds of megabytes."""
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(block) for _ in range(n)]
    return b"".join(parts) + packer.flush()


def zip_with_huge_directory() -> bytes:
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, 2**31, 0, 0)
    return b"PK\x03\x04" + bytes(100) + end


def random_bytes(n: int = 5000) -> bytes:
    return random.Random(7).randbytes(n)


class Broken(NamedTuple):
    """A file that must be refused: the function that makes it, and the code of an error that it must get."""

    code: str
    make: Callable[[], bytes]
    file_name: str = "run.tsv"


GOOD = run_bytes()
LINE = b"A.1\t101\t1\t1.0\trun-1\n"

BROKEN: dict[str, Broken] = {
    "empty file": Broken("empty", lambda: b""),
    "blank lines only": Broken("empty", lambda: b"\n \n\t\n\r\n"),
    "header only": Broken("empty", lambda: b"Query_Id\tPost_Id\tRank\tScore\tRun_Number\n"),
    "bom only": Broken("empty", lambda: b"\xef\xbb\xbf"),
    "four columns in one line": Broken("columns", lambda: changed(3, "A.1\t103\t3\t9.5")),
    "seven columns in one line": Broken("columns", lambda: changed(3, "A.1 Q0 103 3 9.5 run-1 more")),
    "three columns throughout": Broken("columns", lambda: b"A.1\t101\t9.5\nA.1\t102\t9.4\n"),
    "seven columns throughout": Broken("columns", lambda: b"A.1 Q0 101 1 9.5 run-1 x\n" * 3),
    "commas": Broken("columns", lambda: GOOD.replace(b"\t", b",")),
    "semicolons": Broken("columns", lambda: GOOD.replace(b"\t", b";")),
    "written \\t": Broken("columns", lambda: GOOD.replace(b"\t", b"\\t")),
    "no-break spaces": Broken("columns", lambda: GOOD.replace(b"\t", "\u00a0".encode())),
    "both forms in one file": Broken("mixed", lambda: GOOD + b"A.3 Q0 200 5 1.0 run-1\n"),
    "comment line": Broken("columns", lambda: b"# made by us\n" + GOOD),
    "score NaN": Broken("score", lambda: changed(2, "A.1\t102\t2\tNaN\trun-1")),
    "score inf": Broken("score", lambda: changed(2, "A.1\t102\t2\t-inf\trun-1")),
    "score 1e999": Broken("score", lambda: changed(2, "A.1\t102\t2\t1e999\trun-1")),
    "score with a comma": Broken("score", lambda: changed(2, "A.1\t102\t2\t1,5\trun-1")),
    "score in hexadecimal": Broken("score", lambda: changed(2, "A.1\t102\t2\t0x1p3\trun-1")),
    "score with an underscore": Broken("score", lambda: changed(2, "A.1\t102\t2\t1_000.5\trun-1")),
    "score of other digits": Broken("score", lambda: changed(2, "A.1\t102\t2\t١٢\trun-1")),
    "score a word": Broken("score", lambda: changed(2, "A.1\t102\t2\thigh\trun-1")),
    "score of a sign": Broken("score", lambda: changed(2, "A.1\t102\t2\t-\trun-1")),
    "rank a fraction": Broken("rank", lambda: changed(2, "A.1\t102\t2.5\t9.5\trun-1")),
    "rank a word": Broken("rank", lambda: changed(2, "A.1\t102\tsecond\t9.5\trun-1")),
    "rank with an underscore": Broken("rank", lambda: changed(2, "A.1\t102\t1_0\t9.5\trun-1")),
    "rank of twenty digits": Broken("rank", lambda: changed(2, f"A.1\t102\t{'9' * 20}\t9.5\trun-1")),
    "repeated document": Broken("repeated", lambda: changed(2, "A.1\t101\t2\t9.5\trun-1")),
    "whole file twice": Broken("repeated", lambda: GOOD + GOOD),
    "unknown topic": Broken("unknown-topic", lambda: changed(2, "A.99\t102\t1\t9.5\trun-1")),
    "a new topic in every line": Broken(
        "unknown-topic", lambda: run_bytes([f"T{i}\t1\t1\t1\trun-1" for i in range(6000)])
    ),
    "topic in lower case": Broken("unknown-topic", lambda: GOOD.replace(b"A.", b"a.")),
    "too many ranks": Broken("too-many-ranks", lambda: run_bytes(n=1001)),
    "far too many lines": Broken("too-many-lines", lambda: run_bytes(n=3000)),
    "two tags": Broken("several-tags", lambda: GOOD + b"A.3\t300\t5\t1.0\trun-2\n"),
    "tag in every line": Broken(
        "several-tags", lambda: run_bytes([f"A.1\t{i}\t{i}\t{-i}\tr{i}" for i in range(1, 50)])
    ),
    "line of 5,000 bytes": Broken("line-too-long", lambda: changed(2, "A.1\t102\t2\t9.5\t" + "x" * 5000)),
    "id of 500 bytes": Broken("name-too-long", lambda: changed(2, f"A.1\t{'d' * 500}\t2\t9.5\trun-1")),
    "tag of 200 bytes": Broken("name-too-long", lambda: run_bytes(tag="t" * 200)),
    "neither UTF-8 nor Windows-1252": Broken("encoding", lambda: changed(2, b"A.1\t1\x81\t2\t9.5\trun-1")),
    "NUL in an id": Broken("control", lambda: changed(2, b"A.1\t10\x002\t2\t9.5\trun-1")),
    "escape in an id": Broken("control", lambda: changed(2, b"A.1\t10\x1b[2J\t2\t9.5\trun-1")),
    "UTF-16 cut in half": Broken("encoding", lambda: GOOD.decode().encode("utf-16")[:-1]),
    "UTF-32": Broken("encoding", lambda: GOOD.decode().encode("utf-32")),
    "random bytes": Broken("not-text", random_bytes),
    "PDF": Broken("not-text", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n"),
    "PNG": Broken("not-text", lambda: b"\x89PNG\r\n\x1a\n" + bytes(60)),
    "web page": Broken("not-text", lambda: b"<!doctype html>\n<html><body>A.1 Q0 1 1 1 x</body></html>\n"),
    "a word of bzip2": Broken("columns", lambda: b"BZh9 x\n"),
    "bz2 damaged": Broken("damaged", lambda: b"BZh91AY&SY" + bytes(40), "run.tsv.bz2"),
    "bz2 cut off": Broken("damaged", lambda: bz2.compress(GOOD)[:-9], "run.tsv.bz2"),
    "bz2 and rubbish": Broken("damaged", lambda: bz2.compress(GOOD) + b"rubbish", "run.tsv.bz2"),
    "bz2 of empty streams": Broken("members", lambda: bz2.compress(b"") * 20_000, "run.tsv.bz2"),
    "bz2 bomb": Broken("ratio", lambda: bz2.compress(b"x" * (64 << 20)), "run.tsv.bz2"),
    "tar": Broken("not-text", lambda: b"run.tsv".ljust(257, b"\0") + b"ustar\x0000" + bytes(300), "run.tar"),
    "gz cut off": Broken("damaged", lambda: gzip.compress(GOOD)[:-6], "run.tsv.gz"),
    "gz with a wrong checksum": Broken("damaged", lambda: gzip.compress(GOOD)[:-8] + bytes(8), "run.tsv.gz"),
    "gz and rubbish": Broken("damaged", lambda: gzip.compress(GOOD) + b"rubbish", "run.tsv.gz"),
    "gz of empty members": Broken("members", lambda: gzip.compress(b"") * 20_000, "run.tsv.gz"),
    "gz of an empty member and a gz": Broken(
        "not-text", lambda: gzip.compress(b"") + gzip.compress(gzip.compress(GOOD)), "run.tsv.gz"
    ),
    "xz of empty streams": Broken("members", lambda: lzma.compress(b"") * 20_000, "run.tsv.xz"),
    "gz in gz": Broken("not-text", lambda: gzip.compress(gzip.compress(GOOD)), "run.tsv.gz"),
    "gz of nothing": Broken("empty", lambda: gzip.compress(b""), "run.tsv.gz"),
    "gz of a PDF": Broken("not-text", lambda: gzip.compress(b"%PDF-1.7\n"), "run.tsv.gz"),
    "gz bomb": Broken("ratio", lambda: gz_bomb(b"x" * (1 << 20), 64), "run.tsv.gz"),
    "gz bomb of good lines": Broken("too-many-lines", lambda: gz_bomb(LINE * 50_000, 20), "run.tsv.gz"),
    "gz bomb of line ends": Broken("ratio", lambda: gz_bomb(b"\n" * (1 << 20), 64), "run.tsv.gz"),
    "xz cut off": Broken("damaged", lambda: lzma.compress(GOOD)[:-9], "run.tsv.xz"),
    "xz damaged": Broken("damaged", lambda: lzma.compress(GOOD)[:30] + b"\xff" * 60, "run.tsv.xz"),
    "zip of two": Broken("zip-files", lambda: zipped(("a.tsv", GOOD), ("b.tsv", GOOD)), "run.zip"),
    "zip of none": Broken("zip-files", zipped, "run.zip"),
    "zip in zip": Broken("not-text", lambda: zipped(("a.zip", zipped(("a.tsv", GOOD)))), "run.zip"),
    "zip encrypted": Broken("encrypted", lambda: zipped(("a.tsv", GOOD), encrypted=True), "run.zip"),
    "zip cut off": Broken("damaged", lambda: zipped(("a.tsv", GOOD))[:-30], "run.zip"),
    "zip with a huge directory": Broken("zip-files", zip_with_huge_directory, "run.zip"),
    "zip of a bomb": Broken("ratio", lambda: zipped(("a.tsv", b"x" * (32 << 20))), "run.zip"),
    "spreadsheet": Broken(
        "workbook",
        lambda: zipped(("[Content_Types].xml", b"<x/>"), ("xl/workbook.xml", b"<x/>")),
        "run.xlsx",
    ),
}
