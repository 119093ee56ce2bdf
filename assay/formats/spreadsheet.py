"""Makes the cells of a table safe for spreadsheets, which run text that looks like a formula."""

import re
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?|-?\.[0-9]+")


def harmless(value: Any) -> Any:
    """The value of a cell, with an apostrophe before text that a spreadsheet would run as a formula."""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
