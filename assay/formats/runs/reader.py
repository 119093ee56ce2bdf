"""Reading and checking a run, from the bytes of a file to columns and a report.

What a file holds is told by its first bytes: XML goes to the readers of `run_xml`, anything else to that of
`run_lines`. The score alone decides the order (`assay.formats.runs.columns`).
"""

import codecs
import hashlib
import re
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from assay.formats.compression import Limits, Unreadable, opened, unwrap
from assay.formats.lines import UTF16, Lines, shown
from assay.formats.reports import Report, Tally
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.formulas import FormulaLookup, without_comments
from assay.formats.runs.passages import near_duplicates_of, warn_of_near_duplicates
from assay.formats.runs.rows import LINE_FORMS, Form
from assay.formats.runs.rules import NO_ROWS, Expected, RunRows, UnitLookup, check_rows, warn_of_rows
from assay.formats.runs.text import LineReader
from assay.formats.runs.xml import XmlForm, XmlReader
from assay.formats.runs.xml_forms import XML_FORMS
from assay.protocols.schema import Protocol

FORMS: dict[str, Form | XmlForm] = {**LINE_FORMS, **XML_FORMS}
XML_START = re.compile(rb"\s*<[A-Za-z_?!]")


class UnknownForm(ValueError):
    """A protocol that names a form of run for which there is no reader."""


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A report and, if nothing is wrong, the columns."""

    report: Report
    columns: RunColumns | None
    form: Form | XmlForm | None
    _readable: RunColumns | None = None  # also there if all that is wrong can be repaired

    def repaired(self) -> bytes | None:
        """The run as it should have been written, or None where nothing can or need be repaired."""
        if self._readable is None or not isinstance(self.form, Form) or not self.report.is_repairable:
            return None
        return write_run(self._readable, form=self.form, tag=self.report.tag)


def check_run(
    source: BinaryIO | Path,
    *,
    protocol: Protocol,
    name: str,
    topics: Collection[str] | None = None,
    units: UnitLookup | None = None,
    formulas: FormulaLookup | None = None,
    limits: Limits | None = None,
    is_quick: bool = False,
) -> CheckedRun:
    """Read a run and say everything that is wrong with it.

    Parameters
    ----------
    source : a path, also of a pipe; or a seekable binary file, which is read from its start and not closed.
    topics : the codes that a run may name; None if they are not known.
    units : tells of distinct docnos whether each is a unit of the collection; None if that is not loaded.
    formulas : for runs of formulas, gives those of distinct ids that are known; None if none are.
    is_quick : the columns alone are wanted. What is refused is the same; there are no warnings of rows and no sha256.

    Raises
    ------
    OSError
        The source cannot be read.
    UnknownForm
        The protocol names a form of run for which there is no reader.
    """
    expected = Expected(protocol.runs, protocol.unit, topics, units, near_duplicates_of(protocol))
    limits = limits or Limits()
    with opened(source, limits) if isinstance(source, Path) else nullcontext(source) as file:
        forms = forms_of(protocol)
        return _Check(file, name, expected, limits, forms, formulas=formulas, is_quick=is_quick).run()


def forms_of(protocol: Protocol) -> list[Form | XmlForm]:
    """The forms of run that a protocol takes."""
    for name in protocol.runs.formats:
        if name not in FORMS:
            known = ", ".join(FORMS)
            raise UnknownForm(
                f"{protocol.slug}: runs.formats: there is no reader for {name}; there are {known}"
            )
    return [FORMS[name] for name in protocol.runs.formats]


class _Check:
    """One file on its way from bytes to report."""

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        expected: Expected,
        limits: Limits,
        forms: list[Form | XmlForm],
        *,
        formulas: FormulaLookup | None,
        is_quick: bool,
    ) -> None:
        self.file = file
        self.name = name
        self.expected = expected
        self.limits = limits
        self.forms = forms
        self.formulas = formulas
        self.is_quick = is_quick
        self.reader: LineReader | XmlReader | None = None
        self.tally = Tally()

    def run(self) -> CheckedRun:
        self.file.seek(0, 2)
        size = self.file.tell()
        is_whole = self._read(size)
        rows = self.reader.rows() if self.reader else NO_ROWS
        columns = None
        if is_whole and self.formulas is not None and len(rows.score):
            rows = without_comments(rows, self.formulas, self.tally)
        if is_whole and len(rows.score):
            check_rows(rows, self.expected, self.tally)
            if not self.tally.has_unrepairable_errors:
                columns = self._columns(rows)
        report = self._report(size, rows)
        form = self.reader.form if self.reader else None
        return CheckedRun(report, None if report.errors else columns, form, columns)

    def _columns(self, rows: RunRows) -> RunColumns:
        assert self.reader is not None
        assert self.reader.form is not None
        columns, order = RunColumns.ordered(
            topics=rows.topics,
            topic_index=rows.topic_index,
            docno=rows.docno,
            rank=rows.rank,
            score=rows.score,
            post=rows.post,
            passage=rows.passage,
            ties_stay=self.reader.form.ties_stay,
        )
        if not self.is_quick:
            warn_of_rows(rows, columns, order, self.expected, self.reader.form, self.tally)
            warn_of_near_duplicates(columns, rows.number[order], self.expected.near, self.tally)
        return columns

    def _read(self, size: int) -> bool:
        """Read the file into the reader; False if that was not possible to its end."""
        try:
            blocks = unwrap(self.file, size, self.limits)
            first = next(blocks, b"")
            self.reader = self._reader_for(first)
            return self.reader.read(chain([first], blocks))
        except Unreadable as complaint:
            self.tally.error(complaint.code, complaint.message, complaint.accepted)
            return False

    def _reader_for(self, first: bytes) -> LineReader | XmlReader:
        """The reader for a file that begins with some bytes."""
        line_forms = [form for form in self.forms if isinstance(form, Form)]
        xml_forms = [form for form in self.forms if isinstance(form, XmlForm)]
        accepted = " Or: ".join(f"{form.title}." for form in self.forms)
        if is_xml(first):
            if not xml_forms:
                raise Unreadable("form", "The file is XML; runs are lines of columns here.", accepted)
            return XmlReader(xml_forms, self.expected, self.limits, self.tally)
        if not line_forms:
            if not first.strip():
                raise Unreadable("empty", "The file is empty.", accepted)
            raise Unreadable("form", "The file does not begin as XML does, with “<”.", accepted)
        return LineReader(line_forms, self.expected, self.limits, self.tally)

    def _report(self, size: int, rows: RunRows) -> Report:
        sha256 = "" if self.is_quick else self._sha256()
        tags = self.reader.tags if self.reader else {}
        counts = np.bincount(rows.topic_index, minlength=len(rows.topics)).tolist()
        texts = {} if self.is_quick and not self.tally.has_errors else self._texts(size)
        return Report(
            name=self.name,
            size=size,
            sha256=sha256,
            form=self.reader.form.name if self.reader and self.reader.form else "",
            tag=next(iter(tags)).decode() if tags else "",
            n_lines=len(rows.score),
            n_topics=len(rows.topics),
            topic_lines=dict(sorted(zip(rows.topics, counts, strict=True))),
            errors=self.tally.complaints("error", texts),
            warnings=self.tally.complaints("warning", texts),
        )

    def _sha256(self) -> str:
        self.file.seek(0)
        return hashlib.file_digest(self.file, "sha256").hexdigest()  # type: ignore[arg-type]

    def _texts(self, size: int) -> dict[int, str]:
        """The text of the lines that the report shows, read in a second pass."""
        wanted = sorted(self.tally.line_numbers(), reverse=True)
        texts: dict[int, str] = {}
        if not wanted:
            return texts
        try:
            for first, chunk in Lines(unwrap(self.file, size, self.limits), self.limits):
                end = first + chunk.count(b"\n")
                if wanted[-1] < end:
                    lines = chunk.split(b"\n")
                    while wanted and wanted[-1] < end:
                        number = wanted.pop()
                        texts[number] = shown(lines[number - first])
                if not wanted:
                    break
        except Unreadable:
            return texts  # the complaint itself stands in the report already
        return texts


def is_xml(first: bytes) -> bool:
    """Whether a text that begins with these bytes is XML."""
    head = first[:4096]
    if head[:2] in UTF16:
        head = head[2:].decode(UTF16[head[:2]], "ignore").encode()
    return XML_START.match(head.removeprefix(codecs.BOM_UTF8)) is not None


def write_run(columns: RunColumns, *, form: Form, tag: str) -> bytes:
    """A run in the given form: rows in their order, ranks from 1, scores to their last bit, tabs, LF."""
    start = columns.offsets[:-1]
    ranks = (np.arange(len(columns)) - start[columns.topic_index] + 1).tolist()
    topics = [topic.encode() for topic in columns.topics.tolist()]
    posts = columns.docno if columns.post is None else columns.post
    rows = zip(
        columns.topic_index.tolist(),
        columns.docno.tolist(),
        ranks,
        columns.score.tolist(),
        posts.tolist(),
        strict=True,
    )
    last = tag.encode()
    return b"".join(
        form.line(topics[topic], docno, rank, score, last, post) for topic, docno, rank, score, post in rows
    )
