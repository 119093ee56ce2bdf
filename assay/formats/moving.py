"""Projects of other tools as labs of Assay: a protocol, the rows that it shows, and the judgments of them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import InputError
from assay.formats.spreadsheet import BOM, as_csv, csv_lines
from assay.protocols.form_rules import ROW_COLUMNS
from assay.protocols.loader import parse_protocol
from assay.protocols.qrels import HIGHEST_GRADE
from assay.protocols.schema import FormRules

JUDGMENTS = (
    "batch", "kind", "topic", "docno", "assessor", "choice", "answers", "accepted_at", "judged_at", "seconds", "source",
)  # fmt: skip
LAB_FILE, ROWS_FILE, JUDGMENTS_FILE = "lab.toml", "rows.csv", "judgments.csv"
LINE_BREAK = re.compile("[\r\n]+")
SKIPPED = "skipped"  # the non-answer of a task that somebody skipped


class MovedRow(NamedTuple):
    """A row under the name that it gets."""

    topic: str
    docno: str
    fields: dict[str, str]


@dataclass
class Project:
    """A project of another tool as a lab of Assay. `notes` say what a person should know about it, with lines.

    `places` has the file and the line of each judgment, if they are known.
    """

    protocol: str
    rows: list[MovedRow]
    judgments: list[dict[str, str]]
    notes: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


def choices_of(options: Mapping[str, str], *, has_values: bool) -> list[dict[str, Any]]:
    """The choices of a question, of labels by key. Numbers are grades, if all are numbers."""
    labels = [" ".join(label.split()) or value for value, label in options.items()]
    has_labels = len(set(labels)) == len(labels)
    are_grades = has_values and all(re.fullmatch(r"\d{1,3}", value) for value in options)
    choices: list[dict[str, Any]] = [
        {"key": value, "label": label if has_labels else value}
        for value, label in zip(options, labels, strict=True)
    ]
    numbers = [int(value) for value in options] if are_grades else []
    if numbers and len(set(numbers)) == len(numbers) and max(numbers) <= HIGHEST_GRADE:
        choices = [choice | {"value": number} for choice, number in zip(choices, numbers, strict=True)]
    return choices


def lab_toml(
    slug: str,
    title: str,
    form: FormRules,
    questions: Sequence[Mapping[str, Any]],
    *,
    source: str,
    judges: int,
    can_skip: bool = False,
) -> str:
    """The protocol of rows that a form shows."""
    lines = [
        f"slug = {_string(slug)}",
        f"title = {_string(title)}",
        f"source = {_string(source)}",
        'unit = "document"',
        'pool = { strategy = "rows" }',
        "",
        "[judging]",
        'layout = "form"',
        f"judges = {judges}",
    ]
    if can_skip:
        skipped = {"key": SKIPPED, "label": "Skip", "definition": "The task cannot be judged."}
        lines.append(f"non_answer = {_value([skipped])}")
    for question in questions:
        lines += ["", "[[judging.question]]"]
        lines += [f"{key} = {_value(value)}" for key, value in question.items()]
    lines += ["", "[judging.form]", f"fields = {_value(list(form.fields))}", *["frame = true"] * form.frame]
    escaped = form.html.replace("\r\n", "\n").replace("\\", "\\\\").replace('"""', '""\\"')
    lines.append(f'html = """\n{escaped}"""')
    # The sets of qrels: one for each question with grades.
    if judges > 1:
        lines += ["", "[qrels]", 'aggregate = "majority"']
    for question in questions:
        if question.get("choice") and "value" in question["choice"][0]:
            key = re.sub(r"[^a-z0-9]+", "-", question["key"].lower()).strip("-")[:40]
            lines += ["", "[[qrels.set]]", f"key = {_string(key)}", f"question = {_string(question['key'])}"]
            lines.append(f"aggregate = {_string('majority' if judges > 1 else 'single')}")
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_value(item)}' for key, item in value.items())} }}"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def rows_csv(project: Project) -> str:
    """The table of the rows, for the import of rows."""
    fields = list(project.rows[0].fields) if project.rows else []
    rows = ([row.topic, row.docno, *row.fields.values()] for row in project.rows)
    return as_csv([*ROW_COLUMNS, *fields], rows, line_end="\n")


def judgments_csv(project: Project) -> str:
    """The judgments, for the import of judgments, each in one line."""
    rows = ([LINE_BREAK.sub(" ", judgment[name]) for name in JUDGMENTS] for judgment in project.judgments)
    return BOM + "".join(csv_lines(JUDGMENTS, rows))


def slug_of(folder: Path, *, otherwise: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or otherwise


def make_folder(folder: Path) -> None:
    """Make a folder that is not there.

    Raises:
        InputError: It is there already.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"{folder} is there already; name a new folder") from None


def write_project(folder: Path, project: Project) -> None:
    """Write protocol, rows and judgments into a folder that is not there.

    Raises:
        InputError: The folder is there, or the protocol has an error.
    """
    parse_protocol(project.protocol, name=LAB_FILE)
    make_folder(folder)
    (folder / LAB_FILE).write_text(project.protocol, encoding="utf-8")
    (folder / ROWS_FILE).write_text(rows_csv(project), encoding="utf-8", newline="")
    if project.judgments:
        (folder / JUDGMENTS_FILE).write_text(judgments_csv(project), encoding="utf-8", newline="")
