"""Reads and writes qrels files: `topic 0 docno grade` in four columns. The same qrels give the same bytes.

A protocol may describe other columns, with words for grades (`QrelsForm`); the four columns are read as well. Where
documents are citations, the XML of a judged pool or submission is read too: `rel` is the key of a grade, and the
answers to the follow-up questions are kept.

Any white space separates columns. CRLF, CR, a byte-order mark, leading spaces, empty lines and a last line without an
end are accepted. A line whose first byte is # is a comment, as in trec_eval 10. Ids are text: quotation marks and #
inside a line have no meaning. Rows are sorted by topic, then docno, both by the bytes of their UTF-8.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.compression import BLOCK
from assay.formats.kinds import looks_like
from assay.formats.qrels.cites import judged_cites
from assay.formats.qrels.columns import LAYOUTS, REPEATS, PartRow, columns_of, lines_of
from assay.formats.qrels.columns import QrelsColumns as QrelsColumns
from assay.formats.qrels.columns import columns_from as columns_from
from assay.formats.qrels.tables import Row, header_of, json_rows, table_rows
from assay.formats.runs.columns import byte_keys, order_in_topics, sorted_topics
from assay.formats.runs.rows import MAX_DOCNO, MAX_TOPIC, width_hint
from assay.formats.runs.rules import SEPARATORS
from assay.formats.separated import SeparatedLines, cells, columns_named, n_columns, quoted
from assay.formats.text import Undecodable, decoded, first_messages, read_data
from assay.formats.tokens import Parts, Table
from assay.protocols.measures import QrelsKind
from assay.protocols.qrels import HIGHEST_GRADE, kind_in, kind_of
from assay.protocols.schema import Grade, Protocol

# 3, +1, 03 and 3.0; a fraction has a message of its own.
JSON_START = re.compile(rb"\s*+[\[{]")
GRADE = re.compile(rb"([+-]?\d{1,9})(\.0*)?")
FRACTION = re.compile(rb"[+-]?\d*\.\d+")
WORDS = re.compile(rb"[^1-9]*")  # a header, whose only number may be TREC's column 0
KNOWN_ITEM = re.compile(rb"^([^\s#]\S*)[ \t]+(\S+)[ \t]*(?=\r?$)", re.MULTILINE)
NO_CITES = 'the file contains no judged citations; expected <cite rel="…"> in <response number="…">'
NO_HEADER = (
    "the line looks like a header, but does not name topic, docno and grade; name them so, with a tab or comma "
    "between, or delete the line"
)
HIGHEST = 999_999_999  # nine digits; the grades of a protocol, and so of a site, are smaller
LOWEST = -999
POOLED = -1  # the grade of a unit that was pooled and has no grade
COMPLAINTS_KEPT = 100  # a file in another format has one for each line
MAX_SCALE = 100  # the largest factor that an error proposes for fractions
FRACTIONS_KEPT = 1_000  # different ones of a file, from which the factor follows
CLOSE = "0.05"  # the largest distance from a whole number that counts as rounding


class Complaint(NamedTuple):
    """An error in a line of a file; line 0 is the file itself."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class QrelsError(ValueError):
    """A qrels file has errors. `complaints` has the first hundred of them; `advice` says how to correct the file."""

    def __init__(self, complaints: Sequence[Complaint], *, n_complaints: int, advice: str = "") -> None:
        self.complaints = complaints
        self.n_complaints = n_complaints
        self.advice = advice
        messages, more = first_messages(complaints, n_complaints)
        shown = "; ".join([*messages, f"and {more} more"] if more else messages)
        super().__init__(f"{shown}. {advice}" if advice else shown)


