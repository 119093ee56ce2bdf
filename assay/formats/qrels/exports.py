"""Exports qrels for others: in several forms, split by topic, without names of people, with a README and checksums.

The same qrels give the same bytes: no file contains a date, and the members of a zip have a fixed date.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from io import BytesIO
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from assay.digests import sha256_of
from assay.errors import InputError, plural
from assay.formats.qrels.cites import WrittenCite, as_cites
from assay.formats.qrels.columns import LAYOUTS, Cited, QrelsColumns
from assay.formats.qrels.reader import QrelsForm, format_qrels
from assay.formats.spreadsheet import as_csv
from assay.protocols.qrels import kind_of
from assay.protocols.schema import Protocol

README, CHECKSUMS = "README.md", "SHA256SUMS"
NO_DATE = (1980, 1, 1, 0, 0, 0)
COLUMNS = ("topic", "docno", "grade")
CITES = "bolt"  # the form of judged citations


class Form(NamedTuple):
    """A form in which qrels are written."""

    ending: str
    words: str
    write: Callable[[QrelsColumns], bytes]


class Part(NamedTuple):
    """Qrels with a file name, and a sentence that describes them."""

    name: str
    words: str
    columns: QrelsColumns


class SplitError(InputError):
    """The topics cannot be split as requested."""


def _trec(columns: QrelsColumns) -> bytes:
    return format_qrels(columns).replace(b"\t", b" ")


def _rows(columns: QrelsColumns) -> list[tuple[str, str, int]]:
    return [(topic, docno.decode(), grade) for topic, docno, grade in columns.rows()]


FORMS = {
    "trec": Form("txt", "topic, 0, docno and grade, separated by spaces, as trec_eval reads them", _trec),
    "arqmath": Form(
        "tsv", "topic, 0, docno and grade, separated by tabs, as ARQMath publishes them", format_qrels
    ),
    "tsv": Form(
        "tsv",
        "topic, docno and grade, separated by tabs, with a header",
        lambda columns: "".join(
            "\t".join(map(str, row)) + "\n" for row in (COLUMNS, *_rows(columns))
        ).encode(),
    ),
    "csv": Form(
        "csv",
        "topic, docno and grade as CSV (RFC 4180), with a header",
        lambda columns: as_csv(COLUMNS, _rows(columns)).encode(),
    ),
    "units": Form(
        "tsv",
        "topic and docno only: what was judged, without the grades",
        lambda columns: "".join(f"{topic}\t{docno}\n" for topic, docno, _ in _rows(columns)).encode(),
    ),
}


def _cites(protocol: Protocol) -> Form:
    """BOLT's XML with the keys of the grades. A unit that was pooled and has no grade has no `rel`."""
    keys = {grade.value: grade.key for grade in protocol.judging.grades}

    def write(columns: QrelsColumns) -> bytes:
        cites = []
        for topic, docno, grade in columns.rows():
            cited = columns.cited.get((topic.encode(), docno), Cited({}, ""))
            rel = {"rel": keys.get(grade, str(grade))} if grade >= 0 else {}
            cites.append(WrittenCite(topic, docno.decode(), {**rel, **cited.answers}, cited.passage))
        return b"".join(as_cites("bolt-ir-qrels", cites))

    words = "BOLT's XML of judged citations: `rel` is the grade, other attributes are answers"
    return Form("xml", words, write)


def forms_of(protocol: Protocol, key: str = "") -> Mapping[str, Form]:
    """The forms by name; the first is that of the protocol if it describes columns of its own. `key` is that of a set.

    Qrels of the kind that its measures need have one form, without which their parts would be lost.
    """
    if (kind := kind_of(protocol, key)) != "grades":
        return {
            "trec": Form("txt", f"{LAYOUTS[kind].title}, separated by spaces", _trec),
            "units": FORMS["units"],
        }
    if protocol.cites_posts:
        return {**FORMS, CITES: _cites(protocol)}
    if protocol.qrels.columns is None:
        return FORMS
    form = QrelsForm.of(protocol)
    ending = "tsv" if form.separator == b"\t" else "csv"
    return {"protocol": Form(ending, f"{form.title}, as the protocol describes them", form.write), **FORMS}


def split_given(columns: QrelsColumns, test: Collection[str]) -> tuple[QrelsColumns, QrelsColumns]:
    """Split into train and test, with the given topics for test.

    Raises `SplitError` if a topic is not in the qrels, or one side is empty.
    """
    known = set(columns.topics.tolist())
    unknown = sorted(set(test) - known)
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise SplitError(f"the qrels have no topic {', '.join(unknown[:5])}{more}")
    if not test or len(set(test)) == len(known):
        raise SplitError(f"with {len(set(test))} of {len(known)} topics for the test, one part is empty")
    return columns.keep_topics(known - set(test)), columns.keep_topics(test)


def split_at_random(columns: QrelsColumns, share: float, seed: int) -> tuple[QrelsColumns, QrelsColumns]:
    """Split into train and test, with a rounded share of the topics for test, chosen at random with the seed.

    Raises `SplitError` if one side is empty.
    """
    n = len(columns.topics)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(n)
    return split_given(columns, columns.topics[order[: round(share * n)]].tolist())


def package(parts: Sequence[Part], form: Form, *, title: str, notes: Sequence[str]) -> dict[str, bytes]:
    """The files of an export: each part in the given form, a README that describes them, and their checksums."""
    files = {f"{part.name}.{form.ending}": form.write(part.columns) for part in parts}
    about = f"Relevance judgments: {form.words}. UTF-8, sorted by the bytes of topic and docno."
    lines = [f"# {title}", "", about, "", *(f"- {note}" for note in notes)]
    for name, words, columns in parts:
        counts = f"{plural(len(columns.topics), 'topic')}, {plural(len(columns.grade), 'line')}."
        lines += ["", f"## {name}.{form.ending}", "", words, "", counts]
        if form is not FORMS["units"]:
            grades, n = np.unique(columns.grade, return_counts=True)
            lines += ["", "| grade | lines |", "|---:|---:|"]
            lines += [f"| {grade} | {count} |" for grade, count in zip(grades[::-1], n[::-1], strict=True)]
            if (grades < 0).any():
                lines += ["", "A negative grade means that a document was pooled and has no grade."]
    lines += ["", "## Checksums", "", f"`sha256sum -c {CHECKSUMS}` checks every file of this folder.", ""]
    files[README] = "\n".join(lines).encode(errors="backslashreplace")
    return sealed(files)


def sealed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, and a file of their checksums."""
    sums = "".join(f"{sha256_of(files[name])}  {name}\n" for name in sorted(files))
    return {**files, CHECKSUMS: sums.encode()}


def zipped(files: Mapping[str, bytes], folder: str) -> bytes:
    """A zip with the files in a folder. The same files give the same bytes."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = ZipInfo(f"{folder}/{name}", NO_DATE)
            info.compress_type, info.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, files[name])
    return buffer.getvalue()


def code_names(people: Collection[str], seed: int) -> dict[str, str]:
    """A1, A2, ... for people, at random with the seed, so that the codes do not reveal the order of the names."""
    names = sorted(set(people))
    order: NDArray[np.int64] = np.random.Generator(np.random.PCG64(seed)).permutation(len(names))
    width = len(str(len(names)))
    return {name: f"A{place + 1:0{width}d}" for name, place in zip(names, order.tolist(), strict=True)}
