"""Makes dataclasses from TOML files. tomllib does not tell the lines of keys, so they are looked up in the text."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

from assay.errors import InputError, plural
from assay.structure.reading import WrongStructure, shown, structured

T = TypeVar("T")
MAX_PROBLEMS = 20  # that a message lists
_PATHS = re.compile(r"\('[^()]*\)")  # as tomllib writes keys
_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_TABLE = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?")
_WORD = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = re.compile(rf"\s*({_WORD}(?:\s*\.\s*{_WORD})*)\s*=(.*)")
_QUOTES = ('"""', "'''")
_HINTS = {
    "Invalid value": "text is written between straight quotation marks, and truth as true or false",
    "Illegal character": "text ends with the quotation mark with which it begins, on the same line",
    "Cannot declare": "a table occurs once, and each table of a list has double brackets, as in [[judging.grade]]",
    "Cannot overwrite": "each key occurs once",
    "Expected '='": 'write key = "text", key = 5 or [table]',
    "Invalid statement": 'write key = "text", key = 5 or [table]',
}


def decoded(data: bytes, name: str, error: type[InputError] = InputError) -> str:
    """The text of a TOML file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise error(f"{name}: not UTF-8 (byte {wrong.start + 1}); TOML files are UTF-8") from None


def read_toml(
    text: str,
    kind: type[T],
    /,
    *,
    name: str,
    rules: Callable[[T], Iterable[str]],
    error: type[InputError] = InputError,
    most: int | None = None,
    is_checked: bool = False,
    **others: Any,
) -> T:
    """A dataclass from TOML.

    Args:
        name: of the file, in messages.
        rules: what is wrong with a dataclass beyond its types, each with its key.
        error: the class of the errors.
        most, is_checked, others: see `structured`.

    Raises:
        InputError: All wrong keys and values, each with its line; without any, all broken rules.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise error(f"{name}: {_syntax(str(wrong), text)}") from None
    except RecursionError:
        raise error(f"{name}: not TOML: nested too deeply") from None
    except ValueError:  # Python reads no decimal number of more than 4300 digits
        raise error(f"{name}: not TOML: a number is too long") from None
    try:
        made = structured(kind, data, most=most, is_checked=is_checked, **others)
    except WrongStructure as wrong:
        raise _with_lines(error, text, name, wrong.problems) from None
    if problems := list(rules(made)):
        raise _with_lines(error, text, name, problems)
    return made


def _syntax(message: str, text: str) -> str:
    """The place at which a text is not TOML, and what is accepted there."""
    place = _PLACE.fullmatch(message)
    if place is None:
        return f"not TOML: {message}"
    line = text.split("\n")[int(place[2]) - 1].strip()
    reason = _PATHS.sub(lambda keys: ".".join(re.findall(r"'([^']*)'", keys[0])), place[1])
    hint = next((f"; {hint}" for start, hint in _HINTS.items() if message.startswith(start)), "")
    return f"line {place[2]}: not TOML: {reason} at column {place[3]} of {shown(line)}{hint}"


def _with_lines(error: type[InputError], text: str, name: str, problems: Iterable[str]) -> InputError:
    """An error with the problems of a file, in the order of its lines; those without a line are last."""
    placed = [(line_of(text, problem.partition(": ")[0]), problem) for problem in dict.fromkeys(problems)]
    placed.sort(key=lambda pair: (not pair[0], pair[0]))
    lines = [f"line {line}: {problem}" if line else problem for line, problem in placed]
    more = [f"and {len(lines) - MAX_PROBLEMS} more"] if len(lines) > MAX_PROBLEMS else []
    all_lines = "\n".join([f"{name}: {plural(len(lines), 'error')}", *lines[:MAX_PROBLEMS], *more])
    made = error(f"{name}: {lines[0]}" if len(lines) == 1 else all_lines)
    made.errors = [
        {"line": line or None, "key": problem.partition(": ")[0], "code": "line", "message": problem}
        for line, problem in placed
    ]
    return made


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
    *parents, last = _plain(header).split(".")
    name = ""
    for word in parents:
        name += f".{word}" if name else word
        name += f"[{counts[name]}]" if counts[name] else ""
    name += f".{last}" if name else last
    counts[name] += is_item
    return f"{name}[{counts[name]}]" if is_item else name


def _plain(key: str) -> str:
    """A key without white space around its dots and without quotation marks."""
    return ".".join(word.strip().strip("\"'") for word in key.split("."))
