"""Read the files of trec_eval into arrays: runs, qrels, qrels of several groups, preferences, Z scores.

ASCII white space separates columns; LF separates lines (CR in a file without any LF). A byte order mark, CRLF, leading
spaces, empty lines and a last line without LF are accepted; a line that begins with # is a comment. Nothing is quoted;
ids are bytes.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.compression import ANY_SIZE, Unreadable, is_packed, opened, unpack
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import (
    RunColumns,
    byte_keys,
    may_repeat,
    order_in_topics,
    sorted_topics,
    trec_order,
)
from assay.formats.text import without_marks
from assay.formats.tokens import Parts, Places, Table, Text, floats, spans
from assay_extensions.trec_eval.options import NOT_COMPUTED, UNREADABLE, TrecEvalError

HASH, NEWLINE = 35, 10
# White space as in C's isspace; other control characters are parts of words.
IS_WORD = np.ones(256, dtype=np.bool_)
IS_WORD[[9, 10, 11, 12, 13, 32]] = False
# Topics are text in which each character is one byte, so that sorting them sorts by bytes.
BYTES = "latin-1"
GRADE = rb"([+-]?\d{1,9})(\.0*)?"
BLOCK = 1 << 19  # bytes of text that are read at once


class FileError(TrecEvalError):
    """A file cannot be used: its name, the line, and what is wrong."""

    def __init__(self, path: str, message: str, *, status: int = UNREADABLE) -> None:
        super().__init__(f"{path}: {message}", status=status)


class Lines(NamedTuple):
    """Some lines of a file, without comments and empty lines.

    Args:
        path: name of the file, for messages.
        table: the words of the lines.
        number: (lines,) number of each line in the file, from 1.
    """

    path: str
    table: Table
    number: NDArray[np.int32]

    @classmethod
    def read(cls, path: str, n_columns: int, header: str, *, allows_more: bool = False) -> Iterator[Self]:
        """Read a file in blocks and split every line into words.

        Args:
            path: of a file, which may be compressed; `-` is standard input.
            n_columns: number of words in a line; further words are ignored if `allows_more`.
            header: names of the columns, for the message.

        Raises FileError: the file cannot be read, has no lines, or a line has the wrong number of columns.
        """
        n_before, is_empty = 0, True
        for block in read_blocks(path):
            text = Text(without_marks(block))
            word_spans = spans(text.codes, n_columns)
            if word_spans is not None and not (text.codes[word_spans[0][:, 0]] == HASH).any():
                number = np.arange(n_before + 1, n_before + 1 + len(word_spans[0]), dtype=np.int32)
                n_before += len(number)
            else:
                start, end, first, n_words = _words_by_line(text.codes)
                number = np.arange(n_before + 1, n_before + 1 + len(first), dtype=np.int32)
                n_before += len(number)
                is_wrong = (n_words != 0) & (
                    (n_words < n_columns) | (n_words > n_columns) & (not allows_more)
                )
                if is_wrong.any():
                    line = int(np.argmax(is_wrong))
                    raise FileError(
                        path,
                        f"line {number[line]}: expected {n_columns} columns ({header}), got {n_words[line]}",
                    )
                place = first[n_words > 0][:, None] + np.arange(n_columns)
                word_spans, number = (start[place], end[place] - start[place]), number[n_words > 0]
            if len(number):
                is_empty = False
                yield cls(path, Table(text, *word_spans), number)
        if is_empty:
            raise FileError(path, f"the file contains no lines; expected {header}")

    def numbers(self, n: int, column: str) -> NDArray[np.float64]:
        """Word n of each line as a finite decimal number. `column` names it in the message.

        Raises FileError: a word is not a finite number.
        """
        numbers = self.table.scores(n)
        if numbers is None:
            words = self.table.words(n).tolist()
            line, word = next((line, word) for line, word in enumerate(words) if floats([word]) is None)
            shown = word[:40].decode(errors="replace")
            raise FileError(self.path, f"line {self.number[line]}: {column} {shown!r} is not a finite number")
        return numbers

    def grades(self) -> NDArray[np.int32]:
        """The fourth word of each line as a whole number.

        Raises FileError: a word is not a whole number.
        """
        plain = self.table.grades(3)
        if plain is not None:
            return plain
        words, word_of_line = np.unique(self.table.words(3), return_inverse=True)
        grades = np.zeros(len(words), dtype=np.int32)
        for index, word in enumerate(words.tolist()):
            match = re.fullmatch(GRADE, word)
            if match is None:
                number, shown = self.number[np.argmax(word_of_line == index)], word.decode(errors="replace")
                raise FileError(self.path, f"line {number}: grade {shown!r} is not a whole number")
            grades[index] = int(match[1])
        return grades[word_of_line]


def _words_by_line(codes: NDArray[np.uint8]) -> tuple[Places, Places, Places, Places]:
    """(words,) start and end of each word; (lines,) first word and number of words, which is 0 for a comment."""
    edges = np.flatnonzero(np.diff(IS_WORD[codes].astype(np.int8), prepend=0, append=0))
    start, end = edges[0::2], edges[1::2]
    place = np.append(0, np.flatnonzero(codes == NEWLINE) + 1)  # of each line, and of the end
    first = np.searchsorted(start, place)
    n_words = np.diff(first)
    n_words[codes[place[:-1]] == HASH] = 0  # a comment has its # at the start of the line
    return start, end, first[:-1], n_words


def read_blocks(path: str) -> Iterator[bytes]:
    """The text of a file, or of standard input for `-`, decompressed, in blocks of whole lines that end with LF.

    Raises FileError: the file cannot be read, or is no text in one-byte characters or UTF-8.
    """
    try:
        with opened(path, ANY_SIZE) as file:
            head = file.read(8)
            file.seek(0)
            yield from _whole_lines(
                path, unpack(file, ANY_SIZE) if is_packed(head) else iter(lambda: file.read(BLOCK), b"")
            )
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from None
    except Unreadable as error:
        raise FileError(path, f"cannot be decompressed: {error.reason}") from None


def _whole_lines(path: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    is_first, line_end = True, b"\r"
    for block in blocks:
        if is_first and block.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileError(path, "the file is UTF-16; UTF-8 is accepted")
        if b"\0" in block:
            raise FileError(path, "the file contains NUL bytes; text is accepted")
        is_first, end = False, block.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, block[:end]])
            rest, line_end = [], b"\n"
        rest.append(block[end:])
    if last := b"".join(rest):
        yield last.replace(line_end, b"\n").removesuffix(b"\n") + b"\n"


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
    topics, parts = Numbered(), Parts()
    for lines in Lines.read(path, 6, "topic, Q0, docno, rank, score, tag", allows_more=True):
        table = lines.table
        score = lines.numbers(4, "score")
        parts.add(topic=topics.numbers(table, 0), docno=table.words(2), score=score, number=lines.number)
    tag = bytes(table.words(5)[-1])
    topic, docno, score, number = parts.joined().values()
    repeated = repeated_rows(topic, docno)  # topics are still in the order of the file, which makes it faster
    codes, topic = topics.ordered(topic)
    for row in repeated.tolist():
        if codes[topic[row]] in judged_topics:
            raise _repeated(path, number[row], docno[row], codes[topic[row]])
    del number
    if (topic[1:] < topic[:-1]).any():  # grouping by topic first makes sorting the lines faster
        by_topic = np.argsort(topic, kind="stable")
        topic, docno, score = topic[by_topic], docno[by_topic], score[by_topic]
    order = trec_order(topic, docno, score)
    no_rank = np.zeros(len(topic), dtype=np.int32)
    return TrecRun(RunColumns(codes, topic[order], docno[order], no_rank, score[order]), tag)


class Numbered:
    """Numbers the distinct words of a column, block by block, in the order of their first lines."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def numbers(self, table: Table, column: int) -> NDArray[np.int32]:
        """(lines,) the number of each word of a column."""
        words, index = table.codes(column)
        numbers = [self._numbers.setdefault(word, len(self._numbers)) for word in words]
        return np.array(numbers, dtype=np.int32)[index]

    def ordered(self, numbers: NDArray[np.int32]) -> tuple[NDArray[np.str_], NDArray[np.int32]]:
        """The words sorted by bytes, and the index of each number into them."""
        return sorted_topics([word.decode(BYTES) for word in self._numbers], numbers)


