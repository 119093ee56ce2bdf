"""Read the files of an evaluation into arrays: runs, qrels, qrels of several groups, preferences, Z scores."""

import re
from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import RunColumns, byte_keys, trec_order
from assay.trec_eval.errors import NOT_COMPUTED, FileError
from assay.trec_eval.inputs.lines import Lines

# Topics are text in which each character is one byte, so that sorting them sorts by bytes.
BYTES = "latin-1"
GRADE = rb"([+-]?\d{1,9})(\.0*)?"
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class TrecRun(NamedTuple):
    """A run, and the tag of its last line."""

    columns: RunColumns
    tag: bytes


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


def read_preferences(path: str) -> dict[bytes, list[Preference]]:
    """Read preferences, by topic: topic, group, part, docno, level."""
    lines = Lines.read(path, 5, "topic, group, part of the group, docno, level")
    return _preferences(lines, groups=1, parts=2, docno=3)


def read_qrels_as_preferences(path: str) -> dict[bytes, list[Preference]]:
    """Read qrels as preferences, by topic: a group (the second column) prefers a higher grade to a lower one."""
    lines = Lines.read(path, 4, "topic, group, docno, grade")
    return _preferences(lines, groups=1, parts=None, docno=2)


def _preferences(
    lines: Lines, *, groups: int, parts: int | None, docno: int
) -> dict[bytes, list[Preference]]:
    level = lines.numbers(docno + 1, "level").tolist()
    part = lines.column(parts).tolist() if parts is not None else [b"0"] * len(lines.number)
    by_topic: dict[bytes, list[Preference]] = defaultdict(list)
    rows = zip(
        lines.column(0).tolist(),
        lines.column(groups).tolist(),
        part,
        lines.column(docno).tolist(),
        level,
        strict=True,
    )
    for topic, *preference in rows:
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
