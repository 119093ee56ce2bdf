"""The units that a program judges, from files, and what it gets about each of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.formats.compression import ANY_SIZE, UnpackedFile, opened, read_file
from assay.formats.documents.batch import Unusable
from assay.formats.documents.jsonl import docno_of, text_of, with_usual_names
from assay.formats.rows import read_rows
from assay.formats.text import lines_of, read_text
from assay.formats.topics.reader import TopicRow, read_topics
from assay.formats.topics.subtopics import labels_of
from assay.html.sanitize import clean_body, clean_text, clean_title, plain
from assay.protocols.pair_rules import on_sides
from assay.protocols.questions import choices_of, questions_for
from assay.protocols.schema import FormRules, JudgingRules
from assay.protocols.units import documents_of

BLOCK = 1 << 20
NAMED = 5  # of things that are missing


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit to judge, and its line in the file of units. `row` has the fields of a row of a table."""

    topic: str
    docno: str
    line: int
    row: Mapping[str, str] | None = None

    def sides(self, assessor: str) -> tuple[str, str]:
        """The documents of a pair on the left and on the right, drawn for each assessor.

        Raises InputError: the unit is a single document.
        """
        pair = documents_of(self.docno)
        if pair is None:
            raise InputError(
                f"line {self.line} of the units: {self.docno} is no pair of documents, such as d12|d7"
            )
        is_turned = sha256(f"{self.topic} {self.docno} {assessor}".encode()).digest()[0] % 2 == 1
        return (pair[1], pair[0]) if is_turned else pair


@dataclass(frozen=True, slots=True)
class Text:
    """Title and body of a document, as clean HTML."""

    title: str
    body: str


NO_TEXT = Text("", "")


def read_units(path: str) -> list[Unit]:
    """The units of a pool, in the order of judging: topic, docno and position, separated by tabs.

    Raises InputError: a line has other columns, or there are no units.
    """
    units: dict[tuple[str, str], tuple[int, Unit]] = {}
    for number, line in enumerate(lines_of(read_text(path)), 1):
        cells = line.split("\t")
        if not line.strip():
            continue
        if len(cells) < 2 or not cells[0].strip() or not cells[1].strip():
            raise InputError(f"{path}: line {number}: expected topic, docno and position, separated by tabs")
        topic, docno = cells[0].strip(), cells[1].strip()
        position = int(cells[2]) if len(cells) > 2 and cells[2].strip().isdigit() else number
        units.setdefault((topic, docno), (position, Unit(topic, docno, number)))
    if not units:
        raise InputError(f"{path}: the file contains no units")
    order = {topic: n for n, topic in enumerate(dict.fromkeys(topic for topic, _ in units))}
    rows = sorted(units.values(), key=lambda row: (order[row[1].topic], row[0]))
    return [unit for _, unit in rows]


def read_table(path: str, rules: FormRules) -> list[Unit]:
    """The rows of a table as units, in its order.

    Raises:
        InputError: The file cannot be read.
        BadRows: The table has errors, each with its line.
    """
    rows = read_rows(read_file(path), Path(path).name, fields=rules.fields)
    return [
        Unit(row.topic, row.docno, row.line, row.fields | {"topic": row.topic, "docno": row.docno})
        for row in rows
    ]


def read_topics_of(path: str, units: Sequence[Unit], *, is_formula: bool) -> dict[str, TopicRow]:
    """The topics of a file, by code. `is_formula`: a line with a tab ends with a formula, not a title.

    Raises InputError: the file cannot be used, or the topic of a unit is not in it.
    """
    read = read_topics(read_file(path), Path(path).name, is_formula=is_formula)
    topics = {topic.code: topic for topic in read}
    _check_known(path, "topic", [(unit.topic, unit) for unit in units], topics)
    return topics


def read_documents(path: str, units: Sequence[tuple[str, Unit]]) -> dict[str, Text]:
    """The documents named by units, from lines of JSON as collections are imported; other documents are skipped.

    Raises InputError: a line is not a document, or the document of a unit is not in the file.
    """
    wanted = {docno for docno, _ in units}
    documents: dict[str, Text] = {}
    for number, line in _lines(path):
        try:
            row = json.loads(line)
            row = with_usual_names(row) if isinstance(row, dict) else {}
            docno = docno_of(row.get("docno")) if row else ""
            if docno in wanted:
                if (body := row.get("body")) is None:
                    clean = clean_text(text_of(row.get("text"), "text"))
                else:
                    clean = clean_body(text_of(body, "body"))
                documents[docno] = Text(clean_title(text_of(row.get("title"), "title")), clean)
        except (ValueError, RecursionError):
            raise InputError(f"{path}: line {number}: not a JSON object in UTF-8") from None
        except Unusable as problem:
            raise InputError(f"{path}: line {number}: {problem}") from None
        if not docno:
            raise InputError(f"{path}: line {number}: not a JSON object")
    _check_known(path, "document", units, documents)
    return documents


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that may be larger than the memory, with their numbers."""
    rest, number = b"", 0
    with opened(path, ANY_SIZE) as source:
        file = UnpackedFile(source, path)
        while block := file.read(BLOCK):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                number += 1
                if line.strip():
                    yield number, line
    if rest.strip():
        yield number + 1, rest


def _check_known(
    path: str, kind: str, named: Sequence[tuple[str, Unit]], known: Mapping[str, object]
) -> None:
    missing = {name: unit for name, unit in reversed(named) if name not in known}
    if missing:
        first = [f"{name} (line {unit.line} of the units)" for name, unit in sorted(missing.items())[:NAMED]]
        more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
        raise InputError(f"{path}: no {kind} {', '.join(first)}{more}")


def question(
    unit: Unit,
    topic: TopicRow,
    documents: Mapping[str, Text],
    rules: JudgingRules,
    *,
    guidelines: str,
    is_html: bool,
    assessor: str,
) -> dict[str, Any]:
    """Return what the program gets about a unit, as plain values for JSON."""
    shown = str if is_html else plain
    document, own = documents.get(unit.docno, NO_TEXT), dict[str, Any]()
    if rules.judged.has_votes:
        sides = unit.sides(assessor)
        rules = on_sides(rules, *sides)
        texts = [(docno, documents[docno]) for docno in sides]
        own["pair"] = [
            {"docno": docno, "title": shown(text.title), "text": shown(text.body)} for docno, text in texts
        ]
    elif unit.row is not None:
        own["row"] = dict(unit.row)
    return {
        "topic": unit.topic,
        "title": shown(topic.title),
        "description": shown(topic.body),
        "narrative": shown(topic.narrative),
        "scenario": shown(clean_text(topic.scenario)),
        "criteria": shown(clean_text(topic.criteria)),
        "docno": unit.docno,
        "document_title": shown(document.title),
        "text": shown(document.body),
        **own,
        "guidelines": guidelines,
        **choices_of(
            rules,
            questions_for(rules, labels=topic.labels, subtopics=labels_of(topic.subtopics)),
            unit.docno,
        ),
    }
