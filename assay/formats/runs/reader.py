"""Reads and checks a run, from the bytes of a file to columns and a report.

`check_run` is for uploads and has a report; `read_run` is for commands that only need the columns. The steps of both:

1. `compression` decompresses the file. Its first bytes decide between lines (`text`) and XML (`xml`).
2. The reader turns the text into rows, in file order, and notes each wrong line in the tally. Generated answers have
   a reader of their own (`answers`).
3. `formulas` checks formula ids and drops formulas of comments. `rules` checks the rows against the protocol, the
   topics and the collection.
4. `columns` sorts the rows: the score alone decides the order.
5. The tally becomes the report.

Decision: ADR 5.
"""

import codecs
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.answers import Answer
from assay.digests import sha256_of_file
from assay.errors import InputError, InputWarning, plural
from assay.formats.compression import ANY_SIZE, Limits, Unreadable, opened, unpack, utf16_of
from assay.formats.kinds import HEAD, looks_like
from assay.formats.reports import FIRST_LINES, Complaint, Report, Tally
from assay.formats.runs.answers import MAX_LINE, AnswerReader
from assay.formats.runs.columns import RunColumns, score_order, tied_rows
from assay.formats.runs.formulas import FormulaLookup, check_formulas
from assay.formats.runs.rules import (
    JSON_LINES,
    NO_ROWS,
    PARQUET_RECORDS,
    TOPIC_DOCUMENT,
    AnswerForm,
    Expected,
    JsonForm,
    LineForm,
    NearDuplicates,
    RunForm,
    RunRows,
    UnitLookup,
    XmlForm,
    check_rows,
    check_tags,
    check_topic_documents,
    check_topics,
    check_units,
    first_lines,
    forms_of,
    report,
    scored_lines,
    unit_of,
)
from assay.formats.runs.text import LineReader, Lines, shown
from assay.passages import leaders
from assay.protocols.schema import Protocol, RunFormat

if TYPE_CHECKING:
    from assay.formats.runs.citations import PostLookup
    from assay.formats.runs.nested import NestedReader
    from assay.formats.runs.records import RecordReader
    from assay.formats.runs.xml import XmlReader

CHECKED_ONLY = {"number", "original"}  # not stored
# The codes of errors that commands tolerate where scores decide the order, because the ranks of real runs may be
# anything.
UNUSED_RANKS = frozenset({"rank", "rank-range"})
# The codes of other warnings that the users of commands see
NOTED = frozenset({"encoding-windows", TOPIC_DOCUMENT})
JSON_START = re.compile(rb"\s*\{\s*[\"}]")
PARQUET = b"PAR1"  # begins a file
XML_START = re.compile(rb"\s*<(?!SYSDESC>)[A-Za-z_?!]")


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """The report on a run and, if it has no errors, the columns."""

    report: Report
    columns: RunColumns | None
    form: RunForm | None
    _readable: RunColumns | None = None  # also set if all errors can be repaired
    answers: Mapping[str, Answer] = field(default_factory=dict)  # by topic, of a run of generated answers
    _cut: bytes | None = None  # such a run, with answers cut to the limits
    _header: bytes = b""  # of ir_metadata
    header_lines: Mapping[str, int] = field(default_factory=dict)  # the number of each of its fields, by path

    def usable_answers(self) -> Mapping[str, Answer]:
        """The answers by topic, also of a run that exceeds limits.

        Raises:
            InputError: There are none, or the run has other errors.
        """
        serious = [error for error in self.report.errors if not error.is_repairable]
        if serious or not self.answers:
            reason = serious[0] if serious else "the file has no generated answers"
            raise InputError(f"{self.report.file_name}: {reason}")
        return self.answers

    def repaired(self) -> bytes | None:
        """The run as it should have been written; None if nothing can be, or has to be, repaired."""
        if self._cut is not None:
            return self._cut if self.report.is_repairable else None
        if self._readable is None or not isinstance(self.form, LineForm) or not self.report.is_repairable:
            return None
        return self._header + write_run(self._readable, form=self.form, tag=self.report.tag)


