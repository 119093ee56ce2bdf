"""Reads topics in JSON, as rows for `assay.formats.topics.reader`: objects in lines, in an array, or in one object.

The names of the reader come first, then the usual names of `assay.formats.names`; the texts of the latter are plain.
Texts with a known name that are neither title nor text, such as `background`, follow in the body under their names. A
topic whose only text is one line, such as `{"_id": "1", "text": "tidal power"}`, has it as its title. In a topic in
several languages, `{"topic_id": "1", "topics": [{"lang": "eng", "topic_title": ...}, ...]}` of HC4 and NeuCLIR, the
original counts, or else the English one, or else the first.

One object is a topic; or it has the topics in an array, `{"topics": [...]}`; or by their codes, `{"301": {"title":
...}}` or `{"301": "tidal power"}`.

A conversation of TREC CAsT, `{"number": 31, "title": ..., "description": ..., "turn": [{"number": 1, "raw_utterance":
...}, ...]}`, has a topic for each turn, as in CAsT's qrels: turn 2 of conversation 31 is topic `31_2`. The utterance is
its title. Its body has the turns before it, which it needs to be understood, and the utterance as CAsT's organizers
rewrote it; its narrative has the title and the description of the conversation. `turns`, `turn_id` and `utterance` are
accepted too, as in CAsT 2022 and iKAT; turns without an utterance are answers of a system, and skipped.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

from assay.formats import names
from assay.formats.documents.batch import Malformed
from assay.formats.text import decoded, lines_of
from assay.formats.topics import trec

LONGEST_TITLE = 300  # characters of a text that becomes a title
OWN = frozenset(
    {
        "code",
        "title",
        "body",
        "text",
        "narrative",
        "scenario",
        "criteria",
        "tags",
        "thread",
        "formula_id",
        "latex",
    }
    | {"known_item", "labels", "subtopics", "split", "source"}
)
TURNS = ("turn", "turns")
NUMBERS = ("number", "turn_id")
UTTERANCES = ("raw_utterance", "utterance")
REWRITTEN = ("manual_rewritten_utterance", "resolved_utterance")
MAX_BEFORE = 10  # turns that are shown before a turn
_SPACE = " \t\r\n"
_VERSIONS = ("topics", "topic", "query", "queries")  # of one topic, in several languages
_ORIGINAL = ("original", "eng", "en", "english")


def read_json(text: str) -> trec.Reading:
    """The topics of a text that begins as an object or array.

    Raises `Malformed` if it is not JSON, or a conversation or turn lacks its number.
    """
    if text.lstrip(_SPACE).startswith("["):
        return _reading(elements(text))
    reading, rows = trec.Reading([]), []
    lines = [(n, line) for n, line in enumerate(lines_of(text), 1) if line.strip()]
    for number, line in lines:
        row = _object(line)
        rows += [(number, row)] if row is not None else []
        if row is None:
            reading.complaints.append(f"line {number}: {_problem(line)}")
    whole = _object(text) if len(rows) < len(lines) or len(rows) == 1 else None
    return _reading(
        rows if whole is None else _inner(whole, text), reading.complaints if whole is None else []
    )


def _reading(rows: Iterable[tuple[int, dict[str, Any]]], complaints: Iterable[str] = ()) -> trec.Reading:
    read: list[tuple[int, dict[str, Any]]] = []
    for line, row in rows:
        turns = _first(row, TURNS)
        if turns is None:
            read.append((line, with_usual_names(row)))
        elif not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
            raise _wrong(line, "the turns of a conversation are not an array of objects")
        else:
            read += [(line, turn) for turn in topics_of_conversation(row, turns, line)]
    others = {key: None for _, row in read for key in row if key not in OWN}
    kept = [(line, {key: value for key, value in row.items() if key in OWN}) for line, row in read]
    return trec.Reading(kept, list(complaints), left_out=sorted(others))


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _problem(line: str) -> str:
    is_python = line.lstrip(_SPACE).startswith("{'")
    return f"not a JSON object{'; names and texts need double quotation marks' if is_python else ''}"


def _inner(whole: dict[str, Any], text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The topics of one object, with the line of the first code that is written like theirs."""
    keys = tuple(whole)
    if "code" in names.places(keys, "topics") or _first(whole, TURNS) is not None:
        yield 1, whole
        return
    arrays = [
        value
        for value in whole.values()
        if isinstance(value, list) and any(isinstance(item, dict) for item in value)
    ]
    if len(arrays) == 1:
        rows = [row if isinstance(row, dict) else {} for row in arrays[0]]
    elif names.places(keys, "topics"):  # a topic without a code
        rows = [whole]
    else:
        rows = [
            {"code": key} | (value if isinstance(value, dict) else {"title": value})
            for key, value in whole.items()
        ]
    place = 0
    for row in rows:
        code = str(with_usual_names(row).get("code", ""))
        place = max(place, text.find(f'"{code}"', place))
        yield text.count("\n", 0, place) + 1, row


