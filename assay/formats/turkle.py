"""Moves a project of Turkle: its template becomes a protocol, its batches rows, and its results judgments.

Turkle's results have a line for each assignment, with the columns of `COLUMNS`, those of the batch as `Input.*` and the
fields of the form as `Answer.*`. Its template is shown as it is, in a frame. Controls that Assay can check become
questions: radio buttons and lists one-of, check boxes any-of, numbers and texts. All others are stored as given.
"""

import ast
import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from assay.errors import InputError
from assay.formats.moving import MovedRow, Project, choices_of, lab_toml
from assay.formats.rows import MEAN, NAME, ONE_TOPIC
from assay.formats.spreadsheet import BOM, csv_lines
from assay.protocols.form_rules import FIELD, KEY, ROW_COLUMNS
from assay.protocols.questions import MAX_CHARACTERS, NUMBER
from assay.protocols.schema import ANSWERED, FormRules
from assay.templates import Control, Template, read_template

COLUMNS = (
    "HITId", "HITTypeId", "Title", "CreationTime", "MaxAssignments", "AssignmentDurationInSeconds", "AssignmentId",
    "WorkerId", "AcceptTime", "SubmitTime", "WorkTimeInSeconds",
)  # fmt: skip
INPUT, ANSWER, USERNAME = "Input.", "Answer.", "Turkle.Username"
TIME = "%a %b %d %H:%M:%S UTC %Y"
MAX_CELL = 16 << 20


def read_table(text: str, name: str) -> list[dict[str, str]]:
    """The rows of a CSV file of Turkle.

    Raises:
        InputError: It is not CSV, or a row has another number of columns.
    """
    limit = csv.field_size_limit(MAX_CELL)
    try:
        reader = csv.reader(StringIO(text.removeprefix(BOM), newline=""), strict=True)
        header = next(reader, [])
        rows = []
        for cells in reader:
            if cells and len(cells) != len(header):
                problem = f"expected {len(header)} columns as in the header, got {len(cells)}"
                raise InputError(f"{name}: line {reader.line_num}: {problem}")
            rows += [dict(zip(header, cells, strict=True))] if any(cells) else []
    except csv.Error as error:
        cut = "; Turkle's API cuts results with letters outside ASCII: download them on the page of the batch"
        hint = cut if "unexpected end" in str(error) else ""
        raise InputError(f"{name}: line {reader.line_num}: not a row of a table: {error}{hint}") from None
    finally:
        csv.field_size_limit(limit)
    if not header or len(set(header)) < len(header):
        raise InputError(f"{name}: line 1: the header is missing, or names a column twice")
    return rows


def move(
    html: str,
    *,
    slug: str,
    title: str,
    batches: Mapping[str, Sequence[Mapping[str, str]]],
    results: Mapping[str, Sequence[Mapping[str, str]]],
) -> Project:
    """Make a lab of a project.

    Args:
        batches: the rows of each batch, as they were published, by a name of the batch.
        results: those of its results, by the same names. Without its rows, those in its results are used.

    Raises:
        InputError: A column cannot be a field, or results are of no row of their batch.
    """
    template = read_template(html)
    given = {name: rows or _inputs(results[name]) for name, rows in batches.items()}
    given |= {name: _inputs(rows) for name, rows in results.items() if name not in given}
    columns = list(dict.fromkeys(column for rows in given.values() for row in rows for column in row))
    fields = _fields(columns, template)
    rows, places = _rows(given, fields)
    judges = max((int(row.get("MaxAssignments") or 1) for of in results.values() for row in of), default=1)
    questions, notes = questions_of(template)
    judged = [
        judgment
        for name, of in results.items()
        for judgment in _judgments(
            name, of, fields, places, {each["key"]: each for each in questions}, judges
        )
    ]
    form = FormRules(tuple(fields), html, frame=True)
    protocol = lab_toml(slug, title, form, questions, source="A project of Turkle.", judges=judges)
    return Project(protocol, rows, judged, [*notes, *_notes(template)])