def check_run(
    source: BinaryIO | Path,
    *,
    protocol: Protocol,
    name: str,
    topics: Collection[str] | None = None,
    units: UnitLookup | None = None,
    formulas: FormulaLookup | None = None,
    posts: "PostLookup | None" = None,
    limits: Limits | None = None,
    kind: str = "",
    team: str = "",
    characters: Mapping[str, int] = MappingProxyType({}),
    narratives: Mapping[str, str] = MappingProxyType({}),
    is_named: bool = False,
    tolerated: Collection[str] = (),
    warns: bool = True,
    depth: int | None = None,
) -> CheckedRun:
    """Read a run and report everything that is wrong with it.

    Args:
        source: a path, also of a pipe; or a seekable binary file, which is read from its start and not closed.
        limits: by default, those of uploads for a binary file; a path may be of any size.
        topics: the codes that a run may name; None if they are unknown.
        units: a function from distinct docnos to their state in the collection; None if no collection is loaded.
        formulas: for runs of formulas, a function from distinct ids to the known formulas; None if no index is loaded.
        posts: for runs of citations, a function from docnos of posts to the known posts; None if none are loaded.
        kind: the kind of run that was declared, which a file that declares a kind must have; empty: not known.
        team: the team that submits; a file that names another one gets a warning. Empty: not known.
        characters: the number that a generated answer may have, by topic; others have that of the protocol.
        narratives: the text of each topic, which answers of some forms must repeat; empty: not known.
        is_named: whether the tag must follow the naming scheme of the protocol, as in a submission.
        tolerated: the codes of errors that are only warnings; see `UNUSED_RANKS`.
        warns: False: look only for errors, in two thirds of the time; without errors, the report has no counts.
        depth: the number of documents of each topic in the columns; None: all. All of them are checked.

    Raises:
        OSError: The source cannot be read.
    """
    limits = limits or (ANY_SIZE if isinstance(source, Path) else Limits())
    expected = expected_of(protocol, topics, units, limits)._replace(
        kind=kind, team=team, characters=characters, narratives=narratives, is_named=is_named
    )
    with opened(source, limits) if isinstance(source, Path) else nullcontext(source) as file:
        check = _Check(
            file,
            expected,
            limits,
            forms_of(protocol),
            formulas,
            posts,
            warns=warns,
            tally=Tally(tolerated=tolerated),
            depth=depth,
        )
        columns = check.columns()
        run_report = check.report(name)
    form = check.reader.form if check.reader else None
    checked = CheckedRun(run_report, None if run_report.errors else columns, form, columns)
    if isinstance(check.reader, LineReader):
        header = check.reader.header
        checked = replace(checked, _header=header.content, header_lines=header.numbers)
    if isinstance(check.reader, AnswerReader):
        answers = {topic: numbered.answer for topic, numbered in check.reader.answers.items()}
        return replace(checked, answers=answers, _cut=check.reader.cut())
    return checked


class Named(NamedTuple):
    """The name of a run, and its kind, as its file states them; empty where it states none."""

    tag: str
    kind: str


START = 1 << 16  # bytes of a file in which its run is named


