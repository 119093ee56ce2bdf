"""Reads topic files and label files completely, and reports all errors before anything is imported.

Topics in XML: `<Topics><Topic number="A.9"><Title/><Question/><Tags/></Topic>...`, for formulas also `<Formula_Id/>`
and `<Latex/>`. An attribute `thread` or `post_id` names the topic's own question. `assay.formats.topics.ntcir` reads
the topics of NTCIR's MathIR tasks, `assay.formats.topics.bolt` those of BOLT IR, and `assay.formats.topics.trec` those
of TREC. The file may be compressed.

Topics in JSON lines: `code`, `title`, `body` (HTML) or `text` (plain), `narrative` (HTML), `tags` (list), `labels`
(object), `thread`, `formula_id`, `latex`, `scenario` and `criteria` (plain text), `subtopics` (list), `known_item`
(a docno), and `source`, the element of a topic of BOLT. Only `code` is required.

A JSON array has the same objects, or the conversations of TREC CAsT (`assay.formats.topics.tables`).

Known items: a topic and a docno per line; or a topic, a column that is ignored, a docno and a grade, as in qrels.

Labels: a CSV file with the topic's code in the first column and the labels in the others, under a header; a JSON object
of objects: `{"A.9": {"category": "proof"}}`; or topics in XML or JSON lines. Upper and lower case count as equal in
labels and values.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from lxml import etree

from assay.errors import BadFile, plural
from assay.formats import names
from assay.formats.compression import Limits, is_packed, unpack
from assay.formats.documents.batch import MAX_NAME, Malformed, Unusable, limited
from assay.formats.documents.jsonl import docno_of, tags_of, text_of
from assay.formats.markup import xml_root
from assay.formats.text import decoded, lines_of
from assay.formats.topics import bolt, ntcir, tables, trec
from assay.formats.topics.subtopics import Subtopics, subtopics_of
from assay.html.latex import unescaped
from assay.html.sanitize import clean_body, clean_text, clean_title, without_controls

MAX_SIZE = 50 * 2**20  # bytes of a topic file
MAX_CODE = 100  # bytes, as in runs and qrels
_NUMBER = re.compile(r"(?<![0-9])[0-9]+$")
MEAN = "all"  # the name of the mean in tables of scores, in the column of topics
MAX_COMPLAINTS = 20  # in a message for people
MAX_ERRORS = 1_000  # for programs
SPLIT = "split"  # the column of a label file beyond the labels
ACCEPTED = (
    f"A topic file contains <Topics>, <{bolt.ROOT}>, or TREC's <top> or <topic>; or one JSON object per line or an "
    "array of them; or a table with a header; or a code, a tab and a text per line."
)
_TOPIC_FILES = frozenset({".xml", ".jsonl", ".ndjson"})
_CODE = re.compile(r"\S+")
_PLACED = re.compile(r"line (\d+): ")
_MARKUP = re.compile(r"<[^<>]*>")
_TAG_OF_TEXT = re.compile(
    r"</?(?:p|br|div|span|em|strong|ul|ol|li|blockquote|pre|code)(?:\s[^<>]*)?/?>", re.IGNORECASE
)
_DOLLARS = re.compile(r"\$+")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class TopicRow:
    """A topic of a file, with sanitized texts."""

    line: int
    code: str
    title: str = ""
    body: str = ""
    narrative: str = ""
    scenario: str = ""  # plain text, as are the criteria
    criteria: str = ""
    tags: tuple[str, ...] = ()
    thread: str = ""
    formula_id: str = ""
    latex: str = ""
    known_item: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    subtopics: Subtopics = ()  # as `assay.formats.topics.subtopics` describes them
    split: str = ""  # such as train or test
    source: str = ""


class BadTopics(BadFile):
    """A topic or label file has errors, and nothing is imported: the message lists the first, `errors` has more."""

    title = "These topics cannot be imported"

    def __init__(self, name: str, complaints: Iterable[str]) -> None:
        shown = list(complaints)
        more = [f"and {len(shown) - MAX_COMPLAINTS} more"] if len(shown) > MAX_COMPLAINTS else []
        lines = [f"{name} has errors, so nothing was imported:", *shown[:MAX_COMPLAINTS], *more]
        super().__init__("\n".join(lines))
        self.errors = []
        for complaint in shown[:MAX_ERRORS]:
            placed = _PLACED.match(complaint)
            line, message = (int(placed[1]), complaint[placed.end() :]) if placed else (None, complaint)
            self.errors.append({"line": line, "code": "line", "message": message})


class TopicFile(NamedTuple):
    """The topics of a file, in its order, and what its reader should know about it.

    `has_own_labels`: the labels are those of the file's form, and the protocol need not know each of them.
    """

    topics: list[TopicRow]
    notes: list[str]
    has_own_labels: bool


def read_topics(data: bytes, name: str) -> list[TopicRow]:
    """The topics of a file, as in `read_topic_file`."""
    return read_topic_file(data, name).topics


def read_topic_file(data: bytes, name: str, *, is_formula: bool = True) -> TopicFile:
    """The topics of a file, with notes. In lines of a code, a tab and a text, that text `is_formula` or else a title.

    Raises `BadFile` if the file is not a topic file, or a topic cannot be used, or a code is used twice.
    """
    reading = _reading(data, name, is_formula=is_formula)
    topics, complaints = [], list(reading.complaints)
    for line, content in reading.rows:
        try:
            topics.append(_topic(line, content))
        except Unusable as reason:
            complaints.append(f"line {line}: {reason}")
    seen: dict[str, int] = {}
    for topic in topics:
        if topic.code in seen:
            complaints.append(f"line {topic.line}: topic {topic.code} is already in line {seen[topic.code]}")
        seen.setdefault(topic.code, topic.line)
    if complaints or not topics:
        raise BadTopics(name, complaints or ["there are no topics in the file"])
    return TopicFile(topics, [*reading.notes, *_notes_on_tags(reading.rows)], reading.has_own_labels)


def _notes_on_tags(rows: Iterable[tuple[int, Mapping[str, Any]]]) -> list[str]:
    """A note if texts, which are plain, have tags of HTML."""
    lines = [
        line
        for line, row in rows
        if row.get("body") is None and _TAG_OF_TEXT.search(str(row.get("text", "")))
    ]
    if not lines:
        return []
    texts = plural(len(lines), "text has,texts have")
    return [
        f"{texts} tags of HTML, which readers see (first in line {lines[0]}): in JSON, HTML is the key body"
    ]


def _reading(data: bytes, name: str, *, is_formula: bool) -> trec.Reading:
    """The rows of a file of any form, which may be compressed."""
    data, notes = decoded(_unpacked(data, name), name)
    reading = _reading_of(data.decode(), data, name, is_formula=is_formula)
    return replace(reading, notes=[*notes, *reading.notes])


def _reading_of(text: str, data: bytes, name: str, *, is_formula: bool) -> trec.Reading:
    try:
        if tables.is_array(text):
            return _with_keys_left_out(trec.Reading(list(tables.rows_of_array(data))))
        if names.table_of_topics(text) is not None:
            rows, others = tables.read_table(text)
            left_out = f"columns whose names are not known were left out: {', '.join(others)}"
            return trec.Reading(rows, notes=[left_out] if others else [])
        is_lines = ntcir.is_lines(text)
        if is_lines or trec.is_marked(text) or trec.is_colon_lines(text):
            reading = trec.Reading(list(ntcir.rows_of_lines(text))) if is_lines else trec.read_text(text)
            if is_lines and not is_formula:
                titles = [(line, {"code": row["code"], "title": row["latex"]}) for line, row in reading.rows]
                reading = trec.Reading(titles)
            return reading
        if text.lstrip().startswith("{"):
            return _with_keys_left_out(_of_lines(data))
        return _of_xml(data, name)
    except Malformed as fault:
        raise BadTopics(name, [f"line {fault.n_lines + 1}: {fault.message}"]) from None


def _unpacked(data: bytes, name: str) -> bytes:
    if is_packed(data):
        data = b"".join(unpack(io.BytesIO(data), Limits(max_text=MAX_SIZE), name=name))
    if len(data) > MAX_SIZE:
        raise BadFile(f"{name} has {len(data):,} bytes; a topic file has at most {MAX_SIZE:,}.")
    return data


def _with_keys_left_out(reading: trec.Reading) -> trec.Reading:
    """The reading of topics in JSON, with a note about keys that no topic has."""
    others = sorted(
        {key for _, row in reading.rows for key in row} - {each.name for each in fields(TopicRow)} - {"text"}
    )
    if not others:
        return reading
    note = f"keys whose names are not known were left out: {', '.join(others)}; labels are an object under 'labels'"
    return replace(reading, notes=[*reading.notes, note])


def _of_xml(data: bytes, name: str) -> trec.Reading:
    if not data.lstrip().startswith(b"<"):
        raise BadFile(f"{name} begins with {data[:40].decode(errors='replace')!r}. {ACCEPTED}")
    try:
        root = xml_root(data)
    except etree.XMLSyntaxError as fault:
        raise BadFile(f"{name} is not well-formed XML: {fault.msg}.") from None
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(dtd.iterentities()):  # type: ignore[attr-defined]
        raise BadFile(f"{name} has a DOCTYPE with entities. Remove it: entities are never expanded.")
    if root.tag == bolt.ROOT:
        return trec.Reading(list(bolt.rows_of_xml(root)), has_own_labels=True)
    if trec.is_xml(root):
        return trec.read_xml(root)
    if etree.QName(root).localname.lower() != "topics":
        raise BadFile(f"{name} contains <{root.tag}>. {ACCEPTED}")
    own = ((cast("int", element.sourceline), _of_element(element)) for element in root.iterchildren("Topic"))
    return trec.Reading([*ntcir.rows_of_xml(root), *own])


def _of_element(topic: "etree._Element") -> dict[str, Any]:
    children = (child for child in topic if isinstance(child.tag, str))
    texts = {str(child.tag): "".join(map(str, child.itertext())) for child in children}
    names = ("Title", "Narrative", "Scenario", "Criteria", "Formula_Id", "Latex")
    return {
        "code": topic.get("number"),
        "body": texts.get("Question"),
        "tags": [tag.strip() for tag in texts.get("Tags", "").split(",")],
        "thread": topic.get("thread") or topic.get("post_id"),
        "subtopics": [trec.subtopic(child) for child in topic.iterchildren("Subtopic")],
        **{name.lower(): texts.get(name) for name in names},
    }


def _of_lines(data: bytes) -> trec.Reading:
    """Topics in JSON lines, with a complaint about each line that is not an object."""
    reading = trec.Reading([])
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode())
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            reading.rows.append((number, tables.with_usual_names(row)))
        else:
            reading.complaints.append(f"line {number}: not a JSON object in UTF-8")
    return reading


def _topic(line: int, row: Mapping[str, Any]) -> TopicRow:
    code = code_of(row.get("code"))
    if row.get("body") is not None:
        body = clean_body(text_of(row["body"], "body"))
    else:
        body = clean_text(text_of(row.get("text"), "text"))
    texts = {
        name: without_controls(text_of(row.get(name), name)).strip()
        for name in ("scenario", "criteria", "formula_id", "latex")
    }
    if len(texts["formula_id"]) > MAX_CODE:
        raise Unusable(f"a formula id has at most {MAX_CODE} characters, got {texts['formula_id'][:40]!r}")
    source = text_of(row.get("source"), "source")
    if source:
        bolt.parsed_source(source)
    return TopicRow(
        line=line,
        code=code,
        title=clean_title(text_of(row.get("title"), "title")),
        body=body,
        narrative=clean_body(text_of(row.get("narrative"), "narrative")),
        tags=tuple(tags_of(row.get("tags"))),
        thread=docno_of(row["thread"], "thread") if row.get("thread") else "",
        known_item=docno_of(row["known_item"], "known_item") if row.get("known_item") else "",
        labels=_labels(row.get("labels") or {}),
        subtopics=subtopics_of(row.get("subtopics") or ()),
        split=limited(split_of(text_of(row.get("split"), "split")), "a split", MAX_NAME),
        source=source,
        **texts,
    )


def code_of(given: object) -> str:
    """The code of a topic, from a string or a whole number.

    Raises `Unusable` if runs and tables of scores could not name it.
    """
    is_number = isinstance(given, int) and not isinstance(given, bool)
    code = text_of(str(given) if is_number else given, "the topic's code").strip()
    if not _CODE.fullmatch(code) or code != without_controls(code) or len(code.encode()) > MAX_CODE:
        raise Unusable(
            f"a topic's code has 1 to {MAX_CODE} bytes without white space and control characters, got {code[:40]!r}"
        )
    if code == MEAN:
        raise Unusable(
            f"a topic cannot be named {MEAN!r}, because tables of scores use that name for the mean"
        )
    return code


def number_of(code: str) -> str:
    """The number that a code ends in, or the code if it ends in none. Topics of two tasks share it: A.201 and B.201.

    >>> number_of("B.201")
    '201'
    """
    number = _NUMBER.search(code)
    return number[0] if number else code


def split_of(text: str) -> str:
    """The name of a split as it is stored: in lower case, without control characters."""
    return without_controls(text).strip().lower()


def _labels(labels: object) -> dict[str, str]:
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise Unusable("labels is not an object of strings")
    words = [
        limited(without_controls(text_of(word, "a label")), "a label", MAX_NAME)
        for pair in labels.items()
        for word in pair
    ]
    return dict(zip(words[::2], words[1::2], strict=True))


def comparable(title: str) -> str:
    """The words and LaTeX of a sanitized title, which are equal for all forms of a title."""
    return _SPACE.sub(" ", _DOLLARS.sub("", unescaped(_MARKUP.sub("", title)))).strip().casefold()


def read_labels(data: bytes, name: str) -> dict[str, dict[str, str]]:
    """Labels by topic, as in the file; of a file of topics, which are not checked, those that have labels.

    Raises `BadFile` if the file is not a CSV file or JSON of labels, nor topics in XML or JSON lines.
    """
    if Path(name).suffix.lower() in _TOPIC_FILES:
        reading = _reading(data, name, is_formula=True)
        if reading.complaints:
            raise BadTopics(name, reading.complaints)
        named = ((str(row.get("code", "")).strip(), row.get("labels")) for _, row in reading.rows)
        return _checked({code: labels for code, labels in named if labels}, name)
    text = decoded(_unpacked(data, name), name).text
    if text.lstrip().startswith("{"):
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadFile(f"{name} is not JSON: {error}.") from None
        except RecursionError:
            raise BadFile(f"{name} is not JSON: nested too deeply.") from None
        except ValueError:
            raise BadFile(f"{name} is not JSON: a number has too many digits.") from None
        if not isinstance(content, dict) or not all(isinstance(labels, dict) for labels in content.values()):
            raise BadFile(
                f'{name} must contain an object for each topic, such as {{"A.9": {{"category": "proof"}}}}.'
            )
        texts = {
            code: {
                key: str(value) if isinstance(value, int | float) else value for key, value in labels.items()
            }
            for code, labels in content.items()
        }
        return _checked(texts, name)
    return _labels_of_csv(text, name)


def _checked(labels: Mapping[str, object], name: str) -> dict[str, dict[str, str]]:
    try:
        return {code: _labels(of_topic) for code, of_topic in labels.items()}
    except Unusable as reason:
        raise BadFile(f"{name}: {reason}.") from None


def _labels_of_csv(text: str, name: str) -> dict[str, dict[str, str]]:
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), skipinitialspace=True) if any(row)]
    except csv.Error as error:
        raise BadFile(f"{name} is not a CSV file: {error}.") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        raise BadFile(
            f"{name} needs a header with the topic and at least one label, and a line for each topic."
        )
    header, *lines = rows
    complaints = [
        f"line {number}: expected {len(header)} columns, got {len(row)}"
        for number, row in enumerate(lines, 2)
        if len(row) != len(header)
    ]
    if complaints:
        raise BadTopics(name, complaints)
    return {row[0].strip(): dict(zip(header[1:], row[1:], strict=True)) for row in lines}


def read_known_items(data: bytes, name: str) -> dict[str, str]:
    """The known item of each topic of a file. Lines of qrels with the grade 0 are skipped.

    Raises `BadFile` if the file is not text, a line has other columns, or a topic has two known items.
    """
    items: dict[str, str] = {}
    complaints = []
    for number, line in enumerate(lines_of(decoded(_unpacked(data, name), name).text), 1):
        cells = line.split()
        if len(cells) not in {0, 2, 4}:
            complaints.append(
                f"line {number}: expected a topic and a docno, or the 4 columns of qrels, got {len(cells)}"
            )
        elif cells and cells[3:] not in (["0"], ["0.0"]):
            code, docno = cells[0], cells[1] if len(cells) == 2 else cells[2]
            if items.setdefault(code, docno) != docno:
                complaints.append(f"line {number}: topic {code} already has the known item {items[code]}")
    if complaints or not items:
        raise BadTopics(name, complaints or ["there is no known item in the file"])
    return items
