"""Reads runs in lines: cuts blocks into chunks of lines, detects the form, and turns the chunks into rows.

A line ends with LF, CR LF or a lone CR. Chunks end with LF. The CR of a CR LF stays (it is white space to the parser);
a lone CR becomes LF. A line that is not UTF-8 is read as Windows-1252. Byte-order marks at the start of lines, and
Ctrl-Z at the end of the file, are left out. Lines are numbered as in an editor::

    topic docno rank score tag                      (ARQMath Task 1, 5 columns)
    topic formula post rank score tag               (ARQMath Task 2, 6 columns)
    topic Q0 docno rank score tag                   (TREC and NTCIR, 6 columns)

Columns are separated by any ASCII white space. Ids are text, compared by bytes; no character has
a special meaning.

A chunk takes the fast path if every line of it is regular: the right number of columns, plain decimal numbers, one
tag, no control or invisible character. Other chunks take the slow path of `rows`, line by line, which reports what is
wrong. Where both paths accept a chunk, they return the same rows.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from assay.formats.compression import Limits, Unreadable, utf16_of
from assay.formats.reports import FIRST_LINES, Tally
from assay.formats.runs.metadata import END, START, Warn, fields_of, header
from assay.formats.runs.rows import RANK, SCORE, Rows, read_slow_path
from assay.formats.runs.rules import NO_ROWS, Expected, LineForm, RunRows
from assay.formats.separated import SeparatedLines, cells
from assay.formats.text import visible
from assay.formats.tokens import Parts, Table

UTF32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
BOMS = re.compile(rb"^[ \t]*(?:\xef\xbb\xbf[ \t]*)+", re.MULTILINE)
CTRL_Z = re.compile(rb"\x1a[\x1a\0\s]*\Z")  # the end of the text in files of CP/M and DOS
FILLED = re.compile(rb"^(?=[^\n]*\S)", re.MULTILINE)  # the starts of lines with words
CUT = 160
SAMPLE = 50  # lines from which the form is detected
HEADER_WORDS = frozenset(b"rank score run_number query_id topic_id docno post_id formula_id".split())


@dataclass(slots=True)
class Noted:
    """The count of some lines, and the numbers of the first of them."""

    n: int = 0
    numbers: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        """Note a line."""
        self.n += 1
        if self.n <= FIRST_LINES:
            self.numbers.append(number)


@dataclass(slots=True)
class LineNotes:
    """The differences of a text from plain UTF-8 with LF. Counts are numbers of lines."""

    encoding: str = ""
    n_crlf: int = 0
    n_cr: int = 0
    has_final_newline: bool = True
    has_ctrl_z: bool = False
    marked: Noted = field(default_factory=Noted)  # with a byte-order mark
    windows: Noted = field(default_factory=Noted)  # in Windows-1252
    too_long: Noted = field(default_factory=Noted)  # that were left out


class Lines:
    """Iterates over chunks of complete lines, each with the number of its first line."""

    def __init__(self, blocks: Iterator[bytes], limits: Limits) -> None:
        self.notes = LineNotes()
        self.n_read = 0  # lines up to the end of the last chunk
        self._blocks = blocks
        self._limits = limits

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, chunk). An empty line replaces a line that is too long."""
        for chunk in self._closed(self._ended(self._decoded())):
            number = self.n_read + 1
            chunk = self._with_short_lines(number, self._with_line_feeds(chunk))
            if not chunk.isascii():
                chunk = self._with_plain_lines(number, chunk)
            self.n_read += int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == 10))
            yield number, chunk

    def _decoded(self) -> Iterator[bytes]:
        first = next(self._blocks, b"")
        if first.startswith(UTF32):
            raise Unreadable("encoding", "The text is in UTF-32.", "Text in UTF-8.")
        if codec := utf16_of(first):
            self.notes.encoding = "UTF-16"
            decoder = codecs.getincrementaldecoder(codec)()
            try:
                yield decoder.decode(first).encode().removeprefix(codecs.BOM_UTF8)
                for block in self._blocks:
                    yield decoder.decode(block).encode()
                yield decoder.decode(b"", final=True).encode()
            except UnicodeDecodeError as error:
                reason = f"The text is not valid UTF-16 ({error.reason})."
                raise Unreadable("encoding", reason, "Text in UTF-8.") from None
            return
        yield first
        yield from self._blocks

    def _ended(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Blocks cut at line ends. The kept part of an endless line is shorter than two blocks and the limit."""
        rest: list[bytes] = []
        held = 0
        for block in blocks:
            end = block.rfind(b"\n") + 1
            end = max(end, block.rfind(b"\r", end, len(block) - 1) + 1)  # a last CR may be half of a CR LF
            if end:
                yield b"".join(rest) + block[:end]
                rest, held = [], 0
                block = block[end:]
            if block and held <= self._limits.max_line + 2:
                rest.append(block)
            held += len(block)
        if last := b"".join(rest):
            yield last

    def _closed(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Chunks without Ctrl-Z at the end of the last one, which gets a line end if it has none."""
        held = next(chunks, b"")
        for chunk in chunks:
            if chunk.strip(b"\x1a\0\r\n\t "):  # or else the end of the text is in the chunk before
                yield held
                held = b""
            held += chunk
        if b"\x1a" in held:
            held, n_ends = CTRL_Z.subn(b"", held)
            self.notes.has_ctrl_z = n_ends > 0
        if held:
            self.notes.has_final_newline = held.endswith((b"\n", b"\r"))
            yield held if self.notes.has_final_newline else held + b"\n"

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        if b"\r" not in chunk:
            return chunk
        codes = np.frombuffer(chunk + b"\0", dtype=np.uint8)
        after = codes[np.flatnonzero(codes == 13) + 1]
        n_cr, n_crlf = len(after), int(np.count_nonzero(after == 10))
        self.notes.n_crlf += n_crlf
        if n_crlf == n_cr:
            return chunk
        self.notes.n_cr += n_cr - n_crlf
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _with_short_lines(self, number: int, chunk: bytes) -> bytes:
        limit = self._limits.max_line
        if len(chunk) <= limit or not _may_be_long(chunk, limit):
            return chunk
        lines = chunk.split(b"\n")
        for i, line in enumerate(lines):
            if len(line) > limit:
                lines[i] = b""
                self.notes.too_long.add(number + i)
        return b"\n".join(lines)

    def _with_plain_lines(self, number: int, chunk: bytes) -> bytes:
        """Lines in UTF-8 without byte-order marks. A line that is neither UTF-8 nor Windows-1252 stays as it is."""
        if codecs.BOM_UTF8 in chunk:
            for match in BOMS.finditer(chunk):
                self.notes.marked.add(number + chunk.count(b"\n", 0, match.start()))
            chunk = BOMS.sub(b"", chunk)
        try:
            chunk.decode()
        except UnicodeDecodeError:
            lines = chunk.split(b"\n")
            for i, line in enumerate(lines):
                if (converted := from_windows(line)) is not None:
                    lines[i] = converted
                    self.notes.windows.add(number + i)
            return b"\n".join(lines)
        return chunk


def from_windows(line: bytes) -> bytes | None:
    """A line of Windows-1252 in UTF-8; None if it is UTF-8 already, or neither."""
    try:
        line.decode()
    except UnicodeDecodeError:
        try:
            return line.decode("cp1252").encode()
        except UnicodeDecodeError:
            return None
    return None


def _may_be_long(chunk: bytes, limit: int) -> bool:
    """Return whether a line exceeds the limit. It goes from line end to line end, at most `limit` bytes at a time."""
    position = 0
    while len(chunk) - position > limit:
        end = chunk.rfind(b"\n", position, position + limit + 1)
        if end < 0:
            return True
        position = end + 1
    return False


def shown(line: bytes) -> str:
    """A line as a report shows it: cut, with invisible and undecodable bytes escaped."""
    text = line.rstrip(b"\r\n")[: 4 * CUT].decode("utf-8", "backslashreplace")
    escaped = visible(text)
    return escaped if len(escaped) <= CUT else escaped[: CUT - 1] + "…"


SYSTEM_DESCRIPTION = re.compile(rb"\A<SYSDESC>[^\n]*\n")  # the first line of NTCIR's runs
MAX_HEADER = 1_000  # lines


class Header:
    """Takes the header from the first lines of a run. `problem`: what is wrong with it, and its line."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.problem: tuple[int, str] | None = None
        self.is_open = True  # it may still begin, or go on
        self.numbers: dict[str, int] = {}  # of the first line of each field, by its path
        self._first = 0

    def take(self, number: int, chunk: bytes) -> tuple[int, bytes]:
        """The chunk without the lines of the header, and the number of its first line."""
        start = 0
        if self.is_open and not self.lines:  # blank lines before it, of which there may be very many
            start = chunk.rfind(b"\n", 0, len(chunk) - len(chunk.lstrip())) + 1
            number += chunk.count(b"\n", 0, start)
        while self.is_open and start < len(chunk):
            end = chunk.index(b"\n", start) + 1
            line = chunk[start:end].strip()
            if not self.lines:
                self.is_open = _comment(line) == START
                self._first = number
            elif self.lines and (not line.startswith(b"#") or len(self.lines) >= MAX_HEADER):
                self._fail()
                break
            if not self.is_open:
                break
            self.lines.append(line)
            self.is_open = _comment(line) != END
            number, start = number + 1, end
        return number, chunk[start:]

    def finish(self) -> None:
        """Note that the file has ended."""
        if self.is_open and self.lines:
            self._fail()

    def _fail(self) -> None:
        self.is_open = False
        self.problem = (
            self._first,
            "the header of ir_metadata that begins here has no line “# ir_metadata.end”",
        )

    @property
    def content(self) -> bytes:
        """The header as it was; empty if there is none."""
        return b"".join(line + b"\n" for line in self.lines) if self.problem is None else b""

    def fields(self, warn: Warn = lambda _number, _message: None) -> Mapping[str, str]:
        """The fields by their path, in the order of the header."""
        if self.problem is not None:
            return {}
        values, self.numbers = fields_of(self.lines[1:-1], self._first + 1, warn)
        return values


def _comment(line: bytes) -> bytes:
    return line.lstrip(b"#").strip() if line.startswith(b"#") else b""


def with_header(lines: Iterable[tuple[int, bytes]], fields: Mapping[str, str]) -> Iterator[bytes]:
    """Yield a run with a header in place of its own. `lines` are chunks, each with the number of its first line."""
    own = Header()
    yield header(fields)
    for number, chunk in lines:
        yield own.take(number, chunk)[1]


class LineReader:
    """Reads one file of lines. `tags` gives for each tag the count of its lines and the number of the first."""

    def __init__(
        self, forms: list[LineForm], expected: Expected, limits: Limits, tally: Tally, *, warns: bool
    ) -> None:
        self.form: LineForm | None = None
        self.tags: dict[bytes, tuple[int, int]] = {}
        self.tag = self.kind = ""  # nothing but lines declares them
        self._forms = forms
        self._expected = expected
        self._limits = limits
        self._tally = tally
        self._warns = warns
        self._parts = Parts()
        self._numbers: dict[bytes, int] = {}  # of topics
        self._n_rows = 0
        self._separated: SeparatedLines | None = None
        self._is_begun = False
        self.header = Header()

    def read(self, blocks: Iterator[bytes]) -> bool:
        """Read all lines; False if there are too many. `blocks` may raise `Unreadable`."""
        lines = Lines(blocks, self._limits)
        is_whole = True
        for number, chunk in self._without_metadata(lines):
            self._take(number, chunk)
            most = self._expected.max_lines
            if self.form is not None and lines.n_read > most:
                self._complain_of_length(most)
                is_whole = False
                break
        if self._separated is not None and is_whole:
            self._take_words(*self._separated.finish())
        complain_of_long_lines(lines.notes.too_long, self._limits, self._tally)
        if self._warns:
            warn_of_lines(lines.notes, self._tally)
        if not self._n_rows and not self._tally.has_errors:
            self._tally.error("empty", "The file has no line with a ranked document.", "At least one line.")
        return is_whole

    def _complain_of_length(self, most: float) -> None:
        """The usual cause is a run of more topics than the track has."""
        message, accepted = f"The file has more than {most:,} lines.", f"At most {most:,} lines."
        known, codes = self._expected.topics, [code.decode() for code in self._numbers]
        if known is not None:
            unknown = [code for code in codes if code not in set(known)]
            if unknown:
                first = f"{len(unknown):,} of the first {len(codes):,} topics are not in the track, such as"
                message = f"{first} “{unknown[0]}”. {message}"
            ranks = self._expected.rules.max_ranks
            accepted = f"At most {ranks:,} lines for each of the {len(known):,} topics of the track."
        self._tally.error("too-many-lines", message, accepted)

    def _without_metadata(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        """The chunks after the header of ir_metadata, if there is one."""
        for number, chunk in lines:
            if self.header.is_open:
                number, chunk = self.header.take(number, chunk)
                self._complain_of_header()
            if chunk:
                yield number, chunk
        if self.header.is_open:
            self.header.finish()
            self._complain_of_header()

    def _complain_of_header(self) -> None:
        if self.header.problem is not None:
            number, message = self.header.problem
            self._tally.error("metadata", message, "All lines of the header begin with “#”.", number)

    def rows(self) -> RunRows:
        """All rows, which are forgotten, with topics numbered in the order of their first lines."""
        columns = self._parts.joined()
        return RunRows([code.decode() for code in self._numbers], **columns) if columns else NO_ROWS

    def _take(self, number: int, chunk: bytes) -> None:
        if self.form is None:
            chunk = SYSTEM_DESCRIPTION.sub(b"\n", chunk, count=1)
            if not chunk.strip():
                return
            self.form, number, chunk = self._begin(number, chunk)
            form = self.form
            if not form.is_of_words:
                self._separated = SeparatedLines(
                    form.separator,
                    form.columns,
                    lambda number, message, accepted: self._tally.error("column", message, accepted, number),
                )
        if self._separated is not None:
            number, chunk = self._separated.take(number, chunk)
        self._take_words(number, chunk)

    def _take_words(self, number: int, chunk: bytes) -> None:
        assert self.form is not None
        if self.form.only_topic:
            chunk = FILLED.sub(self.form.only_topic.replace(b"\\", rb"\\") + b"\t", chunk)
        if not self._is_begun and chunk.strip():
            number, chunk = self._without_header(number, chunk)
            self._is_begun = True
        rows = read_fast_path(number, chunk, self.form) if chunk else None
        if rows is None:
            others = [form for form in self._forms if not form.header]
            rows = read_slow_path(number, chunk, self.form, others, self._tally)
        codes = [self._numbers.setdefault(code, len(self._numbers)) for code in rows.codes]
        columns = {
            name: getattr(rows, name) for name in ("docno", "rank", "score", "number", "post", "label")
        }
        self._parts.add(topic_index=np.array(codes, dtype=np.int32)[rows.topic_index], **columns)
        self._n_rows += len(rows.score)
        for tag, (n, first) in rows.tags.items():
            before, first_of_all = self.tags.get(tag, (0, first))
            self.tags[tag] = (before + n, first_of_all)

    def _begin(self, number: int, chunk: bytes) -> tuple[LineForm, int, bytes]:
        """Detect the form; return it with the chunk after the line that names its columns, and the number of a line."""
        start = len(chunk) - len(chunk.lstrip())
        start = chunk.rfind(b"\n", 0, start) + 1
        end = chunk.index(b"\n", start) + 1
        problem = ""
        for form in self._forms:
            if form.header:
                names = cells(chunk[start:end], None if form.is_of_words else form.separator)
                named, problem = form.named_by(names)
                if not problem:
                    return named, number + chunk.count(b"\n", 0, end), chunk[end:]
        others = [form for form in self._forms if not form.header]
        if not others:
            raise Unreadable("header", f"{problem[0].upper()}{problem[1:]}.", f"{self._forms[0].title}.")
        return _detect_form(chunk, others), number, chunk

    def _without_header(self, number: int, chunk: bytes) -> tuple[int, bytes]:
        """The chunk, and the number of its first line, after a first line that names the columns."""
        assert self.form is not None
        start = len(chunk) - len(chunk.lstrip())
        end = chunk.index(b"\n", start) + 1
        words = chunk[start:end].split()
        if len(words) != self.form.width or not HEADER_WORDS & {word.lower() for word in words}:
            return number, chunk
        numbers = ((self.form.rank, RANK), (self.form.score, SCORE))
        if any(column is not None and form.fullmatch(words[column]) for column, form in numbers):
            return number, chunk
        line = number + chunk.count(b"\n", 0, start)
        message = "the line names the columns and was skipped"
        self._tally.warning("header", message, "No header.", line, is_repairable=True)
        return number + chunk.count(b"\n", 0, end), chunk[end:]


def complain_of_long_lines(noted: Noted, limits: Limits, tally: Tally) -> None:
    """Report the lines that were left out."""
    if noted.n:
        message, accepted = (
            f"{word} {limits.max_line:,} bytes" for word in ("the line has more than", "At most")
        )
        tally.error("line-too-long", message, f"{accepted} per line.", n=noted.n, numbers=noted.numbers)


def warn_of_lines(notes: LineNotes, tally: Tally) -> None:
    """Report what differs from plain UTF-8 with LF, and was read all the same."""
    marked, windows = notes.marked, notes.windows
    converted = f"the text was converted from {notes.encoding}"
    read = "the line is not UTF-8, and was read as Windows-1252"
    warnings: tuple[tuple[str, int, str, list[int]], ...] = (
        ("bom", marked.n, "the byte-order mark at the start of the line was skipped", marked.numbers),
        ("encoding-converted", int(bool(notes.encoding)), converted, []),
        ("encoding-windows", windows.n, read, windows.numbers),
        ("line-ends", notes.n_crlf, "lines end with CR LF, as on Windows", []),
        ("line-ends-cr", notes.n_cr, "lines end with CR alone, as on old Macs", []),
        ("ctrl-z", int(notes.has_ctrl_z), "the character Ctrl-Z at the end of the file was skipped", []),
        ("final-newline", int(not notes.has_final_newline), "the last line has no line end", []),
    )
    for code, n, message, numbers in warnings:
        if n:
            tally.warning(
                code,
                message,
                "UTF-8 text, each line ended with LF.",
                n=n,
                numbers=numbers,
                is_repairable=True,
            )


def _detect_form(chunk: bytes, forms: list[LineForm]) -> LineForm:
    """The form that most of the first lines have; the protocol's first form if no line has any."""
    sample = chunk[: SAMPLE * 200].split(b"\n")[:SAMPLE]
    counts = {form.separator: Counter(map(form.n_columns, sample)) for form in forms}
    best = max(forms, key=lambda form: counts[form.separator][form.width])
    width, lines = best.width, [line.split() for line in sample]
    first, *others = (form for form in forms if (form.width, form.separator) == (width, best.separator))
    if not others:
        return first
    # A topic lists a document once, so a second column that is always the same has no meaning: TREC's Q0.
    second = {words[1] for words in lines if len(words) == width}
    return next((form for form in (first, *others) if (form.filler == 1) == (len(second) == 1)), first)


def read_fast_path(first: int, chunk: bytes, form: LineForm) -> Rows | None:
    """The rows of a chunk of whole lines, or None if any line of it is not regular.

    `first` is the number of the chunk's first line.
    """
    table = Table.read(chunk, form.width)
    if table is None:
        return None
    n = len(table)
    rank = np.full(n, form.usual_rank, np.int32) if form.rank is None else table.ranks(form.rank)
    if rank is None:
        return None
    score = -rank.astype(np.float64) if form.score is None else table.scores(form.score)
    tags = [] if form.tag is None else table.codes(form.tag)[0]
    if score is None or len(tags) > 1:
        return None
    if form.fixed and form.filler is not None and table.codes(form.filler)[0] != [form.fixed]:
        return None
    label = None
    if form.label is not None:
        (distinct, index), known = table.codes(form.label), dict(form.labels)
        if not known.keys() >= set(distinct):
            return None
        label = np.array([known[word] for word in distinct], dtype=np.bool_)[index]
    codes, topic_index = table.codes(form.topic)
    number = np.arange(first, first + n, dtype=np.int64)
    post = None if form.post is None else table.words(form.post)
    named = dict.fromkeys(tags, (n, first))
    return Rows(codes, topic_index, table.words(form.docno), rank, score, number, named, post, label)
