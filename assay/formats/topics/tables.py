"""Reads topics in tables, in JSON arrays, and under usual names of their fields, as rows for the reader of topics.

A table has a header that names the code and another field (`assay.formats.names`), and tabs or commas between columns.
Other columns are left out. All texts are plain. In JSON lines, the names of `assay.formats.topics.reader` come first.

A topic whose only text is one line, such as `{"_id": "1", "text": "tidal power"}`, has it as its title.

An array has objects as in JSON lines, or the conversations of TREC CAsT: `{"number": 31, "title": …, "description": …,
"turn": [{"number": 1, "raw_utterance": …}, …]}`. Each turn is a topic, as in CAsT's qrels: turn 2 of conversation 31 is
topic `31_2`. The utterance is its title. Its body has the turns before it, which it needs to be understood, and the
utterance as CAsT's organizers rewrote it; its narrative has the title and the description of the conversation. `turns`,
`turn_id` and `utterance` are accepted too, as in CAsT 2022 and iKAT; turns without an utterance are answers of a
system, and skipped.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from assay.errors import plural
from assay.formats import names
from assay.formats.documents.batch import Malformed
from assay.formats.documents.table_rows import cells_of, has_more
from assay.formats.documents.tables import COMMA, TAB
from assay.formats.text import decoded

LONGEST_TITLE = 300  # characters of a text that becomes a title
TURNS = ("turn", "turns")
NUMBERS = ("number", "turn_id")
UTTERANCES = ("raw_utterance", "utterance")
REWRITTEN = ("manual_rewritten_utterance", "resolved_utterance")
MAX_BEFORE = 10  # turns that are shown before a turn
_SPACE = " \t\r\n"


def read_table(text: str) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """The rows of a table of topics, with their lines, and the names of the columns that are not read.

    Raises `Malformed` if a row has more columns than the header, or, with commas, a quotation that is not closed or
    goes on.
    """
    separator, places = names.table_of_topics(text) or ("\t", {})
    rows = cells_of(text, COMMA if separator == "," else TAB)
    _, header = next(rows)
    others = [name.strip() for n, name in enumerate(header) if n not in places.values()]
    read = []
    for number, cells in rows:
        if has_more(cells, len(header)):
            problem = f"expected {plural(len(header), 'column')} as in the header, got {len(cells)}"
            message = f"{problem}; put a text with separators in quotation marks"
            raise Malformed(message, offset=0, n_lines=number)
        row: dict[str, Any] = {
            field: cells[place].strip() for field, place in places.items() if place < len(cells)
        }
        if "tags" in row:
            row["tags"] = [tag.strip() for tag in row["tags"].split(",")]
        read.append((number + 1, _with_title(row)))
    return read, others


def with_usual_names(row: dict[str, Any]) -> dict[str, Any]:
    """A row of JSON lines whose code has another name, with the reader's names; any other row as it is."""
    if "code" in row:
        return row
    keys = tuple(row)
    places = names.places(keys, "topics")
    named = {field: row[keys[place]] for field, place in places.items()}
    others = {key: row[key] for place, key in enumerate(keys) if place not in places.values()}
    return _with_title(named | others)


def _with_title(row: dict[str, Any]) -> dict[str, Any]:
    text = row.get("text")
    is_title = isinstance(text, str) and 0 < len(text) <= LONGEST_TITLE and "\n" not in text.strip()
    if row.get("title") or row.get("body") or row.get("latex") or not is_title:
        return row
    return row | {"title": text, "text": ""}


def is_array(text: str) -> bool:
    """Return whether a text is a JSON array."""
    return text.lstrip(_SPACE)[:1] == "["


def rows_of_array(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The topics with their lines, as `assay.formats.topics.reader` takes them.

    Raises:
        Malformed: It is not an array of objects, or a conversation or turn lacks its number.
    """
    for line, row in elements(data):
        turns = _first(row, TURNS)
        if turns is None:
            yield line, with_usual_names(row)
        elif not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
            raise _wrong(line, "the turns of a conversation are not an array of objects")
        else:
            for turn in _topics_of(row, turns, line):
                yield line, turn


def elements(
    data: bytes, *, wrong: Callable[[int, str], Exception] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array with the lines in which they begin; one at a time, so that a fault has a line.

    Args:
        wrong: the error of a line; if there is none, that of topics.
    """
    error_of = wrong or _wrong
    text = decoded(data).text
    decoder, line, counted = json.JSONDecoder(), 1, 0
    place = _after_space(text, _after_space(text, 0) + 1)
    is_last = text[place : place + 1] == "]"
    while not is_last:
        line, counted = line + text.count("\n", counted, place), place
        try:
            row, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            raise error_of(line, "not a JSON object, or the array is not closed") from None
        if not isinstance(row, dict):
            raise error_of(line, "not a JSON object")
        yield line, row
        place = _after_space(text, place)
        if text[place : place + 1] not in {",", "]"}:
            raise error_of(line, "expected a comma or ] after the object")
        is_last, place = text[place] == "]", _after_space(text, place + 1)
    if text[place:].strip(f"{_SPACE}]"):
        raise error_of(text.count("\n") + 1, "text after the end of the array")


def _after_space(text: str, place: int) -> int:
    while text[place : place + 1] in tuple(_SPACE):
        place += 1
    return place


def _topics_of(
    conversation: Mapping[str, Any], turns: list[dict[str, Any]], line: int
) -> Iterator[dict[str, Any]]:
    number = _number(conversation, line, "a conversation")
    about = [str(conversation[key]).strip() for key in ("title", "description") if conversation.get(key)]
    before: list[str] = []
    for turn in turns:
        utterance = " ".join(str(_first(turn, UTTERANCES) or "").split())
        if not utterance:
            continue
        rewritten = " ".join(str(_first(turn, REWRITTEN) or "").split())
        earlier = "".join(f"<li>{escape(each)}</li>" for each in before[-MAX_BEFORE:])
        yield {
            "code": f"{number}_{_number(turn, line, 'a turn')}",
            "title": utterance,
            "body": (f"<p>Earlier in the conversation:</p><ul>{earlier}</ul>" if earlier else "")
            + (f"<p><b>Rewritten:</b> {escape(rewritten)}</p>" if rewritten else ""),
            "narrative": "".join(f"<p>{escape(part)}</p>" for part in about),
        }
        before.append(utterance if len(utterance) <= LONGEST_TITLE else f"{utterance[:LONGEST_TITLE]}…")


def _number(row: Mapping[str, Any], line: int, owner: str) -> str:
    number = _first(row, NUMBERS)
    if isinstance(number, bool) or not isinstance(number, str | int) or not str(number).strip():
        raise _wrong(line, f"{owner} has no number; expected {' or '.join(NUMBERS)}")
    return str(number).strip()


def _first(row: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _wrong(line: int, message: str) -> Malformed:
    return Malformed(message, offset=0, n_lines=line - 1)
