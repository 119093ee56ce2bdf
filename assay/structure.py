"""Makes dataclasses from TOML files and the data of JSON, and describes them as JSON Schema.

The fields of a dataclass are the keys, their annotations the types, and a field with a default may be left out. The
metadata `key` of a field is the key if it has another name than the field; a field whose key is empty is not read. All
wrong keys and values are reported together, each with its place: `runs.kind[2].depth` is the depth of the second
`[[runs.kind]]`. tomllib does not tell the lines of keys, so they are looked up in the text of a TOML file.
"""

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, lru_cache, partial
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from assay.errors import InputError, plural
from assay.extensions import Registry

T = TypeVar("T")


class Key(NamedTuple):
    """The words of a key for people, in the annotation of its field: `judges: Annotated[int, Key("Assessors")] = 1`.

    Attributes:
        label: what forms call it.
        help: what it means, in Markdown with the links of the reference.
        values: what its values mean, if they are words of a list.
        names: the place in the file of that which its values name, such as `judging.question`, or `condition`
            or `graded`.
        when: keys and those of their values with which it can have an effect; without any, always.
        is_long: whether its texts have several lines.
        is_rare: whether few files have it.
        wrong_names: what people call it who have not read the reference; their error names the key.
    """

    label: str
    help: str = ""
    values: Mapping[str, str] = MappingProxyType({})
    names: str = ""
    when: Mapping[str, tuple[object, ...]] = MappingProxyType({})
    is_long: bool = False
    is_rare: bool = False
    wrong_names: tuple[str, ...] = ()

    @property
    def plain_help(self) -> str:
        """The help without its links."""
        return _LINK.sub(r"\1", self.help)


@dataclass(frozen=True, eq=False)
class OneOf:
    """The annotation of a key whose values are names of a registry: `Annotated[str, OneOf(POOL_STRATEGIES)]`.

    Each object of the registry has a `title`.
    """

    registry: Mapping[str, Any]


SCALARS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
# Values that are meant by other words.
MEANT = {"\t": "white-space", " ": "white-space", ",": "comma", ";": "semicolon"}
MAX_PROBLEMS = 20  # that a message lists
_LINK = re.compile(r"\[([^][]++)\]\([^()[]++\)")
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


