"""Filters and orders of the lists of the API. A list states them where it is made; a wrong value is refused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

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
        """Its description."""
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
            return _read(text, kind)
    except ValueError:
        pass
    accepted = ", ".join(map(str, parameter.enum or ())) or kind
    raise ValueError(f"“{text[:40]}” is not accepted. Accepted: {accepted}.")


def _read(text: str, kind: Kind) -> Any:
    if kind == "text":
        return text
    if kind == "true or false" and text in TRUTH:
        return TRUTH[text]
    if kind == "whole number" and text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:
        return int(text)
    if kind == "number" and isfinite(float(text)):
        return float(text)
    raise ValueError


def wrong_values(parameters: Iterable[OpenApiParameter], asked: QueryDict) -> dict[str, str]:
    """What is wrong with the values of a request, by parameter."""
    wrong = {}
    for each in parameters:
        for text in asked.getlist(each.name):
            try:
                value_of(each, text)
            except ValueError as error:
                wrong[each.name] = str(error)
    return wrong


def order_parameter(orders: Sequence[str]) -> OpenApiParameter:
    """The description of the order of a list."""
    both = [sign + name for name in orders for sign in ("", "-")]
    about = "The order of the rows; with a minus, from the last to the first."
    return OpenApiParameter("order", OpenApiTypes.STR, description=about, enum=both)


def filtered(rows: Any, filters: Sequence[Filter], asked: Mapping[str, str]) -> Any:
    """The rows that have the values that a request names, all of which are accepted ones."""
    for each in filters:
        if each.name in asked:
            rows = rows.filter(**{each.field or each.name: value_of(each.parameter, asked[each.name])})
    return rows


def order_of(asked: Mapping[str, str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """The columns by which the rows are ordered; the last one is unique."""
    text = asked.get("order", "")
    if not text:
        return usual
    return text, "-pk" if text.startswith("-") else "pk"
