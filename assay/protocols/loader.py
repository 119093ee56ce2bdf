"""Turns a protocol's TOML into a `Protocol`, or refuses it with file, key and allowed values.

The dataclasses of `schema` define the format: their fields are the keys, their annotations the types, and a field
with a default may be left out. `rules` and `contradictions` have the rules on ranges and on several keys. All wrong
keys and values of a file are reported together, each with its line, and then all broken rules.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.errors import InputError
from assay.protocols.contradictions import contradictions
from assay.protocols.former import FORMER, former_keys, upgraded
from assay.protocols.lines import line_of
from assay.protocols.rules import complaints, shown
from assay.protocols.schema import Protocol

DIRECTORY = Path(__file__).parent / "shipped"
MAX_SIZE = 50_000  # characters; tomllib needs time that grows with the square of the length of a dotted key
MOST = 2**31 - 1  # the limit of a database column of whole numbers
# TOML names a list of tables in the singular.
SINGULAR = {"grades": "grade", "non_answers": "non_answer", "follow_ups": "follow_up", "kinds": "kind"}


MAX_PROBLEMS = 20  # that a message lists
# Values that are meant by other words.
MEANT = {"tab": "white-space", "\t": "white-space", " ": "white-space", ",": "comma", ";": "semicolon"}
_KEYS = re.compile(r"\('[^()]*\)")  # as tomllib writes them
_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)


class ProtocolError(InputError):
    """A protocol has errors. Each in the message: `file: line: key: what is wrong; what is accepted`."""


class _Wrong(Exception):
    """What is wrong in a part of a file, each with its key."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


def shipped_slugs() -> list[str]:
    """The slugs of the protocols that ship with Assay, sorted."""
    return sorted(path.stem for path in DIRECTORY.glob("*.toml"))


def shipped_text(slug: str) -> str:
    """The text of a shipped protocol's file."""
    if slug not in shipped_slugs():
        raise ProtocolError(f"no protocol {slug!r}; use one of {', '.join(shipped_slugs())}")
    return (DIRECTORY / f"{slug}.toml").read_bytes().decode()


def load_protocol(name: str) -> Protocol:
    """Load a shipped protocol by its slug, or any protocol by the path of its TOML file.

    Raises
    ------
    ProtocolError
        There is no such protocol or file, or it has an error.
    """
    if name in shipped_slugs():
        return parse_protocol(shipped_text(name), name=f"{name}.toml")
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        raise ProtocolError(
            f"no protocol {name!r}; use the path of a .toml file or one of {', '.join(shipped_slugs())}"
        )
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{name}: not UTF-8 (byte {error.start + 1}); TOML files are UTF-8") from None
    return parse_protocol(text, name=path.name)


def parse_protocol(text: str, *, name: str, accepts_earlier: bool = False) -> Protocol:
    """Parse and check the TOML of a protocol; messages cite `name` as the file name.

    With `accepts_earlier`, also a file that an earlier version of Assay accepted and stored.
    """
    if len(text) > MAX_SIZE:
        raise ProtocolError(f"{name}: {len(text):,} characters; a protocol has at most {MAX_SIZE:,}")
    data = _toml(text.removeprefix("\ufeff").replace("\r\n", "\n"), name)
    if "text" in data:
        raise ProtocolError(f"{name}: text: unknown key")
    try:
        data = upgraded(data) if accepts_earlier else _without_former(data)
        protocol: Protocol = _table(Protocol, {**data, "text": text}, "")
    except _Wrong as wrong:
        raise _refusal(text, name, wrong.problems) from None
    problems = [*complaints(protocol), *([] if accepts_earlier else contradictions(protocol))]
    if problems:
        raise _refusal(text, name, problems)
    return protocol


def _toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"{name}: {_syntax(str(error), text)}") from None
    except RecursionError:
        raise ProtocolError(f"{name}: not TOML: nested too deeply") from None
    except ValueError:  # Python reads no decimal number of more than 4300 digits
        raise ProtocolError(f"{name}: not TOML: a number is too long") from None


