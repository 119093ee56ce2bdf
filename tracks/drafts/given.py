"""The changes that a form of keys asks for: of those whose values differ. Its inputs are named by paths."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from django.http import QueryDict

from tracks.drafts.changes import Change
from tracks.drafts.fields import control_of
from tracks.drafts.schema import Spec, is_key, parent_of, spec_of, value_at

MOVES = {"up": -1, "down": 1}
WHOLE, DECIMAL = re.compile(r"[+-]?\d{1,15}"), re.compile(r"[+-]?\d{1,15}\.\d{1,15}")


def changes_in(given: QueryDict, data: Mapping[str, object]) -> Iterator[Change]:
    """The changes that a form asks for, in its order."""
    names = (name.removesuffix(":key").removesuffix(":value") for name in given)
    for path in dict.fromkeys(names):
        if (spec := _spec(path, data)) is None:
            continue
        now, value = value_at(data, path), _value(given, path, spec, data)
        default = list(spec.default) if isinstance(spec.default, tuple) else spec.default
        if value is None:
            if now not in (None, ""):
                is_text = spec.hint is str and spec.is_required
                yield Change(path, "set", "") if is_text else Change(path, "unset")
        elif value != now and not (now is None and value == default) and not _is_same(value, now):
            yield Change(path, "set", value)


def after_button(given: QueryDict, operation: str, path: str) -> QueryDict:
    """Return a form after the button of a row: with its list without the row, or with the row moved."""
    name, _, number = path.removesuffix("]").rpartition("[")
    if not number.isdecimal() or not is_key(name) or control_of(spec_of(name)) not in ("map", "measures"):
        return given
    given = given.copy()
    for part in (name, f"{name}:key", f"{name}:value"):
        rows, place = given.getlist(part), int(number) - 1
        if place not in range(len(rows)):
            continue
        row = rows.pop(place)
        if operation in MOVES:
            rows.insert(max(place + MOVES[operation], 0), row)
        given.setlist(part, rows)
    return given


def operations_in(operation: str, path: str) -> list[Change]:
    """The change that a button asks for."""
    if not is_key(path) or control_of(spec_of(path)) not in ("table", "tables"):
        return []
    if operation == "add":
        is_list = get_origin(spec_of(path).hint) is tuple
        return [Change(path, "add") if is_list else Change(path, "set", {})]
    if operation == "remove":
        return [Change(path, "remove" if path.endswith("]") else "unset")]
    return [Change(path, "move", MOVES[operation])] if operation in MOVES else []


def _spec(path: str, data: Mapping[str, object]) -> Spec | None:
    """The schema of a key that a form may have: one of a table that is there."""
    if not is_key(path):
        return None
    spec, parent = spec_of(path), parent_of(path)
    is_there = not parent.endswith("]") or value_at(data, parent) is not None
    return spec if is_there and control_of(spec) not in ("table", "tables") else None


def _is_same(value: object, now: object) -> bool:
    """Return whether a text is that of a value of the wrong type, which the form showed."""
    return isinstance(value, str) and now is not None and value == str(now)


def _value(given: QueryDict, path: str, spec: Spec, data: Mapping[str, object]) -> Any:
    """The value of a key in a form; None if it is left out there."""
    control, text = control_of(spec), given.get(path, "").replace("\r\n", "\n")
    if control == "checkbox":
        return text == "true"
    if control == "number":
        return _number(text.strip(), spec.hint)
    if control == "map":
        kind = get_args(spec.hint)[1]
        rows = zip(given.getlist(f"{path}:key"), given.getlist(f"{path}:value"), strict=False)
        entries = {
            key.strip(): _entry(value.strip(), kind)
            for key, value in rows
            if key.strip() and (value.strip() or not spec.key.names)
        }
        return entries or None
    if control in ("lines", "measures", "choices"):
        texts = given.getlist(path)
        is_list = control == "choices"
        items = _in_order(texts, value_at(data, path)) if is_list else "\n".join(texts).splitlines()
        values = [item.strip() for item in items if item.strip()]
        return values if values or spec.is_required else None
    return text if text.strip() else None


def _number(text: str, kind: type) -> int | float | str | None:
    """A number. Another text is kept, so that the loader says what is wrong."""
    if WHOLE.fullmatch(text):
        return int(text)
    if kind is float and DECIMAL.fullmatch(text):
        return float(text)
    return text or None


def _entry(text: str, kind: object) -> Any:
    """A value of a table of words."""
    if kind is bool:
        return {"yes": True, "no": False}.get(text.lower(), text)
    if kind in (int, float):
        return _number(text, kind) or 0
    return text if kind is str else [word.strip() for word in text.split(",") if word.strip()]


def _in_order(chosen: list[str], now: object) -> list[str]:
    """The chosen words in the order of the file; new ones come last."""
    earlier = now if isinstance(now, list) else []
    return [key for key in earlier if key in chosen] + [key for key in chosen if key not in earlier]
