"""Reads topic files and label files completely, and reports all errors before anything is imported.

The form of a file is detected from its text: JSON (`assay.formats.topics.objects`), a table with a header
(`assay.formats.topics.tables`), the marked text of TREC (`assay.formats.topics.trec`), lines or blocks of plain text
(`assay.formats.topics.lines`), or XML (`assay.formats.topics.xml`). Their rows have the keys `code`, `title`, `body`
(HTML) or `text` (plain), `narrative` (HTML), `tags` (list), `labels` (object), `thread`, `formula_id`, `latex`,
`scenario` and `criteria` (plain text), `subtopics` (list), `known_item` (a docno), `split`, and `source`, the element
of a topic of BOLT. Only `code` is required. The file may be compressed.

Known items: a topic and a docno per line; or a topic, a column that is ignored, a docno and a grade, as in qrels.

Labels: a CSV file with the topic's code in the first column and the labels in the others, under a header; a JSON object
of objects: `{"A.9": {"category": "proof"}}`; or topics in XML or JSON lines. Upper and lower case count as equal in
labels and values.
"""

import io
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Never

from assay.errors import BadFile, InputWarning, plural
from assay.formats import names
from assay.formats.compression import Limits, is_packed, unpack
from assay.formats.documents.batch import MAX_NAME, Malformed, Unusable, limited
from assay.formats.documents.jsonl import docno_of, tags_of, text_of
from assay.formats.kinds import HEAD, looks_like, naming_kind
from assay.formats.runs.rows import MAX_TOPIC
from assay.formats.sheets import read_sheet
from assay.formats.text import decoded, first_messages, lines_of, named, visible
from assay.formats.topics import bolt, lines, objects, tables, trec, xml
from assay.formats.topics.facts import TopicFacts
from assay.formats.topics.subtopics import subtopics_of
from assay.html.latex import unescaped
from assay.html.sanitize import clean_body, clean_text, clean_title, without_controls