def _syntax(message: str, text: str) -> str:
    """What TOML does not accept, with the line."""
    place = _PLACE.fullmatch(message)
    if place is None:
        return f"not TOML: {message}"
    line = text.split("\n")[int(place[2]) - 1].strip()
    reason = _KEYS.sub(lambda keys: ".".join(re.findall(r"'([^']*)'", keys[0])), place[1])
    hints = {
        "Invalid value": "text is written between straight quotation marks, and truth as true or false",
        "Illegal character": "text ends with the quotation mark with which it begins, on the same line",
        "Cannot declare": "a table occurs once, and each table of a list has double brackets, as in [[judging.grade]]",
        "Cannot overwrite": "each key occurs once",
        "Expected '='": 'write key = "text", key = 5 or [table]',
        "Invalid statement": 'write key = "text", key = 5 or [table]',
    }
    hint = next((f"; {hint}" for start, hint in hints.items() if message.startswith(start)), "")
    return f"line {place[2]}: not TOML: {reason} at column {place[3]} of {shown(line)}{hint}"


def _refusal(text: str, name: str, problems: Iterable[str]) -> ProtocolError:
    """The refusal of a file with some problems, in the order of its lines."""
    plain = text.replace("\r\n", "\n")
    placed = sorted(
        ((line_of(plain, problem.partition(": ")[0]), problem) for problem in dict.fromkeys(problems)),
        key=lambda pair: pair[0] or MOST,
    )
    lines = [f"line {line}: {problem}" if line else problem for line, problem in placed]
    if len(lines) == 1:
        return ProtocolError(f"{name}: {lines[0]}")
    more = [f"and {len(lines) - MAX_PROBLEMS} more"] if len(lines) > MAX_PROBLEMS else []
    return ProtocolError("\n".join([f"{name}: {len(lines)} errors", *lines[:MAX_PROBLEMS], *more]))


def _without_former(data: dict[str, object]) -> dict[str, object]:
    if keys := former_keys(data):
        raise _Wrong(*(f"{key}: a key of Assay 0.1; {FORMER[key]}" for key in keys))
    return data


def _key(parent: str, child: str) -> str:
    return f"{parent}.{child}" if parent else child


def _table(kind: type, given: object, key: str) -> Any:
    """A dataclass from a TOML table; raises for unknown and missing keys."""
    data: dict[str, object] = _expect(dict, given, key)
    known = {SINGULAR.get(field.name, field.name): field for field in fields(kind)}
    unknown = {child: _close(child, set(known) - {"text"}) for child in data if child not in known}
    problems = [_unknown(kind, _key(key, child), meant) for child, meant in unknown.items()]
    hints = _hints(kind)
    values = {}
    for child, field in known.items():
        try:
            values[field.name] = _field(field, hints[field.name], data, key)
        except _Wrong as wrong:
            problems += () if child in unknown.values() else wrong.problems
    if problems:
        raise _Wrong(*problems)
    return kind(**values)


def _field(field: "Field[Any]", hint: Any, data: Mapping[str, object], key: str) -> Any:
    """The value of a field of a table."""
    child = SINGULAR.get(field.name, field.name)
    if child in data:
        return _value(hint, data[child], _key(key, child))
    if _may_be_empty(field, hint):
        return _empty(field, hint, _key(key, child))
    raise _Wrong(f"{_key(key, child)}: missing; this key is required")


def _close(word: str, accepted: Iterable[str]) -> str:
    """The accepted word that is written almost like another one."""
    return next(iter(difflib.get_close_matches(word[:100], sorted(accepted), 1, 0.75)), "")


def _unknown(kind: type, key: str, meant: str) -> str:
    child = key.rpartition(".")[2]
    allowed = ", ".join(sorted({SINGULAR.get(field.name, field.name) for field in fields(kind)} - {"text"}))
    others = [table for table in _tables() if child in _tables()[table]]
    if meant:
        return f"{key}: unknown key; did you mean {meant}? Allowed here: {allowed}"
    belongs = f"it belongs in {' or '.join(others)}; " if others and len(others) < 3 else ""
    return f"{key}: unknown key; {belongs}allowed here: {allowed}"


