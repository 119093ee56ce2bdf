"""Refuses keys that a table does not have: names the key that was meant, where it belongs, and what is allowed."""

import difflib
from collections.abc import Iterable
from functools import cache

from assay.structure.declarations import Key, below, keys, of_class, tables_below


def nearest(word: str, accepted: Iterable[str]) -> str:
    """The accepted word that is written almost like another one."""
    return next(iter(difflib.get_close_matches(word[:100], sorted(accepted), 1, 0.75)), "")


def meant_keys(kind: type, data: Iterable[str]) -> dict[str, str]:
    """The unknown keys of a table, each with the key that was probably meant, or nothing."""
    known, by_wrong_name = keys(kind), _wrong_names(kind, "")
    return {child: by_wrong_name.get(child) or nearest(child, known) for child in data if child not in known}


def refusal(root: type, kind: type, parent: str, child: str, meant: str) -> str:
    """The problem of an unknown key: where it is, what was meant or where it belongs, and what is allowed."""
    place, allowed = below(parent, child), ", ".join(sorted(keys(kind)))
    if meant:
        return f"{place}: unknown key; did you mean {meant}? Allowed here: {allowed}"
    tables = [title for title, table in tables_below(root) if child in keys(table)]
    is_below = any(title.lstrip("[").startswith(f"{parent}.") for title in tables)
    if not is_below and (meant := _all_wrong_names(root).get(child, "")):
        return f"{place}: unknown key; did you mean {meant}? Allowed here: {allowed}"
    belongs = f"it belongs in {' or '.join(tables)}; " if 0 < len(tables) < 3 else ""
    return f"{place}: unknown key; {belongs}allowed here: {allowed}"


def _wrong_names(kind: type, title: str) -> dict[str, str]:
    """The keys of a table by their wrong names, each as its place: `measures in [scoring]`."""
    about = of_class(kind, Key)
    return {
        name: f"{key} in {title}" if title else key
        for key, (field, _) in keys(kind).items()
        for name in (about[field.name].wrong_names if field.name in about else ())
    }


@cache
def _all_wrong_names(root: type) -> dict[str, str]:
    return {
        name: place
        for title, table in (("", root), *tables_below(root))
        for name, place in _wrong_names(table, title).items()
    }
