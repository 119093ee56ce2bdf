"""The things of a draft that a key names, such as the grades after which a question is asked."""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.protocols.questions import CLOSED
from assay.protocols.schema import CONDITION, GRADED, PREFERENCES, YES_AND_NO
from assay.protocols.units import BY_LAYOUT
from tracks.drafts.schema import parent_of, spec_of, steps_of, tables_at, value_at

ANSWERS = [{"key": answer.key, "label": answer.label} for answer in YES_AND_NO]
PREFERRED = [{"key": preference.key, "label": preference.label} for preference in PREFERENCES]


def named_by(path: str, data: Mapping[str, object]) -> dict[str, str]:
    """The words that a key may have, each with what the form calls it."""
    place = spec_of(path).key.names
    if place == CONDITION:
        return dict(_conditions(path, data))
    if place == GRADED:
        return {str(choice["key"]): name_of(choice) for choice in _graded(path, data) if choice.get("key")}
    value = value_at(data, place)
    tables = [table for table in tables_at(data, place) if table]
    if tables:
        return {key: name_of(table) for table in tables if (key := str(table.get("key", "")))}
    return {str(key): str(key) for key in value} if isinstance(value, (list, dict)) else {}


def name_of(table: Mapping[str, object]) -> str:
    """The name of a table of a list in the form; empty if it has none yet."""
    return next((str(table[key]) for key in ("label", "title", "key") if table.get(key)), "")


def _graded(path: str, data: Mapping[str, object]) -> list[Any]:
    """The choices that a set of qrels grades: those of its question, or the grades."""
    asked = value_at(data, f"{parent_of(path)}.question")
    if not asked:
        return tables_at(data, "judging.grade")
    questions = tables_at(data, "judging.question")
    question = next((question for question in questions if question.get("key") == asked), {})
    return ANSWERS if question.get("kind") == "yes-no" else tables_at(question, "choice")


def _conditions(path: str, data: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The conditions that a key may have: grades, choices of questions before its own, and values of labels."""
    unit = BY_LAYOUT.get(str(value_at(data, "judging.layout")))
    for grade in PREFERRED if unit and unit.has_votes else tables_at(data, "judging.grade"):
        if key := str(grade.get("key", "")):
            yield key, name_of(grade)
    n = next((n for key, n in steps_of(path) if key == "question"), None)
    for question in tables_at(data, "judging.question")[: None if n is None else n - 1]:
        if (kind := str(question.get("kind", "one-of"))) in CLOSED and not question.get("choices_from"):
            choices = tables_at(question, "choice")
            for choice in ANSWERS if kind == "yes-no" else choices:
                yield f"{question.get('key')}:{choice.get('key')}", f"{name_of(question)} {name_of(choice)}"
    labels = value_at(data, "topics.labels")
    for label, values in labels.items() if isinstance(labels, dict) else ():
        for entry in values if isinstance(values, list) else ():
            yield f"topic.{label}:{entry}", f"Topic, {label}: {entry}"
