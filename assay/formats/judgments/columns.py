"""Judgments of files as columns of numbers, for what compares the judgments of people.

A table whose cells can all be used is read column by column, and each cell is looked at once for all that are equal.
Other files take the slow path, row by row, which reports what is wrong. Where both paths accept a file, they read the
same judgments.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.formats.compression import read_file
from assay.formats.judgments.cells import ANSWER_TO, BadCell, Wrong, check_cell, row_of
from assay.formats.judgments.graded import graded, has_names
from assay.formats.judgments.reader import (
    LONGEST_CELL,
    NEEDED,
    JudgmentsError,
    in_utf8,
    lines_in,
    open_judgments,
    read_qrels,
)
from assay.formats.judgments.rows import JudgmentRow, JudgmentStream, cell_of
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.sheets import read_sheet
from assay.formats.spreadsheet import long_cells, original
from assay.protocols.schema import JudgingRules

ANSWERED = {"choice", "grade", "kind", "answers", "is_current"}  # fields that are compared, or decide what is
# Rows that are read at once: few enough that Python's garbage collector does not look for cycles in them
ROWS = 500
Ints = NDArray[np.int64]


class _Codes(dict[Any, int]):
    """The number of each distinct cell; `number_of` gives that of a new one."""

    def __init__(self, number_of: Callable[[Any], int]) -> None:
        self._number_of = number_of

    def __missing__(self, cell: object) -> int:
        number = self[cell] = self._number_of(cell)
        return number

    def numbers(self, column: Sequence[object]) -> Ints:
        return np.fromiter(map(self.__getitem__, column), dtype=np.int64, count=len(column))


@dataclass(slots=True)
class JudgmentColumns:
    """The current judgments of any number of files, in their order.

    Args:
        topics, docnos, assessors: the number of each name.
        answers: distinct judgments, whose topic, docno and assessor have no meaning.
    """

    topics: dict[str, int] = field(default_factory=dict)
    docnos: dict[str, int] = field(default_factory=dict)
    assessors: dict[str, int] = field(default_factory=dict)
    answers: list[JudgmentRow] = field(default_factory=list)
    _parts: list[Ints] = field(default_factory=list)

    def numbers(self) -> Ints:
        """(4, judgments) numbers of topic, docno and assessor, and the index of the answer."""
        return np.concatenate([np.empty((4, 0), dtype=np.int64), *self._parts], axis=1)

    def read(self, path: str, rules: JudgingRules | None, *, judge: str, columns: Mapping[str, str]) -> None:
        """Add the current judgments of a file with their grades; `judge` is the assessor if the file names none.

        Raises:
            InputError: The file is not a file of judgments. The message names the lines.
        """
        file = in_utf8(BytesIO(read_file(path)), path)
        stream = open_judgments(file, path, judge=judge, columns=columns)
        if stream.form == "qrels":
            self._add_qrels(read_qrels(file, path), judge or path)
            return
        if stream.columns:
            try:
                self._parts.append(self._table(file, stream, rules))
            except (BadCell, JudgmentsError, csv.Error):
                stream = open_judgments(file, path, judge=judge, columns=columns)
            else:
                return
        rows = [row for row in stream.rows if row.is_current]
        self.add(graded(rows, rules, path, is_named=has_names(stream)))

    def add(self, rows: Iterable[JudgmentRow]) -> None:
        """Add current judgments that have their grades."""
        answers: dict[tuple[Any, ...], int] = {}
        numbers = []
        for row in rows:
            key = (row.choice, row.grade, row.kind, cell_of(row.answers))
            answer = answers.setdefault(key, len(self.answers))
            if answer == len(self.answers):
                self.answers.append(row)
            names = zip((self.topics, self.docnos, self.assessors), row[:3], strict=True)
            numbers.append((*(known.setdefault(name, len(known)) for known, name in names), answer))
        self._parts.append(np.array(numbers, dtype=np.int64).reshape(-1, 4).T)

    def _add_qrels(self, qrels: QrelsColumns, judge: str) -> None:
        topics, docnos = (
            np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int64)
            for known, words in (
                (self.topics, qrels.topics.tolist()),
                (self.docnos, map(bytes.decode, qrels.docno.tolist())),
            )
        )
        assessor = np.full(len(docnos), self.assessors.setdefault(judge, len(self.assessors)))
        grades, place = np.unique(qrels.grade, return_inverse=True)
        self._parts.append(np.stack((topics[qrels.topic_index], docnos, assessor, len(self.answers) + place)))
        self.answers += [
            JudgmentRow("", "", judge, grade=grade if grade >= 0 else None) for grade in grades.tolist()
        ]

    def _table(self, file: BinaryIO, stream: JudgmentStream, rules: JudgingRules | None) -> Ints:
        """The numbers of a table. Raises an error, whose message nobody reads, if it needs the slow path."""
        fields = [name for name in stream.columns if name in ANSWERED or name.startswith(ANSWER_TO)]
        others = stream.columns.keys() - {*fields, *NEEDED}

        def answer_of(texts: tuple[str, ...]) -> int:
            cells = dict.fromkeys(NEEDED, "-") | dict(zip(fields, texts, strict=True))
            row = row_of(cells, stream.form)
            if isinstance(row, Wrong):
                raise BadCell(row.message)
            is_named = has_names(stream)
            self.answers += graded([row], rules, stream.name, is_named=is_named) if row.is_current else [row]
            return len(self.answers) - 1

        known = (self.topics, self.docnos, self.assessors)
        codes = [_names(*column, stream.form) for column in zip(NEEDED, known, strict=True)]
        answers = _Codes(answer_of)
        parts = []
        for columns in _blocks(file, stream.columns):
            for name in others:
                for text in set(columns[name]):
                    check_cell(name, text, stream.form)
            numbers = [own.numbers(columns[name]) for name, own in zip(NEEDED, codes, strict=True)]
            parts.append(
                [*numbers, answers.numbers(list(zip(*(columns[name] for name in fields), strict=True)))]
            )
        table = np.concatenate([np.empty((4, 0), dtype=np.int64), *map(np.stack, parts)], axis=1)
        is_current = np.array([row.is_current for row in self.answers], dtype=np.bool_)
        return table[:, is_current[table[3]]]


def _names(name: str, known: dict[str, int], form: str) -> _Codes:
    """The numbers of the words of a column, by its cells as they are in the file."""

    def number_of(text: str) -> int:
        word = (original(text) if form == "assay-csv" else text).strip()
        if "\0" in word or not word or (name != "assessor" and len(word.split()) > 1):
            raise BadCell(f"{name} {word!r}")
        return known.setdefault(word, len(known))

    return _Codes(number_of)


def _blocks(file: BinaryIO, places: Mapping[str, str]) -> Iterator[dict[str, tuple[str, ...]]]:
    """The columns of many rows at a time, by field. Raises `BadCell` for a row of another width."""
    with long_cells(LONGEST_CELL), closing(lines_in(file)) as lines:
        sheet = read_sheet(lines)
        at = {name: sheet.header.index(column) for name, column in places.items()}
        while rows := list(islice(sheet.cells, ROWS)):
            if set(map(len, rows)) != {len(sheet.header)}:
                raise BadCell("the rows have different widths")
            columns = list(zip(*rows, strict=True))
            yield {name: columns[place] for name, place in at.items()}
