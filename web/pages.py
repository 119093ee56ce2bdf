"""The context of a page, from the dataclass that a selector returns."""

from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def context_of(page: "DataclassInstance") -> dict[str, object]:
    """The fields of a page by name, for its template. Shallow, so that querysets stay lazy."""
    return {field.name: getattr(page, field.name) for field in fields(page)}
