"""Reads Label Studio's tasks with their annotations, as its export in JSON has them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from assay.errors import InputError
from assay.formats.text import decoded
from assay.formats.topics.objects import elements
from assay.html.sanitize import without_controls
from assay.protocols.questions import MARKS, MAX_CHARACTERS, NUMBER
from assay.structure import is_number, shown
from assay_extensions.label_studio.config import TYPES, Config, Control

SURROGATE = re.compile("[\ud800-\udfff]")
MOST_ERRORS = 20
MAX_SECONDS = 10**9
UNKNOWN = "unknown"  # the annotator where the export has null: of a deleted account, or of an import
ACCEPTED = "expected a list of tasks, as the export in JSON has it"


class Annotation(NamedTuple):
    """The answers of a person. `answers` are by the key of a question, `side` of a comparison: left, right, tie, bad.

    A skipped task has neither.
    """

    by: str
    answers: dict[str, Any]
    side: str
    is_skipped: bool
    created: str
    seconds: str


class Task(NamedTuple):
    """A task with the place in the file for messages: the line at which it begins, and its number from 0."""

    place: str
    id: str
    data: dict[str, str]
    annotations: list[Annotation]


@dataclass
class TaskFile:
    """The tasks of a file, and how many predictions and results of other controls were left out.

    `n_joined` are marked parts that became one with another part of the same label, `n_unknown` annotations by nobody
    that the file names, and `n_replaced` texts with half of a surrogate pair, which became U+FFFD.
    """

    tasks: list[Task] = field(default_factory=list)
    n_predictions: int = 0
    n_left_out: int = 0
    n_repeated: int = 0
    n_joined: int = 0
    n_unknown: int = 0
    n_replaced: int = 0


class _Wrong(Exception):
    """A value that cannot be used, with its key."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")


def read_tasks(data: bytes, name: str, config: Config) -> TaskFile:
    """The tasks of an export in JSON.

    Raises:
        InputError: It is not JSON, or tasks are wrong, each with its line and key.
    """
    file, errors = TaskFile(), []
    text = decoded(data, name).text
    if not text.lstrip().startswith("["):
        raise InputError(f"{name}: line 1: {ACCEPTED}")
    values = elements(text, wrong=lambda line, problem: InputError(f"{name}: line {line}: {problem}"))
    for n, (line, value) in enumerate(values):
        try:
            file.tasks.append(_task(value, f"line {line}: [{n}]", config, file))
        except _Wrong as wrong:
            errors.append(f"{name}: line {line}: [{n}].{wrong}")
    if errors:
        more = [f"and {len(errors) - MOST_ERRORS:,} more"] if len(errors) > MOST_ERRORS else []
        raise InputError("\n".join([*errors[:MOST_ERRORS], *more]))
    if not file.tasks:
        raise InputError(f"{name}: line 1: no tasks; {ACCEPTED}")
    return file