def with_usual_names(row: Mapping[str, object], *, is_table: bool = False) -> dict[str, Any]:
    """A row with the names of the reader, and what it has under other names. In a table, all names are usual ones."""
    own = {key: value for key, value in row.items() if key in OWN} if "code" in row and not is_table else {}
    rest = {
        key: value for key, value in row.items() if key not in own and value is not None and value == value
    }
    version = next((key for key in _VERSIONS if _versions(rest.get(key))), "")
    texts = _texts(min(_versions(rest.pop(version, None)), key=_rank, default={}))
    keys = tuple(rest)
    has_text = any(own.get(key) for key in ("text", "body"))
    places = {
        field: keys[place]
        for field, place in names.places(keys, "topics").items()
        if not own.get(field) and not (field == "text" and has_text)
    }
    named = texts | {field: _plain(rest[key], field) for field, key in places.items()}
    others = {key: value for key, value in rest.items() if key not in places.values()}
    sections = {key: others.pop(key) for key in list(others) if names.normal(key) in names.SECTIONS}
    if not str(others.get("source", "<")).startswith("<"):  # that of a topic of BOLT is XML
        del others["source"]
    parts = {
        key: text
        for key, value in sections.items()
        if isinstance(text := _plain(value, "text"), str) and text
    }
    return (
        _with_sections(_with_title(named) if not own else named, parts) | ({} if is_table else others) | own
    )


def _versions(value: object) -> list[dict[str, Any]]:
    """The texts of a topic in objects of their own, one for each language."""
    return [
        version
        for version in (value if isinstance(value, list) else [value])
        if isinstance(version, dict) and _texts(version)
    ]


def _texts(version: Mapping[str, object]) -> dict[str, Any]:
    keys = tuple(version)
    return {
        field: _plain(version[keys[place]], field) for field, place in names.places(keys, "topics").items()
    }


def _rank(version: Mapping[str, object]) -> int:
    words = [str(version.get(key)) for key in ("source", "lang", "language")]
    return min(_ORIGINAL.index(word) if word in _ORIGINAL else len(_ORIGINAL) for word in words)


def _plain(value: object, field: str) -> Any:
    """A value under a usual name as the reader takes it: numbers, lists and objects as text."""
    if field == "tags" and isinstance(value, str):
        return [tag.strip() for tag in value.split(",")]
    if field in {"tags", "code"} or isinstance(value, str | bool):
        return value
    if isinstance(value, dict):
        return "\n".join(
            f"{key.replace('_', ' ').capitalize()}: {_plain(part, field)}"
            for key, part in value.items()
            if part
        )
    return ", ".join(str(_plain(part, field)) for part in value) if isinstance(value, list) else str(value)


def _with_sections(row: dict[str, Any], sections: Mapping[str, str]) -> dict[str, Any]:
    """A row whose body has its text and, under their names, other texts."""
    if not sections:
        return row
    parts = [trec.paragraphs(str(row.get("text", "")))]
    parts += [
        trec.paragraphs(text, f"<b>{escape(trec.name_of(key))}:</b> ") for key, text in sections.items()
    ]
    return {key: value for key, value in row.items() if key != "text"} | {"body": "".join(parts)}


def _with_title(row: dict[str, Any]) -> dict[str, Any]:
    text = row.get("text")
    is_title = isinstance(text, str) and 0 < len(text) <= LONGEST_TITLE and "\n" not in text.strip()
    if row.get("title") or row.get("body") or row.get("latex") or not is_title:
        return row
    return row | {"title": text, "text": ""}


def elements(
    data: bytes | str, *, wrong: Callable[[int, str], Exception] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array with the lines in which they begin; one at a time, so that a fault has a line.

    Args:
        wrong: the error of a line; if there is none, that of topics.
    """
    error_of = wrong or _wrong
    text = data if isinstance(data, str) else decoded(data).text
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


def topics_of_conversation(
    conversation: Mapping[str, object], turns: list[dict[str, Any]], line: int
) -> Iterator[dict[str, Any]]:
    """A topic for each turn of a conversation that has an utterance.

    Raises `Malformed` if the conversation or a turn has no number.
    """
    number = _number(conversation, line, "a conversation")
    about = [str(conversation[key]).strip() for key in ("title", "description") if conversation.get(key)]
    before: list[str] = []
    for turn in turns:
        utterance = " ".join(str(_first(turn, UTTERANCES) or "").split())
        if not utterance:
            continue
        rewritten = " ".join(str(_first(turn, REWRITTEN) or "").split())
        earlier = "".join(f"<li>{escape(utterance)}</li>" for utterance in before[-MAX_BEFORE:])
        yield {
            "code": f"{number}_{_number(turn, line, 'a turn')}",
            "title": utterance,
            "body": (f"<p>Earlier in the conversation:</p><ul>{earlier}</ul>" if earlier else "")
            + (f"<p><b>Rewritten:</b> {escape(rewritten)}</p>" if rewritten else ""),
            "narrative": "".join(f"<p>{escape(part)}</p>" for part in about),
        }
        before.append(utterance if len(utterance) <= LONGEST_TITLE else f"{utterance[:LONGEST_TITLE]}…")


def _number(row: Mapping[str, object], line: int, owner: str) -> str:
    number = _first(row, NUMBERS)
    if isinstance(number, bool) or not isinstance(number, str | int) or not str(number).strip():
        raise _wrong(line, f"{owner} has no number; expected {' or '.join(NUMBERS)}")
    return str(number).strip()


def _first(row: Mapping[str, object], keys: tuple[str, ...]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _wrong(line: int, message: str) -> Malformed:
    return Malformed(message, offset=0, n_lines=line - 1)