class QrelsForm(NamedTuple):
    """The columns of a file of qrels, each counted from 0, and the words for grades. The default: the usual four."""

    width: int = 4
    topic: int = 0
    docno: int = 2
    grade: int | None = 3  # None: every line has grade 1
    # Of columns that are written; if it is a tab, any white space separates those read
    separator: bytes = b"\t"
    words: Mapping[bytes, bytes] = MappingProxyType({})
    title: str = "topic, 0, docno, grade"
    columns: tuple[str, ...] = ()  # the names of all columns, for lines that are not separated by white space
    kind: QrelsKind = "grades"
    parts: tuple[int, ...] = ()  # of the kind
    only_tabs: bool = False  # separate columns, which may be empty or contain spaces
    header: tuple[str, ...] = ()  # the names of the columns, in the first line of a file; empty: it has none

    @classmethod
    def for_kind(cls, kind: QrelsKind) -> Self:
        if kind == "grades":
            return cls()
        title, width, docno, grade, parts = LAYOUTS[kind]
        return cls(width, 0, docno, grade, title=title, kind=kind, parts=parts)

    @classmethod
    def for_version(cls, protocol: Protocol, report: Mapping[str, object], *, is_frozen: bool) -> Self:
        """The columns of a version of qrels: frozen ones have grades, unless they have subtopics or preferences."""
        key = str(report.get("set", ""))
        is_main = is_frozen and not key
        return cls.for_kind(kind_in(protocol, protocol.qrels) if is_main else kind_of(protocol, key))

    @classmethod
    def of(cls, protocol: Protocol, kind: QrelsKind | None = None) -> Self:
        """The columns that a protocol describes, or those of the qrels that its measures need.

        `kind` is that of other measures, if they are computed instead of those of the protocol.
        """
        kind = kind_of(protocol) if kind is None else kind
        if kind != "grades":
            return cls.for_kind(kind)
        lines = protocol.qrels.columns
        if lines is None:
            return cls()
        title = ", ".join("-" if name == "skip" else name for name in lines.order)
        form = cls(
            separator=SEPARATORS[lines.separator],
            words={word.encode(): b"%d" % grade for word, grade in lines.words.items()},
            title=f"{', '.join(lines.header)}, named in the first line" if lines.header else title,
            only_tabs=lines.separator == "tab",
            header=lines.header,
        )
        return form.with_order(lines.order)

    def with_order(self, columns: tuple[str, ...]) -> Self:
        """The form with these columns, from left to right."""
        place = {name: column for column, name in enumerate(columns)}
        places = {name: place[name] for name in ("topic", "docno", "grade")}
        return self._replace(width=len(columns), columns=columns, **places)  # type: ignore[arg-type]

    def n_columns(self, line: bytes) -> int:
        return len(line.split()) if self.is_of_words else n_columns(line, self.separator)

    @property
    def is_of_words(self) -> bool:
        """Return whether any white space separates columns."""
        return self.separator == b"\t" and not self.only_tabs

    def write(self, columns: QrelsColumns) -> bytes:
        """Qrels in these columns: the first word of each grade, 0 in columns without meaning, LF."""
        names: dict[int, bytes] = {}
        for word, grade in self.words.items():
            names.setdefault(int(grade), word)
        codes, lines = _codes(columns), []
        if self.header:
            head = [quoted(name.encode(), self.separator) for name in self.header]
            lines.append(self.separator.join(head) + b"\n")
        rows = zip(columns.topic_index.tolist(), columns.docno.tolist(), columns.grade.tolist(), strict=True)
        for topic, docno, grade in rows:
            words = [b"0"] * self.width
            words[self.topic] = quoted(codes[topic], self.separator)
            words[self.docno] = quoted(docno, self.separator)
            words[self.grade or 0] = names.get(grade, b"%d" % grade)
            lines.append(self.separator.join(words) + b"\n")
        return b"".join(lines)


USUAL = QrelsForm()