def named_in(start: bytes, protocol: Protocol) -> Named:
    """The tag and kind in the start of a file, which may be compressed."""
    text = b""
    try:
        for block in unpack(BytesIO(start), Limits(max_text=4 * START)):
            text += block
    except Unreadable:  # the rest of the file is missing
        pass
    text = text[: len(text) // 2 * 2] if utf16_of(text) else text
    check = _Check(BytesIO(text), expected_of(protocol), Limits(), forms_of(protocol), warns=False)
    check.columns()
    if check.reader is None:
        return Named("", "")
    tag = next(iter(check.reader.tags), check.reader.tag.encode())
    return Named(tag.decode(), check.reader.kind)


def read_answers(source: BinaryIO | Path, protocol: Protocol, *, name: str) -> Mapping[str, Answer]:
    """The answers of a run by topic, also of one that exceeds limits.

    Raises:
        InputError: The file has no answer that can be read, or other errors than answers that are too long.
        OSError: The file cannot be read.
    """
    return check_run(source, protocol=protocol, name=name).usable_answers()


def read_run(path: str, protocol: Protocol, formats: Sequence[RunFormat] = ()) -> RunColumns:
    """The columns of a run file; `-` is standard input. Without errors, no report is made.

    Ranks that nothing uses may be anything, and without a protocol a run may have several tags; both give an
    `InputWarning`, and so do lines that are not UTF-8.

    `formats` are accepted instead of those of the protocol.

    Fields that only assessors fill in are accepted, because a judged run is one that was submitted.

    Raises `InputError` if it cannot be read, or it has errors, the same as for `check_run`; the message has the first
    one.
    """
    limits = ANY_SIZE
    try:
        with opened(path, limits) as file:
            expected = expected_of(protocol, limits=limits)
            expected = expected._replace(rules=replace(protocol.runs, forbidden_fields=()))
            tolerated = UNUSED_RANKS if protocol.slug else UNUSED_RANKS | {"several-tags"}
            tally = Tally(tolerated=tolerated)
            check = _Check(file, expected, limits, forms_of(protocol, formats), warns=False, tally=tally)
            columns = check.columns()
            if columns is not None and not tally.has_errors:
                for complaint in tally.complaints("warning", {}):
                    if complaint.code in tolerated | NOTED:
                        warnings.warn(f"{path}: {complaint}", InputWarning, stacklevel=2)
                return columns
            first, *more = check.report(path).errors
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    rest = f" (and {len(more)} more: assay check names them all)" if more else ""
    raise InputError(f"{path}: {first}{rest}")


def expected_of(
    protocol: Protocol,
    topics: Collection[str] | None = None,
    units: UnitLookup | None = None,
    limits: Limits | None = None,
) -> Expected:
    """The facts that a run is checked against. If topics are known, twice the lines of a complete run are read."""
    rules, pool = protocol.runs, protocol.pool
    max_lines = (limits or Limits()).max_lines
    if topics is not None:
        max_lines = min(max_lines, 2 * len(topics) * rules.max_ranks + 1000)
    near = None
    if pool.near_duplicate_overlap is not None:  # reported as deep as runs are pooled
        near = NearDuplicates(pool.near_duplicate_overlap, max(rules.depths.values(), default=0))
    return Expected(rules, unit_of(protocol), topics, units, max_lines, near)


@dataclass(slots=True)
class _Check:
    file: BinaryIO
    expected: Expected
    limits: Limits
    forms: list[RunForm]
    formulas: FormulaLookup | None = None
    posts: "PostLookup | None" = None
    warns: bool = True
    reader: "LineReader | XmlReader | AnswerReader | NestedReader | RecordReader | None" = None
    rows: RunRows = NO_ROWS
    tally: Tally = field(default_factory=Tally)
    depth: int | None = None
    start: bytes = b""  # of the file's text

    def columns(self) -> RunColumns | None:
        """The sorted columns; None if an error cannot be repaired. The tally has what is wrong."""
        try:
            is_complete = self._read()
        except Unreadable as error:
            self.tally.error(error.code, error.reason, error.accepted)
            is_complete = False
        if self.reader is not None:
            self.rows = self.reader.rows()
            check_tags(self.reader.tags, self.expected, self.tally)
        if is_complete and self.formulas is not None and len(self.rows.score):
            self.rows = check_formulas(self.rows, self.formulas, self.tally)
        if not is_complete or not len(self.rows.score):
            return None
        assert self.reader is not None
        assert self.reader.form is not None
        if isinstance(self.reader, AnswerReader):
            return self._answers(self.reader)
        self.rows = check_topic_documents(self.rows, self.expected.rules.topic_documents, self.tally)
        check_rows(self.rows, self.expected, self.reader.form, self.tally)
        if self.posts is not None:
            from assay.formats.runs.citations import check_citations  # noqa: PLC0415 -- few runs cite posts

            check_citations(self.rows, self.posts, self.tally)
        if self.tally.has_unrepairable_errors:
            return None
        rows = {name: column for name, column in self.rows._asdict().items() if name not in CHECKED_ONLY}
        if not self.warns and not self.tally.has_errors:
            self.rows = NO_ROWS  # only reports and warnings have line numbers
        columns, order = RunColumns.ordered(**rows, ties=self.reader.form.ties, depth=self.depth)
        if self.warns:
            warn_of_rows(self.rows, columns, order, self.expected, self.reader.form, self.tally)
        report_missing(columns.topics.tolist(), self.expected, self.tally)
        return columns

    def _read(self) -> bool:
        """Read the rows; False if the file is not of its form."""
        self.file.seek(0)
        if self.file.read(len(PARQUET)) == PARQUET and (form := self._accepted(PARQUET_RECORDS)):
            from assay.formats.runs.records import RecordReader  # noqa: PLC0415 -- few runs are Parquet

            self.reader = reader = RecordReader(form, self.expected, self.limits, self.tally)
            return reader.read_parquet(self.file)
        blocks = unpack(self.file, self.limits)
        first = next(blocks, b"")
        self.start = first[:HEAD]
        self.reader = self._reader_for(first)
        return self.reader.read(chain([first], blocks))

    def _accepted(self, form: JsonForm) -> JsonForm | None:
        """The form, with the order of ties of the lines with scores like which it is read; None without such lines."""
        scored = scored_lines(self.forms)
        return None if scored is None else replace(form, ties=scored.ties)

    def _answers(self, reader: AnswerReader) -> RunColumns | None:
        """The columns of generated answers, whose rows keep the order of the file."""
        rows, expected, tally = self.rows, self.expected, self.tally
        first = np.flatnonzero(np.diff(rows.topic_index, prepend=-1))
        check_topics(
            rows._replace(topic_index=rows.topic_index[first], number=rows.number[first]),
            expected.topics,
            tally,
        )
        if expected.units is not None:
            check_units(reader.cited_rows(), expected.units, "document", tally)
        report_missing(rows.topics, expected, tally)
        if tally.has_unrepairable_errors:
            return None
        columns, _ = RunColumns.ordered(
            topics=rows.topics,
            topic_index=rows.topic_index,
            docno=rows.docno,
            rank=rows.rank,
            score=rows.score,
            ties="file",
        )
        return columns

    def _reader_for(
        self, first: bytes
    ) -> "LineReader | XmlReader | AnswerReader | NestedReader | RecordReader":
        """The reader for a file, detected from its first bytes."""
        if answer_forms := [form for form in self.forms if isinstance(form, AnswerForm)]:
            self.limits = self.limits._replace(max_line=MAX_LINE)
            return AnswerReader(answer_forms, self.expected, self.limits, self.tally)
        line_forms = [form for form in self.forms if isinstance(form, LineForm)]
        xml_forms = [form for form in self.forms if isinstance(form, XmlForm)]
        accepted = " Or: ".join(f"{form.title}." for form in self.forms)
        if is_xml(first):
            if not xml_forms:
                reason = "The file is XML, but the protocol expects lines of columns."
                raise Unreadable("form", reason, accepted)
            # Few runs are XML, and its readers are slow to import.
            from assay.formats.runs.xml import XmlReader  # noqa: PLC0415

            return XmlReader(xml_forms, self.expected, self.limits, self.tally)
        if is_json(first) and (form := self._accepted(JsonForm())):
            # Few runs are JSON.
            from assay.formats.runs.nested import NestedReader  # noqa: PLC0415
            from assay.formats.runs.records import RecordReader, is_records  # noqa: PLC0415

            if is_records(first):
                lines = replace(JSON_LINES, ties=form.ties)
                return RecordReader(lines, self.expected, self.limits, self.tally)
            return NestedReader(form, self.expected, self.limits, self.tally)
        if is_json(first) and line_forms and (way := line_forms[0].made_of_json):
            reason = "The file is JSON, but the protocol expects lines of columns."
            raise Unreadable("form", reason, f"{accepted} Or {way}.")
        if not line_forms:
            if not first.strip():
                raise Unreadable("empty", "The file is empty.", accepted)
            raise Unreadable("form", "The file is not XML: it does not begin with “<”.", accepted)
        return LineReader(line_forms, self.expected, self.limits, self.tally, warns=self.warns)

    def report(self, name: str) -> Report:
        tags = self.reader.tags if self.reader else {}
        counts = np.bincount(self.rows.topic_index, minlength=len(self.rows.topics)).tolist()
        if isinstance(self.reader, AnswerReader):
            counts = [len(numbered.answer.sentences) for numbered in self.reader.answers.values()]
        # Of XML, whose reader is not imported
        metadata: Mapping[str, str] = getattr(self.reader, "stated", {})
        if isinstance(self.reader, LineReader):  # a line of ir_metadata that cannot be read is a warning
            accepted = "YAML: “key: value”, lists and nested keys."
            metadata = self.reader.header.fields(
                lambda number, message: self.tally.warning("metadata-line", message, accepted, number)
            )
        texts = self._texts()
        return Report(
            file_name=name,
            n_bytes=self.file.seek(0, 2),
            sha256=sha256_of_file(self.file),
            format=self.reader.form.name if self.reader and self.reader.form else "",
            tag=next(iter(tags)).decode() if tags else "",
            kind=self.reader.kind if self.reader else "",
            n_lines=len(counts) if isinstance(self.reader, AnswerReader) else len(self.rows.score),
            n_topics=len(self.rows.topics),
            topic_lines=dict(sorted(zip(self.rows.topics, counts, strict=True))),
            metadata=metadata,
            errors=self._errors(texts),
            warnings=self.tally.complaints("warning", texts),
        )

    def _errors(self, texts: Mapping[int, str]) -> tuple[Complaint, ...]:
        """The errors; of another kind of file, that it is one, and the first error as an example."""
        errors = self.tally.complaints("error", texts)
        looks = looks_like(self.start, "run") if errors and not np.isfinite(self.rows.score).any() else ""
        if not looks:
            return errors
        accepted = " Or: ".join(f"{form.title}." for form in self.forms)
        return Complaint("other-kind", "error", looks, accepted, n=1), errors[0]

    def _texts(self) -> dict[int, str]:
        """The text of the lines that the report shows, read in a second pass."""
        wanted = sorted(self.tally.line_numbers(), reverse=True)
        texts: dict[int, str] = {}
        if not wanted:
            return texts
        try:
            for first, chunk in Lines(unpack(self.file, self.limits), self.limits):
                end = first + chunk.count(b"\n")
                if wanted[-1] < end:
                    lines = chunk.split(b"\n")
                    while wanted and wanted[-1] < end:
                        number = wanted.pop()
                        texts[number] = shown(lines[number - first])
                if not wanted:
                    break
        except Unreadable:
            return texts  # the report already contains this error
        return texts


NAMED = 20  # missing topics that a message names
TIES = {
    "docno": "Ties are ordered by docno, descending, as in trec_eval; not by the rank column.",
    "file": "Ties keep the order of the file.",
    "rank": "Ties are ordered by the rank column.",
}


def warn_of_rows(
    rows: RunRows,
    columns: RunColumns,
    order: NDArray[np.intp],
    expected: Expected,
    form: RunForm,
    tally: Tally,
) -> None:
    """Report what a submitter should know, but need not change. `order` is the permutation of rows into columns."""
    number = rows.number[order]
    tied = tied_rows(columns)
    message = (
        f"{tied.sum():,} of {len(columns):,} lines have the same score as a line above them in their topic"
    )
    report(tally.warning, ("ties", message, TIES[form.ties]), number, tied)
    if form.has_ranks:
        _warn_of_ranks(columns, number, tally)
    same = rows.topic_index[1:] == rows.topic_index[:-1]
    rises = np.append(False, same & (rows.score[1:] > rows.score[:-1]))
    change = np.flatnonzero(np.append(True, ~same))
    _, first = np.unique(rows.topic_index[change], return_index=True)
    rises[np.delete(change, first)] = True  # a topic that continues after another
    complaint = ("order", "the line is out of order by topic or score", "Any order; the score decides.")
    report(tally.warning, complaint, rows.number, rises, is_repairable=True)
    _warn_of_near_duplicates(columns, number, expected.near, tally)


def report_missing(topics: Collection[str], expected: Expected, tally: Tally) -> None:
    """Report topics that a run lacks."""
    known, is_error = expected.topics or (), expected.rules.missing_topics == "error"
    missing = sorted(set(known) - set(topics), key=lambda code: (len(code), code))  # A.3 before A.12
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        (tally.error if is_error else tally.warning)(
            "missing-topics",
            f"no line for {len(missing)} of {plural(len(known), 'topic')}: {', '.join(missing[:NAMED])}{more}",
            "A line for each topic."
            if is_error
            else "A topic without documents counts as 0 in every average over all topics.",
            n=len(missing),
        )


def _warn_of_ranks(columns: RunColumns, number: NDArray[np.int64], tally: Tally) -> None:
    by_rank = score_order(columns.topic_index, -columns.rank)
    disagrees = np.zeros(len(columns), dtype=np.bool_)
    disagrees[by_rank] = columns.score[by_rank] != columns.score
    message = "the rank column disagrees with the order by score"
    accepted = "The score decides; the rank column is not used."
    report(tally.warning, ("rank-disagrees", message, accepted), number, disagrees, is_repairable=True)
    expected = np.arange(len(columns)) - columns.offsets[:-1][columns.topic_index] + 1
    is_odd = columns.rank[by_rank] != expected
    if is_odd.any():
        topics, first = np.unique(columns.topic_index[is_odd], return_index=True)
        tally.warning(
            "rank-gaps",
            f"the ranks of {plural(len(topics), 'topic')} are not 1, 2, 3, … without gaps",
            "Ranks from 1; they are not used, the scores decide.",
            n=len(topics),
            numbers=first_lines(number, by_rank[np.flatnonzero(is_odd)[first]]),
            is_repairable=True,
        )


def _warn_of_near_duplicates(
    columns: RunColumns, number: NDArray[np.int64], near: NearDuplicates | None, tally: Tally
) -> None:
    """Count the citations that nearly repeat a better one of their topic: they count as false alarms."""
    if near is None or columns.passage is None:
        return
    n, numbers = 0, []
    for start, end in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist(), strict=True):
        top = columns.passage[start : min(end, start + near.depth)].tolist()
        by_rank = leaders([passage.decode() for passage in top], near.overlap)
        repeats = [row for row, leader in enumerate(by_rank, start) if leader != row - start]
        n += len(repeats)
        numbers += number[repeats[:FIRST_LINES]].tolist()
    if n:
        tally.warning(
            "near-duplicates",
            f"the citation nearly repeats a better one among the first {near.depth} of its topic",
            f"One of those that share {near.overlap:.0%} of their word pairs: the others count as false alarms.",
            n=n,
            numbers=sorted(numbers),
        )


