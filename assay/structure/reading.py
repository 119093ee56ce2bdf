"""Makes dataclasses from the data of JSON and TOML."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, is_dataclass
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, TypeGuard, TypeVar, Union, get_args, get_origin

from assay.extensions import Registry
from assay.structure.declarations import OneOf, below, keys, may_be_left_out, table_in
from assay.structure.unknown_keys import meant_keys, nearest, refusal

T = TypeVar("T")
SCALARS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
# Values that are meant by other words.
MEANT = {"\t": "white-space", " ": "white-space", ",": "comma", ";": "semicolon"}


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


def shown(value: object) -> str:
    """A value as messages show it."""
    try:
        text = repr(value)
    except ValueError:  # a hexadecimal number that is too long to write in decimals
        return "a number that is too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."


def line_complaints(key: str, text: str, noun: str = "title") -> Iterator[str]:
    """Yield what is wrong with a text that people read in one line."""
    if not text.strip():
        yield f"{key}: empty; give a {noun}"
    elif not text.isprintable():
        yield f"{key}: {shown(text)} is not one line of text"


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
        meant = meant_keys(kind, data)
        problems = [refusal(self.root, kind, key, child, close) for child, close in meant.items()]
        values = dict(others)
        for child, (field, hint) in known.items():
            place = below(key, child)
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

    def value(self, hint: object, value: object, key: str) -> Any:
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
            items = {item: self.value(arguments[1], table[item], below(key, item)) for item in table}
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
            meant = MEANT.get(value, "") if MEANT.get(value) in accepted else nearest(value, accepted)
        hint = f"did you mean {meant}? Use" if meant else "use"
        raise WrongStructure(f"{key}: {shown(value)} is not allowed; {hint} {', '.join(accepted)}")

    def _items(self, hint: object, value: object, key: str) -> list[Any]:
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