def read_qrels(path: str) -> QrelsColumns:
    """Read qrels: topic, 0, docno, grade."""
    topics, parts = Numbered(), Parts()
    for lines in Lines.read(path, 4, "topic, 0, docno, grade"):
        table = lines.table
        parts.add(
            topic=topics.numbers(table, 0), docno=table.words(2), grade=lines.grades(), number=lines.number
        )
    topic, *columns = parts.joined().values()
    return _qrels(path, *topics.ordered(topic), *columns)


def read_grouped_qrels(path: str) -> dict[bytes, QrelsColumns]:
    """Read the qrels of several groups of assessors, by the name in the second column, sorted."""
    topics, groups, parts = Numbered(), Numbered(), Parts()
    for lines in Lines.read(path, 4, "topic, group, docno, grade"):
        table, columns = lines.table, {"grade": lines.grades(), "number": lines.number}
        parts.add(
            topic=topics.numbers(table, 0), group=groups.numbers(table, 1), docno=table.words(2), **columns
        )
    topic, group, *own = parts.joined().values()
    codes, topic = topics.ordered(topic)
    names, group = groups.ordered(group)
    qrels = {}
    for index, name in enumerate(names.tolist()):
        is_own = group == index
        used, of_group = np.unique(topic[is_own], return_inverse=True)
        columns_of_group = (column[is_own] for column in own)
        qrels[name.encode(BYTES)] = _qrels(path, codes[used], of_group.astype(np.int32), *columns_of_group)
    return qrels


