"""Reading and checking a run, from the bytes of a file to columns and a report.

    topic docno rank score tag        (ARQMath, 5 columns)
    topic Q0 docno rank score tag     (TREC, 6 columns)

Columns are separated by any ASCII white space. Ids are text, compared by bytes; no character in them is special.
The score alone decides the order (`pooling.columns`).
"""

import hashlib
from collections import Counter
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pooling.columns import RunColumns
from pooling.containers import Limits, Unreadable, opened, unwrap
from pooling.lines import LineNotes, Lines, n_lines, shown
from pooling.reports import Report, Tally
from pooling.run_checks import Expected, RunRows, UnitLookup, check_rows, warn_of_rows
from pooling.run_rows import FORMS, NO_ROWS, RANK, SCORE, Form, Rows, read_patiently, read_regular
from protocols.schema import Protocol

SAMPLE = 50  # lines by which the form is told
HEADER_WORDS = {b"rank", b"score", b"run_number", b"query_id", b"topic_id", b"docno", b"post_id"}


class UnknownForm(ValueError):
    """A protocol that names a form of run for which there is no reader."""


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A report and, if nothing is wrong, the columns."""

    report: Report
    columns: RunColumns | None
    form: Form | None
    _readable: RunColumns | None = None  # also there if all that is wrong can be repaired

    def repaired(self) -> bytes | None:
        """The run as it should have been written, or None where nothing can or need be repaired."""
        if self._readable is None or self.form is None or not self.report.is_repairable:
            return None
        return write_run(self._readable, form=self.form, tag=self.report.tag)


def check_run(
    source: BinaryIO | Path,
    *,
    protocol: Protocol,
    name: str,
    topics: Collection[str] | None = None,
    units: UnitLookup | None = None,
    limits: Limits | None = None,
    is_quick: bool = False,
) -> CheckedRun:
    """Read a run and say everything that is wrong with it.

    Parameters
    ----------
    source : a path, also of a pipe; or a seekable binary file, which is read from its start and not closed.
    topics : the codes that a run may name; None if they are not known.
    units : tells of distinct docnos whether each is a unit of the collection; None if that is not loaded.
    is_quick : the columns alone are wanted. What is refused is the same; there are no warnings of rows and no sha256.

    Raises
    ------
    OSError
        The source cannot be read.
    UnknownForm
        The protocol names a form of run for which there is no reader.
    """
    expected = Expected(protocol.runs, protocol.unit, topics, units)
    limits = limits or Limits()
    with opened(source, limits) if isinstance(source, Path) else nullcontext(source) as file:
        return _Check(file, name, expected, limits, forms_of(protocol), is_quick=is_quick).run()


def forms_of(protocol: Protocol) -> list[Form]:
    """The forms of run line that a protocol takes."""
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
        forms: list[Form],
        *,
        is_quick: bool,
    ) -> None:
        self.file = file
        self.name = name
        self.expected = expected
        self.limits = limits
        self.forms = forms
        self.is_quick = is_quick
        self.form: Form | None = None
        self.tally = Tally()
        self.parts: list[Rows] = []
        self.tags: dict[bytes, tuple[int, int]] = {}
        self.n_rows = 0
        self.n_lines = 0

    def run(self) -> CheckedRun:
        self.file.seek(0, 2)
        size = self.file.tell()
        is_whole = self._read(size)
        rows = _joined(self.parts)
        self.parts.clear()
        columns = None
        if is_whole and len(rows.score):
            check_rows(rows, self.expected, self.tally)
            if not self.tally.has_unrepairable_errors:
                columns, order = RunColumns.ordered(
                    topics=rows.topics,
                    topic_index=rows.topic_index,
                    docno=rows.docno,
                    rank=rows.rank,
                    score=rows.score,
                )
                if not self.is_quick:
                    warn_of_rows(rows, columns, order, self.expected, self.tally)
        report = self._report(size, rows)
        return CheckedRun(report, None if report.errors else columns, self.form, columns)

    def _read(self, size: int) -> bool:
        """Read all lines into `parts`; False if the file could not be read to its end."""
        lines = Lines(unwrap(self.file, size, self.limits), self.limits)
        try:
            is_whole = all(self._take(number, chunk) for number, chunk in lines)
        except Unreadable as complaint:
            self.tally.error(complaint.code, complaint.message, complaint.accepted)
            return False
        self._note_lines(lines.notes)
        if not self.n_rows and not self.tally.has_errors:
            self.tally.error("empty", "The file has no line with a ranked document.", "At least one line.")
        self._check_tags()
        return is_whole

    def _take(self, number: int, chunk: bytes) -> bool:
        if self.form is None:
            if not chunk.strip():
                return True
            self.form = _form_of(chunk, self.forms)
            number, chunk = self._without_header(number, chunk)
        rows = read_regular(number, chunk, self.form) if chunk else None
        if rows is None:
            widths = sorted({form.width for form in self.forms})
            rows = read_patiently(number, chunk, self.form, widths, self.tally)
        self._keep(rows)
        return self._is_within_lines(number + n_lines(chunk) - 1)

    def _keep(self, rows: Rows) -> None:
        self.parts.append(rows)
        self.n_rows += len(rows.score)
        for tag, (n, first) in rows.tags.items():
            before, first_of_all = self.tags.get(tag, (0, first))
            self.tags[tag] = (before + n, first_of_all)

    def _is_within_lines(self, number: int) -> bool:
        """Whether to read on; a run may not have twice as many lines as its track has room for."""
        most, topics = self.limits.max_lines, self.expected.topics
        if topics is not None:
            most = min(most, 2 * len(topics) * self.expected.rules.max_ranks + 1000)
        if number <= most:
            return True
        self.tally.error(
            "too-many-lines",
            f"The file has more than {most:,} lines; it was read to line {number:,} only.",
            "As many lines as there are topics times ranks."
            if topics is not None
            else f"At most {most:,} lines.",
        )
        return False

    def _without_header(self, number: int, chunk: bytes) -> tuple[int, bytes]:
        """Skip a first line that names the columns."""
        assert self.form is not None
        start = len(chunk) - len(chunk.lstrip())
        end = chunk.index(b"\n", start) + 1
        words = chunk[start:end].split()
        if len(words) != self.form.width or not HEADER_WORDS & {word.lower() for word in words}:
            return number, chunk
        if RANK.fullmatch(words[self.form.rank]) or SCORE.fullmatch(words[self.form.score]):
            return number, chunk
        line = number + chunk.count(b"\n", 0, start)
        self.tally.warning(
            "header", "the line names the columns and was skipped", "No header.", line, is_repairable=True
        )
        return number + chunk.count(b"\n", 0, end), chunk[end:]

    def _check_tags(self) -> None:
        if len(self.tags) < 2:
            return
        named = ", ".join(f"“{tag.decode()}” ({n:,} lines)" for tag, (n, _) in list(self.tags.items())[:5])
        more = f" and {len(self.tags) - 5} more" if len(self.tags) > 5 else ""
        self.tally.error(
            "several-tags",
            f"the file has {len(self.tags)} tags: {named}{more}",
            "One tag, the same in all lines.",
            n=len(self.tags),
            numbers=[first for _, first in self.tags.values()],
        )

    def _note_lines(self, notes: LineNotes) -> None:
        if notes.n_too_long:
            self.tally.error(
                "line-too-long",
                f"the line has more than {self.limits.max_line:,} bytes",
                f"At most {self.limits.max_line:,} bytes a line.",
                n=notes.n_too_long,
                numbers=notes.too_long,
            )
        found = (
            ("bom", notes.has_bom, "a byte-order mark stands before the first line and was skipped", 1),
            (
                "encoding-converted",
                notes.encoding,
                f"the text is in {notes.encoding} and was read as such",
                1,
            ),
            ("line-ends", notes.n_crlf, "lines end with CR LF, as on Windows", notes.n_crlf),
            ("line-ends-cr", notes.n_cr, "lines end with CR alone, as on old Macs", notes.n_cr),
            ("final-newline", not notes.has_final_newline, "the last line has no line end", 1),
        )
        for code, is_found, message, n in found:
            if is_found:
                self.tally.warning(
                    code, message, "UTF-8 text, each line ended with LF.", n=n, is_repairable=True
                )

    def _report(self, size: int, rows: RunRows) -> Report:
        sha256 = "" if self.is_quick else self._sha256()
        counts = np.bincount(rows.topic_index, minlength=len(rows.topics)).tolist()
        texts = {} if self.is_quick and not self.tally.has_errors else self._texts(size)
        return Report(
            name=self.name,
            size=size,
            sha256=sha256,
            form=self.form.name if self.form else "",
            tag=next(iter(self.tags)).decode() if self.tags else "",
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


def _form_of(chunk: bytes, forms: list[Form]) -> Form:
    """The form that most of the first lines have; the first of the protocol's if none has any."""
    lines = [line.split() for line in chunk[: SAMPLE * 200].split(b"\n")[:SAMPLE]]
    counts = Counter(len(words) for words in lines if words)
    return max(forms, key=lambda form: counts[form.width])


