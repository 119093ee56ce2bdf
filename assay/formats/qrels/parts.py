"""Columns of qrels besides the grade of a document: subtopics, the stratum or probability of a sample, preferences.

A row of `QrelsColumns` is still a document of a topic. Its parts are words in one piece of bytes, separated by spaces:

`subtopics`      `2:1 5:0`, the grade for each subtopic; the grade of the row is the highest
`strata`         the stratum of the pool from which the document was sampled; grade -1: pooled, but not sampled
`probabilities`  the algorithm that chose the document, and the probability that it is in the sample
`nuggets`        `vital` or `okay`, of a nugget in an answer; the grade of `nugget:-:KEY`, of the list, has no meaning
`preferences`    the documents that it is preferred to; the grade of the row is 1, or 0 if there are none
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from assay.answers import NUGGET
from assay.errors import InputError, Refused
from assay.formats.qrels.columns import QrelsColumns, columns_from
from assay.protocols.measures import QrelsKind

IMPORTANCE = (b"vital", b"okay")  # of a nugget
REPEATS = frozenset({"subtopics", "preferences"})  # kinds with several lines of a document


class MissingParts(InputError, Refused):
    """A measure needs more than the grades of qrels."""

    title = "These measures need other qrels"

    def __init__(self, kind: QrelsKind) -> None:
        super().__init__(f"the qrels have no {kind}; import a file with lines of {LAYOUTS[kind].title}")


class Layout(NamedTuple):
    """The columns of lines, each counted from 0."""

    title: str
    width: int
    docno: int
    grade: int | None
    parts: tuple[int, ...]


LAYOUTS: dict[QrelsKind, Layout] = {
    "subtopics": Layout("topic, subtopic, docno, grade", 4, 2, 3, (1,)),
    "strata": Layout("topic, 0, docno, stratum, grade", 5, 2, 4, (3,)),
    "probabilities": Layout("topic, docno, grade, algorithm, probability", 5, 1, 2, (3, 4)),
    "nuggets": Layout("topic, importance, unit, grade", 4, 2, 3, (1,)),
    "preferences": Layout("topic, winner, loser", 3, 1, None, (2,)),
}


class PartRow(NamedTuple):
    """A line of qrels."""

    topic: bytes
    docno: bytes
    grade: int
    parts: Sequence[bytes]

    @property
    def unit(self) -> tuple[bytes, ...]:
        """The line without its grade: it occurs once."""
        return (self.topic, self.docno, *self.parts)

    def problem(self, kind: QrelsKind) -> str:
        """Say what is wrong with the parts; empty if nothing is."""
        if kind == "preferences" and self.docno == self.parts[0]:
            return "the winner and the loser are the same document"
        if kind == "nuggets" and self.docno.startswith(NUGGET.encode()) and self.parts[0] not in IMPORTANCE:
            word = self.parts[0][:40].decode(errors="replace")
            return f"{word!r} is not the importance of a nugget; use vital or okay"
        if kind != "probabilities":
            return ""
        try:
            is_probability = 0.0 < float(self.parts[1]) <= 1.0
        except ValueError:
            is_probability = False
        word = self.parts[1][:40].decode(errors="replace")
        return "" if is_probability else f"{word!r} is not a probability above 0 and up to 1"


def columns_of(rows: Iterable[PartRow], kind: QrelsKind) -> QrelsColumns:
    """Arrays from lines in any order."""
    parts: defaultdict[tuple[bytes, bytes], list[bytes]] = defaultdict(list)
    grades: dict[tuple[bytes, bytes], int] = {}
    for row in sorted(rows):
        document = row.topic, row.docno
        grades[document] = max(row.grade, grades.get(document, row.grade))
        word = row.parts[0] + b":%d" % row.grade if kind == "subtopics" else b" ".join(row.parts)
        parts[document].append(word)
        if kind == "preferences":
            grades.setdefault((row.topic, row.parts[0]), 0)
    columns = columns_from((*document, grade) for document, grade in grades.items())
    return with_parts(columns, kind, [b" ".join(parts.get(document, ())) for document in documents(columns)])


def with_parts(columns: QrelsColumns, kind: QrelsKind, words: Sequence[bytes]) -> QrelsColumns:
    """Columns with the words of each row."""
    parts = np.empty(len(words), dtype=np.object_)  # some words are much longer than others
    parts[:] = words
    return replace(columns, kind=kind, parts=parts)


def documents(columns: QrelsColumns) -> Iterator[tuple[bytes, bytes]]:
    """Topic and docno of each row."""
    codes = [code.encode() for code in columns.topics.tolist()]
    rows = zip(columns.topic_index.tolist(), columns.docno.tolist(), strict=True)
    return ((codes[topic], docno) for topic, docno in rows)


def rows_of(columns: QrelsColumns) -> Iterator[PartRow]:
    """The lines, sorted by topic and docno."""
    assert columns.parts is not None  # else they are lines of grades
    for document, grade, words in zip(
        documents(columns), columns.grade.tolist(), columns.parts.tolist(), strict=True
    ):
        if columns.kind == "subtopics":
            for word in words.split():
                subtopic, _, own = word.rpartition(b":")
                yield PartRow(*document, int(own), (subtopic,))
        elif columns.kind == "preferences":
            yield from (PartRow(*document, grade, (loser,)) for loser in words.split())
        else:
            yield PartRow(*document, grade, words.split())


def lines_of(columns: QrelsColumns, codes: Sequence[bytes]) -> Iterator[bytes]:
    """The lines of a file, with tabs. `codes` are the topics as they are written."""
    layout = LAYOUTS[columns.kind]
    written = dict(zip((code.encode() for code in columns.topics.tolist()), codes, strict=True))
    for row in rows_of(columns):
        words = [b"0"] * layout.width
        words[0], words[layout.docno] = written[row.topic], row.docno
        if layout.grade is not None:
            words[layout.grade] = b"%d" % row.grade
        for place, word in zip(layout.parts, row.parts, strict=True):
            words[place] = word
        yield b"\t".join(words) + b"\n"
