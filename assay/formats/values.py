"""Reads qrels, runs and judgments from memory, with the checks and messages of files.

Accepted are nested dictionaries, `{topic: {docno: grade}}` and `{topic: {docno: score}}`; the runs and qrels of ranx;
tables of pandas, polars or Arrow, and any other table whose columns have names and are read as `table[name]`; and named
tuples, such as the rows that ir_datasets and ir_measures give. Columns have the usual names (`assay.formats.names`), in
any order.

Ids are text; whole numbers are taken as their digits, because tables often read `301` as a number. A fraction is not an
id: `301.0` would silently be another topic than `301`. An empty list, dictionary or table is a run that found nothing.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, InputWarning
from assay.formats import names as usual_names
from assay.formats.judgments.cells import Wrong, row_of
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import (
    HIGHEST,
    LOWEST,
    GradeScale,
    QrelsError,
    QrelsForm,
    parse_qrels,
    qrels_of_rows,
    sorted_columns,
)
from assay.formats.reports import Tally
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import UNUSED_RANKS, expected_of
from assay.formats.runs.rows import MAX_DOCNO, MAX_NAME, MAX_TOPIC, byte_strings
from assay.formats.runs.rules import (
    TOPIC_DOCUMENT,
    LineForm,
    RunRows,
    check_rows,
    check_topic_documents,
    forms_of,
)
from assay.formats.tokens import Table
from assay.protocols.schema import Protocol

Column = Sequence[Any]
OPTIONAL = {"rank"}
NOT_NUMBERS = (bool, np.bool_)
ACCEPTED = "a path, a dictionary, a table with named columns, or named tuples"
LAZY = ("LazyFrame",)  # of polars
RUN_NAMES = ("run", "name", "tag", "system")  # columns by which a table of several runs is taken apart


def qrels_from(
    values: object, *, grades: GradeScale | None = None, scale: int = 1, name: str = "qrels"
) -> QrelsColumns:
    """Qrels from memory, in time that grows linearly with their rows.

    Raises:
        InputError: Columns are missing, or rows are wrong; the message has the first ones.
    """
    rows_of = _rows(values, "qrels", name)
    read = _whole_number_qrels(rows_of, scale, grades)
    if read is not None:
        return read
    topics, docnos = (
        (rows_of.topics[n] for n in rows_of.topic_index.tolist()),
        map(bytes.decode, rows_of.docno.tolist()),
    )
    rows = zip(topics, docnos, map(str, rows_of.numbers), strict=True)
    try:
        return qrels_of_rows(enumerate(rows, 1), scale=scale, grades=grades)
    except QrelsError as error:
        raise InputError(f"{name}: {_worded_for_rows(str(error))}") from None


def subtopics_from(values: object, *, name: str = "qrels") -> QrelsColumns:
    """Qrels with subtopics, from a table or named tuples with a column such as subtopic or iteration.

    Raises:
        InputError: Columns are missing, or rows are wrong; the message has the first ones.
    """
    if isinstance(values, Mapping):
        raise InputError(
            f"{name}: a dictionary has no subtopics; give a table or named tuples with topic, subtopic, docno and grade"
        )
    columns = _columns(values, "subtopics", name)
    ids = (_ids(columns[field], field, name) for field in ("topic", "subtopic", "docno"))
    rows = zip(*ids, columns["grade"], strict=True)
    lines = "".join(f" {topic}\t{subtopic}\t{docno}\t{grade}\n" for topic, subtopic, docno, grade in rows)
    try:
        return parse_qrels(lines.encode(), form=QrelsForm.for_kind("subtopics"))
    except QrelsError as error:
        raise InputError(f"{name}: {_worded_for_rows(str(error))}") from None


def run_from(values: object, protocol: Protocol, *, name: str) -> RunColumns:
    """A run from memory, checked like a file of the protocol.

    Raises:
        InputError: Columns are missing, or rows are wrong; the message has the first error.
    """
    read = _rows(values, "runs", name)
    n = len(read.docno)
    rank = np.zeros(n) if read.ranks is None else read.ranks
    rows = RunRows(
        topics=read.topics,
        topic_index=read.topic_index,
        docno=read.docno,
        rank=_numbers(rank, "rank", name).astype(np.int32),
        score=_numbers(read.numbers, "score", name),
        number=np.arange(1, n + 1),
    )
    forms = forms_of(protocol)
    if not forms:
        raise InputError(f"{name}: the protocol {protocol.slug} has no runs")
    form, first = forms[0], 0 if read.ranks is not None else None
    shape = LineForm("trec-6", form.title, 0, 0, 0, first, 0, None, ties=form.ties)
    tally = Tally(can_repair=False, tolerated=UNUSED_RANKS)
    rows = check_topic_documents(rows, protocol.runs.topic_documents, tally)
    check_rows(rows, expected_of(protocol), shape, tally)
    if tally.has_errors:
        error = tally.complaints("error", {})[0]
        raise InputError(f"{name}: {_worded_for_rows(str(error))}; accepted: {error.accepted}")
    for warning in tally.complaints("warning", {}):
        if warning.code == TOPIC_DOCUMENT:  # ranks in memory are unused, and PyTerrier's begin at 0
            warnings.warn(f"{name}: {_worded_for_rows(str(warning))}", InputWarning, stacklevel=2)
    kept = {field: getattr(rows, field) for field in ("topics", "topic_index", "docno", "rank", "score")}
    columns, _ = RunColumns.ordered(**kept, ties=form.ties)
    return columns


class _Rows(NamedTuple):
    """Rows from memory. `numbers` are grades or scores, as they were given; `topic_index` points into `topics`."""

    topics: list[str]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    numbers: Column
    ranks: Column | None = None


def _rows(values: object, fields: str, name: str) -> _Rows:
    """The rows of qrels or of a run. A dictionary is read topic by topic, without a list of the topic of each row."""
    values = _unwrapped(values)
    if _is_nothing(values):
        return _Rows([], np.zeros(0, dtype=np.int32), np.zeros(0, dtype="S1"), [])
    if isinstance(values, Mapping):
        inner = _inner(values, name)
        counts = [len(own) for own in inner.values()]
        codes, index = _numbered(_ids(list(inner), "topic", name))
        docno = _words(list(chain.from_iterable(inner.values())), "docno", name)
        given = chain.from_iterable(own.values() for own in inner.values())
        return _Rows(codes, np.repeat(index, counts), docno, list(given))
    columns = _columns(values, fields, name)
    codes, index = _numbered(_ids(columns["topic"], "topic", name))
    numbers = columns["score" if fields == "runs" else "grade"]
    return _Rows(codes, index, _words(columns["docno"], "docno", name), numbers, columns.get("rank"))


def _unwrapped(values: object) -> object:
    """The dictionary in a run or in qrels of ranx; anything else as it is."""
    is_of_ranx = type(values).__module__.partition(".")[0] == "ranx"
    return values.to_dict() if is_of_ranx else values  # type: ignore[attr-defined]


def _is_nothing(values: object) -> bool:
    """True for an empty list or dictionary, and a table without rows."""
    try:
        return isinstance(values, Sized) and not isinstance(values, (str, bytes)) and len(values) == 0
    except TypeError:  # a lazy table has no length
        return False


def _numbered(topics: list[str]) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct topics, and the place of each topic among them."""
    codes = {topic: n for n, topic in enumerate(dict.fromkeys(topics))}
    return list(codes), np.fromiter(map(codes.__getitem__, topics), dtype=np.int32, count=len(topics))