def _qrels(
    path: str,
    codes: NDArray[np.str_],
    topic: NDArray[np.int32],
    docno: NDArray[np.bytes_],
    grade: NDArray[np.int32],
    number: NDArray[np.int32],
) -> QrelsColumns:
    order = np.argsort(topic, kind="stable")
    topic, docno = topic[order], docno[order]
    for row in repeated_rows(topic, docno)[:1].tolist():
        raise _repeated(path, number[order[row]], docno[row], codes[topic[row]])
    return QrelsColumns(codes, topic, docno, grade[order])


def _repeated(path: str, number: int, docno: bytes, topic: str) -> FileError:
    names = docno.decode(errors="replace"), topic.encode(BYTES).decode(errors="replace")
    message = "line {}: document {} of topic {} is repeated".format(number, *names)
    return FileError(path, message, status=NOT_COMPUTED)


def read_preferences(path: str, *, from_qrels: bool) -> dict[bytes, list[Preference]]:
    """Read preferences, by topic. In qrels, a group (the second column) prefers a higher grade to a lower one."""
    header = "topic, group, docno, grade" if from_qrels else "topic, group, part of the group, docno, level"
    width = 4 if from_qrels else 5
    by_topic: dict[bytes, list[Preference]] = defaultdict(list)
    for lines in Lines.read(path, width, header):
        topics, groups, *parts, docnos = (lines.table.words(n).tolist() for n in range(width - 1))
        (part,) = parts or ([b"0"] * len(topics),)
        levels = lines.numbers(width - 1, "level").tolist()
        for topic, *preference in zip(topics, groups, part, docnos, levels, strict=True):
            by_topic[topic].append(Preference(*preference))
    return dict(sorted(by_topic.items()))


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Read mean and standard deviation, by topic and measure: topic, measure, mean, deviation."""
    zscores: dict[tuple[str, str], tuple[float, float]] = {}
    for lines in Lines.read(path, 4, "topic, measure, mean, standard deviation"):
        names = ([word.decode(BYTES) for word in lines.table.words(n).tolist()] for n in (0, 1))
        numbers = (lines.numbers(n, "number").tolist() for n in (2, 3))
        zscores |= zip(zip(*names, strict=True), zip(*numbers, strict=True), strict=True)
    return zscores


def repeated_rows(topic: NDArray[np.int32], docno: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Rows whose topic and docno are in an earlier row."""
    if not may_repeat(topic, docno):
        return np.zeros(0, dtype=np.intp)
    order = order_in_topics(topic, *byte_keys(docno))
    is_same = (topic[order[1:]] == topic[order[:-1]]) & (docno[order[1:]] == docno[order[:-1]])
    return np.sort(order[1:][is_same])
