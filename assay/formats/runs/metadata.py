"""The header of ir_metadata in a run of lines: how the run was made, in comments before its first line.

::

    # ir_metadata.start
    # platform:
    #   hardware:
    #     cpu:
    #       model: Intel Xeon Gold 6144
    # method:
    #   automatic: true
    #   retrieval:
    #     - name: bm25
    #       k1: 0.9
    # ir_metadata.end

The comments are YAML. Here they become a flat mapping, such as `platform.hardware.cpu.model`; the values of a list are
separated by commas. Nested maps, lists and texts of several lines are read; anchors, tags and flow maps are not.

Source: Breuer, Keller & Schaer (2022), doi:10.1145/3477495.3531738; ir-metadata.org.
"""

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import BinaryIO, NamedTuple

from assay.errors import InputError

START, END = b"ir_metadata.start", b"ir_metadata.end"
MAX_VALUE = 10_000  # characters, as of an answer
MAX_BYTES = 1 << 20  # of a file of its own
Warn = Callable[[int, str], object]  # the number of a line, and what is wrong with it


class _Open(NamedTuple):
    """A key whose value is in the lines below it; `is_text` if that is a text of several lines."""

    indent: int
    key: str
    is_text: bool


def fields_of(lines: list[bytes], first: int, warn: Warn) -> tuple[Mapping[str, str], dict[str, int]]:
    """The fields of the lines of a header by their path, in their order, and the number of the first line of each."""
    values: dict[str, list[str]] = {}
    numbers: dict[str, int] = {}
    for number, path, value in _pairs(lines, first, warn):
        values.setdefault(path, []).append(value)
        numbers.setdefault(path, number)
    return {path: ", ".join(of_path)[:MAX_VALUE] for path, of_path in values.items()}, numbers


def fields_of_file(file: BinaryIO, name: str) -> Mapping[str, str]:
    """The fields of a file of its own, which has the YAML of a header with or without its comment signs.

    Raises:
        InputError: It is too long, or a line is not “key: value”.
    """
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InputError(f"{name}: larger than {MAX_BYTES >> 20} MB, and no file of ir_metadata")
    lines = content.removeprefix(BOM_UTF8).splitlines()
    of_header = any(START in line for line in lines)
    marks = (START, END) if of_header else (b"---", b"...")
    lines = [b"#" if any(mark in line for mark in marks) else line for line in lines]

    def refuse(number: int, message: str) -> None:
        raise InputError(f"{name}: line {number}: {message}")

    return fields_of([line if of_header else b"#" + line for line in lines], 1, refuse)[0]


def _pairs(lines: list[bytes], first: int, warn: Warn) -> Iterator[tuple[int, str, str]]:
    """Yield each value with the number of its line and its path."""
    keys: list[_Open] = []
    for number, line in enumerate(lines, first):
        text = line[1:].decode("utf-8", "replace").replace("\t", "  ")
        content = text.strip()
        if not content or content.startswith("#"):
            continue
        indent = len(text) - len(text.lstrip())
        is_item = content.startswith("- ")
        while content.startswith("- "):
            indent, content = indent + 2, content[2:].lstrip()
        while keys and keys[-1].indent >= indent:
            keys.pop()
        key, value = _key_of(content)
        path = ".".join(key.key for key in keys)
        if keys and (keys[-1].is_text or (is_item and not key)):
            yield number, path, _value(content)
        elif not key:
            warn(number, "the line of ir_metadata is not “key: value”")
        elif value in {"", "|", ">", "|-", ">-"}:
            keys.append(_Open(indent, key, is_text=bool(value)))
        else:
            yield number, ".".join(filter(None, (path, key))), _value(value)


def _key_of(content: str) -> tuple[str, str]:
    """The key and value of a line; no key if it is a value."""
    if content.startswith(('"', "'", "[", "{")):
        return "", content
    key, separator, value = content.partition(": ")
    if separator:
        return key.strip(), value.strip()
    return (content[:-1].strip(), "") if content.endswith(":") else ("", content)


def _value(word: str) -> str:
    """A scalar without quotation marks, or a list without brackets."""
    if word.startswith('"') and word.endswith('"') and len(word) > 1:
        try:
            return str(json.loads(word))
        except ValueError:
            return word[1:-1]
    if word.startswith("'") and word.endswith("'") and len(word) > 1:
        return word[1:-1].replace("''", "'")
    word = word.partition(" #")[0].rstrip()
    return word[1:-1].strip() if word.startswith("[") and word.endswith("]") else word


def header(fields: Mapping[str, str]) -> bytes:
    """A header with some fields by their path, sorted; those without a value are left out.

    >>> print(header({"tag": "bm25", "method.automatic": "true"}).decode(), end="")
    # ir_metadata.start
    # method:
    #   automatic: "true"
    # tag: "bm25"
    # ir_metadata.end
    """
    filled = sorted((path.split("."), value) for path, value in fields.items() if value)
    lines = [START.decode(), *_block(filled), END.decode()]
    return "".join(f"# {line}\n" for line in lines).encode()


def _block(fields: list[tuple[list[str], str]]) -> Iterator[str]:
    for key, group in groupby(fields, key=lambda field: field[0][0]):
        below = [(path[1:], value) for path, value in group]
        nested = list(_block([field for field in below if field[0]]))
        if below[0][0]:
            yield f"{key}:"
            yield from (f"  {line}" for line in nested)
        elif not nested:
            yield f"{key}: {json.dumps(below[0][1], ensure_ascii=False)}"
        else:  # a value and keys below it, as of a list of both
            yield f"{key}:"
            yield f"  - {json.dumps(below[0][1], ensure_ascii=False)}"
            yield from (f"    {line}" if line.startswith(" ") else f"  - {line}" for line in nested)
