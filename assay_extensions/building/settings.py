"""The settings of a build: the periods of the collection and of the topics, and what is made of the posts."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple, Self

from assay.errors import InputError, Refused

Duplicates = Literal["keep", "exact", "near"]
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
OVERLAP = 0.8  # of the word shingles of two near-duplicates


class NotBuilt(Refused):
    """A collection cannot be built as requested."""

    title = "The collection cannot be built"


class Period(NamedTuple):
    """Days in ISO 8601: the first, and the one after the last. An empty string is no limit."""

    start: str = ""
    before: str = ""

    def has(self, moment: str) -> bool:
        """Return whether a date and time in ISO 8601 is in the period; a missing one is if there are no limits."""
        return self.start <= moment and (not self.before or (bool(moment) and moment < self.before))

    @property
    def last(self) -> str:
        """The last day; empty without a limit."""
        return (date.fromisoformat(self.before) - timedelta(days=1)).isoformat() if self.before else ""

    def __str__(self) -> str:
        words = [f"from {self.start}"] if self.start else []
        return " ".join([*words, f"until {self.last}"] if self.before else words) or "any date"


ANY = Period()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options that decide the bytes of a build, together with its source."""

    collection: Period = ANY
    topics: Period | None = None  # the candidates; None if there are none
    has_formulas: bool = True  # look for formulas; else dollars are text
    has_pages: bool = True  # write a page of HTML for each thread
    duplicates: Duplicates = "keep"
    overlap: float = OVERLAP  # of near-duplicates

    def as_json(self) -> dict[str, Any]:
        topics = self.topics._asdict() if self.topics else None
        return asdict(self) | {"collection": self.collection._asdict(), "topics": topics}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """The settings that `as_json` gave."""
        topics = Period(**data["topics"]) if data["topics"] else None
        return cls(**{**data, "collection": Period(**data["collection"]), "topics": topics})


def periods(
    first: str = "", last: str = "", topics_first: str = "", topics_last: str = ""
) -> tuple[Period, Period | None]:
    """The periods of the collection and of the topics, from years, months or days that all belong to them.

    Topics begin after the collection, if nothing else is requested; without an end of the collection there are none.

    >>> periods("2010", "2018")
    (Period(start='2010-01-01', before='2019-01-01'), Period(start='2019-01-01', before=''))

    Raises:
        InputError: A date is not a date, a period ends before it starts, or the periods overlap.
    """
    collection = _period(first, last, "--from", "--until")
    topics = _period(topics_first, topics_last, "--topics-from", "--topics-until")
    if topics == ANY:
        return collection, Period(collection.before) if collection.before else None
    if not topics.start:
        topics = Period(collection.before, topics.before)
    if (not collection.before or topics.start < collection.before) and (
        not topics.before or collection.start < topics.before
    ):
        raise InputError(
            f"the topics ({topics}) and the collection ({collection}) overlap: a topic's own question would be in "
            "the collection. Choose --until before --topics-from."
        )
    return collection, topics


def _period(first: str, last: str, first_name: str, last_name: str) -> Period:
    period = Period(
        _day(first, first_name).isoformat() if first else "", _day_after(last, last_name) if last else ""
    )
    if period.start and period.before and period.before <= period.start:
        raise InputError(f"{last_name} {last} is before {first_name} {first}")
    return period


def _day(text: str, name: str) -> date:
    """The first day of a year, month or day."""
    parts = _DATE.fullmatch(text)
    try:
        if parts is None or parts[1] == "9999":  # the day after its last one is no date
            raise ValueError
        return date(int(parts[1]), int(parts[2] or 1), int(parts[3] or 1))
    except ValueError:
        raise InputError(
            f"{name}: {text!r} is not a date; use a year, month or day such as 2018-12-31"
        ) from None


def _day_after(text: str, name: str) -> str:
    day, n_parts = _day(text, name), text.count("-")
    if n_parts == 2:
        return (day + timedelta(days=1)).isoformat()
    months = day.year * 12 + day.month - 1 + (1 if n_parts else 12)
    return date(months // 12, months % 12 + 1, 1).isoformat()
