"""The fast path for qrels: files in which every line is regular, read with whole arrays.

A file that it declines takes the slow path of `assay.formats.qrels.reader`, line by line, which reports what is
wrong. Where both paths accept a file, they return the same rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import byte_keys, sorted_topics
from assay.formats.runs.rows import NARROW, topics_by_change
from assay.formats.runs.words import INVISIBLE
from assay.formats.tokens import Places, Text, as_bytes, spans, whole_numbers

WIDTH = 4
HIGHEST = 999


class SortedRows(NamedTuple):
    """Rows sorted by topic, then docno, by bytes."""

    topics: NDArray[np.str_]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    grade: NDArray[np.int32]


def read_fast_path(data: bytes) -> SortedRows | None:
    """The rows of a file in four columns; None if any line is not regular."""
    text = _plain_text(data)
    word_spans = spans(text.codes, WIDTH) if text is not None else None
    if text is None or word_spans is None:
        return None
    (topic, _, docno, grade_start), (topic_width, _, docno_width, grade_width) = (
        np.ascontiguousarray(by_line.T) for by_line in word_spans
    )
    if max(int(topic_width.max()), int(docno_width.max())) > NARROW:
        return None
    grade = _grades(text, grade_start, grade_width)
    if grade is None:
        return None
    codes, index = topics_by_change(text, topic, topic_width)
    topics, index = sorted_topics([code.decode() for code in codes], index)
    return _ordered(topics, index, as_bytes(text.words(docno, docno_width)), grade)


def _plain_text(data: bytes) -> Text | None:
    """The text, if it is UTF-8 without comments, lone CR, NUL and invisible characters."""
    is_odd = not data or b"\x7f" in data or data.startswith(b"#") or b"\n#" in data
    if is_odd or data.count(b"\r") != data.count(b"\r\n"):
        return None
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
        if INVISIBLE.search(data):
            return None
    return Text(data if data.endswith(b"\n") else data + b"\n")


def _grades(text: Text, start: Places, length: Places) -> NDArray[np.int32] | None:
    """Whole numbers, also negative ones and ones written as 3.0; None if a word is anything else."""
    is_negative = text.codes[start] == 45
    start, length = start + is_negative, length - is_negative
    has_zero = (length > 2) & (text.codes[start + length - 2] == 46) & (text.codes[start + length - 1] == 48)
    length = length - 2 * has_zero
    if length.min() < 1:
        return None
    grade = whole_numbers(text, start, length)
    if grade is None or grade.max() > HIGHEST:
        return None
    return np.where(is_negative, -grade, grade)


def _ordered(
    topics: NDArray[np.str_], index: NDArray[np.int32], docno: NDArray[np.bytes_], grade: NDArray[np.int32]
) -> SortedRows | None:
    """Sorted rows; None if a topic contains a document twice."""
    keys = byte_keys(docno)
    by: list[NDArray[Any]] = [*reversed(keys), index]
    order = np.lexsort(by)
    index = index[order]
    is_same = index[1:] == index[:-1]
    for key in keys:
        is_same &= key[order[1:]] == key[order[:-1]]
    return None if is_same.any() else SortedRows(topics, index, docno[order], grade[order])