def is_json(first: bytes) -> bool:
    """Return whether a text that begins with these bytes is an object of JSON."""
    return JSON_START.match(_start(first)) is not None


def is_xml(first: bytes) -> bool:
    """Return whether a text that begins with these bytes is XML."""
    return XML_START.match(_start(first)) is not None


def _start(first: bytes) -> bytes:
    """The start of a text in UTF-8."""
    head = first[:4096]
    if codec := utf16_of(head):
        head = head.decode(codec, "ignore").encode()
    return head.removeprefix(codecs.BOM_UTF8)


def write_run(columns: RunColumns, *, form: LineForm, tag: str) -> bytes:
    """A run as a file: rows in their order, ranks from 1, scores to their last bit, tabs, LF."""
    start = columns.offsets[:-1]
    ranks = (np.arange(len(columns)) - start[columns.topic_index] + 1).tolist()
    topics = [topic.encode() for topic in columns.topics.tolist()]
    posts = columns.docno if columns.post is None else columns.post
    labels = np.ones(len(columns), dtype=np.bool_) if columns.label is None else columns.label
    arrays = (columns.topic_index, columns.docno, columns.score, posts, labels)
    rows = zip(ranks, *(array.tolist() for array in arrays), strict=True)
    last = tag.encode()
    return form.head + b"".join(
        form.line(topics[topic], docno, rank, score, last, post, is_relevant=is_relevant)
        for rank, topic, docno, score, post, is_relevant in rows
    )
