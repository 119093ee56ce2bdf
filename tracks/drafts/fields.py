"""The form of a protocol, made from its schema: each key is a field by its type; a new key appears by itself."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from django.utils.html import escape
from django.utils.safestring import SafeString

from assay.protocols.measures import FAMILIES, MeasureError, parse_measure
from assay.structure import Key, OneOf, keys, table_in
from tracks.drafts.changes import Change
from tracks.drafts.checks import in_short
from tracks.drafts.named import name_of, named_by
from tracks.drafts.schema import Section, Spec, parent_of, spec_of, steps_of, tables_at, value_at
from tracks.drafts.wording import in_form_words

Control = Literal[
    "select", "checkbox", "number", "text", "lines", "measures", "choices", "map", "table", "tables"
]
LONG = 70  # characters of a text that gets several lines
CODE = re.compile("`([^`]+)`")
SENTENCES = ("title", "help")
LONG_OPTION = 26  # characters that a select shows in half a line


Acts = Sequence[tuple[str, str, str]]


def acts_at(place: int, n: int) -> Acts:
    """The acts of the buttons of a part of a list of n, each with its name and icon."""
    up, down = ("up", "Move up", "chevron-up"), ("down", "Move down", "chevron-down")
    return [*[up] * (place > 1), *[down] * (place < n), ("remove", "Remove", "x-lg")]


def id_of(path: str) -> str:
    return f"f-{re.sub(r'[^a-zA-Z0-9_]+', '-', path).strip('-')}"


class Option(NamedTuple):
    value: str
    words: str
    is_chosen: bool


class Row(NamedTuple):
    """An entry of a table of words, or of a list. `words`: what the form calls its key, or what it means."""

    key: str
    value: str
    words: str = ""
    error: str = ""
    acts: Acts = ()


@dataclass(frozen=True)
class Table:
    """The keys of a table: those that are shown, and those that do not apply or are rare."""

    fields: "Sequence[Field]" = ()

    @property
    def shown(self) -> "Sequence[Field]":
        return [field for field in self.fields if not field.is_more]

    @property
    def more(self) -> "Sequence[Field]":
        return [field for field in self.fields if field.is_more]


@dataclass(frozen=True, kw_only=True)
class Item(Table):
    """A table of a list."""

    path: str
    name: str
    acts: Acts

    @property
    def id(self) -> str:
        return id_of(self.path)


@dataclass(frozen=True, kw_only=True)
class Field(Table):
    """A field of the form. `usual`: the value if it is empty; `old`: that at the beginning, if it is another one."""

    path: str
    label: str
    help: str
    control: Control
    text: str = ""
    usual: str = ""
    is_checked: bool = False
    options: Sequence[Option] = ()
    rows: Sequence[Row] = ()
    items: Sequence[Item] = ()
    is_set: bool = False
    is_required: bool = False
    is_optional: bool = False
    is_long: bool = False
    has_lists: bool = False
    is_more: bool = False
    is_idle: bool = False
    is_changed: bool = False
    old: str = ""
    errors: Sequence[str] = ()

    @property
    def id(self) -> str:
        return id_of(self.path)

    @property
    def is_wide(self) -> bool:
        """Return whether it takes the whole line: sentences, and what has several lines."""
        is_sentence = self.control == "text" and self.path.rpartition(".")[2] in SENTENCES
        is_cut = any(len(option.words) > LONG_OPTION for option in self.options)
        return self.is_long or is_sentence or is_cut or self.control in ("map", "choices", "measures")

    @property
    def is_short(self) -> bool:
        return self.control == "number" or self.key == "shortcut"

    @property
    def n_lines(self) -> int:
        return min(max(self.text.count("\n") + 1, 2), 10)

    @property
    def key(self) -> str:
        """Its key in the file."""
        return self.path.rpartition(".")[2]

    @property
    def noun(self) -> str:
        """A word for one table of a list, such as `grade`."""
        return self.key.replace("_", "-")

    @property
    def params(self) -> str:
        """The names of its inputs, as a list for htmx."""
        return f"{self.path},{self.path}:key,{self.path}:value"


@dataclass(frozen=True)
class Form:
    """The fields, made from the data of the text and of the one that it began with, and from errors by key.

    `row` is the key of a list that gets an empty row.
    """

    data: Mapping[str, Any]
    base: Mapping[str, Any] | None = None
    errors: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    row: str = ""

    def section(self, section: Section) -> list[Field]:
        """The fields of a section; those of a table that is always there without a frame around them."""
        made = [self.field(path) for path in section.keys]
        fields = [
            part
            for field in made
            for part in (field.fields if field.control == "table" and not field.is_optional else [field])
        ]
        return [field for field in fields if field.path not in section.without]

    def field(self, path: str) -> Field:
        """The field of a key, with those below it."""
        spec, value = spec_of(path), value_at(self.data, path)
        inner, fits = table_in(spec.hint), self._fits(path, spec.key)
        made = Field(
            path=path,
            label=spec.key.label,
            help=SafeString(CODE.sub(r"<code>\1</code>", escape(in_form_words(spec.key.plain_help, path)))),
            control=control_of(spec),
            usual="" if spec.default is None else str(spec.default),
            is_set=value is not None,
            is_required=spec.is_required,
            is_optional=spec.is_optional,
            is_long=spec.key.is_long or (isinstance(value, str) and (len(value) > LONG or "\n" in value)),
            is_more=value is None and not spec.is_required and (spec.key.is_rare or not fits),
            is_idle=value is not None and not fits,
            errors=self.errors.get(path, ()),
        )
        if made.control == "tables":
            if made.is_idle:
                return made
            n = len(tables_at(self.data, path))
            items = [self._item(f"{path}[{place}]", inner, place, n) for place in range(1, n + 1)]
            return replace(made, items=items)
        if made.control == "table":
            is_there = value is not None or not spec.is_optional
            return replace(
                made, fields=[self.field(f"{path}.{name}") for name in keys(inner)] if is_there else ()
            )
        named = named_by(path, self.data) if spec.key.names else spec.key.values
        made = _with_value(made, spec, value, named)
        if made.control in ("map", "measures") and not made.options and (path == self.row or not made.rows):
            made = replace(made, rows=[*made.rows, Row("", "")])
        return self._with_old_value(_with_acts(made), value, named)

    def _item(self, path: str, kind: type, place: int, n: int) -> Item:
        table = value_at(self.data, path)
        words = table if isinstance(table, dict) else {}
        name = name_of(words) or str(place)
        fields = [self.field(f"{path}.{key}") for key in keys(kind)]
        if has_name := {"label", "title"} & set(keys(kind)):  # the key follows from the label
            is_new = not any(words.get(key) for key in ("key", *has_name))
            fields = [
                replace(field, is_more=is_new or not field.errors) if field.path == f"{path}.key" else field
                for field in fields
            ]
        fields.sort(key=lambda field: field.key == "definition")  # below the others, which share a line
        return Item(path=path, name=name, fields=fields, acts=acts_at(place, n))

    def _fits(self, path: str, key: Key) -> bool:
        """Return whether a key can have an effect with the values of others."""
        return all(self._has_value(path, other, values) for other, values in key.when.items())

    def _has_value(self, path: str, other: str, accepted: Sequence[object]) -> bool:
        place = f"{parent_of(path)}{other}" if other.startswith(".") else other
        value = value_at(self.data, place)
        value = spec_of(place).default if value is None else value
        return any(item in accepted for item in (value if isinstance(value, (list, tuple)) else [value]))

    def _with_old_value(self, made: Field, value: object, named: Mapping[str, str]) -> Field:
        """A field with the value at the beginning; that of a table of a list is in the table with the same key."""
        if self.base is None or made.path == "slug" or not (path := self._path_in_base(made.path)):
            return made  # a new protocol never has the slug of another one
        old = value_at(self.base, path)
        return replace(made, is_changed=True, old=value_in_words(old, named)) if old != value else made

    def _path_in_base(self, path: str) -> str:
        """The path of a key in the text at the beginning; empty if its table is new."""
        own = base = ""
        for key, n in steps_of(path):
            own, base = f"{own}.{key}".lstrip("."), f"{base}.{key}".lstrip(".")
            if n is not None:
                name = (tables_at(self.data, own)[n - 1 : n] or [{}])[0].get("key")
                names = [table.get("key") for table in tables_at(self.base, base)]
                if name is None or name not in names:
                    return ""
                own, base = f"{own}[{n}]", f"{base}[{names.index(name) + 1}]"
        return base

    def undo(self, path: str) -> Change:
        """The change that gives a key its value at the beginning."""
        place = self._path_in_base(path)
        old = value_at(self.base, place) if place else None
        return Change(path, "unset") if old is None else Change(path, "set", old)


def control_of(spec: Spec) -> Control:
    origin = get_origin(spec.hint)
    if table_in(spec.hint) is not None:
        return "tables" if origin is tuple else "table"
    if origin is tuple:
        if spec.key.is_measure:
            return "measures"
        return "choices" if spec.key.values or spec.key.names else "lines"
    if origin is not None:
        return "select" if origin is Literal else "map"
    controls: dict[type, Control] = {bool: "checkbox", int: "number", float: "number"}
    is_word = spec.key.names or isinstance(spec.hint, OneOf)
    return "select" if is_word else controls.get(spec.hint, "text")


def _with_value(made: Field, spec: Spec, value: object, named: Mapping[str, str]) -> Field:
    """A field with its value. `named`: the words that it may have, and what they mean."""
    if made.control == "select":
        return replace(made, options=_options(made, spec, value, named))
    if made.control == "choices":
        chosen = list(map(str, value)) if isinstance(value, list) else []
        words = {**named, **{key: key for key in chosen if key not in named}}
        return replace(made, options=[Option(*option, option[0] in chosen) for option in words.items()])
    if made.control == "checkbox":
        return replace(made, is_checked=bool(spec.default) if value is None else value is True)
    if made.control == "map":
        entries = value if isinstance(value, dict) else {}
        known = {key: Row(key, "", words) for key, words in named.items()}
        rows = {key: Row(key, value_in_words(entry), named.get(key, "")) for key, entry in entries.items()}
        choices = [Option(key, words, False) for key, words in named.items()]
        has_lists = get_origin(get_args(spec.hint)[1]) is tuple
        return replace(made, options=choices, rows=[*{**known, **rows}.values()], has_lists=has_lists)
    if made.control == "measures":
        return _with_measures(made, value)
    if made.control == "lines":
        text = "\n".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
        return replace(made, text=text)
    return replace(made, text="" if value is None else str(value))


def _with_measures(made: Field, value: object) -> Field:
    """A list of measures; its own errors are those that no row has."""
    rows = measure_rows([*map(str, value if isinstance(value, list) else [])])
    in_rows = {row.error for row in rows}
    errors = [error for error in made.errors if error.partition(": ")[2] not in in_rows]
    return replace(made, rows=rows, errors=errors)


def _with_acts(made: Field) -> Field:
    """A field whose rows can be removed, and moved if their order says something."""
    n = len(made.rows)
    rows = [
        row._replace(acts=acts_at(place, n) if made.control == "measures" else acts_at(1, 1))
        for place, row in enumerate(made.rows, 1)
    ]
    return replace(made, rows=rows)


def measure_rows(names: Sequence[str]) -> list[Row]:
    """Measures, each with what it means or what is wrong with its name."""
    return [_measure_row(name.strip()) for name in names]


def _measure_row(name: str) -> Row:
    if not name:
        return Row("", "")
    try:
        return Row("", name, words=parse_measure(name.rpartition(":")[2]).title)
    except MeasureError as wrong:
        return Row("", name, error=in_form_words(in_short(str(wrong)), "scoring.measures"))


def known_measures() -> Mapping[str, str]:
    """The titles of all measures, by name, with a rank or a share where they need one."""
    ends = {"required": "@10", "share": "@0.1"}
    names = [f"{name}{ends.get(family.cutoff, '')}" for name, family in FAMILIES.items()]
    return {name: parse_measure(name).title for name in names}


def _options(made: Field, spec: Spec, value: object, named: Mapping[str, str]) -> list[Option]:
    words = {str(choice): named.get(choice, str(choice)) for choice in get_args(spec.hint)} or named
    if not (made.is_required or spec.default):
        words = {"": "Not set", **words}
    now = str((spec.default or "") if value is None else value)
    if now not in words:
        words = {now: now or "Choose", **words}
    return [Option(*option, option[0] == now) for option in words.items()]


def value_in_words(value: object, named: Mapping[str, str] = MappingProxyType({})) -> str:
    """A value in one line. `named`: what words mean."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {value_in_words(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        return ", ".join(value_in_words(entry, named) for entry in value)
    return named.get(str(value), str(value))
