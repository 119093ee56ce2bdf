"""Changes of one key of a TOML file that keep all other bytes: comments, order, and how values are written.

A change is made in the lines of the key with tomlkit. Then the data of the file must be what the change says; a file
that is written so that it cannot be changed this way is changed as text.
"""

import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from textwrap import wrap
from typing import Any, Literal, NamedTuple

import tomlkit
from tomlkit.items import AoT, Array, InlineTable, Item, String

from assay.errors import Refused
from assay.structure import table_in
from tracks.drafts.lines import Line, lines_of, text_of
from tracks.drafts.schema import order, parent_of, spec_of, steps_of, value_at, without_numbers

WIDTH = 116  # of the lines of a long text
Operation = Literal["set", "unset", "add", "remove", "move"]


class Change(NamedTuple):
    """A change of a key. `value`: what is set; of a move, the number of places, -1 for up."""

    path: str
    op: Operation
    value: Any = None


def changed(text: str, change: Change, base: str = "") -> str:
    """The text of a file with a change. What was taken from the file `base` is written as there.

    Raises:
        Refused: The form cannot change the key without rewriting more of the file than it.
    """
    refusal = Refused(
        f"The form cannot change {change.path} in the way this file is written. Change it in the TOML.",
        code="cannot-change",
        title="This key is changed in the text",
    )
    try:
        expected = _data_after(tomllib.loads(text), change)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise refusal from None
    lines = lines_of(text if text.endswith("\n") or not text else f"{text}\n")
    earlier = lines_of(base)
    if change.op == "set" and value_at(tomllib.loads(base), change.path) == change.value:
        restored = text_of(_restored(lines, earlier, change.path))
        if _has_data(restored, expected):
            return restored
    make = {"set": _set, "unset": _unset, "add": _add, "remove": _remove, "move": _move}[change.op]
    try:
        result = text_of(_as_before(make(lines, change), earlier, change.path))
    except (KeyError, IndexError, TypeError, ValueError, tomlkit.exceptions.TOMLKitError):
        raise refusal from None
    if not _has_data(result, expected):
        raise refusal
    return result


def _has_data(text: str, expected: object) -> bool:
    try:
        return bool(tomllib.loads(text) == expected)
    except tomllib.TOMLDecodeError:
        return False


def _data_after(data: dict[str, Any], change: Change) -> dict[str, Any]:
    *parents, (last, n) = steps_of(change.path)
    table: Any = data
    for key, place in parents:
        table = table.setdefault(key, {})
        table = table if place is None else table[place - 1]
    if change.op == "set":
        table[last] = deepcopy(change.value)
    elif change.op == "unset":
        table.pop(last, None)
        if not table and _goes_with_its_keys(parent_of(change.path)):
            return _data_after(data, Change(parent_of(change.path), "unset"))
    elif change.op == "add":
        table.setdefault(last, []).append(dict(change.value or {}))
    elif n is not None:
        item = table[last].pop(n - 1)
        if change.op == "move":
            table[last].insert(n - 1 + change.value, item)
        elif not table[last]:
            del table[last]
    return data


def _line_at(lines: Sequence[Line], path: str) -> int | None:
    """The number of the line that states a key, or the nearest one around it in one line; None without any."""
    while path:
        for n, line in enumerate(lines):
            if line.path == path:
                return n
        path = path[: path.rfind("[")] if path.endswith("]") else parent_of(path)
    return None


def _edited(line: Line, path: str, edit: Any) -> Line:
    """A line with an edit of the table, inside the line, that has the last key of a path."""
    document = tomlkit.parse(line.text)
    place: Any = document
    prefix = f"{line.table}." if line.table else ""
    *parents, (last, n) = steps_of(path.removeprefix(prefix))
    for key, number in parents:
        place = place[key] if number is None else place[key][number - 1]
    edit(place, last, n)
    return line._replace(text=tomlkit.dumps(document))


def _set(lines: list[Line], change: Change) -> list[Line]:
    path, value = change.path, change.value
    if value == {} and table_in(spec_of(path).hint) is not None:
        return _with_table(lines, path, "")
    if isinstance(value, dict) and any(line.table == path for line in lines):
        return _set_entries(lines, path, value)
    n = _line_at(lines, path)
    if n is None:
        return _inserted(lines, path, f"{steps_of(path)[-1][0]} = {_written(value).as_string()}\n")

    def edit(place: Any, key: str, _: int | None) -> None:
        place[key] = _written(value, place.get(key))

    return [*lines[:n], _edited(lines[n], path, edit), *lines[n + 1 :]]


