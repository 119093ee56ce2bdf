"""Near-duplicates of judged documents: they inherit the grade, and are false alarms where a run repeats one (BOLT).

Of each class of near-duplicates a run is credited for the first that it ranks; every further one counts as a document
that is not relevant. What is to be found is the class, once.

    topic docno judged          (a line for each near-duplicate, with the document that was judged in its place)
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import columns_from


class DuplicatesError(ValueError):
    """Near-duplicates that do not fit the qrels."""


class WithDuplicates(NamedTuple):
    """Qrels that name the near-duplicates too.

    qrels : rows of judged documents and of their near-duplicates, with the grade of the judged one.
    group : (rows,) class of near-duplicates that each row belongs to; a number for each class of each topic.
    """

    qrels: QrelsColumns
    group: NDArray[np.int64]


def parse_duplicates(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Topic, near-duplicate and judged document of each line; a header line is skipped.

    Raises
    ------
    DuplicatesError
        A line has another number of columns, or names a near-duplicate again.
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
            said = f"{docno.decode(errors='replace')} of topic {topic.decode(errors='replace')}"
            raise DuplicatesError(f"line {number}: {said} stands in a line above already")
        rows[topic, docno] = judged
    return [(topic, docno, judged) for (topic, docno), judged in rows.items()]


def with_duplicates(qrels: QrelsColumns, duplicates: Iterable[tuple[bytes, bytes, bytes]]) -> WithDuplicates:
    """The qrels with the near-duplicates of their documents. Those of documents that nobody judged are left out.

    Raises
    ------
    DuplicatesError
        A document that stands for others is itself a near-duplicate of another.
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
                f"{docno} of topic {topic} stands for others and is a near-duplicate itself"
            )
        if head in grades:
            heads[unit] = head
    columns = columns_from((topic, docno, grades[heads[topic, docno]]) for topic, docno in heads)
    # some rows of qrels have all of their topics: one without a row is averaged over
    place = np.searchsorted(qrels.topics, columns.topics).astype(np.int32)
    columns = replace(columns, topics=qrels.topics, topic_index=place[columns.topic_index])
    numbers = {head: number for number, head in enumerate(sorted(set(heads.values())))}
    units = zip(columns.topic_index.tolist(), columns.docno.tolist(), strict=True)
    group = [numbers[heads[codes[topic], docno]] for topic, docno in units]
    return WithDuplicates(columns, np.array(group, dtype=np.int64))
