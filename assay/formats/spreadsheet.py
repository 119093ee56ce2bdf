"""Cells that a spreadsheet shows and does not run. A file format: no Django."""

import re
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?|-?\.[0-9]+")


def harmless(value: Any) -> Any:
    """The value of a cell; a text that would be taken for a formula gets an apostrophe in front."""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