class WrongStructure(Exception):
    """Data is not of the form of a dataclass. `problems` has all errors, each as `key: what is wrong; what to do`."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


def strict_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value in a text of JSON. `NaN` and `Infinity`, which Python reads, are not JSON. `pairs` makes objects.

    Raises ValueError or RecursionError: it is not JSON, or nested too deeply.
    """

    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse, object_pairs_hook=pairs)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value of JSON is a whole number; true and false, which Python counts as such, are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value of JSON is a number."""
    return isinstance(value, float) or is_whole(value)


def structured(
    kind: type[T],
    data: object,
    *,
    most: int | None = None,
    is_open: bool = False,
    is_checked: bool = False,
    **others: Any,
) -> T:
    """A dataclass from data.

    Args:
        most: the limit of the size of numbers.
        is_open: other programs write the data, and keys that are not fields are ignored.
        is_checked: the data was read before, and a name may be that of an extension that is not installed any more.
        others: values of the fields that are not keys.

    Raises:
        WrongStructure: Keys are unknown or missing, or values are not of the annotated type.
    """
    made: T = _Reader(kind, most, is_open, is_checked).table(kind, data, "", others)
    return made


@cache
def keys(kind: type) -> Mapping[str, tuple["Field[Any]", Any]]:
    """The keys of a dataclass, each with its field, and its annotation or `OneOf`."""
    hints, names = get_type_hints(kind), _of_class(kind, OneOf)
    named = {
        field.metadata.get("key", field.name): (field, names.get(field.name, hints[field.name]))
        for field in fields(kind)
    }
    return {key: pair for key, pair in named.items() if key}


@cache
def words(kind: type) -> Mapping[str, Key]:
    about = _of_class(kind, Key)
    return {
        key: about[field.name]._replace(values={name: point.title for name, point in hint.registry.items()})
        if isinstance(hint, OneOf)
        else about[field.name]
        for key, (field, hint) in keys(kind).items()
    }


def _of_class(kind: type, wanted: type[T]) -> dict[str, T]:
    """The metadata of a class in the annotations of a dataclass, by field."""
    hints = get_type_hints(kind, include_extras=True)
    pairs = ((name, about) for name, hint in hints.items() for about in getattr(hint, "__metadata__", ()))
    return {name: about for name, about in pairs if isinstance(about, wanted)}


def shown(value: object) -> str:
    """A value as messages show it."""
    try:
        text = repr(value)
    except ValueError:  # a hexadecimal number that is too long to write in decimals
        return "a number that is too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def table_in(hint: Any) -> Any:
    """The dataclass in an annotation, if there is one."""
    kinds = (kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and is_dataclass(kind))
    return next(kinds, None)


def may_be_left_out(field: "Field[Any]", hint: Any) -> bool:
    """Return True if a key has a default, may be None, or is a table with only such keys."""
    if field.default is not MISSING or field.default_factory is not MISSING or NoneType in get_args(hint):
        return True
    is_table = isinstance(hint, type) and is_dataclass(hint)
    return is_table and all(may_be_left_out(*inner) for inner in keys(hint).values())


def _below(parent: str, child: str) -> str:
    return f"{parent}.{child}" if parent else child


def _close(word: str, accepted: Iterable[str]) -> str:
    """The accepted word that is written almost like another one."""
    return next(iter(difflib.get_close_matches(word[:100], sorted(accepted), 1, 0.75)), "")


def _expect(kind: type, value: object, key: str) -> Any:
    if kind is dict and isinstance(value, list) and value and isinstance(value[0], dict):
        raise WrongStructure(f"{key}: expected one table; write [{key}] with single brackets")
    if not isinstance(value, kind):
        wanted = "a list, such as [...]" if kind is list else "a table"
        raise WrongStructure(f"{key}: expected {wanted}, got {shown(value)}")
    return value


class _Reader:
    """Reads data of one file. `most` is the limit of numbers; `is_open` ignores unknown keys; `is_checked` accepts
    names of registries that are not there, such as those of an extension that was uninstalled."""

    def __init__(self, root: type, most: int | None, is_open: bool, is_checked: bool = False) -> None:
        self.root = root
        self.most = most
        self.is_open = is_open
        self.is_checked = is_checked

    def table(
        self, kind: Any, given: object, key: str, others: Mapping[str, Any] = MappingProxyType({})
    ) -> Any:
        data, known = _expect(dict, given, key), keys(kind)
        if self.is_open:
            data = {child: value for child, value in data.items() if child in known}
        by_wrong_name = _wrong_names(kind, "")
        meant = {
            child: by_wrong_name.get(child) or _close(child, known) for child in data if child not in known
        }
        problems = [self._unknown(kind, key, child, close) for child, close in meant.items()]
        values = dict(others)
        for child, (field, hint) in known.items():
            place = _below(key, child)
            try:
                if child in data:
                    values[field.name] = self.value(hint, data[child], place)
                elif not may_be_left_out(field, hint):
                    raise WrongStructure(f"{place}: missing; this key is required")
                elif field.default is MISSING and field.default_factory is MISSING:
                    values[field.name] = None if NoneType in get_args(hint) else self.table(hint, {}, place)
            except WrongStructure as wrong:
                problems += () if child in meant.values() else wrong.problems
        if problems:
            raise WrongStructure(*problems)
        return kind(**values)

    def _unknown(self, kind: type, parent: str, child: str, meant: str) -> str:
        place, allowed = _below(parent, child), ", ".join(sorted(keys(kind)))
        if meant:
            return f"{place}: unknown key; did you mean {meant}? Allowed here: {allowed}"
        tables = [title for title, table in _tables(self.root) if child in keys(table)]
        is_below = any(title.lstrip("[").startswith(f"{parent}.") for title in tables)
        if not is_below and (meant := _all_wrong_names(self.root).get(child, "")):
            return f"{place}: unknown key; did you mean {meant}? Allowed here: {allowed}"
        belongs = f"it belongs in {' or '.join(tables)}; " if 0 < len(tables) < 3 else ""
        return f"{place}: unknown key; {belongs}allowed here: {allowed}"

    def value(self, hint: Any, value: object, key: str) -> Any:
        """A value of the annotated type."""
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):  # the first type, a list if the types include one, or None
            if value is None and NoneType in arguments:
                return None
            lists = [argument for argument in arguments if get_origin(argument) in (tuple, list)]
            return self.value(lists[0] if lists and isinstance(value, list) else arguments[0], value, key)
        if origin is Literal or isinstance(hint, OneOf):
            return self._word(hint.registry if isinstance(hint, OneOf) else arguments, value, key)
        if origin in (tuple, list):
            return origin(self._items(arguments[0], value, key))
        if origin in (Mapping, dict):
            table = _expect(dict, value, key)
            items = {item: self.value(arguments[1], table[item], _below(key, item)) for item in table}
            return items if origin is dict else MappingProxyType(items)
        if hint is Any:
            return value
        return self.table(hint, value, key) if is_dataclass(hint) else self._scalar(hint, value, key)

    def _word(self, accepted: Collection[str], value: object, key: str) -> str:
        """One of some words."""
        meant = ""
        if isinstance(value, str):
            if value in accepted or (self.is_checked and isinstance(accepted, Registry)):
                return value
            meant = MEANT.get(value, "") if MEANT.get(value) in accepted else _close(value, accepted)
        hint = f"did you mean {meant}? Use" if meant else "use"
        raise WrongStructure(f"{key}: {shown(value)} is not allowed; {hint} {', '.join(accepted)}")

    def _items(self, hint: Any, value: object, key: str) -> list[Any]:
        """The items of a list; raises for all that are wrong."""
        if table_in(hint) is not None and isinstance(value, dict):
            raise WrongStructure(f"{key}: expected a list of tables; write [[{key}]] with double brackets")
        items: list[Any] = []
        problems: list[str] = []
        for n, item in enumerate(_expect(list, value, key), 1):
            try:
                items.append(self.value(hint, item, f"{key}[{n}]"))
            except WrongStructure as wrong:
                problems += wrong.problems
        if problems:
            raise WrongStructure(*problems)
        return items

    def _scalar(self, kind: Any, value: object, key: str) -> Any:
        if not (type(value) is kind or (kind is float and type(value) is int)):
            raise WrongStructure(f"{key}: expected {SCALARS[kind]}, got {shown(value)}")
        # `not <=` also refuses NaN.
        if self.most is not None and isinstance(value, (int, float)) and not abs(value) <= self.most:
            raise WrongStructure(f"{key}: the number must be finite and at most {self.most}")
        return float(value) if kind is float and isinstance(value, int) else value


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


def _tables(kind: type, name: str = "") -> Iterator[tuple[str, type]]:
    """The tables below a dataclass, each by its name as it is written in a file."""
    for key, (_, hint) in keys(kind).items():
        if (inner := table_in(hint)) is not None:
            child = _below(name, key)
            yield (f"[[{child}]]" if get_origin(hint) is tuple else f"[{child}]"), inner
            yield from _tables(inner, child)


def _wrong_names(kind: type, title: str) -> dict[str, str]:
    """The keys of a table by their wrong names, each as its place: `measures in [scoring]`."""
    about = _of_class(kind, Key)
    return {
        name: f"{key} in {title}" if title else key
        for key, (field, _) in keys(kind).items()
        for name in (about[field.name].wrong_names if field.name in about else ())
    }


@cache
def _all_wrong_names(root: type) -> dict[str, str]:
    return {
        name: place
        for title, table in (("", root), *_tables(root))
        for name, place in _wrong_names(table, title).items()
    }


def json_schema(root: type, *, most: int) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the files of a dataclass, with the words of its keys as descriptions."""
    tables = {table.__name__: _object(table, most) for _, table in _tables(root)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": root.__name__,
        **_object(root, most),
        "$defs": tables,
    }