class GradeScale(NamedTuple):
    """The grades that qrels of a protocol may have. A line with a code has no grade: it was pooled, not judged."""

    slug: str
    grades: tuple[int, ...]
    codes: tuple[int, ...] = ()
    keys: Mapping[bytes, bytes] = MappingProxyType({})  # grades by their key, where documents are citations
    # Grades by their key and their label, in small letters
    words: Mapping[bytes, bytes] = MappingProxyType({})

    @classmethod
    def of(cls, protocol: Protocol, scale: int = 1) -> Self:
        """The scale of a protocol, for qrels whose grades are multiplied by `scale`."""
        if protocol.judged.has_votes:  # the choices are about pairs; the qrels have documents
            return cls(protocol.slug, tuple(range((HIGHEST_GRADE + 1) * scale)))
        grades = tuple(sorted(grade.value for grade in protocol.judging.grades))
        judges = protocol.judging.judges if protocol.qrels.aggregate == "sum" else 1
        if judges * scale > 1:  # sums of several judges, and fractions, are between the grades of the scale
            grades = tuple(range(grades[-1] * judges * scale + 1))
        given = (choice.qrels_code for choice in protocol.judging.non_answers)
        codes = (code * scale for code in given if code is not None)
        kept = tuple(code for code in codes if code not in grades)
        levels = protocol.judging.grades if protocol.cites_posts else ()
        words = {
            word.casefold().encode(): b"%d" % (choice.value if isinstance(choice, Grade) else POOLED)
            for choice in protocol.judging.choices
            for word in (choice.label, choice.key)
        }
        keys = {level.key.encode(): b"%d" % level.value for level in levels}
        return cls(protocol.slug, grades, kept, keys, words)

    def contains(self, grade: NDArray[np.int32]) -> bool:
        """Return whether all grades are in the scale, codes, or negative."""
        return bool((np.isin(grade, (*self.grades, *self.codes)) | (grade < 0)).all())

    def complaint(self, grade: int) -> str:
        """Say what is wrong with a grade; empty if it is in the scale."""
        if grade < 0 or grade in self.grades or grade in self.codes:
            return ""
        *others, last = map(str, self.grades)
        is_range = self.grades == tuple(range(len(self.grades))) and len(self.grades) > 4
        accepted = f"0 to {last}" if is_range else f"{', '.join(others)} or {last}" if others else last
        return f"grade {grade} is not in {self.slug}; use {accepted}"

    def without_codes(self, columns: QrelsColumns) -> QrelsColumns:
        """The qrels with a negative grade in place of each code."""
        is_code = np.isin(columns.grade, self.codes)
        return replace(columns, grade=np.where(is_code, POOLED, columns.grade)) if is_code.any() else columns


def read_qrels(
    path: str, protocol: Protocol, *, scale: int = 1, kind: QrelsKind | None = None, has_scale: bool = True
) -> QrelsColumns:
    """The rows of a qrels file, with every grade multiplied by `scale`; `-` is standard input.

    `kind` is that of the qrels that the measures need; by default, those of the protocol. Any grade is accepted if it
    does not have the scale of the protocol.

    In a file of known items, a line may have a topic and a docno only: its grade is the highest of the protocol.

    Raises `InputError` if it cannot be read, or it has errors, such as a grade that the protocol does not have; the
    message has the first ones.
    """
    grades, form, data = GradeScale.of(protocol, scale), QrelsForm.of(protocol, kind), read_data(path)
    if form.kind == "grades" and protocol.pool.strategy == "known-item":
        data = KNOWN_ITEM.sub(rb"\1 0 \2 %d" % max(grades.grades), data)
    try:
        return parse_qrels(data, scale=scale, grades=grades if has_scale else None, form=form)
    except QrelsError as error:
        raise InputError(f"{path}: {error}") from None


def qrels_of_rows(
    rows: Iterable[tuple[int, Row]],
    *,
    scale: int = 1,
    grades: GradeScale | None = None,
) -> QrelsColumns:
    """Qrels from rows in memory: for each its number, and topic, docno and grade as text.

    Raises `QrelsError` as `parse_qrels` does.
    """
    reading = _Reading(scale, grades, USUAL)
    reading.take_rows(rows)
    return reading.checked(b"", "there are no qrels; expected rows of topic, docno and grade")


