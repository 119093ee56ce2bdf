"""Reads topics in a JSON array: objects as in JSON lines, and the conversations of TREC CAsT.

A conversation is `{"number": 31, "title": …, "description": …, "turn": [{"number": 1, "raw_utterance": …}, …]}`. Each
turn is a topic, as in CAsT's qrels: turn 2 of conversation 31 is topic `31_2`. The utterance is its title. Its body has
the turns before it, which it needs to be understood, and the utterance as CAsT's organizers rewrote it; its narrative
has the title and the description of the conversation. `turns`, `turn_id` and `utterance` are accepted too, as in CAsT
2022 and iKAT; turns without an utterance are answers of a system, and skipped.
"""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from assay.formats.documents.batch import Malformed
from assay.formats.documents.sources import BOM
from assay.formats.topics.tables import LONGEST_TITLE, with_usual_names

TURNS = ("turn", "turns")
NUMBERS = ("number", "turn_id")
UTTERANCES = ("raw_utterance", "utterance")
REWRITTEN = ("manual_rewritten_utterance", "resolved_utterance")
MAX_BEFORE = 10  # turns that are shown before a turn
_SPACE = " \t\r\n"


def is_array(text: str) -> bool:
    """Whether a text is a JSON array."""
    return text.lstrip(_SPACE)[:1] == "["


def rows_of_array(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The topics with their lines, as `assay.formats.topics.reader` takes them.

    Raises:
        Malformed: It is not an array of objects in UTF-8, or a conversation or turn lacks its number.
    """
    for line, row in _elements(data):
        turns = _first(row, TURNS)
        if turns is None:
            yield line, with_usual_names(row)
        elif not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
            raise _wrong(line, "the turns of a conversation are not an array of objects")
        else:
            for turn in _topics_of(row, turns, line):
                yield line, turn


def _elements(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array with the lines in which they begin; one at a time, so that a fault has a line."""
    try:
        text = data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise _wrong(data.count(b"\n", 0, error.start) + 1, "not UTF-8") from None
    decoder, line, counted = json.JSONDecoder(), 1, 0
    place = _after_space(text, _after_space(text, 0) + 1)
    is_last = text[place : place + 1] == "]"
    while not is_last:
        line, counted = line + text.count("\n", counted, place), place
        try:
            row, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            raise _wrong(line, "not a JSON object, or the array is not closed") from None
        if not isinstance(row, dict):
            raise _wrong(line, "not a JSON object")
        yield line, row
        place = _after_space(text, place)
        if text[place : place + 1] not in {",", "]"}:
            raise _wrong(line, "expected a comma or ] after the object")
        is_last, place = text[place] == "]", _after_space(text, place + 1)
    if text[place:].strip(f"{_SPACE}]"):
        raise _wrong(text.count("\n") + 1, "text after the end of the array")


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
        yield {
            "code": f"{number}_{_number(turn, line, 'a turn')}",
            "title": utterance,
            "body": _before(before[-MAX_BEFORE:])
            + (f"<p><b>Rewritten:</b> {escape(rewritten)}</p>" if rewritten else ""),
            "narrative": "".join(f"<p>{escape(part)}</p>" for part in about),
        }
        before.append(utterance if len(utterance) <= LONGEST_TITLE else f"{utterance[:LONGEST_TITLE]}…")


def _before(utterances: list[str]) -> str:
    shown = "".join(f"<li>{escape(utterance)}</li>" for utterance in utterances)
    return f"<p>Earlier in the conversation:</p><ul>{shown}</ul>" if shown else ""


def _number(row: Mapping[str, Any], line: int, owner: str) -> str:
    number = _first(row, NUMBERS)
    if isinstance(number, bool) or not isinstance(number, str | int) or not str(number).strip():
        raise _wrong(line, f"{owner} has no number; expected {' or '.join(NUMBERS)}")
    return str(number).strip()


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _wrong(line: int, message: str) -> Malformed:
    return Malformed(message, offset=0, n_lines=line - 1)
