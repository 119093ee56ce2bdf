"""Filters and orders of the lists of the API. A list states them where it is made; a wrong value is refused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import isfinite
from operator import or_
from typing import Any, Literal

from django.db.models import Q
from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

Kind = Literal["text", "whole number", "number", "true or false"]
KINDS: dict[Kind, Any] = {
    "text": OpenApiTypes.STR,
    "whole number": OpenApiTypes.INT,
    "number": OpenApiTypes.FLOAT,
    "true or false": OpenApiTypes.BOOL,
}
TRUTH = {"true": True, "false": False}
SEARCH, MOST_WORDS = "search", 10
MAX_DIGITS = 18  # that a column of PostgreSQL takes


@dataclass(frozen=True)
class Filter:
    """A parameter that a list is filtered by.

    Args:
        name: of the parameter.
        field: of the rows, as in a query; by default the name.
        values: the accepted ones; empty for any.
        kind: what it is written as.
    """

    name: str
    field: str = ""
    values: Sequence[str] = ()
    kind: Kind = "text"

    @property
    def parameter(self) -> OpenApiParameter:
        enum = list(self.values) or None
        return OpenApiParameter(
            self.name, KINDS[self.kind], description="Only rows with this value.", enum=enum
        )


def value_of(parameter: OpenApiParameter, text: str) -> Any:
    """The value that a text names.

    Raises:
        ValueError: It names none; what is accepted.
    """
    kind: Kind = next((kind for kind, written in KINDS.items() if written == parameter.type), "text")
    try:
        if not parameter.enum or text in parameter.enum:
            if kind == "text":
                return text
            if kind == "true or false" and text in TRUTH:
                return TRUTH[text]
            if kind == "whole number" and text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:
                return int(text)
            if kind == "number" and isfinite(float(text)):
                return float(text)
            raise ValueError
    except ValueError:
        pass
    accepted = ", ".join(map(str, parameter.enum or ())) or kind
    raise ValueError(f"“{text[:40]}” is not accepted. Accepted: {accepted}.")


def wrong_values(parameters: Iterable[OpenApiParameter], asked: QueryDict) -> dict[str, str]:
    """Problems with the values of a request, by parameter."""
    wrong = {}
    if len(asked.get(SEARCH, "").split()) > MOST_WORDS:
        wrong[SEARCH] = f"More than {MOST_WORDS} words."
    for parameter in parameters:
        for text in asked.getlist(parameter.name):
            try:
                value_of(parameter, text)
            except ValueError as error:
                wrong[parameter.name] = str(error)
    return wrong


def order_parameter(orders: Sequence[str]) -> OpenApiParameter:
    both = [sign + name for name in orders for sign in ("", "-")]
    about = "The order of the rows; with a minus, from the last to the first."
    return OpenApiParameter("order", OpenApiTypes.STR, description=about, enum=both)


def search_parameter(fields: Sequence[str]) -> OpenApiParameter:
    named = " or ".join(", ".join(map(_named, fields)).rsplit(", ", 1))
    about = f"Only rows with each of these words, of at most {MOST_WORDS}, in {named}; upper and lower case are equal."
    return OpenApiParameter(SEARCH, OpenApiTypes.STR, description=about)


def _named(field: str) -> str:
    """A field of rows as programs know it: team__name is the name of the team."""
    *relations, last = field.replace("_", " ").split("  ")
    return f"{last} of {relations[-1]}" if relations else last


def searched(rows: Any, fields: Sequence[str], asked: Mapping[str, str]) -> Any:
    """The rows that have each word that a request searches for in one of the fields."""
    for word in asked.get(SEARCH, "").split():
        rows = rows.filter(reduce(or_, (Q(**{f"{field}__icontains": word}) for field in fields)))
    return rows


def filtered(rows: Any, filters: Sequence[Filter], asked: Mapping[str, str]) -> Any:
    """The rows that have the values that a request names, all of which are accepted ones."""
    for rule in filters:
        if rule.name in asked:
            rows = rows.filter(**{rule.field or rule.name: value_of(rule.parameter, asked[rule.name])})
    return rows


def order_of(asked: Mapping[str, str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """The columns by which the rows are ordered; the last one is unique."""
    text = asked.get("order", "")
    if not text:
        return usual
    return text, "-pk" if text.startswith("-") else "pk"