def parse_qrels(
    data: bytes, *, scale: int = 1, grades: GradeScale | None = None, form: QrelsForm = USUAL
) -> QrelsColumns:
    """Read a qrels file: lines of a form, four columns, or a table with a header (`assay.formats.qrels.tables`).

    Every grade is multiplied by `scale`, which turns fractions, such as the mean of three judges, into whole numbers.
    With `grades`, another grade is an error.

    Raises `QrelsError` with a complaint for every wrong line and every repeated document of a topic, or one
    complaint without a line for a file without qrels.
    """
    try:
        data = decoded(data).data
    except Undecodable as error:
        raise QrelsError([Complaint(0, error.reason)], n_complaints=1) from None
    if form.kind == "grades" and form != USUAL:
        # The usual four columns are accepted too, if the first line has them.
        lines = data.split(b"\n", 100)
        first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
        if form.header:
            data, form = _after_header(data, first, form)
        elif form.n_columns(first) != form.width and len(first.split()) == USUAL.width:
            form = USUAL
    elif form.grade is None:
        grades = None  # the lines have no grades
    columns = read_fast_path(data) if scale == 1 and form == USUAL else None
    if columns is None or (grades is not None and not grades.contains(columns.grade)):
        columns = read_slow_path(data, scale, grades, form)
    return columns if grades is None else grades.without_codes(columns)


def _after_header(data: bytes, first: bytes, form: QrelsForm) -> tuple[bytes, QrelsForm]:
    """The qrels without the line that names their columns, which is left empty, and the form with these columns."""
    names = cells(first, None if form.is_of_words else form.separator)
    columns, problem = columns_named(names, form.header, form.columns)
    if not problem:
        return data.replace(first, b"", 1), form.with_order(columns)
    if _is_line(first, USUAL):
        return data, USUAL
    if JSON_START.match(data) or header_of(data) is not None:
        return data, form
    raise QrelsError([Complaint(0, f"{problem}; expected {form.title}")], n_complaints=1)


def read_fast_path(data: bytes) -> QrelsColumns | None:
    """The qrels of a file in four columns without comments, read with whole arrays; None if any line is not regular.

    Other files take the slow path, line by line, which reports what is wrong. Where both paths accept a file, they
    return the same rows.
    """
    has_lone_return = b"\r" in data and b"\r" in data.replace(b"\r\n", b"")
    if not data or has_lone_return or data.startswith(b"#") or b"\n#" in data:
        return None
    numbers: dict[bytes, int] = {}  # of topics
    parts = Parts()
    for lines in _blocks(data):
        table = Table.read(lines, 4)
        grade = table.grades(3) if table is not None else None
        if table is None or grade is None or grade.max() > HIGHEST or grade.min() < LOWEST:
            return None
        codes, index = table.codes(0)
        number = np.array([numbers.setdefault(code, len(numbers)) for code in codes], dtype=np.int32)
        parts.add(topic_index=number[index], docno=table.words(2), grade=grade)
    return sorted_columns([code.decode() for code in numbers], **parts.joined())


def _blocks(data: bytes) -> Iterator[bytes]:
    """The lines of a file in blocks, whose arrays fit the processor's cache. The last line gets a line end."""
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + BLOCK) + 1 or data.find(b"\n", start) + 1
        yield data[start:end] if end else data[start:] + b"\n"
        start = end or len(data)