def _set_entries(lines: list[Line], table: str, value: Mapping[str, object]) -> list[Line]:
    """Set the entries of a table of words, which has lines of its own."""
    if not value:
        return [line for line in lines if not line.is_below(table)]
    kept = [line for line in lines if line.table != table or not line.words or line.words[-1] in value]
    present = {line.words[-1]: n for n, line in enumerate(kept) if line.table == table and line.words}
    for word, n in present.items():
        document = tomlkit.parse(kept[n].text)
        if document[word].unwrap() != value[word]:
            document[word] = _written(value[word], document[word])
            kept[n] = kept[n]._replace(text=tomlkit.dumps(document))
    end = max(n for n, line in enumerate(kept) if line.table == table) + 1
    new = tomlkit.document()
    for word in value.keys() - present.keys():
        new[word] = _written(value[word])
    return [*kept[:end], Line(table, (), tomlkit.dumps(new)), *kept[end:]]


def _unset(lines: list[Line], change: Change) -> list[Line]:
    """Leave a key out; of a table that may be left out, whose last key it was, also the header."""
    path = change.path
    n = _line_at(lines, path)
    if any(line.is_below(path) for line in lines):
        lines = [line for line in lines if not line.is_below(path)]
    elif n is None:
        lines = [line for line in lines if not line.path.startswith(f"{path}.")]
    elif lines[n].path == path:
        lines = [*lines[:n], *lines[n + 1 :]]
    else:
        edited = _edited(lines[n], path, lambda place, key, _: place.pop(key, None))
        return [*lines[:n], edited, *lines[n + 1 :]]
    table = parent_of(path)
    if _goes_with_its_keys(table) and not any(line.words for line in lines if line.table == table):
        return [line for line in lines if line.table != table]
    return lines


def _goes_with_its_keys(table: str) -> bool:
    """Return whether a table without keys is as good as none."""
    return bool(table) and not table.endswith("]") and not spec_of(table).is_optional


def _inserted(lines: list[Line], path: str, text: str) -> list[Line]:
    """Insert the line of a key into its table, which is added if it is missing, in the order of the schema."""
    table, places = parent_of(path), order()
    in_table = [n for n, line in enumerate(lines) if line.table == table]
    if not in_table and table:
        dotted = [
            n
            for n, line in enumerate(lines)
            if line.path.startswith(f"{table}.") and len(line.table) < len(table)
        ]
        if dotted:
            prefix = table.removeprefix(f"{lines[dotted[-1]].table}.")
            return [*lines[: dotted[-1] + 1], Line("", (), f"{prefix}.{text}"), *lines[dotted[-1] + 1 :]]
        return _with_table(lines, table, text)
    place = places[without_numbers(path)]
    earlier = [
        n for n in in_table if lines[n].words and places.get(without_numbers(lines[n].path), 0) < place
    ]
    headers = [n for n in in_table if lines[n].is_header]
    after = earlier[-1] if earlier else headers[0] if headers else -1
    return [*lines[: after + 1], Line(table, (), text), *lines[after + 1 :]]


def _with_table(lines: list[Line], table: str, text: str, *, is_item: bool = False) -> list[Line]:
    """Add a table at its place in the order of the schema, within the table that it belongs to."""
    name, places = without_numbers(table), order()
    scope = parent_of(table)
    while "[" not in scope.rpartition(".")[2] and scope:
        scope = parent_of(scope)
    inside = [n for n, line in enumerate(lines) if line.is_below(scope)]
    items = [n for n, line in enumerate(lines) if line.table.startswith(f"{table}[")]
    later = (
        n
        for n in inside
        if lines[n].table != scope and places.get(without_numbers(lines[n].table), 0) > places[name]
    )
    last = inside[-1] + 1 if inside else len(lines)
    end = items[-1] + 1 if items else next(later, last)
    blank = "\n" if end else ""
    header = f"{blank}[[{name}]]\n" if is_item else f"{blank}[{name}]\n"
    return [*lines[:end], Line(table, (), f"{header}{text}"), *lines[end:]]


def _add(lines: list[Line], change: Change) -> list[Line]:
    """Add a table to a list."""
    path, value = change.path, change.value or {}
    n = _line_at(lines, path)
    if n is None:
        text = "".join(f"{key} = {_written(entry).as_string()}\n" for key, entry in value.items())
        return _with_table(lines, path, text, is_item=True)

    def edit(place: Any, key: str, _: int | None) -> None:
        if key not in place:
            place[key] = tomlkit.array()
        item = tomlkit.inline_table()
        item.update(value)
        place[key].append(item)

    return [*lines[:n], _edited(lines[n], path, edit), *lines[n + 1 :]]


def _remove(lines: list[Line], change: Change) -> list[Line]:
    path = change.path
    if any(line.is_below(path) for line in lines):
        return [line for line in lines if not line.is_below(path)]
    n = _line_at(lines, path)
    if n is None:
        raise KeyError(path)

    def edit(place: Any, key: str, number: int | None) -> None:
        del place[key][(number or 0) - 1]
        if not place[key]:
            del place[key]

    line = _edited(lines[n], path, edit)
    return [*lines[:n], *([line] if line.text.strip() else []), *lines[n + 1 :]]


