"""Converts chunks of a formula index to lines for COPY: table `formula`, for MathML also `formula_mathml` (id, MathML).

A field with a tab, a line end or a quotation mark is quoted, as Python's csv and pandas write it. Some writers never
quote, so a quotation mark that a csv writer would not have written is part of the formula. A line that begins like a
row begins a row, even inside an open quotation, so a stray quotation mark costs one row.

Regular chunks are checked column by column, not row by row; that is how a hundred thousand rows per second are
converted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, repeat

from assay.formats.documents.batch import AGAIN, FIRST_LINES, MAX_NAME, MAX_TEXT, Packed
from assay.formats.documents.indexes import ROW, Index
from assay.formulas import PLACE_ALIASES, PLACES

COLUMNS = "code, post, thread, comment, place, visual, is_visual_given, old_visual, issue, latex"

NO_NAME = f"an id, post or thread that is empty, has white space or is longer than {MAX_NAME} characters"
NO_VISUAL = f"a visual id or comment that has white space or is longer than {MAX_NAME} characters"
NO_TYPE = f"a type that is not one of {', '.join((*PLACES, *PLACE_ALIASES))}"
NO_WIDTH = "a wrong number of columns"
NO_CLOSE = "a quotation mark that is never closed"
NO_TEXT = "text that is not UTF-8, or contains a NUL"
TOO_LONG = f"a formula longer than {MAX_TEXT:,} bytes"

_PLACE = {place.encode(): str(number).encode() for number, place in enumerate(PLACES)}
_PLACE |= {alias.encode(): _PLACE[place.encode()] for alias, place in PLACE_ALIASES.items()}
_NEEDED = ("id", "post_id", "thread_id")
_NAMED = ("comment_id", "old_visual_id", "visual_id")


@dataclass
class Skipped:
    """The skipped rows by reason: their number, and the first lines, counted from the beginning of the chunk."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, reason: str, line: int) -> None:
        self.counts[reason] += 1
        lines = self.lines.setdefault(reason, [])
        if len(lines) < FIRST_LINES:
            lines.append(line)


@dataclass(frozen=True)
class _Rows:
    """Rows as columns of bytes, with the backslashes escaped for COPY, and the line of each row."""

    columns: Mapping[str, Sequence[bytes]]
    lines: Sequence[int]

    def filtered(self, where: Sequence[bool], reason: str, skipped: Skipped) -> "_Rows":
        for line, is_kept in zip(self.lines, where, strict=True):
            if not is_kept:
                skipped.add(reason, line)
        columns = {name: list(compress(column, where)) for name, column in self.columns.items()}
        return _Rows(columns, list(compress(self.lines, where)))


def convert(data: bytes, form: str) -> Packed:
    """Convert a chunk of complete rows to lines for COPY."""
    index = Index.of(form)
    assert index is not None
    rows, skipped = _checked(data, index)
    n = len(rows.lines)
    if not n:
        return Packed({}, {}, dict(skipped.counts), skipped.lines)
    columns = rows.columns
    codes, formulas = columns["id"], columns["formula"]
    empty: Iterable[bytes] = repeat(b"")
    is_latex = index.representation == "latex"
    # Two columns: the visual id, and whether the index has one.
    visuals: Iterable[bytes] = repeat(b"\tf")
    if "visual_id" in columns:
        visuals = (visual + b"\tt" if visual else b"\tf" for visual in columns["visual_id"])
    values = (
        codes,
        columns["thread_id" if index.is_of_topics else "post_id"],  # a topic's formula is in its question
        columns["thread_id"],
        columns.get("comment_id", empty),
        map(_PLACE.__getitem__, columns["type"]),
        visuals,
        columns.get("old_visual_id", empty),
        columns.get("issue", empty),
        formulas if is_latex else empty,
    )
    tables = {"formula": _joined(map(b"\t".join, zip(*values, strict=False)))}
    if not is_latex:
        pairs = zip(codes, formulas, strict=True)
        tables["formula_mathml"] = _joined(code + b"\t" + formula for code, formula in pairs if formula)
    return Packed(tables, {"formulas": n}, dict(skipped.counts), skipped.lines)