def sorted_columns(
    codes: list[str], topic_index: NDArray[np.int32], docno: NDArray[np.bytes_], grade: NDArray[np.int32]
) -> QrelsColumns | None:
    """Qrels from rows in any order; None if a document of a topic is repeated."""
    topics, topic_index = sorted_topics(codes, topic_index)
    keys = byte_keys(docno)
    order = order_in_topics(topic_index, *keys)
    topic_index = topic_index[order]
    is_same = topic_index[1:] == topic_index[:-1]
    for key in keys:
        is_same &= key[order[1:]] == key[order[:-1]]
    return None if is_same.any() else QrelsColumns(topics, topic_index, docno[order], grade[order])


def read_slow_path(
    data: bytes, scale: int = 1, grades: GradeScale | None = None, form: QrelsForm = USUAL
) -> QrelsColumns:
    """The qrels of any file, line by line; errors are those of `parse_qrels`."""
    has_grades = form.kind == "grades"
    is_xml = has_grades and grades is not None and bool(grades.keys) and data.lstrip().startswith(b"<")
    reading = _Reading(scale, grades, form._replace(words=grades.keys) if grades and is_xml else form)
    has_header = has_grades and header_of(data) is not None
    if is_xml:
        cites = list(judged_cites(data))
        reading.take_rows((number, cite if isinstance(cite, str) else cite[:3]) for number, cite in cites)
        cited = {
            (cite.topic.encode(), cite.docno.encode()): cite.cited
            for _, cite in cites
            if not isinstance(cite, str)
        }
        return replace(reading.checked(data, NO_CITES), cited=cited)
    if has_header:
        reading.take_rows(table_rows(data.decode()))
    elif has_grades and JSON_START.match(data) and not _is_line(data, form):
        reading.take_rows(json_rows(data.decode()))
    else:
        for number, line in enumerate(reading.with_tabs(data).splitlines(), 1):
            reading.take(number, line)
    return reading.checked(data, "the file contains no qrels; expected lines of " + form.title)


def _is_line(data: bytes, form: QrelsForm) -> bool:
    """Return whether a file begins with a line of qrels; a topic may begin as JSON does."""
    words = data.lstrip().partition(b"\n")[0].split()
    return (
        len(words) == form.width and form.grade is not None and GRADE.fullmatch(words[form.grade]) is not None
    )


