"""The result of converting a chunk of a file: lines for COPY by staging table, and counts of rows taken and skipped."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from assay.formats.text import BOM, FALLBACK

MAX_TEXT = 1_000_000  # characters of one body: ten times the longest that Stack Exchange accepts
FIRST_LINES = 3  # of the rows skipped for the same reason, so many are named
MAX_NAME = 200  # characters of a docno or another name in a database index
AGAIN = "the same id again in the file; the later row counts"
# Names of counts.
WINDOWS_1252 = "read as Windows-1252"
REPLACED = "rows with replaced characters"
_WHOLE = re.compile(r"[+-]?[0-9]{1,12}")
_INTEGERS = range(-(2**31), 2**31)
_YEARS = range(1900, 2200)


class Unusable(Exception):
    """A row cannot be imported; it is counted under the message."""


class Malformed(Exception):
    """A chunk violates its format, at `offset` bytes and `n_lines` lines from its beginning."""

    def __init__(self, message: str, *, offset: int, n_lines: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.n_lines = n_lines

    @classmethod
    def at(cls, data: bytes, offset: int, message: str) -> "Malformed":
        return cls(message, offset=offset, n_lines=data.count(b"\n", 0, offset))


class Fault(NamedTuple):
    """The place where a chunk breaks its format: bytes and lines from its beginning. Unlike `Malformed`, it is a result
    that another process can return."""

    message: str
    offset: int
    n_lines: int


@dataclass
class Batch:
    """The rows of a chunk. If an id is there twice, the later row counts."""

    lines: dict[str, dict[str, str]] = field(default_factory=dict)  # staging table -> key -> line
    tallies: dict[str, Counter[tuple[str, ...]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    skipped_lines: dict[str, list[int]] = field(default_factory=dict)  # by reason; 0: the first of the chunk

    def add(self, table: str, key: str, values: Iterable[str | None], *, kind: str = "") -> None:
        """Add a row, and count it under its kind if it has one."""
        lines = self.lines.setdefault(table, {})
        if key in lines:
            self.skipped[AGAIN] += 1
        elif kind:
            self.counts[kind] += 1
        lines[key] = copy_line(values)

    def skip(self, reason: str, line: int) -> None:
        """Count a row that is left out, and note its line."""
        self.skipped[reason] += 1
        lines = self.skipped_lines.setdefault(reason, [])
        if len(lines) < FIRST_LINES:
            lines.append(line)

    def tally(self, table: str, key: tuple[str, ...]) -> None:
        """Count one of many equal rows: they become one line that ends with their number."""
        self.tallies.setdefault(table, Counter())[key] += 1

    def pack(self) -> "Packed":
        """The batch as bytes, ready for COPY and for another process."""
        tables = {table: "".join(lines.values()).encode() for table, lines in self.lines.items()}
        for table, tally in self.tallies.items():
            tables[table] = "".join(copy_line((*key, str(n))) for key, n in tally.items()).encode()
        return Packed(tables, dict(self.counts), dict(self.skipped), self.skipped_lines)


@dataclass(frozen=True)
class Packed:
    """A batch ready for COPY."""

    tables: dict[str, bytes]
    counts: dict[str, int]
    skipped: dict[str, int]
    # By reason, the first skipped lines; 0 is the first line of the chunk.
    lines: dict[str, list[int]] = field(default_factory=dict)


def decoded_line(line: bytes, batch: Batch) -> str:
    """The text of a line or row, without U+FEFF before it: Windows-1252 if it is not UTF-8, which the batch counts."""
    line = line.removeprefix(BOM)
    try:
        return line.decode()
    except UnicodeDecodeError:
        batch.counts[WINDOWS_1252] += 1
        return line.decode(FALLBACK, errors="replace")


def copy_line(values: Iterable[str | None]) -> str:
    r"""One line of COPY's text form: tabs between, `\N` for null."""
    cells = []
    for value in values:
        if value is None:
            cells.append("\\N")
        else:
            cell = value.replace("\\", "\\\\") if "\\" in value else value
            cells.append(cell.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r"))
    return "\t".join(cells) + "\n"


def array(items: Iterable[str]) -> str:
    """A PostgreSQL array literal."""
    quoted = (item.replace("\\", "\\\\").replace('"', '\\"') for item in items)
    return "{" + ",".join(f'"{item}"' for item in quoted) + "}"


def integer(value: str | None, name: str, default: str | None = None) -> str | None:
    """A whole number that fits its column; `default` for an empty value."""
    if not value:
        return default
    if not _WHOLE.fullmatch(value) or int(value) not in _INTEGERS:
        raise Unusable(f"{name} is not a whole number")
    return str(int(value))


def moment(value: str | None, name: str) -> str | None:
    """A date and time in ISO 8601, in UTC if it names no zone."""
    if not value:
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise Unusable(f"{name} is not a date") from None
    if parsed.year not in _YEARS:
        raise Unusable(f"{name} is not a date")
    return (parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)).isoformat()


def limited(text: str, name: str, limit: int = MAX_TEXT) -> str:
    """The text, if it has at most `limit` characters."""
    if len(text) > limit:
        raise Unusable(f"{name} is longer than {limit:,} characters")
    return text
