"""Read the files of trec_eval into arrays: runs, qrels, qrels of several groups, preferences, Z scores.

ASCII white space separates columns; LF separates lines (CR in a file without any LF). A byte order mark, CRLF, leading
spaces, empty lines and a last line without LF are accepted; a line that begins with # is a comment. Nothing is quoted;
ids are bytes.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.compression import ANY_SIZE, Unreadable, is_packed, unpack
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import RunColumns, byte_keys, trec_order
from assay.formats.text import without_marks
from assay.formats.tokens import Places, Text, as_bytes, decimals, spans, whole_numbers
from assay.trec_eval.options import NOT_COMPUTED, UNREADABLE, TrecEvalError

STDIN = "-"
HASH, NEWLINE, RETURN = 35, 10, 13
# White space as in C's isspace; other control characters are parts of words.
IS_WORD = np.ones(256, dtype=np.bool_)
IS_WORD[[9, 10, 11, 12, 13, 32]] = False
# Topics are text in which each character is one byte, so that sorting them sorts by bytes.
BYTES = "latin-1"
GRADE = rb"([+-]?\d{1,9})(\.0*)?"
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class FileError(TrecEvalError):
    """A file cannot be used: its name, the line, and what is wrong."""

    def __init__(self, path: str, message: str, *, status: int = UNREADABLE) -> None:
        super().__init__(f"{path}: {message}", status=status)


class Lines(NamedTuple):
    """The words of each line, without comments and empty lines.

    Args:
        path: name of the file, for messages.
        start, length: (lines, columns) positions and lengths of the words in the text.
        number: (lines,) number of each line in the file, from 1.
    """

    path: str
    text: Text
    start: Places
    length: Places
    number: Places

    @classmethod
    def read(cls, path: str, n_columns: int, header: str, *, allows_more: bool = False) -> Self:
        """Read a file and split every line into words.

        Args:
            path: of a file, which may be compressed; `-` is standard input.
            n_columns: number of words in a line; further words are ignored if `allows_more`.
            header: names of the columns, for the message.

        Raises FileError: the file cannot be read, has no lines, or a line has the wrong number of columns.
        """
        data = read_file(path)
        data = without_marks(data)
        data = data if b"\n" in data else data.replace(b"\r", b"\n")
        data = data if data.endswith(b"\n") else data + b"\n"
        if b"\r" in data:
            # LF instead of CRLF, five times as fast as by bytes.replace. Another CR is white space and is kept.
            codes = np.frombuffer(data, dtype=np.uint8)
            is_at_end = codes[np.flatnonzero(codes == RETURN) + 1] == NEWLINE
            data = data.replace(b"\r", b"") if is_at_end.all() else data
        text = Text(data)
        word_spans = spans(text.codes, n_columns)
        if word_spans is not None and not (text.codes[word_spans[0][:, 0]] == HASH).any():
            return cls(path, text, *word_spans, np.arange(1, len(word_spans[0]) + 1))
        edges = np.flatnonzero(np.diff(IS_WORD[text.codes].astype(np.int8), prepend=0, append=0))
        start, end = edges[0::2], edges[1::2]
        first = np.searchsorted(start, np.append(0, np.flatnonzero(text.codes == NEWLINE) + 1))
        n_words = np.diff(first, append=len(start))
        row = np.flatnonzero(n_words > 0)
        place = start[first[row]]  # a comment has its # at the start of the line
        row = row[(text.codes[place] != HASH) | ((place > 0) & (text.codes[place - 1] != NEWLINE))]
        first, n_words, number = first[row], n_words[row], row + 1
        wrong = np.flatnonzero((n_words < n_columns) | (n_words > n_columns) & (not allows_more))
        if len(wrong):
            line, n_found = number[wrong[0]], n_words[wrong[0]]
            raise FileError(path, f"line {line}: expected {n_columns} columns ({header}), got {n_found}")
        if not len(number):
            raise FileError(path, f"the file contains no lines; expected {header}")
        place = first[:, None] + np.arange(n_columns)
        return cls(path, text, start[place], end[place] - start[place], number)

    def column(self, n: int) -> NDArray[np.bytes_]:
        """Word n of each line, from 0."""
        return as_bytes(self.text.words(self.start[:, n], self.length[:, n]))

    def numbers(self, n: int, column: str) -> NDArray[np.float64]:
        """Word n of each line as a finite decimal number. `column` names it in the message.

        Raises FileError: a word is not a finite number.
        """
        start, length = np.ascontiguousarray(self.start[:, n]), np.ascontiguousarray(self.length[:, n])
        numbers = decimals(self.text, start, length)
        if numbers is None:
            low, high = 0, len(start)  # the first wrong line is between them
            while high - low > 1:
                middle = (low + high) // 2
                is_right = decimals(self.text, start[low:middle], length[low:middle]) is not None
                low, high = (middle, high) if is_right else (low, middle)
            shown = self.word(low, n)[:40].decode(errors="replace")
            raise FileError(self.path, f"line {self.number[low]}: {column} {shown!r} is not a finite number")
        return numbers

    def whole_numbers(self, n: int) -> NDArray[np.int32] | None:
        """Word n of each line as an unsigned whole number; None if any word is not one."""
        start, length = np.ascontiguousarray(self.start[:, n]), np.ascontiguousarray(self.length[:, n])
        return whole_numbers(self.text, start, length)

    def word(self, row: int, n: int) -> bytes:
        """Word n of a row."""
        start = int(self.start[row, n])
        return self.text.bytes[start : start + int(self.length[row, n])]


def read_file(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`, decompressed if they are compressed."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from None
    if is_packed(data):
        try:
            data = b"".join(unpack(BytesIO(data), ANY_SIZE))
        except Unreadable as error:
            raise FileError(path, f"cannot be decompressed: {error.reason}") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(path, "the file is UTF-16; UTF-8 is accepted")
    if b"\0" in data:
        raise FileError(path, "the file contains NUL bytes; text is accepted")
    return data


class TrecRun(NamedTuple):
    """A run, and the tag of its last line."""

    columns: RunColumns
    tag: bytes

    def n_lines(self, topics: Sequence[str]) -> NDArray[np.int64]:
        """(topics,) number of lines for each topic, before any are cut or removed."""
        n_lines = np.diff(self.columns.offsets).tolist()
        by_topic = dict(zip(self.columns.topics.tolist(), n_lines, strict=True))
        return np.array([by_topic.get(topic, 0) for topic in topics], dtype=np.int64)


class Preference(NamedTuple):
    """The level that a part of a group of assessors gives a document, which it prefers to documents of lower levels."""

    group: bytes
    part: bytes
    docno: bytes
    level: float


def read_run(path: str, judged_topics: Collection[str]) -> TrecRun:
    """Read a run: topic, Q0, docno, rank, score, tag. The order of lines and the rank column are ignored.

    A document that is repeated in a judged topic is an error; topics that are not judged are not checked.
    """
    lines = Lines.read(path, 6, "topic, Q0, docno, rank, score, tag", allows_more=True)
    codes, topic = _topics(lines.column(0))
    docno, score = lines.column(2), lines.numbers(4, "score")
    for row in repeated_rows(topic, docno).tolist():
        if codes[topic[row]] in judged_topics:
            raise FileError(path, _repeated_document(lines, row), status=NOT_COMPUTED)
    if (topic[1:] < topic[:-1]).any():  # grouping by topic first makes sorting the lines faster
        by_topic = np.argsort(topic, kind="stable")
        topic, docno, score = topic[by_topic], docno[by_topic], score[by_topic]
    order = trec_order(topic, docno, score)
    no_rank = np.zeros(len(topic), dtype=np.int32)
    columns = RunColumns(codes, topic[order], docno[order], no_rank, score[order])
    return TrecRun(columns, lines.word(len(lines.number) - 1, 5))


def read_qrels(path: str) -> QrelsColumns:
    """Read qrels: topic, 0, docno, grade."""
    lines = Lines.read(path, 4, "topic, 0, docno, grade")
    return _qrels(lines, np.arange(len(lines.number)))


def read_grouped_qrels(path: str) -> dict[bytes, QrelsColumns]:
    """Read the qrels of several groups of assessors, by the name in the second column, sorted."""
    lines = Lines.read(path, 4, "topic, group, docno, grade")
    names, group = np.unique(lines.column(1), return_inverse=True)
    return {name: _qrels(lines, np.flatnonzero(group == index)) for index, name in enumerate(names.tolist())}


def _qrels(lines: Lines, row: NDArray[np.intp]) -> QrelsColumns:
    codes, topic = _topics(lines.column(0)[row])
    order = np.argsort(topic, kind="stable")
    row, topic = row[order], topic[order]
    docno = lines.column(2)[row]
    repeated = repeated_rows(topic, docno)
    if len(repeated):
        raise FileError(lines.path, _repeated_document(lines, row[repeated[0]]), status=NOT_COMPUTED)
    return QrelsColumns(codes, topic, docno, _grades(lines)[row])


def _repeated_document(lines: Lines, row: int) -> str:
    docno, topic = lines.word(row, 2).decode(errors="replace"), lines.word(row, 0).decode(errors="replace")
    return f"line {lines.number[row]}: document {docno} of topic {topic} is repeated"


def _grades(lines: Lines) -> NDArray[np.int32]:
    plain = lines.whole_numbers(3)
    if plain is not None:
        return plain
    words, word_of_row = np.unique(lines.column(3), return_inverse=True)
    grades = np.zeros(len(words), dtype=np.int32)
    for index, word in enumerate(words.tolist()):
        match = re.fullmatch(GRADE, word)
        if match is None:
            number, shown = lines.number[np.argmax(word_of_row == index)], word.decode(errors="replace")
            raise FileError(lines.path, f"line {number}: grade {shown!r} is not a whole number")
        grades[index] = int(match[1])
    return grades[word_of_row]


def read_preferences(path: str, *, from_qrels: bool) -> dict[bytes, list[Preference]]:
    """Read preferences, by topic. In qrels, a group (the second column) prefers a higher grade to a lower one."""
    if from_qrels:
        lines = Lines.read(path, 4, "topic, group, docno, grade")
        part, docno = [b"0"] * len(lines.number), 2
    else:
        lines = Lines.read(path, 5, "topic, group, part of the group, docno, level")
        part, docno = lines.column(2).tolist(), 3
    by_topic: dict[bytes, list[Preference]] = defaultdict(list)
    topics, groups, docnos = (lines.column(n).tolist() for n in (0, 1, docno))
    levels = lines.numbers(docno + 1, "level").tolist()
    for topic, *preference in zip(topics, groups, part, docnos, levels, strict=True):
        by_topic[topic].append(Preference(*preference))
    return dict(sorted(by_topic.items()))


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Read mean and standard deviation, by topic and measure: topic, measure, mean, deviation."""
    lines = Lines.read(path, 4, "topic, measure, mean, standard deviation")
    topics, measures = ([word.decode(BYTES) for word in lines.column(n).tolist()] for n in (0, 1))
    numbers = zip(*(lines.numbers(n, "number").tolist() for n in (2, 3)), strict=True)
    return dict(zip(zip(topics, measures, strict=True), numbers, strict=True))