def _words(column: Column, field: str, name: str) -> NDArray[np.bytes_]:
    """Ids as an array of bytes, checked as by `_ids`. Usual ones are read at once, as the words of a file are."""
    try:
        text = "\n".join(column)
    except TypeError:  # some are numbers
        text = ""
    has_blanks = any(blank in text for blank in " \t\r\v\f")
    if text.isascii() and not has_blanks and text.count("\n") == len(column) - 1:
        table = Table.read(text.encode() + b"\n", 1)
        if table is not None and len(table) == len(column):
            return table.words(0)
    return byte_strings(list(map(str.encode, _ids(column, field, name))))


def _whole_number_qrels(rows: _Rows, scale: int, grades: GradeScale | None) -> QrelsColumns | None:
    """Qrels whose grades are whole numbers; None for others, and for those with an error."""
    if set(map(type, rows.numbers)) != {int}:
        return None
    try:
        grade = np.array(rows.numbers, dtype=np.int32)
    except OverflowError:
        return None
    grade = np.where(grade > 0, grade * np.int64(scale), grade).astype(np.int64)
    if grade.max() > HIGHEST or grade.min() < LOWEST or not (grades is None or grades.contains(grade)):
        return None
    columns = sorted_columns(rows.topics, rows.topic_index, rows.docno, grade.astype(np.int32))
    return columns if columns is None or grades is None else grades.without_codes(columns)