def names_of(data: bytes, index: Index) -> tuple[dict[str, list[bytes]], Counter[str]]:
    """The columns of a chunk without the formulas, and the number of skipped rows by reason."""
    rows, skipped = _checked(data, index)
    columns = {name: list(column) for name, column in rows.columns.items() if name != "formula"}
    if b"\\" in data:
        columns = {
            name: [value.replace(b"\\\\", b"\\") for value in column] for name, column in columns.items()
        }
    if index.is_of_topics:
        columns["post_id"] = columns["thread_id"]
    return columns, skipped.counts


def _checked(data: bytes, index: Index) -> tuple[_Rows, Skipped]:
    """The rows that the database accepts: with names as ids, known types, short formulas, and each id once."""
    skipped = Skipped()
    rows = _read(data, index, skipped)
    for names, may_be_empty, reason in ((_NEEDED, False, NO_NAME), (_NAMED, True, NO_VISUAL)):
        for name in names:
            column = rows.columns.get(name, ())
            if not (_are_names(column) and (may_be_empty or all(column))):
                where = [_are_names([value]) and (may_be_empty or bool(value)) for value in column]
                rows = rows.filtered(where, reason, skipped)
    types = rows.columns["type"]
    if not set(types) <= _PLACE.keys():
        rows = rows.filtered([place in _PLACE for place in types], NO_TYPE, skipped)
    formulas = rows.columns["formula"]
    if max(map(len, formulas), default=0) > MAX_TEXT:
        rows = rows.filtered([len(formula) <= MAX_TEXT for formula in formulas], TOO_LONG, skipped)
    codes = rows.columns["id"]
    last = dict(zip(codes, range(len(codes)), strict=True))
    if len(last) != len(codes):  # the last row of each id counts
        rows = rows.filtered([last[code] == i for i, code in enumerate(codes)], AGAIN, skipped)
    return rows, skipped


def _read(data: bytes, index: Index, skipped: Skipped) -> _Rows:
    """The rows of a chunk that have the right number of columns."""
    # Escape all backslashes at once: LaTeX is full of them, and they do not affect tabs, line ends and quotation marks.
    data = data.replace(b"\\", b"\\\\")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\\r")
    data = data.removesuffix(b"\n")
    width = len(index.header)
    # A regular chunk has one row per line, without quotation marks or quoted as MathML is.
    bare = _unquoted_formulas(data) if b'"' in data else data
    rows = [line.split(b"\t", width - 1) for line in bare.split(b"\n")] if bare and _is_text(bare) else []
    lines: Sequence[int] = range(len(rows))
    if not rows or bare.count(b"\t") != len(rows) * (width - 1) or set(map(len, rows)) != {width}:
        records, lines = _records(data.split(b"\n"), skipped)
        if not _is_text(data):
            where = [_is_text(record) for record in records]
            kept = _Rows({"": records}, lines).filtered(where, NO_TEXT, skipped)
            records, lines = list(kept.columns[""]), kept.lines
        rows, lines = _unquoted_rows(
            [record.split(b"\t", width - 1) for record in records], lines, skipped, width
        )
    columns = zip(*rows, strict=True) if rows else repeat(())
    return _Rows(dict(zip(index.header, columns, strict=False)), lines)


_Split = tuple[list[list[bytes]], Sequence[int]]  # rows as fields, and the line of each