@cache
def _tables() -> dict[str, frozenset[str]]:
    """The keys of each table of a protocol, by its name as it is written in a file."""
    tables: dict[str, frozenset[str]] = {}

    def walk(kind: type, name: str) -> None:
        for field in fields(kind):
            child = _key(name, SINGULAR.get(field.name, field.name))
            inner = _inner(_hints(kind)[field.name])
            if inner is not None:
                title = f"[[{child}]]" if field.name in SINGULAR else f"[{child}]"
                tables[title] = frozenset(SINGULAR.get(each.name, each.name) for each in fields(inner))
                walk(inner, child)

    walk(Protocol, "")
    return tables


def _inner(hint: Any) -> Any:
    """The dataclass in an annotation, if there is one."""
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    return next((kind for kind in get_args(hint) if isinstance(kind, type) and is_dataclass(kind)), None)


def _may_be_empty(field: "Field[Any]", hint: Any) -> bool:
    """Whether a key may be left out: it has a default, may be None, or is a table with only such keys."""
    if field.default is not MISSING or field.default_factory is not MISSING or NoneType in get_args(hint):
        return True
    return (
        isinstance(hint, type)
        and is_dataclass(hint)
        and all(_may_be_empty(inner, _hints(hint)[inner.name]) for inner in fields(hint))
    )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _empty(field: "Field[Any]", hint: Any, key: str) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if NoneType in get_args(hint) else _table(hint, {}, key)


def _value(hint: Any, value: object, key: str) -> Any:
    """A value of the annotated type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _value(next(kind for kind in arguments if kind is not NoneType), value, key)
    if origin is Literal:
        return _word(arguments, value, key)
    if origin is tuple:
        return _items(arguments[0], value, key)
    if origin is Mapping:
        table = _expect(dict, value, key)
        return MappingProxyType({item: _value(arguments[1], table[item], _key(key, item)) for item in table})
    kind: type = hint
    return _table(kind, value, key) if is_dataclass(kind) else _scalar(kind, value, key)


def _word(accepted: tuple[str, ...], value: object, key: str) -> object:
    if value in accepted:
        return value
    meant = ""
    if isinstance(value, str):
        meant = MEANT.get(value, "") if MEANT.get(value) in accepted else _close(value, accepted)
    hint = f"did you mean {meant}? Use" if meant else "use"
    raise _Wrong(f"{key}: {shown(value)} is not allowed; {hint} {', '.join(accepted)}")


def _items(hint: Any, value: object, key: str) -> tuple[Any, ...]:
    """The items of a list; raises for all that are wrong."""
    if _inner(hint) is not None and isinstance(value, dict):
        raise _Wrong(f"{key}: expected a list of tables; write [[{key}]] with double brackets")
    items: list[Any] = []
    problems: list[str] = []
    for n, item in enumerate(_expect(list, value, key), 1):
        try:
            items.append(_value(hint, item, f"{key}[{n}]"))
        except _Wrong as wrong:
            problems += wrong.problems
    if problems:
        raise _Wrong(*problems)
    return tuple(items)


def _expect(kind: type, value: object, key: str) -> Any:
    if kind is dict and isinstance(value, list) and value and isinstance(value[0], dict):
        raise _Wrong(f"{key}: expected one table; write [{key}] with single brackets")
    if not isinstance(value, kind):
        wanted = "a list, such as [...]" if kind is list else "a table"
        raise _Wrong(f"{key}: expected {wanted}, got {shown(value)}")
    return value


def _scalar(kind: type, value: object, key: str) -> Any:
    words = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
    is_fit = type(value) is kind or (kind is float and type(value) is int)
    if not is_fit:
        raise _Wrong(f"{key}: expected {words[kind]}, got {shown(value)}")
    # `not <=` also refuses NaN.
    if isinstance(value, (int, float)) and not abs(value) <= MOST:
        raise _Wrong(f"{key}: the number must be finite and at most {MOST}")
    return kind(value)