def judgments_from(values: object, *, judge: str = "", name: str = "judgments") -> list[JudgmentRow]:
    """Judgments from memory: a table with an assessor in each row; or the qrels of one assessor.

    Args:
        judge: the assessor of the rows, if they name none.

    Raises:
        InputError: Columns are missing, or rows are wrong; the message has the first error.
    """
    columns = _columns(values, "judgments", name, optional={"assessor"} if judge else set())
    n = len(columns["topic"])
    assessors = _ids(columns["assessor"], "assessor", name) if "assessor" in columns else [judge] * n
    fields = (*(_ids(columns[field], field, name) for field in ("topic", "docno")), assessors)
    rows = []
    for number, (topic, docno, assessor, value) in enumerate(zip(*fields, columns["grade"], strict=True), 1):
        grade = "" if value is None or value != value else str(value)  # tables have nan where there is none
        cells = {"topic": topic, "docno": docno, "assessor": assessor, "grade": grade}
        row = row_of(cells, "memory")
        if isinstance(row, Wrong):
            raise InputError(f"{name}: row {number}: {row.message}")
        rows.append(row)
    return rows


def _columns(values: object, fields: str, name: str, *, optional: set[str] = OPTIONAL) -> dict[str, Column]:
    """The columns of the fields of qrels, runs or judgments."""
    usual = usual_names.USUAL[fields]
    if isinstance(values, Mapping):
        inner = _inner(values, name)
        return {
            "topic": [topic for topic, own in inner.items() for _ in own],
            "docno": [docno for own in inner.values() for docno in own],
            "grade": [number for own in inner.values() for number in own.values()],
        }
    header, column = _table(values, name)
    places = usual_names.places(header, fields)
    if fields == "runs" and (column_of_runs := _column_of_runs(header, column)):
        raise InputError(
            f"{name}: the column {column_of_runs} names several runs; give {{name: run}}, such as "
            f"dict(list(table.groupby({column_of_runs!r})))"
        )
    missing = [field for field in usual if field not in places and field not in optional]
    if missing:
        named = "; ".join(f"{field}: {', '.join(usual[field].names[:4])}" for field in missing)
        raise InputError(f"{name}: no column for {named}; the columns are {', '.join(header) or 'none'}")
    return {field: column(place) for field, place in places.items()}