def _topics(column: NDArray[np.bytes_]) -> tuple[NDArray[np.str_], NDArray[np.int32]]:
    """Codes sorted by bytes, and the index of each line's code. Fast if the lines of a topic are together."""
    is_new = np.append(True, column[1:] != column[:-1])
    codes, index = np.unique(column[is_new], return_inverse=True)
    topic = index.astype(np.int32)[np.cumsum(is_new) - 1]
    return np.array([code.decode(BYTES) for code in codes.tolist()], dtype=np.str_), topic


def repeated_rows(topic: NDArray[np.int32], docno: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Rows whose topic and docno are in an earlier row. Hashes select candidates; their bytes are compared."""
    mixed = topic.astype(np.uint64)
    for key in byte_keys(docno):
        mixed = (mixed ^ key) * MULTIPLIER
        mixed ^= mixed >> HALF
    ordered = np.sort(mixed)
    same = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(same):
        return np.zeros(0, dtype=np.intp)
    seen: set[tuple[int, bytes]] = set()
    repeated = []
    for row in np.flatnonzero(np.isin(mixed, same)).tolist():
        name = (int(topic[row]), bytes(docno[row]))
        if name in seen:
            repeated.append(row)
        seen.add(name)
    return np.array(repeated, dtype=np.intp)