def _move(lines: list[Line], change: Change) -> list[Line]:
    """Swap a table of a list with the upper before or after it."""
    name, number = change.path.rpartition("[")[0], steps_of(change.path)[-1][1] or 0
    first, second = sorted((number, number + int(change.value)))
    places = [
        [n for n, line in enumerate(lines) if line.is_below(f"{name}[{place}]")] for place in (first, second)
    ]
    if all(places):
        upper, lower = ((numbers[0], numbers[-1] + 1) for numbers in places)
        return [
            *lines[: upper[0]],
            *lines[slice(*lower)],
            *lines[upper[1] : lower[0]],
            *lines[slice(*upper)],
            *lines[lower[1] :],
        ]
    n = _line_at(lines, change.path)
    if n is None:
        raise KeyError(change.path)

    def edit(place: Any, key: str, _: int | None) -> None:
        moved = place[key].pop(first - 1)
        place[key].insert(second - 1, moved)

    return [*lines[:n], _edited(lines[n], change.path, edit), *lines[n + 1 :]]


def _restored(lines: list[Line], base: list[Line], path: str) -> list[Line]:
    """Write a key as in another file: its lines there, after the lines that precede them there."""
    table = parent_of(path)
    has_table = any(line.table == table for line in lines)
    own = [
        n
        for n, line in enumerate(base)
        if line.path == path
        or line.is_below(path)
        or (not has_table and line.table == table and not line.words)
    ]
    if not own:
        return lines
    kept = [line for line in lines if line.path != path and not line.is_below(path)]
    before = (kept.index(line) + 1 for line in reversed(base[: own[0]]) if line in kept and line.text.strip())
    first = next((n for n, line in enumerate(kept) if line.table == base[own[0]].table), 0)
    place = next(before, first)
    while base[own[0] - 1] != kept[place - 1] and place < len(kept) and not kept[place].text.strip():
        place += 1
    return [*kept[:place], *(base[n] for n in own), *kept[place:]]


def _as_before(lines: list[Line], base: list[Line], path: str) -> list[Line]:
    """Write the line of a changed key as in another file, if it says the same there."""
    n = _line_at(lines, path)
    line = next((line for line in base if n is not None and line.path == lines[n].path), None)
    if n is None or line is None or tomllib.loads(line.text) != tomllib.loads(lines[n].text):
        return lines
    return [*lines[:n], line, *lines[n + 1 :]]


def _written(value: object, earlier: object = None) -> Item:
    """A value in TOML, in the form of an earlier one: several lines stay several lines."""
    if isinstance(value, str) and "\n" in value:
        return _text_of_lines([value])
    if isinstance(value, str) and isinstance(earlier, String) and "\\\n" in earlier.as_string():
        lines = wrap(value, WIDTH, break_long_words=False, break_on_hyphens=False)
        return _text_of_lines(lines if " ".join(lines) == value else [value])
    if isinstance(value, str) and isinstance(earlier, String) and earlier.as_string().startswith("'"):
        return tomlkit.string(value, literal="'" not in value)
    if isinstance(value, list) and isinstance(earlier, Array):
        return _list_like(value, earlier)
    if isinstance(value, dict):
        table = deepcopy(earlier) if isinstance(earlier, InlineTable) else tomlkit.inline_table()
        for key in [key for key in table if key not in value]:
            del table[key]
        for key, entry in value.items():
            if key not in table or table[key] != entry:
                table[key] = _written(entry, table.get(key))
        return table
    item: Item = tomlkit.item(value)
    if isinstance(item, AoT):
        raise TypeError("a list of tables is changed table by table")
    return item


def _text_of_lines(lines: Sequence[str]) -> Item:
    """A text on several lines of the file, which end with a backslash where the text has no end of a line."""
    escaped = (line.replace("\\", "\\\\").replace('"""', '""\\"') for line in lines)
    item = tomlkit.parse('x = """\n' + " \\\n".join(escaped) + '"""\n')["x"]
    assert isinstance(item, String)
    return item


def _list_like(value: list[Any], earlier: Array) -> Item:
    """A list that keeps the lines and comments of an earlier one, whose items it may have."""
    kept = deepcopy(earlier)
    for n in reversed([n for n, entry in enumerate(earlier.unwrap()) if entry not in value]):
        del kept[n]
    for entry in value[len(kept) :]:
        kept.append(entry)
    if kept.unwrap() == value:
        return kept
    made = tomlkit.array()
    made.extend(value)
    made.multiline("\n" in earlier.as_string())
    return made