def _table(values: object, name: str) -> tuple[list[str], Callable[[int], Column]]:
    """The names of columns, and a function that gives the column of a place."""
    if type(values).__name__ in LAZY:
        raise InputError(f"{name}: a {type(values).__name__} has no rows yet; give table.collect()")
    header = getattr(values, "column_names", None)
    header = getattr(values, "columns", None) if header is None else header
    if header is not None:
        keys = list(header)
        table: Any = values
        return list(map(str, keys)), lambda place: np.asarray(table[keys[place]]).tolist()
    rows = list(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else []
    fields = getattr(rows[0], "_fields", None) if rows else None
    if fields is None:
        raise InputError(f"{name}: {type(values).__name__} cannot be read; use {ACCEPTED}")
    return list(fields), lambda place: [row[place] for row in rows]


def _column_of_runs(header: Sequence[str], column: Callable[[int], Column]) -> str:
    """The column that names more than one run; empty if the table is of one."""
    places = (n for n, heading in enumerate(header) if usual_names.normal(heading) in RUN_NAMES)
    return next((header[place] for place in places if len(set(column(place))) > 1), "")


def _inner(values: Mapping[Any, Any], name: str) -> Mapping[Any, Mapping[Any, Any]]:
    """The topics of a nested dictionary that have documents."""
    wrong = next((topic for topic, inner in values.items() if not isinstance(inner, Mapping)), None)
    if wrong is not None:
        raise InputError(
            f"{name}: topic {wrong}: expected {{docno: number}}, got {type(values[wrong]).__name__}"
        )
    return {topic: own for topic, own in values.items() if own}


def is_nested(values: object) -> bool:
    """Return whether values are the dictionary of one run or of qrels, and not a dictionary of several."""
    if not isinstance(values, Mapping) or not all(isinstance(inner, Mapping) for inner in values.values()):
        return False
    first = next((number for inner in values.values() for number in inner.values()), values)
    return not isinstance(first, (Mapping, Sequence)) and not hasattr(first, "columns")


def _ids(column: Column, field: str, name: str) -> list[str]:
    """Ids as text: not empty, without white space and NUL, not too long."""
    words = list(column)
    for n, word in enumerate(column if not set(map(type, column)) <= {str} else (), 1):
        is_number = isinstance(word, (int, np.integer)) and not isinstance(word, NOT_NUMBERS)
        if not is_number and not isinstance(word, str):
            is_float = isinstance(word, float) and word.is_integer()
            hint = f"; if the table read ids as numbers, table[{field!r}].astype(int)" if is_float else ""
            _refuse(name, n, f"the {field} {word!r}", f"text or a whole number{hint}")
        # Also of a class of strings, such as NumPy's
        words[n - 1] = str(int(word)) if is_number else str(word)
    text, most = " ".join(words), {"docno": MAX_DOCNO, "topic": MAX_TOPIC}.get(field, MAX_NAME)
    is_usual = len(text.split()) == len(words) and "\0" not in text
    if is_usual and max(map(len, words), default=0) * 4 <= most:  # a character has at most four bytes
        return words
    for n, word in enumerate(words, 1):
        if len(word.split()) != 1 or "\0" in word or len(word.encode(errors="replace")) > most:
            _refuse(name, n, f"the {field} {word[:40]!r}", f"text of 1 to {most} bytes without white space")
    return words


def _numbers(column: Column | NDArray[Any], field: str, name: str) -> NDArray[np.float64]:
    """Numbers that are finite."""
    try:
        numbers = np.asarray(column, dtype=np.float64)
        wrong = int(np.argmin(np.isfinite(numbers))) if not np.isfinite(numbers).all() else -1
    except (TypeError, ValueError):
        wrong = next(n for n, value in enumerate(column) if not isinstance(value, (int, float, np.number)))
    if wrong >= 0:
        _refuse(name, wrong + 1, f"the {field} {column[wrong]!r}", "a finite number")
    return numbers


def _refuse(name: str, n: int, cell: str, accepted: str) -> NoReturn:
    raise InputError(f"{name}: row {n}: {cell} cannot be used; use {accepted}")


def _worded_for_rows(text: str) -> str:
    """A message about lines of a file, for rows in memory."""
    return text.replace("line ", "row ").replace("lines ", "rows ")