def _unquoted_formulas(data: bytes) -> bytes:
    """The rows without quotation marks, if only the last field of a line is quoted, as MathML is; otherwise empty.

    It only splits the text and replaces in it, which is fast. `""` in a formula is one quotation mark.
    """
    if b"\x00" in data:
        return b""
    pieces = data.replace(b'""', b"\x00").split(b'"')
    outside, inside = pieces[::2], pieces[1::2]
    last = outside.pop()
    if len(outside) != len(inside) or b"\x00" in b"".join(outside) + last or b"\n" in b"".join(inside):
        return b""
    is_behind_tab = all(map(bytes.endswith, outside, repeat(b"\t")))
    is_before_end = last[:1] in {b"", b"\n"} and all(map(bytes.startswith, outside[1:], repeat(b"\n")))
    # A quotation mark at the beginning or end of a formula is next to the closing mark, so replacing cannot separate
    # them.
    ends_with_mark = any(map(bytes.endswith, inside, repeat(b"\x00")))
    if not is_behind_tab or not is_before_end or ends_with_mark:
        return b""
    return b"".join(pieces).replace(b"\x00", b'"')


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in data


def _records(physical: list[bytes], skipped: Skipped) -> tuple[list[bytes], Sequence[int]]:
    """Records from lines: an open quotation continues in the lines below. Empty lines are skipped."""
    open_lines = {
        i
        for i, line in enumerate(physical)
        if line.count(b'"') % 2 == 1 and (line.startswith(b'"') or b'\t"' in line)
    }
    if not open_lines and all(physical):
        return physical, range(len(physical))
    records: list[bytes] = []
    lines: list[int] = []
    at = 0
    while at < len(physical):
        line, first = physical[at], at
        at += 1
        if first in open_lines:
            end = _end(physical, at)
            if not end:
                skipped.add(NO_CLOSE, first)
                continue
            line = b"\n".join(physical[first:end])
            at = end
        if line:
            records.append(line)
            lines.append(first)
    return records, lines


def _end(physical: Sequence[bytes], at: int) -> int:
    """The line after the one that closes a quotation; 0 if a new row or the end comes first."""
    for i in range(at, len(physical)):
        if ROW.match(physical[i]):
            return 0
        if physical[i].count(b'"') % 2:
            return i + 1
    return 0


def _unquoted_rows(rows: list[list[bytes]], lines: Sequence[int], skipped: Skipped, width: int) -> _Split:
    """The rows without quotation marks; rows with a wrong number of columns are skipped."""
    is_odd = [len(row) != width or b"\t" in row[-1] or b'"' in row[-1] or b'"' in row[-2] for row in rows]
    bad = set()
    for i in compress(range(len(rows)), is_odd):
        # If a mark is not from a csv writer, the row stays as it is.
        fields = [cell for value in rows[i] if (cell := _unquoted_field(value)) is not None]
        plain = fields if len(fields) == len(rows[i]) else rows[i]
        if len(plain) != width or b"\t" in plain[-1] or b"\n" in b"".join(plain):
            skipped.add(NO_WIDTH, lines[i])
            bad.add(i)
        rows[i] = plain
    if not bad:
        return rows, lines
    kept = [i not in bad for i in range(len(rows))]
    return list(compress(rows, kept)), list(compress(lines, kept))


def _unquoted_field(value: bytes) -> bytes | None:
    """The content of a field, escaped for COPY; None if it begins with a quotation mark but is not quoted."""
    if not value.startswith(b'"'):
        return value
    inside = value[1:-1]
    if len(value) < 2 or not value.endswith(b'"') or b'"' in inside.replace(b'""', b""):
        return None
    return inside.replace(b'""', b'"').replace(b"\n", b"\\n").replace(b"\t", b"\\t")


def _are_names(values: Sequence[bytes]) -> bool:
    """Return whether no value has white space or is too long; the column is checked at once."""
    joined = b"".join(values)
    if joined.split() not in ([], [joined]):
        return False
    is_short = max(map(len, values), default=0) <= MAX_NAME
    return is_short or all(len(value.decode()) <= MAX_NAME for value in values)


def _joined(lines: Iterable[bytes]) -> bytes:
    text = b"\n".join(lines)
    return text + b"\n" if text else text