@dataclass
class _Reading:
    """Rows and complaints of the lines read so far."""

    scale: int
    grades: GradeScale | None
    form: QrelsForm
    rows: list[PartRow] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    n_complaints: int = 0
    first_lines: dict[tuple[bytes, ...], int] = field(default_factory=dict)
    fractions: set[bytes] = field(default_factory=set)
    advice: str = ""  # on lines with another number of columns
    # Words of the column without meaning, in lines that repeat
    second_words: set[bytes] = field(default_factory=set)

    def checked(self, data: bytes, if_empty: str) -> QrelsColumns:
        """Return the rows as arrays; refuse wrong rows and a file without rows.

        Of `data` that is another kind of file, the error says so first, and has one example.
        """
        if not self.rows and not self.n_complaints:
            self.complain(0, if_empty)
        if self.n_complaints and not self.rows and (looks := looks_like(data, "qrels")):
            shown = [Complaint(0, looks.removesuffix(".")), *self.complaints[:1]]
            raise QrelsError(shown, n_complaints=self.n_complaints + 1)
        if self.n_complaints:
            raise QrelsError(self.complaints, n_complaints=self.n_complaints, advice=self._advice())
        if self.form.kind != "grades":
            return columns_of(self.rows, self.form.kind)
        return columns_from((row.topic, row.docno, row.grade) for row in self.rows)

    def _advice(self) -> str:
        """Say what to do with qrels of subtopics, and with fractions, such as the means of several judges."""
        if len(self.second_words) > 1:
            return (
                "The second column differs between lines of a document, as in qrels of subtopics: name a measure of "
                "subtopics, such as alpha_nDCG@10."
            )
        words = [word.decode() for word in self.fractions if not word.startswith(b"-")]
        if not words or self.scale != 1:
            return self.advice
        for scale in range(2, MAX_SCALE + 1):
            if all(isinstance(_scaled(word, scale, ""), int) for word in words):
                return (
                    f"Multiplied by {scale}, all grades are whole: assay qrels convert FILE --scale {scale} --output "
                    "FOLDER. Multiply the grades of the protocol and its relevance levels by the same number."
                )
        return f"No factor up to {MAX_SCALE} makes all grades whole: round them, or multiply them yourself."

    def complain(self, number: int, message: str) -> None:
        self.n_complaints += 1
        if len(self.complaints) < COMPLAINTS_KEPT:
            self.complaints.append(Complaint(number, message))

    def with_tabs(self, data: bytes) -> bytes:
        """The file with white space between columns. Comments are left empty."""
        form = self.form
        if form.is_of_words:
            return data
        data = b"\n".join(b"" if line.startswith(b"#") else line for line in data.splitlines())
        lines = SeparatedLines(
            form.separator, form.columns, lambda number, problem, _: self.complain(number, problem)
        )
        return lines.take(1, data + b"\n", is_last=True)[1]

    def take(self, number: int, line: bytes) -> None:
        form, columns = self.form, line.split()
        if not columns or line.startswith(b"#"):
            return
        n_complaints = self.n_complaints
        if len(columns) != form.width:
            got = len(columns)
            hint = width_hint(line, got)
            self.complain(number, f"expected {form.width} columns ({form.title}), got {got}{hint}")
            self.advice = self.advice or (_width_advice(columns, hint) if form == USUAL else "")
        else:
            grade = b"1" if form.grade is None else columns[form.grade]
            parts = [columns[place] for place in form.parts]
            self._take_row(number, columns[form.topic], columns[form.docno], grade, parts)
            is_repeated = self.first_lines.get((columns[form.topic], columns[form.docno]), number) != number
            if form == USUAL and is_repeated and len(self.second_words) < COMPLAINTS_KEPT:
                self.second_words.add(columns[1])
        is_wrong_start = number == 1 and self.n_complaints > n_complaints and form.kind == "grades"
        if is_wrong_start and len(columns) > 2 and WORDS.fullmatch(line):
            self.complaints[-1] = Complaint(1, NO_HEADER)

    def take_rows(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Take topic, docno and grade of each line, or what is wrong with it."""
        for number, row in rows:
            if isinstance(row, str):
                self.complain(number, row)
            elif any(len(word.split()) != 1 for word in row[:2]) or not row[2]:
                self.complain(
                    number, "topic and docno must be words, without white space, and grade not empty"
                )
            else:
                topic, docno = (word.encode(errors="surrogatepass") for word in row[:2])
                grade = row[2].encode(errors="replace")
                self._take_row(number, topic, docno, grade)

    def _take_row(
        self, number: int, topic: bytes, docno: bytes, grade_word: bytes, parts: Sequence[bytes] = ()
    ) -> None:
        words = self.form.words
        match = GRADE.fullmatch(grade_word)
        key = match[1] if match and grade_word not in words else grade_word  # `3.0` is the word `3`
        if self.grades is not None and match is None and key not in words:
            key = grade_word = self.grades.words.get(grade_word.decode().casefold().encode(), grade_word)
        grade = _grade(words.get(key, grade_word), self.scale)
        is_fraction = isinstance(grade, str) and FRACTION.fullmatch(grade_word) is not None
        if is_fraction and len(self.fractions) < FRACTIONS_KEPT and len(grade_word) <= 40:
            self.fractions.add(grade_word)
        if words and isinstance(grade, str) and not is_fraction:
            grade = f"{grade}; use {', '.join(word.decode() for word in words)}"
        problem = next(filter(None, (_id_problem(topic, word) for word in (docno, *parts))), "")
        problem = problem or (grade if isinstance(grade, str) else "")
        if problem or isinstance(grade, str):
            self.complain(number, problem)
            return
        row = PartRow(topic, docno, grade, parts)
        outside = self.grades.complaint(grade) if self.grades is not None else ""
        if outside := outside or row.problem(self.form.kind):
            self.complain(number, outside)
            return
        unit = row.unit if self.form.kind in REPEATS else (topic, docno)
        first = self.first_lines.get(unit)
        if first is not None:  # perhaps in the same line: JSON has all judgments in one
            message = f"document {docno.decode()} of topic {topic.decode()} is already in line {first}"
            self.complain(number, message)
            return
        self.first_lines[unit] = number
        self.rows.append(row)


def _width_advice(columns: Sequence[bytes], hint: str) -> str:
    """Say what to do with lines that do not have the usual four columns; empty if it is not known."""
    width = len(columns)
    if width == 3:
        return "If the columns are topic, docno and grade, insert a column of zeros after the topic."
    if "commas" in hint or "semicolons" in hint:
        return "A table with commas or semicolons begins with a line that names its columns, such as topic,docno,grade."
    return ""


def _id_problem(topic: bytes, docno: bytes) -> str:
    for kind, name, most in (("topic", topic, MAX_TOPIC), ("docno", docno, MAX_DOCNO)):
        if not name.isascii():
            try:
                name.decode()
            except UnicodeDecodeError:
                return f"the {kind} is not UTF-8"
        if b"\0" in name:
            return f"the {kind} contains a NUL byte"
        if len(name) > most:  # an array is as wide as its longest word, and a database index has a limit
            return f"the {kind} has {len(name)} bytes; at most {most} are accepted"
    return ""


def _grade(word: bytes, scale: int) -> int | str:
    """The grade, or what is wrong with it."""
    shown = word[:40].decode(errors="replace")
    if scale != 1 and FRACTION.fullmatch(word) and len(word) <= 40:
        return _scaled(word.decode(), scale, shown)
    match = GRADE.fullmatch(word)
    if match:
        grade = int(match[1]) * (scale if int(match[1]) > 0 else 1)
        if LOWEST <= grade <= HIGHEST:
            return grade
        return f"grade {shown} is out of range; grades from {LOWEST} to {HIGHEST} are accepted"
    if FRACTION.fullmatch(word):
        return f"grade {shown} is a fraction; grades are whole numbers"
    return f"grade {shown!r} is not a whole number"


def _scaled(word: str, scale: int, shown: str) -> int | str:
    """The value times `scale`, if that is a whole number apart from rounding in the last digit of the file.

    A fraction below 0 is refused: a negative grade only means that the document was pooled.
    """
    from decimal import Decimal  # noqa: PLC0415 -- slow to import, and few files have fractions

    value = Decimal(word)
    product = value * scale
    nearest = int(product.to_integral_value())
    rounding = min(Decimal(CLOSE), Decimal(2 * scale) * Decimal(10) ** int(value.as_tuple().exponent))
    if value < 0 or abs(product - nearest) > rounding:
        return f"grade {shown} times {scale} is {product.normalize():f}, not a whole number"
    if nearest > HIGHEST:
        return f"grade {shown} times {scale} is out of range; grades up to {HIGHEST} are accepted"
    return nearest


def format_qrels(columns: QrelsColumns) -> bytes:
    """Qrels as a file: tabs, LF, sorted. The same qrels give the same bytes."""
    codes = _codes(columns)
    if columns.parts is not None:
        return b"".join(lines_of(columns, codes))
    rows = zip(columns.topic_index.tolist(), columns.docno.tolist(), columns.grade.tolist(), strict=True)
    return b"".join(b"%s\t0\t%s\t%d\n" % (codes[topic], docno, grade) for topic, docno, grade in rows)


def _codes(columns: QrelsColumns) -> list[bytes]:
    """The topics, those that begin with # after a space, because a line that begins with # is a comment."""
    codes = (code.encode() for code in columns.topics.tolist())
    return [b" " + code if code.startswith(b"#") else code for code in codes]