def _object(kind: type, most: int) -> dict[str, Any]:
    about, properties = words(kind), {}
    for key, (field, hint) in keys(kind).items():
        has_none = field.default in (MISSING, None, "", ()) or is_dataclass(field.default)
        default = {} if has_none else {"default": field.default}
        description = {"description": about[key].plain_help} if about[key].help else {}
        properties[key] = {"title": about[key].label} | description | default | _type(hint, most)
    required = [key for key, pair in keys(kind).items() if not may_be_left_out(*pair)]
    return {
        "description": kind.__doc__,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _type(hint: Any, most: int) -> dict[str, Any]:
    """The JSON Schema of an annotation."""
    origin, arguments, of = get_origin(hint), get_args(hint), partial(_type, most=most)
    if origin in (Union, UnionType):
        kinds = [of(kind) for kind in arguments if kind is not NoneType]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is Literal or isinstance(hint, OneOf):
        return {"enum": list(hint.registry if isinstance(hint, OneOf) else arguments)}
    if origin is tuple:
        return {"type": "array", "items": of(arguments[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": of(arguments[1])}
    if is_dataclass(hint):
        return {"$ref": f"#/$defs/{table_in(hint).__name__}"}
    name = {str: "string", int: "integer", float: "number", bool: "boolean"}[hint]
    return {"type": name} | ({"minimum": -most, "maximum": most} if hint in (int, float) else {})
