"""The lines of a TOML file, each with the key that it states, so that one key can change and all other bytes stay.

A `Line` ends where the next key, header, comment or blank line begins: a text or list of several lines is one. Comments
directly above a header, and the blank lines above them, belong to its table: they move and go with it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from assay.protocols.loader import TEXT

HEADER = re.compile(r"\s*(\[\[?)([^\]\n]++)\]\]?\s*+(?:#.*)?\n?")
WORD = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
KEYS = re.compile(rf"\s*({WORD}(?:\s*\.\s*{WORD})*)\s*=")


class Line(NamedTuple):
    """A logical line: the path of its table, such as `runs.kind[2]`, and its key, by words."""

    table: str
    words: tuple[str, ...]
    text: str
    is_header: bool = False

    @property
    def path(self) -> str:
        """The path of its key; empty for a header, comment or blank line."""
        return ".".join(filter(None, [self.table, *self.words])) if self.words else ""

    def is_below(self, path: str) -> bool:
        """Return whether it is in a table, or in one below it."""
        return not path or self.table == path or self.table.startswith((f"{path}.", f"{path}["))


def lines_of(text: str) -> list[Line]:
    """The lines of a file, whose texts joined are the file."""
    counts: Counter[str] = Counter()
    table, lines = "", []
    for whole in _logical_lines(text):
        if header := HEADER.fullmatch(whole):
            table = _table_path(header[2], counts, is_item=header[1] == "[[")
            lines.append(Line(table, (), whole, is_header=True))
            _give_leading(lines, table)
        else:
            keys = KEYS.match(whole)
            lines.append(Line(table, _words(keys[1]) if keys else (), whole))
    return lines


def text_of(lines: list[Line]) -> str:
    return "".join(line.text for line in lines)


def _logical_lines(text: str) -> Iterator[str]:
    """Split at the ends of lines that are outside of texts and lists."""
    plain = TEXT.sub(lambda match: (" " if match[0].startswith("#") else "x") * len(match[0]), text)
    start = end = depth = 0
    for part in plain.split("\n"):
        end += len(part) + 1
        is_header = not depth and part.lstrip().startswith("[")
        depth += 0 if is_header else sum(map(part.count, "[{")) - sum(map(part.count, "]}"))
        if depth <= 0:
            if line := text[start:end]:
                yield line
            start, depth = end, 0
    if start < len(text):
        yield text[start:]


def _give_leading(lines: list[Line], table: str) -> None:
    """Give a header, the last line, the comments directly above it, and the blank lines above those."""
    n = len(lines) - 2
    while n >= 0 and not lines[n].words and not lines[n].is_header and lines[n].text.lstrip().startswith("#"):
        n -= 1
    while n >= 0 and not lines[n].text.strip():
        n -= 1
    lines[n + 1 :] = [line._replace(table=table) for line in lines[n + 1 :]]


def _table_path(header: str, counts: Counter[str], *, is_item: bool) -> str:
    """The path of a table, with the number of each list that it is in."""
    *parents, last = _words(header)
    name = ""
    for word in parents:
        name += f".{word}" if name else word
        name += f"[{counts[name]}]" if counts[name] else ""
    name += f".{last}" if name else last
    counts[name] += is_item
    return f"{name}[{counts[name]}]" if is_item else name


def _words(key: str) -> tuple[str, ...]:
    return tuple(word.strip("\"'") for word in re.findall(WORD, key))
