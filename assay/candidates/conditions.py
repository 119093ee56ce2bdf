"""Conditions on candidates, written as text, such as `score=5..`, `tags=calculus|limits` or `duplicates=0`.

A number or a date equals a value or is in a range whose ends belong to it, either of which may be missing. A candidate
has one of the tags, or one of the values of a label, that `|` separates. `text` is met if the title, the body or the
tags contain all of its words. Several conditions are separated by commas, and all of them must be met.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from assay.candidates.reader import COUNTS, Candidate
from assay.errors import InputError

LISTS = ("duplicates", "related")  # of which the length counts
NUMBERS = (*COUNTS[:3], *LISTS, *COUNTS[3:])
LINKED = "linked"  # the number of duplicates and related posts together: ARQMath asked for one of either
FIELDS = (*NUMBERS, LINKED, "date", "tags", "text")
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_NEXT = re.compile(r",\s*(?=[\w-]+=)")
Labels = Mapping[str, Mapping[str, str]]  # of the candidates that have some, by id


@dataclass(frozen=True)
class Condition:
    """A condition on a field or a label. A range has `low` and `high`, anything else `values`.

    The values of texts and labels are in small letters.
    """

    name: str
    low: int | str | None = None
    high: int | str | None = None
    values: tuple[str, ...] = ()

    @property
    def is_label(self) -> bool:
        return self.name not in FIELDS

    def __str__(self) -> str:
        if self.values:
            return f"{self.name}={(' ' if self.name == 'text' else '|').join(self.values)}"
        if self.low == self.high:
            return f"{self.name}={self.low}"
        low, high = ("" if end is None else end for end in (self.low, self.high))
        return f"{self.name}={low}..{high}"

    def is_met(self, candidate: Candidate, labels: Mapping[str, str]) -> bool:
        """Return whether a candidate with these labels meets the condition."""
        if self.is_label:
            return labels.get(self.name, "").casefold() in self.values
        if self.name == "text":
            return all(word in candidate.text for word in self.values)
        if self.name == "tags":
            return not set(self.values).isdisjoint(candidate.tags)
        value = value_of(candidate, self.name)
        if value == "":  # a candidate without a date
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)  # type: ignore[operator]


def value_of(candidate: Candidate, name: str) -> int | str:
    """The number of a field, or the day of the date; empty without a date."""
    if name == "date":
        return candidate.date[:10]
    if name == LINKED:
        return len(candidate.duplicates) + len(candidate.related)
    value = getattr(candidate, name)
    return len(value) if name in LISTS else value


def parse_conditions(text: str, labels: Iterable[str] | None = ()) -> tuple[Condition, ...]:
    """Conditions separated by commas. `labels` are the names of the labels that candidates may have; None is any.

    Raises:
        InputError: A condition cannot be read; what is accepted.

    >>> [str(condition) for condition in parse_conditions("score=5.., tags=limits|calculus, duplicates=0")]
    ['score=5..', 'tags=limits|calculus', 'duplicates=0']
    """
    names = None if labels is None else [*labels]
    return tuple(_condition(part.strip(), names) for part in _NEXT.split(text) if part.strip())


def _condition(text: str, labels: list[str] | None) -> Condition:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or (labels is not None and name not in (*FIELDS, *labels)):
        accepted = ", ".join((*FIELDS, *(labels or ())))
        raise InputError(f"“{text[:80]}” is not a condition; write NAME=VALUE, with a name of {accepted}")
    if name in NUMBERS or name in {LINKED, "date"}:
        first, dots, last = value.partition("..")
        low, high = (_end(name, end.strip()) for end in (first, last if dots else first))
        if low is None and high is None:
            raise InputError(f"{name}={value[:40]} has no value; {_accepted(name)}")
        if low is not None and high is not None and low > high:  # type: ignore[operator]
            raise InputError(f"{name}={value[:40]}: the first value is above the second")
        return Condition(name, low, high)
    values = value.split() if name == "text" else value.split("|")
    cleaned = tuple(
        value.strip() if name == "tags" else value.strip().casefold() for value in values if value.strip()
    )
    if not cleaned:
        raise InputError(f"“{text[:80]}” has no value after {name}=")
    return Condition(name, values=cleaned)


def _end(name: str, text: str) -> int | str | None:
    if not text:
        return None
    if name != "date" and _NUMBER.fullmatch(text):
        return int(text)
    with suppress(ValueError):
        if name == "date":
            return date.fromisoformat(text).isoformat()
    raise InputError(f"{name}={text[:40]} cannot be read; {_accepted(name)}")


def _accepted(name: str) -> str:
    return f"use {'2020-01-01.. or 2020-01-01..2020-06-30' if name == 'date' else '5, 5.., ..5 or 1..5'}"


def meets(candidate: Candidate, conditions: Iterable[Condition], labels: Labels) -> bool:
    """Return whether a candidate meets all conditions."""
    own = labels.get(candidate.id, {})
    return all(condition.is_met(candidate, own) for condition in conditions)
