"""Filters and orders of the lists of the API. A list states them where it is made; a wrong value is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError

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

    def value(self, text: str) -> Any:
        """The value that a text names.

        Raises:
            ValidationError: It names none; what is accepted.
        """
        if self.kind == "whole number" and text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:
            return int(text)
        if self.kind == "true or false" and text in TRUTH:
            return TRUTH[text]
        if self.kind == "text" and (not self.values or text in self.values):
            return text
        accepted = ", ".join(self.values) or self.kind
        raise ValidationError({self.name: f"“{text[:40]}” is not accepted. Accepted: {accepted}."})


def order_parameter(orders: Sequence[str]) -> OpenApiParameter:
    """The description of the order of a list."""
    both = [sign + name for name in orders for sign in ("", "-")]
    about = "The order of the rows; with a minus, from the last to the first."
    return OpenApiParameter("order", OpenApiTypes.STR, description=about, enum=both)


def filtered(rows: Any, filters: Sequence[Filter], asked: Mapping[str, str]) -> Any:
    """The rows that have the values that a request names."""
    for each in filters:
        if each.name in asked:
            rows = rows.filter(**{each.field or each.name: each.value(asked[each.name])})
    return rows


def order_of(orders: Sequence[str], asked: Mapping[str, str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """The columns by which the rows are ordered; the last one is unique.

    Raises:
        ValidationError: The list has no such order.
    """
    text = asked.get("order", "")
    if "order" not in asked:
        return usual
    if text.removeprefix("-") not in orders:
        accepted = ", ".join(order_parameter(orders).enum or ())
        raise ValidationError({"order": f"“{text[:40]}” is not accepted. Accepted: {accepted}."})
    return text, "-pk" if text.startswith("-") else "pk"
