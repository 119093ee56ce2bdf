"""Finds the lines of keys in the text of a protocol, because tomllib does not say them.

A key is written as in complaints: `runs.kind[2].depth` is the depth of the second `[[runs.kind]]`.
"""

import re
from collections import Counter
from functools import lru_cache

_TABLE = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?")
_WORD = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = re.compile(rf"\s*({_WORD}(?:\s*\.\s*{_WORD})*)\s*=(.*)")
_QUOTES = ('"""', "'''")


def line_of(text: str, key: str) -> int:
    """The line of a key, or of the nearest table around it; 0 if neither is in the text."""
    lines = _lines(text)
    while key and key not in lines:
        if f"{key}[1]" in lines:
            return lines[f"{key}[1]"]
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return lines.get(key, 0)


@lru_cache(maxsize=1)  # the lines of all complaints about a file are looked up one after another
def _lines(text: str) -> dict[str, int]:
    lines: dict[str, int] = {}
    counts: Counter[str] = Counter()
    table = open_quotes = ""
    for number, line in enumerate(text.split("\n"), 1):
        if open_quotes:
            open_quotes = "" if open_quotes in line else open_quotes
        elif header := _TABLE.fullmatch(line):
            table = _named(header[2], counts, is_item=header[1] == "[[")
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            name = _plain(key[1])
            lines.setdefault(f"{table}.{name}" if table else name, number)
            open_quotes = next((quotes for quotes in _QUOTES if key[2].count(quotes) == 1), "")
    return lines


def _named(header: str, counts: Counter[str], *, is_item: bool) -> str:
    """The name of a table, with the number of each list that it is in."""
    name = ""
    words = _plain(header).split(".")
    for word in words[:-1]:
        name = f"{name}.{word}" if name else word
        name += f"[{counts[name]}]" if counts[name] else ""
    name = f"{name}.{words[-1]}" if name else words[-1]
    if is_item:
        counts[name] += 1
        name += f"[{counts[name]}]"
    return name


def _plain(key: str) -> str:
    """A key without white space around its dots and without quotation marks."""
    return ".".join(word.strip().strip("\"'") for word in key.split("."))
