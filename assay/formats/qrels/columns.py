"""Qrels as arrays, and their columns besides the grade: subtopics, strata or probabilities of a sample, preferences.

A row of `QrelsColumns` is a document of a topic. Its parts are words in one piece of bytes, separated by spaces:

`subtopics`      `2:1 5:0`, the grade for each subtopic; the grade of the row is the highest
`strata`         the stratum of the pool from which the document was sampled; grade -1: pooled, but not sampled
`probabilities`  the algorithm that chose the document, and the probability that it is in the sample
`nuggets`        `vital` or `okay` of a nugget, `vital:5` of a criterion; the grade of `nugget:-:KEY` has no meaning
`preferences`    the documents that it is preferred to; the grade of the row is 1, or 0 if there are none

A citation of BOLT's XML may also have answers to the follow-up questions and its passage (`Cited`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.answers import NUGGET
from assay.protocols.measures import QrelsKind

Row = tuple[bytes, bytes, int]  # topic, docno, grade


class Cited(NamedTuple):
    """Answers about a judged citation, and its passage, in BOLT's XML."""

    answers: Mapping[str, str]  # by question
    passage: str


@dataclass(frozen=True, slots=True, eq=False)
class QrelsColumns:
    """Qrels as arrays, sorted by topic, then docno. A negative grade means: pooled, but not judged.

    Args:
        topics: (topics,) codes.
        topic_index: (rows,) position in `topics`.
        docno: (rows,) UTF-8 bytes.
        grade: (rows,)
        kind: what lines of the file have besides these.
        parts: (rows,) that, as bytes (see above); None if kind is "grades".
        cited: by topic and docno, for citations with answers or a passage.
    """

    topics: NDArray[np.str_]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    grade: NDArray[np.int32]
    kind: QrelsKind = "grades"
    parts: NDArray[np.object_] | None = None
    cited: Mapping[tuple[bytes, bytes], Cited] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, bytes, int]]:
        """Topic, docno and grade of each row."""
        codes = self.topics.tolist()
        rows = zip(self.topic_index.tolist(), self.docno.tolist(), self.grade.tolist(), strict=True)
        return ((codes[topic], docno, grade) for topic, docno, grade in rows)

    def keep_topics(self, codes: Collection[str]) -> "QrelsColumns":
        """The rows of some topics, without the others."""
        is_kept = np.isin(self.topics, np.array(list(codes), dtype=np.str_))
        rows = is_kept[self.topic_index]
        kept = self.kept(rows)
        place = np.cumsum(is_kept, dtype=np.int32) - 1
        return replace(kept, topics=self.topics[is_kept], topic_index=place[kept.topic_index])

    def kept(self, rows: NDArray[Any]) -> "QrelsColumns":
        """Some rows, with all topics: a topic without rows still counts, with the value 0."""
        return replace(
            self,
            topic_index=self.topic_index[rows],
            docno=self.docno[rows],
            grade=self.grade[rows],
            parts=None if self.parts is None else self.parts[rows],
        )


def columns_from(rows: Iterable[Row]) -> QrelsColumns:
    """Arrays from rows (topic, docno, grade) in any order; each document once per topic."""
    ordered = sorted(rows)
    codes = [topic for topic, _ in groupby(ordered, key=itemgetter(0))]
    place = {topic: index for index, topic in enumerate(codes)}
    return QrelsColumns(
        topics=np.array([code.decode() for code in codes], dtype=np.str_),
        topic_index=np.array([place[topic] for topic, _, _ in ordered], dtype=np.int32),
        docno=np.array([docno for _, docno, _ in ordered], dtype=np.bytes_),
        grade=np.array([grade for _, _, grade in ordered], dtype=np.int32),
    )


IMPORTANCE = (b"vital", b"okay")  # of a nugget; with the weight of a criterion after a colon
MAX_WEIGHT = 1e6  # without its sign
REPEATS = frozenset({"subtopics", "preferences"})  # kinds with several lines of a document


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
        if kind == "nuggets" and self.docno.startswith(NUGGET.encode()):
            word, sign, weight = self.parts[0].partition(b":")
            if word in IMPORTANCE and (not sign or _is_weight(weight)):
                return ""
            shown = self.parts[0][:40].decode(errors="replace")
            return f"{shown!r} is not the importance of a nugget; use vital or okay, or vital:5 with a weight"
        if kind != "probabilities":
            return ""
        try:
            is_probability = 0.0 < float(self.parts[1]) <= 1.0
        except ValueError:
            is_probability = False
        shown = self.parts[1][:40].decode(errors="replace")
        return "" if is_probability else f"{shown!r} is not a probability above 0 and up to 1"


def _is_weight(word: bytes) -> bool:
    try:
        return abs(float(word)) <= MAX_WEIGHT
    except ValueError:
        return False


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