def _joined(parts: list[Rows]) -> RunRows:
    """The parts as one, with topics numbered in the order of their first lines."""
    numbers: dict[bytes, int] = {}
    index = []
    for part in parts:
        here = np.array([numbers.setdefault(code, len(numbers)) for code in part.codes], dtype=np.int32)
        index.append(here[part.topic_index] if len(here) else part.topic_index)
    if not parts:
        return _joined([NO_ROWS])
    return RunRows(
        [code.decode() for code in numbers],
        np.concatenate(index),
        np.concatenate([part.docno for part in parts]),
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.number for part in parts]),
    )


def write_run(columns: RunColumns, *, form: Form, tag: str) -> bytes:
    """A run in the given form: rows in trec_eval's order, ranks from 1, scores to their last bit, tabs, LF."""
    start = columns.offsets[:-1]
    ranks = (np.arange(len(columns)) - start[columns.topic_index] + 1).tolist()
    topics = [topic.encode() for topic in columns.topics.tolist()]
    middle = b"\tQ0\t" if form.width == 6 else b"\t"
    end = b"\t" + tag.encode() + b"\n"
    rows = zip(
        columns.topic_index.tolist(), columns.docno.tolist(), ranks, columns.score.tolist(), strict=True
    )
    return b"".join(
        topics[topic] + middle + docno + b"\t%d\t%s" % (rank, repr(score).encode()) + end
        for topic, docno, rank, score in rows
    )