MAX_SIZE = 50 * 2**20  # bytes of a topic file
MAX_CODE = MAX_TOPIC
MAX_FORMULA_ID = 100  # characters
_NUMBER = re.compile(r"(?<![0-9])[0-9]+$")
MEAN = "all"  # the name of the mean in tables of scores, in the column of topics
MAX_ERRORS = 1_000  # for programs
SPLIT = "split"  # the column of a label file beyond the labels
ACCEPTED = (
    f"A topic file contains <Topics>, <{bolt.ROOT}>, or TREC's <top> or <topic>; or one JSON object per line or an "
    "array of them; or a table with a header; or a code, a tab or colon, and a text per line."
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
class TopicRow(TopicFacts):
    """A topic as a file states it, with the place where it begins."""

    line: int = 0


class BadTopics(BadFile):
    """A topic or label file has errors, and nothing is imported: the message lists the first, `errors` has more."""

    title = "These topics cannot be imported"

    def __init__(self, name: str, complaints: Iterable[str]) -> None:
        self.complaints = list(complaints)
        placed = [_placed(complaint) for complaint in self.complaints]
        shown, n_more = first_messages(placed, len(placed))
        more = [f"and {n_more} more"] if n_more else []
        super().__init__("\n".join([f"{name} has errors, so nothing was imported:", *shown, *more]))
        self.errors = [
            {"line": line or None, "code": "line", "message": message}
            for line, message in placed[:MAX_ERRORS]
        ]


def _placed(complaint: str) -> tuple[int, str]:
    """The line of a complaint, 0 if it is about the whole file, and its message."""
    match = _PLACED.match(complaint)
    return (int(match[1]), complaint[match.end() :]) if match else (0, complaint)


class TopicFile(NamedTuple):
    """The topics of a file, in its order, and what its reader should know about it.

    `has_own_labels`: the labels are those of the file's form, and the protocol need not know each of them.
    """

    topics: list[TopicRow]
    notes: list[str]
    has_own_labels: bool


def read_topics(data: bytes, name: str, *, is_formula: bool = True) -> list[TopicRow]:
    """The topics of a file, as in `read_topic_file`. Notes become warnings."""
    content = read_topic_file(data, name, is_formula=is_formula)
    for note in content.notes:
        warnings.warn(f"{name}: {note}", InputWarning, stacklevel=2)
    return content.topics


def read_topic_file(data: bytes, name: str, *, is_formula: bool = True) -> TopicFile:
    """The topics of a file, with notes. In lines of a code, a tab and a text, that text `is_formula` or else a title.

    Raises `BadFile` if the file is not a topic file, or a topic cannot be used, or a code is used twice, or no topic
    has a text although the file has texts under other names.
    """
    data = _unpacked(data, name)
    with naming_kind(data, "topics"):
        return _topic_file(data, name, is_formula=is_formula)


def _topic_file(data: bytes, name: str, *, is_formula: bool) -> TopicFile:
    reading = _reading(data, name, is_formula=is_formula)
    topics, complaints = [], list(reading.complaints)
    for line, content in reading.rows:
        try:
            topics.append(_topic(line, content))
        except Unusable as reason:
            complaints.append(f"line {line}: {reason}")
    complaints += repeated((topic.line, topic.code) for topic in topics)
    without = [topic for topic in topics if not _has_text(topic)]
    if not complaints and reading.left_out and len(without) == len(topics):
        unread = ", ".join(map(visible, reading.left_out))
        complaints.append(
            f"no topic has a text, because none of these is a usual name of one: {unread}; rename one to text"
        )
    if complaints or not topics:
        raise BadTopics(name, complaints or ["there are no topics in the file"])
    notes = [*reading.notes, *_notes_on_tags(reading.rows)]
    if without:
        shown = [f"{topic.code} (line {topic.line})" for topic in without]
        notes.append(f"{plural(len(without), 'topic has,topics have')} no text: {named(shown)}")
    return TopicFile(topics, notes, reading.has_own_labels)


def read_codes(data: bytes, name: str) -> list[str]:
    """The codes of a file of topics, or of a list with one code per line. The file is decompressed.

    Raises `BadFile` as `read_topic_file` does, except that texts are not read.
    """
    data, notes = decoded(data, name)
    for note in notes:
        warnings.warn(f"{name}: {note}", InputWarning, stacklevel=2)
    with naming_kind(data, "topics"):
        return _codes(data, name)


def _codes(data: bytes, name: str) -> list[str]:
    reading = lines.read_list(data.decode()) or _reading(data, name, is_formula=False)
    codes, complaints = [], list(reading.complaints)
    for line, row in reading.rows:
        try:
            codes.append((line, code_of(row.get("code"))))
        except Unusable as reason:
            complaints.append(f"line {line}: {reason}")
    complaints += repeated(codes)
    if complaints or not codes:
        raise BadTopics(name, complaints or ["there are no topics in the file"])
    return [code for _, code in codes]


def repeated(codes: Iterable[tuple[int, str]]) -> list[str]:
    """A complaint for each line that has a code again."""
    first: dict[str, int] = {}
    return [
        f"line {line}: topic {code} is already in line {first[code]}"
        for line, code in codes
        if first.setdefault(code, line) != line
    ]


def _has_text(topic: TopicRow) -> bool:
    return any(
        (
            topic.title,
            topic.body,
            topic.narrative,
            topic.latex,
            topic.formula_id,
            topic.scenario,
            topic.source,
        )
    )


def _notes_on_tags(rows: Iterable[tuple[int, Mapping[str, Any]]]) -> list[str]:
    """A note if texts, which are plain, have tags of HTML."""
    tagged_lines = [
        line
        for line, row in rows
        if row.get("body") is None and _TAG_OF_TEXT.search(str(row.get("text", "")))
    ]
    if not tagged_lines:
        return []
    texts = plural(len(tagged_lines), "text has,texts have")
    return [
        f"{texts} tags of HTML, which readers see (first in line {tagged_lines[0]}): in JSON, HTML is the key body"
    ]


def _reading(data: bytes, name: str, *, is_formula: bool) -> trec.Reading:
    """The rows of a file of any form, which may be compressed."""
    data, notes = decoded(_unpacked(data, name), name)
    text = "\n".join(lines_of(data.decode()))
    reading = _reading_of(text, name, is_formula=is_formula)
    left_out = ", ".join(map(visible, reading.left_out))
    unread = [
        f"unknown columns or keys were left out: {left_out}; in JSON, labels are an object under 'labels'"
    ]
    return replace(reading, notes=[*notes, *(unread if left_out else []), *reading.notes])


def _reading_of(text: str, name: str, *, is_formula: bool) -> trec.Reading:
    start = text.lstrip()[:1]
    try:
        if start in {"[", "{"}:
            return objects.read_json(text)
        if names.table_of_topics(text) is not None:
            return tables.read_table(text)
        if trec.is_marked(text):
            return trec.read_marked(text)
        is_other = bool(looks_like(text[:HEAD].encode(), "topics"))  # whose lines can be those of topics
        reading = None if is_other else lines.read_lines(text, is_formula=is_formula)
        if reading is not None or start != "<":
            return reading or _refused(text, name)
        return xml.read_xml(text, name)
    except Malformed as fault:
        raise BadTopics(name, [f"line {fault.n_lines + 1}: {fault.message}"]) from None


def _refused(text: str, name: str) -> Never:
    start = text.lstrip()[:40].partition("\n")[0]
    shown = visible(start).replace("\t", "→")
    raise BadFile(f"{name} begins with '{shown}'. {ACCEPTED}")


def _unpacked(data: bytes, name: str) -> bytes:
    if is_packed(data):
        data = b"".join(unpack(io.BytesIO(data), Limits(max_text=MAX_SIZE), name=name))
    if len(data) > MAX_SIZE:
        raise BadFile(f"{name} has {len(data):,} bytes; a topic file has at most {MAX_SIZE:,}.")
    return data


def _topic(line: int, row: Mapping[str, object]) -> TopicRow:
    code = code_of(row.get("code"))
    if row.get("body") is not None:
        body = clean_body(text_of(row["body"], "body"))
    else:
        body = clean_text(text_of(row.get("text"), "text"))
    texts = {
        name: without_controls(text_of(row.get(name), name)).strip()
        for name in ("scenario", "criteria", "formula_id", "latex")
    }
    if len(texts["formula_id"]) > MAX_FORMULA_ID:
        raise Unusable(
            f"a formula id has at most {MAX_FORMULA_ID} characters, got {texts['formula_id'][:40]!r}"
        )
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
    if isinstance(given, float | bool):  # `1.0`, as pandas writes ids of a column with gaps
        raise Unusable(f"the topic's code is neither a string nor a whole number, got {given}")
    code = text_of(str(given) if isinstance(given, int) else given, "the topic's code").strip()
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
        labels_of_codes = ((str(row.get("code", "")).strip(), row.get("labels")) for _, row in reading.rows)
        return _checked({code: labels for code, labels in labels_of_codes if labels}, name)
    text = decoded(_unpacked(data, name), name).text
    if looks := looks_like(text[:HEAD].encode(), "topics"):
        raise BadFile(f"{name} has no labels. {looks}")
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
    sheet = read_sheet(io.StringIO(text, newline=""))
    rows = list(sheet.rows)
    if not rows or len(sheet.header) < 2:
        raise BadFile(
            f"{name} needs a header with the topic and at least one label, and a line for each topic."
        )
    complaints = [f"line {number}: {row}" for number, row in rows if isinstance(row, str)]
    if complaints:
        raise BadTopics(name, complaints)
    words = ([cell.strip() for cell in row] for _, row in rows)
    return {code: dict(zip(sheet.header[1:], labels, strict=True)) for code, *labels in words}


def read_known_items(data: bytes, name: str) -> dict[str, str]:
    """The known item of each topic of a file. Lines of qrels with the grade 0 are skipped.

    Raises `BadFile` if the file is not text, a line has other columns, or a topic has two known items.
    """
    text = decoded(_unpacked(data, name), name).text
    with naming_kind(text[:HEAD].encode(), "qrels"):
        return _known_items(lines_of(text), name)


def _known_items(text_lines: Iterable[str], name: str) -> dict[str, str]:
    items: dict[str, str] = {}
    complaints = []
    for number, line in enumerate(text_lines, 1):
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