def _object(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(key, f"expected an object, got {shown(value)}")
    return value


def _list(parent: Mapping[str, object], name: str, key: str) -> list[Any]:
    value = parent.get(name)
    if value is not None and not isinstance(value, list):
        raise _Wrong(key, f"expected a list, got {shown(value)}")
    return value or []


def _task(task: Mapping[str, object], place: str, config: Config, file: TaskFile) -> Task:
    data = {}
    if "data" not in task and "annotation_id" in task:
        raise _Wrong("data", "missing, because this is the export JSON-MIN; export the project as JSON")
    for key, value in _object(task.get("data"), "data").items():
        text = (
            value
            if isinstance(value, str)
            else ""
            if value is None
            else json.dumps(value, ensure_ascii=False)
        )
        file.n_replaced += SURROGATE.search(text) is not None
        data[_words(key)] = _words(text)
    for variable in config.variables:
        if variable not in data:
            raise _Wrong(f"data.{variable}", "missing; the configuration shows it")
    file.n_predictions += len(_list(task, "predictions", "predictions"))
    if "annotations" not in task and "completions" in task:
        raise _Wrong("completions", "the format of a version before 1.0; export the tasks again")
    by: dict[str, Annotation] = {}
    for n, given in enumerate(_list(task, "annotations", "annotations")):
        key = f"annotations[{n}]"
        annotation = _annotation(_object(given, key), key, config, file, data)
        if annotation.by == UNKNOWN:
            file.n_unknown += 1
            n_before = sum(other.startswith(UNKNOWN) for other in by)
            annotation = annotation._replace(by=f"{UNKNOWN}-{n_before + 1}" if n_before else UNKNOWN)
        file.n_repeated += annotation.by in by
        by[annotation.by] = annotation
    return Task(place, _words(str(task.get("id", ""))), data, list(by.values()))


def _words(text: str) -> str:
    return without_controls(SURROGATE.sub("\ufffd", text))


def _annotation(
    value: Mapping[str, object], key: str, config: Config, file: TaskFile, data: Mapping[str, str]
) -> Annotation:
    is_skipped = value.get("was_cancelled") is True
    answers, side = ({}, "") if is_skipped else _results(value, key, config, file, data)
    seconds = value.get("lead_time")
    if seconds is not None and not (is_number(seconds) and 0 <= seconds < MAX_SECONDS):
        raise _Wrong(f"{key}.lead_time", f"expected a number of seconds, got {shown(seconds)}")
    by = value.get("completed_by")
    if isinstance(by, dict):  # an object with an email or a username, instead of an id
        by = next((by[name] for name in ("email", "username", "id") if by.get(name)), None)
    by = UNKNOWN if by is None and "completed_by" in value else by
    if isinstance(by, bool) or not isinstance(by, (str, int)) or not str(by).strip():
        accepted = "the id or the email of the annotator"
        raise _Wrong(f"{key}.completed_by", f"expected {accepted}, got {shown(by)}")
    person = "-".join(_words(str(by)).split())
    created, created_at = "", value.get("created_at")
    if created_at is not None:
        try:
            time = datetime.fromisoformat(str(created_at))
        except ValueError:
            accepted = "a time such as 2026-11-24T12:53:17Z"
            raise _Wrong(f"{key}.created_at", f"expected {accepted}, got {shown(created_at)}") from None
        created = (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()
    return Annotation(
        person, answers, side, is_skipped, created, "" if seconds is None else str(round(seconds))
    )


def _results(
    annotation: Mapping[str, object], key: str, config: Config, file: TaskFile, data: Mapping[str, str]
) -> tuple[dict[str, Any], str]:
    """The answers by question, and the side of a comparison."""
    answers: dict[str, Any] = {}
    side, seen = "", set()
    marks: dict[str, list[dict[str, Any]]] = {}
    for place, name, value in _known_results(annotation, key, config, file):
        control = config.controls.get(name)
        if control is not None and control.tag == "Labels":
            marks.setdefault(control.question["key"], []).extend(
                _marks(control, value, f"{place}.value", data)
            )
            continue
        if name in seen:
            raise _Wrong(f"{place}.from_name", f"{name} is answered twice")
        seen.add(name)
        if control is not None:
            answer = _answer(control, value, f"{place}.value.{TYPES[control.tag][1]}")
            answers |= {control.question["key"]: answer} if answer else {}
        else:
            side = _side(name, value, f"{place}.value", config) or side
    joined = {question: _joined(given) for question, given in marks.items()}
    for question, parts in joined.items():
        file.n_joined += len(marks[question]) - len(parts)
        if len(parts) > MARKS:
            problem = f"{len(parts):,} parts are marked with {question}; at most {MARKS} are accepted"
            raise _Wrong(f"{key}.result", problem)
    return answers | joined, side


def _known_results(
    annotation: Mapping[str, object], key: str, config: Config, file: TaskFile
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The results of controls that have a counterpart: its place, the control, and the value."""
    for n, value in enumerate(_list(annotation, "result", f"{key}.result")):
        place = f"{key}.result[{n}]"
        result = _object(value, place)
        name = result.get("from_name")
        if result.get("type") == "relation" or (isinstance(name, str) and name in config.left_out):
            file.n_left_out += 1
            continue
        of_pair = {config.pairwise.name, config.ties} if config.pairwise is not None else set()
        if not isinstance(name, str) or not (name in config.controls or name in of_pair):
            raise _Wrong(f"{place}.from_name", f"{shown(name)} is not a control of the configuration")
        yield place, name, _object(result.get("value"), f"{place}.value")


def _marks(
    control: Control, value: Mapping[str, object], key: str, data: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The parts of a region, one for each of its labels. Label Studio counts Unicode code points, as Assay does."""
    field_of_text = control.question["field"]
    text, start, end = data[field_of_text], value.get("start"), value.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        place = f"characters of {field_of_text}, which has {len(text):,}"
        raise _Wrong(key, f"start {shown(start)} and end {shown(end)} are not {place}")
    if value.get("text", text[start:end]) != text[start:end]:
        raise _Wrong(f"{key}.text", f"{field_of_text} has {shown(text[start:end])} from {start} to {end}")
    words = _texts(value.get("labels"), f"{key}.labels")
    if not words:
        raise _Wrong(f"{key}.labels", "empty; a region needs a label")
    chosen = [_chosen(control, word, f"{key}.labels") for word in words]
    return [{"start": start, "length": end - start, "choice": choice} for choice in dict.fromkeys(chosen)]


def _joined(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Marked parts in order, in which no two parts with the same choice overlap."""
    last: dict[str, dict[str, Any]] = {}
    joined = []
    for mark in sorted(marks, key=lambda mark: (mark["start"], mark["length"])):
        before = last.get(mark["choice"])
        if before is not None and mark["start"] < before["start"] + before["length"]:
            end = max(before["start"] + before["length"], mark["start"] + mark["length"])
            before["length"] = end - before["start"]
        else:
            last[mark["choice"]] = mark
            joined.append(mark)
    return joined


def _side(name: str, value: Mapping[str, object], place: str, config: Config) -> str:
    """The side that a comparison prefers; or tie or bad, which another control may say."""
    assert config.pairwise is not None
    if name == config.pairwise.name:
        word, key, accepted = value.get("selected"), "selected", config.pairwise.sides
    else:
        [word] = _texts(value.get("choices"), f"{place}.choices", most=1) or [""]
        key, accepted = "choices", config.tie_words
    if word in ("", "none"):
        return ""
    if not isinstance(word, str) or word not in accepted:
        raise _Wrong(f"{place}.{key}", f"{shown(word)} is not a side; use {', '.join(accepted)}")
    return accepted[word]


def _texts(value: object, key: str, *, most: int | None = None) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _Wrong(key, f"expected a list of texts, got {shown(value)}")
    if most is not None and len(texts) > most:
        raise _Wrong(key, f"expected one choice, got {len(texts)}")
    return [_words(text) for text in texts]


def _answer(control: Control, value: Mapping[str, object], key: str) -> str | list[str]:
    given = value.get(TYPES[control.tag][1])
    if control.tag == "Choices":
        is_list = control.question["kind"] == "any-of"
        words = _texts(given, key, most=None if is_list else 1)
        chosen = [_chosen(control, word, key) for word in words]
        in_order = [choice for choice in dict.fromkeys(control.choices.values()) if choice in chosen]
        return in_order if is_list else "".join(chosen)
    if control.tag == "Rating":
        return _chosen(control, str(given) if isinstance(given, int) else shown(given), key)
    if control.tag == "Number":
        is_short = is_number(given) and abs(given) < 10**16
        number = format(Decimal(repr(given)), "f") if is_short else ""  # without an exponent
        if not NUMBER.fullmatch(number):
            accepted = "a number of at most 15 digits before and after the point"
            raise _Wrong(key, f"expected {accepted}, got {shown(given)}")
        return number
    text = "\n".join(_texts(given, key))
    if len(text) > MAX_CHARACTERS:
        raise _Wrong(key, f"{len(text):,} characters; a text has at most {MAX_CHARACTERS:,}")
    return text


def _chosen(control: Control, word: str, key: str) -> str:
    if word not in control.choices:
        accepted = ", ".join(list(control.choices)[:20])
        raise _Wrong(key, f"{shown(word)} is not a choice of {control.question['key']}; use {accepted}")
    return control.choices[word]
