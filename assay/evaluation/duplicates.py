"""Near-duplicates of judged documents: they inherit the grade, and repeated ones count as not relevant (BOLT).

In each group of near-duplicates, the first document that a run retrieves counts with its grade. Further ones count as
not relevant. The group counts as one relevant document.

The file has a line for each near-duplicate, with the document that was judged in its place:

    topic docno judged
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import columns_from


class DuplicatesError(ValueError):
    """The near-duplicates are malformed, or contradict one another."""


class WithDuplicates(NamedTuple):
    """Qrels with near-duplicates.

    qrels : rows of judged documents and of their near-duplicates, with the grade of the judged document.
    group : (rows,) row of the document that was judged in place of each row; its own row if that is itself.
    """

    qrels: QrelsColumns
    group: NDArray[np.int64]


def read_duplicates(path: str, qrels: QrelsColumns) -> WithDuplicates:
    """Add the near-duplicates of a file to qrels.

    Raises
    ------
    InputError
        The file cannot be used.
    """
    try:
        return with_duplicates(qrels, parse_duplicates(read_file(path)))
    except DuplicatesError as error:
        raise InputError(f"{path}: {error}") from None


def parse_duplicates(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Read topic, near-duplicate and judged document of each line. A header line is skipped.

    Raises
    ------
    DuplicatesError
        A line does not have three columns, or repeats a near-duplicate.
    """
    rows: dict[tuple[bytes, bytes], bytes] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        words = line.split()
        if not words or (number == 1 and words[0].lower() == b"topic"):
            continue
        if len(words) != 3:
            raise DuplicatesError(
                f"line {number}: expected 3 columns (topic, docno, judged), got {len(words)}"
            )
        topic, docno, judged = words
        if (topic, docno) in rows:
            repeated = f"{docno.decode(errors='replace')} of topic {topic.decode(errors='replace')}"
            raise DuplicatesError(f"line {number}: {repeated} is repeated")
        rows[topic, docno] = judged
    return [(topic, docno, judged) for (topic, docno), judged in rows.items()]


def with_duplicates(qrels: QrelsColumns, duplicates: Iterable[tuple[bytes, bytes, bytes]]) -> WithDuplicates:
    """Add the near-duplicates of judged documents to qrels. Near-duplicates of other documents are left out.

    Raises
    ------
    DuplicatesError
        A document that has near-duplicates is listed as a near-duplicate of another document.
    """
    codes = [code.encode() for code in qrels.topics.tolist()]
    judged = zip(qrels.topic_index.tolist(), qrels.docno.tolist(), qrels.grade.tolist(), strict=True)
    grades = {(codes[topic], docno): grade for topic, docno, grade in judged}
    heads = {unit: unit for unit in grades}
    named = {(topic, docno): (topic, head) for topic, docno, head in duplicates}
    for unit, head in named.items():
        if named.get(head, head) != head:
            topic, docno = (word.decode(errors="replace") for word in head)
            raise DuplicatesError(
                f"{docno} of topic {topic} has near-duplicates and is a near-duplicate of another document"
            )
        if head in grades:
            heads[unit] = head
    columns = columns_from((topic, docno, grades[heads[topic, docno]]) for topic, docno in heads)
    # a topic without rows still counts in averages
    place = np.searchsorted(qrels.topics, columns.topics).astype(np.int32)
    columns = replace(columns, topics=qrels.topics, topic_index=place[columns.topic_index])
    pairs = zip(columns.topic_index.tolist(), columns.docno.tolist(), strict=True)
    units = [(codes[topic], docno) for topic, docno in pairs]
    rows = {unit: row for row, unit in enumerate(units)}
    group = [rows[heads[unit]] for unit in units]
    return WithDuplicates(columns, np.array(group, dtype=np.int64))
