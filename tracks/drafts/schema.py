"""Places in the schema of protocols: paths such as `judging.grade[2].value`, their keys, and the data at them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from functools import cache
from types import NoneType
from typing import Any, NamedTuple, get_args

from assay.protocols.schema import Protocol
from assay.structure import Key, keys, may_be_left_out, table_in, words

STEP = re.compile(r"([^.\[\]]+)(?:\[(\d{1,6})\])?")


class Spec(NamedTuple):
    """A key in the schema.

    Attributes:
        hint: its type, without None.
        default: its value if it is left out; None if there is none.
        is_optional: whether a table that is there, even without keys, says something else than one that is left out.
    """

    key: Key
    hint: Any
    default: Any
    is_required: bool
    is_optional: bool


class Section(NamedTuple):
    """A part of the form: the keys at its top, and those below them that another section has.

    `headings` are those under which the description of a protocol has the rules of the section.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    headings: tuple[str, ...]
    without: tuple[str, ...] = ()


_NAMED = (
    Section("name", "Name and source", ("title", "slug", "source", "unit"), ("Judged units",)),
    Section("topics", "Topics", ("topics",), ("Participants see",)),
    Section("runs", "Runs", ("runs",), ("Runs",)),
    Section("pool", "Pool", ("pool", "instances"), ("Pool", "Formula instances")),
    Section(
        "judging",
        "Judging",
        ("judging",),
        ("Judging", "Choices", "Grades", "Non-answers", "Form"),
        ("judging.question",),
    ),
    Section("questions", "Questions", ("judging.question",), ("Questions",)),
    Section("qrels", "Qrels", ("qrels",), ("Qrels",)),
    Section("measures", "Measures", ("scoring",), ("Measures",)),
    Section("agreement", "Agreement", ("agreement",), ()),
)
_REST = tuple(key for key in keys(Protocol) if not any(key in section.keys for section in _NAMED))
_OTHERS = ("Nuggets and citations", "Text baselines", "Interaction", "Extensions", "Published figures")
SECTIONS = {section.name: section for section in (*_NAMED, Section("more", "Other rules", _REST, _OTHERS))}


def section_of(path: str) -> Section:
    """The section of a key; the first one for what no section has."""
    key = without_numbers(path)
    owners = [
        (len(top), section)
        for section in SECTIONS.values()
        for top in section.keys
        if key == top or key.startswith(f"{top}.")
    ]
    return max(owners, default=(0, SECTIONS["name"]), key=lambda pair: pair[0])[1]


def steps_of(path: str) -> list[tuple[str, int | None]]:
    """The keys of a path, each with the number of the table in its list.

    >>> steps_of("judging.grade[2].value")
    [('judging', None), ('grade', 2), ('value', None)]
    """
    return [(key, int(n) if n else None) for key, n in STEP.findall(path)]


def parent_of(path: str) -> str:
    """The table of a key: `judging.grade[2]` of `judging.grade[2].value`, and `judging` of `judging.grade[2]`."""
    return path.rpartition(".")[0]


def without_numbers(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path)


def spec_of(path: str) -> Spec:
    """The key with a path in the schema; KeyError if it has none."""
    return _spec(without_numbers(path))


def is_key(path: str) -> bool:
    """Return whether the schema has a key with this path."""
    try:
        return bool(spec_of(path))
    except (KeyError, IndexError):
        return False


@cache
def _spec(path: str) -> Spec:
    kind, *rest = [Protocol, *path.split(".")]
    for key in rest[:-1]:
        kind = table_in(keys(kind)[str(key)][1])
        if kind is None:
            raise KeyError(path)
    name = str(rest[-1])
    field, hint = keys(kind)[name]
    bare = next((option for option in get_args(hint) if option is not NoneType), hint)
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return Spec(
        words(kind)[name],
        bare if NoneType in get_args(hint) else hint,
        None if default is MISSING else default,
        not may_be_left_out(field, hint),
        NoneType in get_args(hint),
    )


@cache
def order() -> Mapping[str, int]:
    """The place of each key of the schema in the order in which files are written, tables after single keys."""
    return {path: n for n, path in enumerate(_paths(Protocol, ""))}


def _paths(kind: type, prefix: str) -> Iterator[str]:
    inner = {key: table_in(hint) for key, (_, hint) in keys(kind).items()}
    if not prefix:  # `runs` is last in the dataclass, because it has a default
        first = ("slug", "title", "source", "unit", "topics", "runs")
        inner = {key: inner[key] for key in (*first, *(key for key in inner if key not in first))}
    for key in sorted(inner, key=lambda key: inner[key] is not None):
        path = f"{prefix}.{key}" if prefix else key
        yield path
        if (table := inner[key]) is not None:
            yield from _paths(table, path)


def value_at(data: object, path: str) -> Any:
    """The value of a key in the data of a TOML file; None if it is left out."""
    for key, n in steps_of(path):
        data = data.get(key) if isinstance(data, dict) else None
        if n is not None:
            data = data[n - 1] if isinstance(data, list) and 0 < n <= len(data) else None
    return data


def tables_at(data: object, path: str) -> list[dict[str, Any]]:
    """The tables of a list in the data of a TOML file; in place of other values, empty tables."""
    value = value_at(data, path)
    return [entry if isinstance(entry, dict) else {} for entry in value] if isinstance(value, list) else []


def has_key(table: str) -> bool:
    """Return whether a path is a table of a list whose tables have keys, such as `judging.grade[2]`."""
    inner = table_in(spec_of(table).hint)
    return table.endswith("]") and inner is not None and "key" in keys(inner)
