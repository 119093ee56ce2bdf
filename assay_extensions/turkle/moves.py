"""Moves a project of Turkle: its template becomes a protocol, its batches rows, and its results judgments.

Turkle's results have a line for each assignment, with the columns that `assay.formats.judgments.turkle` writes. The
template is shown as it is, in a frame. Controls that Assay can check become questions: radio buttons and lists one-of,
check boxes any-of, numbers and texts. All others are stored as given.
"""

import ast
import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.errors import InputError, plural
from assay.formats.judgments.turkle import ANSWER, INPUT, USERNAME
from assay.formats.moving import MovedRow, Project, choices_of, lab_toml
from assay.formats.rows import MAX_CELL as LONGEST
from assay.formats.rows import MEAN, NAME, ONE_TOPIC, SHOWN
from assay.formats.spreadsheet import BOM, long_cells
from assay.protocols.form_rules import FIELD, KEY, ROW_COLUMNS, VALUE, frame_complaints
from assay.protocols.questions import MAX_CHARACTERS, NUMBER
from assay.protocols.schema import ANSWERED, FormRules
from assay.templates import Control, Template, read_template

NO_WORKER = (
    f"{USERNAME} and WorkerId are empty: judged without login; write a name for each worker into {USERNAME}"
)
MAX_CELL = 16 << 20
MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|&(?:[A-Za-z]{2,31}|#\w{1,7});")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")

Report = Callable[[int], None]  # with the number of lines that are done


def silent(_done: int) -> None:
    """Report nothing."""


class Line(NamedTuple):
    """A row of a table: the line at which it begins, and its cells by column."""

    number: int
    cells: dict[str, str]


class Table(NamedTuple):
    """A CSV file of Turkle: the rows of a batch, or results."""

    name: str
    columns: list[str]
    lines: list[Line]

    @property
    def is_results(self) -> bool:
        """True if it has assignments, not tasks."""
        return {"HITId", "AssignmentId"} <= set(self.columns)

    @property
    def inputs(self) -> list[str]:
        """The columns of a batch, also of one in results."""
        return [
            name.removeprefix(INPUT) for name in self.columns if name.startswith(INPUT) or not self.is_results
        ]


def read_table(text: str, name: str) -> Table:
    """A CSV file of Turkle.

    Raises:
        InputError: It is not CSV, or rows have another number of columns.
    """
    lines: list[Line] = []
    ragged: list[tuple[int, str]] = []
    try:
        with long_cells(MAX_CELL):
            content = (line[0] for line in LINE.finditer(text.removeprefix(BOM)))
            reader = csv.reader(content, strict=True)  # StringIO would take four bytes for each character
            header = next(reader, [])
            begin = reader.line_num + 1
            for cells in reader:
                if cells and len(cells) != len(header):
                    expected = f"expected {plural(len(header), 'column')} as in the header"
                    ragged.append((begin, f"{expected}, got {len(cells)}"))
                elif any(cells):
                    lines.append(Line(begin, dict(zip(header, cells, strict=True))))
                begin = reader.line_num + 1
    except csv.Error as error:
        cut = "; Turkle's API cuts results with letters outside ASCII: download them on the page of the batch"
        hint = cut if "unexpected end" in str(error) else ""
        raise InputError(f"{name}: line {reader.line_num}: not a row of a table: {error}{hint}") from None
    if not header or len(set(header)) < len(header):
        raise InputError(f"{name}: line 1: the header is missing, or names a column twice")
    _refuse(name, ragged)
    return Table(name, header, lines)


def _refuse(name: str, problems: Sequence[tuple[int, str]]) -> None:
    """Raise an InputError with the first problems of a file, each with its line, if there are any."""
    lines = [f"{name}: line {line}: {problem}" for line, problem in problems[:SHOWN]]
    if more := len(problems) - len(lines):
        lines.append(f"{name}: and {more:,} more lines")
    if lines:
        raise InputError("\n".join(lines))


def move(
    html: str,
    *,
    name: str,
    slug: str,
    title: str,
    batches: Mapping[str, Table],
    results: Mapping[str, Table],
    report: Report = silent,
) -> Project:
    """Make a lab of a project.

    Args:
        html: its template, in the file `name`.
        batches: the rows of each batch, as they were published, by a name of the batch.
        results: those of its results, by the same names. Without its rows, those in its results are used.
        report: is called with the number of rows and results that were read.

    Raises:
        InputError: A column cannot be a field, or results are of no row of their batch.
    """
    template = read_template(html)
    _refuse(name, list(frame_complaints(template)))
    without_batch = {batch: _inputs(table) for batch, table in results.items() if batch not in batches}
    tables = {**batches} | without_batch
    fields = _fields(tables.values(), template, name)
    rows, places = _rows(tables, fields)
    lines = (line for table in results.values() for line in table.lines)
    numbers = (line.cells.get("MaxAssignments", "") for line in lines)
    judges = max((int(n) if n.isdecimal() and len(n) < 10 else 1 for n in numbers), default=1)
    questions, notes = questions_of(template)
    by_key = {question["key"]: question for question in questions}
    judged: list[tuple[str, dict[str, str]]] = []
    for batch, table in results.items():
        for judgment in _judgments(batch, table, places, by_key, judges):
            judged.append(judgment)
            report(len(rows) + len(judged))
    form = FormRules(tuple(fields), html, frame=True)
    protocol = lab_toml(slug, title, form, questions, source="A project of Turkle.", judges=judges)
    return Project(
        protocol,
        rows,
        [judgment for _, judgment in judged],
        [
            *notes,
            *_notes_on_values(tables.values(), template),
            *(
                f"line {line}: a script, which runs in the frame without access to the site or to other hosts"
                for line in template.scripts
            ),
            *(
                f"line {line}: {url[:100]} is of another host and is not loaded; put it into the template"
                for url, line in template.outside
            ),
        ],
        [place for place, _ in judged],
    )


def _notes_on_values(batches: Iterable[Table], template: Template) -> Iterator[str]:
    """Note columns that the template does not show, and HTML in values, which are text here."""
    shown, raw = {place.name for place in template.variables}, {place.name for place in template.raw}
    for table in batches:
        unused = [column for column in table.inputs if column not in shown and column not in ROW_COLUMNS]
        if unused:
            yield f"{table.name}: the template does not show {', '.join(unused)}; stored with the rows"
        for column in (column for column in table.columns if column in shown - raw):
            n = sum(MARKUP.search(line.cells[column]) is not None for line in table.lines)
            if n:
                yield (
                    f"{table.name}: {column} has HTML in {plural(n, 'row')}, which is shown as text; write "
                    f"${{{column}|raw}} in the template to show it as HTML"
                )


def _inputs(results: Table) -> Table:
    """The rows in results, one for each task, in the order of the tasks."""
    of_task: dict[str, Line] = {}
    for line in results.lines:
        cells = {
            name.removeprefix(INPUT): text for name, text in line.cells.items() if name.startswith(INPUT)
        }
        of_task.setdefault(line.cells.get("HITId", str(len(of_task))), Line(line.number, cells))
    in_order = sorted(of_task, key=lambda task: (not task.isdecimal(), task.zfill(20)))
    return Table(results.name, results.inputs, [of_task[task] for task in in_order])


def _fields(batches: Iterable[Table], template: Template, name: str) -> list[str]:
    """The fields of the protocol: the columns of the batches, and variables that none of them has."""
    columns: dict[str, str] = {}  # each with the first file that has it
    for table in batches:
        for column in table.columns:
            columns.setdefault(column, table.name)
    for column, file in columns.items():
        if not FIELD.fullmatch(column):
            problem = f"the column {column!r} cannot be a field; rename it in the template and the batch"
            raise InputError(f"{file}: line 1: {problem}")
    lacking = [place for place in template.variables if place.name not in (*columns, *ROW_COLUMNS)]
    if lacking and columns:
        place = lacking[0]
        raise InputError(f"{name}: line {place.line}: no batch has the column {place.name}")
    names = dict.fromkeys([*columns, *(place.name for place in lacking)])
    return [name for name in names if name not in ROW_COLUMNS]


Values = tuple[str, ...]


def _rows(
    batches: Mapping[str, Table], fields: Sequence[str]
) -> tuple[list[MovedRow], dict[tuple[str, Values], list[MovedRow]]]:
    """The rows of all batches, numbered in one sequence, and where each is by its batch and values."""
    rows: list[MovedRow] = []
    places: defaultdict[tuple[str, Values], list[MovedRow]] = defaultdict(list)
    place_of: dict[tuple[str, str], str] = {}
    for name, table in batches.items():
        for number, row in table.lines:
            topic, docno = row.get("topic", ""), row.get("docno", "")
            moved = MovedRow(
                topic if NAME.fullmatch(topic) and topic != MEAN else ONE_TOPIC,
                docno if NAME.fullmatch(docno) else str(len(rows) + 1),
                {column: row.get(column, "") for column in fields},
            )
            place = f"{table.name}: line {number}"
            if long := next((column for column, text in row.items() if len(text) > LONGEST), ""):
                raise InputError(f"{place}: {long} has {len(row[long]):,} characters; at most {LONGEST:,}")
            if (first := place_of.setdefault(moved[:2], place)) != place:
                raise InputError(f"{place}: {moved.topic} {moved.docno} is there already, in {first}")
            rows.append(moved)
            places[name, _values(row)].append(moved)
    return rows, places


def _values(row: Mapping[str, str]) -> Values:
    return tuple(f"{column}={row[column]}" for column in sorted(row))


def _judgments(
    batch: str,
    results: Table,
    places: Mapping[tuple[str, Values], Sequence[MovedRow]],
    questions: Mapping[str, Mapping[str, object]],
    judges: int,
) -> Iterator[tuple[str, dict[str, str]]]:
    """The judgments of a batch, each with its place. Tasks with equal rows are distinguished by their ids."""
    tasks: defaultdict[Values, dict[str, int]] = defaultdict(dict)
    without_worker: list[tuple[int, str]] = []
    for number, row in results.lines:
        values = _values(
            {name.removeprefix(INPUT): text for name, text in row.items() if name.startswith(INPUT)}
        )
        of_values = tasks[values]
        n = of_values.setdefault(row.get("HITId", ""), len(of_values))
        if not (worker := row.get(USERNAME) or row.get("WorkerId", "")):
            without_worker.append((number, NO_WORKER))
        known, place = places.get((batch, values), ()), f"{results.name}: line {number}"
        if n >= len(known):
            raise InputError(f"{place}: of no row of the batch {batch}; check its columns")
        answers = {
            name.removeprefix(ANSWER): answer
            for name, text in row.items()
            if name.startswith(ANSWER)
            and (answer := answer_of(text, questions.get(name.removeprefix(ANSWER))))
        }
        yield (
            place,
            {
                "batch": batch,
                "kind": "dual" if judges > 1 else "main",
                "topic": known[n].topic,
                "docno": known[n].docno,
                "assessor": worker,
                "choice": ANSWERED.key,
                "answers": json.dumps(answers, ensure_ascii=False),
                "accepted_at": row.get("AcceptTime", ""),
                "judged_at": row.get("SubmitTime", ""),
                "seconds": row.get("WorkTimeInSeconds", ""),
                "source": "turkle",
            },
        )
    _refuse(results.name, without_worker)


def answer_of(text: str, question: Mapping[str, object] | None) -> str | list[str]:
    """An answer of results. Turkle writes several values of a name as Python would, and Mechanical Turk with bars.

    >>> answer_of("['a', 'b']", None), answer_of("a|b", {"kind": "any-of"}), answer_of("x", None)
    (['a', 'b'], ['a', 'b'], 'x')
    """
    is_list = question is not None and question["kind"] == "any-of"
    if re.match(r"\[['\"]", text) and len(text) < MAX_CELL:
        try:
            values = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            values = text
        if isinstance(values, list) and all(isinstance(value, str) for value in values):
            return values
    if is_list:
        return [value for value in text.split("|") if value]
    return text


def questions_of(template: Template) -> tuple[list[dict[str, Any]], list[str]]:
    """The questions that the controls of a template become, and which ones do not."""
    questions, notes = [], []
    if not template.controls:
        notes.append("no control has a name; what scripts add is stored as given, and nothing checks it")
    for control in template.controls.values():
        question = _question(control)
        place = f"line {control.line}: {control.name} ({control.kind})"
        if question is None:
            notes.append(f"{place} is stored as given; nothing checks it")
        else:
            questions.append(question)
            notes.append(f"{place} is the question {question['key']}, {question['kind']}")
    return questions, notes


def _question(control: Control) -> dict[str, Any] | None:
    kinds = {"radio": "one-of", "checkbox": "any-of", "number": "number", "text": "text", "textarea": "text"}
    kind = kinds.get(control.kind)
    is_closed = kind in {"one-of", "any-of"}
    values = control.options  # Mechanical Turk separates several by bars
    has_keys = len(values) >= 2 and all(VALUE.fullmatch(value) and "|" not in value for value in values)
    if kind is None or not KEY.fullmatch(control.name) or (is_closed and not has_keys):
        return None
    question: dict[str, Any] = {"key": control.name, "label": control.name, "kind": kind}
    if not control.is_required:
        question["required"] = False
    if is_closed:
        question["choice"] = choices_of(control.options, has_values=kind == "one-of")
    limits = {"number": {"min": "min", "max": "max"}, "text": {"maxlength": "max_characters"}}.get(kind, {})
    for name, key in limits.items():
        text = control.limits.get(name, "")
        if NUMBER.fullmatch(text) and (key != "max_characters" or 1 <= float(text) <= MAX_CHARACTERS):
            question[key] = int(text) if "." not in text else float(text)
    return question