def _inputs(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The rows in results, one for each task, in the order of the tasks."""
    of_task: dict[str, dict[str, str]] = {}
    for row in rows:
        inputs = {name.removeprefix(INPUT): text for name, text in row.items() if name.startswith(INPUT)}
        of_task.setdefault(row.get("HITId", str(len(of_task))), inputs)
    in_order = sorted(of_task, key=lambda task: (not task.isdecimal(), task.zfill(20)))
    return [of_task[task] for task in in_order]


def _fields(columns: Sequence[str], template: Template) -> list[str]:
    """The fields of the protocol: the columns of the batches, and variables that none of them has."""
    wrong = [name for name in columns if not FIELD.fullmatch(name)]
    if wrong:
        raise InputError(
            f"the column {wrong[0]!r} cannot be a field; rename it in the template and the batch"
        )
    lacking = [place for place in template.variables if place.name not in (*columns, *ROW_COLUMNS)]
    if lacking and columns:
        place = lacking[0]
        raise InputError(f"line {place.line} of the template: no batch has the column {place.name}")
    return [
        name
        for name in dict.fromkeys([*columns, *(place.name for place in lacking)])
        if name not in ROW_COLUMNS
    ]


Values = tuple[str, ...]


def _rows(
    batches: Mapping[str, Sequence[Mapping[str, str]]], fields: Sequence[str]
) -> tuple[list[MovedRow], dict[tuple[str, Values], list[MovedRow]]]:
    """The rows of all batches, numbered in one sequence, and where each is by its batch and values."""
    rows: list[MovedRow] = []
    places: defaultdict[tuple[str, Values], list[MovedRow]] = defaultdict(list)
    for name, of_batch in batches.items():
        for row in of_batch:
            topic, docno = row.get("topic", ""), row.get("docno", "")
            moved = MovedRow(
                topic if NAME.fullmatch(topic) and topic != MEAN else ONE_TOPIC,
                docno if NAME.fullmatch(docno) else str(len(rows) + 1),
                {column: row.get(column, "") for column in fields},
            )
            rows.append(moved)
            places[name, _values(row)].append(moved)
    return rows, places


def _values(row: Mapping[str, str]) -> Values:
    return tuple(f"{column}={row[column]}" for column in sorted(row))


def _judgments(
    batch: str,
    results: Iterable[Mapping[str, str]],
    fields: Sequence[str],
    places: Mapping[tuple[str, Values], Sequence[MovedRow]],
    questions: Mapping[str, Mapping[str, Any]],
    judges: int,
) -> Iterator[dict[str, str]]:
    """The judgments of a batch. Tasks with equal rows are distinguished by their ids."""
    tasks: defaultdict[Values, dict[str, int]] = defaultdict(dict)
    for number, row in enumerate(results, 2):
        values = _values(
            {name.removeprefix(INPUT): text for name, text in row.items() if name.startswith(INPUT)}
        )
        of_values = tasks[values]
        place = of_values.setdefault(row.get("HITId", ""), len(of_values))
        known = places.get((batch, values), ())
        if place >= len(known):
            raise InputError(
                f"the results of {batch}: row {number} is of no row of the batch; check its columns"
            )
        answers = {
            name.removeprefix(ANSWER): answer
            for name, text in row.items()
            if name.startswith(ANSWER)
            and (answer := answer_of(text, questions.get(name.removeprefix(ANSWER))))
        }
        yield {
            "batch": batch,
            "kind": "dual" if judges > 1 else "main",
            "topic": known[place].topic,
            "docno": known[place].docno,
            "assessor": row.get(USERNAME) or row.get("WorkerId", ""),
            "choice": ANSWERED.key,
            "answers": json.dumps(answers, ensure_ascii=False),
            "accepted_at": row.get("AcceptTime", ""),
            "judged_at": row.get("SubmitTime", ""),
            "seconds": row.get("WorkTimeInSeconds", ""),
            "source": "turkle",
        }


def answer_of(text: str, question: Mapping[str, Any] | None) -> str | list[str]:
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
    has_keys = len(control.options) >= 2 and all(KEY.fullmatch(value) for value in control.options)
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


def _notes(template: Template) -> Iterator[str]:
    for line in template.scripts:
        yield f"line {line}: a script, which runs in the frame without access to the site or to other hosts"
    for url, line in template.outside:
        yield f"line {line}: {url[:100]} is of another host and is not loaded; put it into the template"


def results_lines(
    inputs: Sequence[str], answers: Sequence[str], rows: Iterable[Mapping[str, object]]
) -> Iterator[str]:
    """The lines of results as Turkle writes them: all cells quoted, inputs and answers sorted.

    Unlike Turkle, a text that a spreadsheet would run gets an apostrophe, and several values of a name have bars
    between them.

    Args:
        rows: by column.
    """
    header = [
        *COLUMNS,
        *(INPUT + name for name in sorted(inputs)),
        *(ANSWER + name for name in sorted(answers)),
    ]
    header.append(USERNAME)
    cells = ([_cell(row.get(column)) for column in header] for row in rows)
    return csv_lines(header, cells, is_quoted=True)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return "|".join(" = ".join(item) if isinstance(item, list) else str(item) for item in value)
    return "" if value is None else str(value)
