"""The keys of a file, which are the fields of a dataclass, and their words for people."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

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
        is_measure: whether its texts are names of measures.
        wrong_names: names that people use for it by mistake; the error message suggests the key.
    """

    label: str
    help: str = ""
    values: Mapping[str, str] = MappingProxyType({})
    names: str = ""
    when: Mapping[str, tuple[object, ...]] = MappingProxyType({})
    is_long: bool = False
    is_rare: bool = False
    is_measure: bool = False
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


_LINK = re.compile(r"\[([^][]++)\]\([^()[]++\)")


@cache
def keys(kind: type) -> Mapping[str, tuple["Field[Any]", Any]]:
    """The keys of a dataclass, each with its field, and its annotation or `OneOf`."""
    hints, names = get_type_hints(kind), of_class(kind, OneOf)
    named = {
        field.metadata.get("key", field.name): (field, names.get(field.name, hints[field.name]))
        for field in fields(kind)
    }
    return {key: pair for key, pair in named.items() if key}


@cache
def words(kind: type) -> Mapping[str, Key]:
    about = of_class(kind, Key)
    return {
        key: about[field.name]._replace(values={name: point.title for name, point in hint.registry.items()})
        if isinstance(hint, OneOf)
        else about[field.name]
        for key, (field, hint) in keys(kind).items()
    }


def of_class(kind: type, wanted: type[T]) -> dict[str, T]:
    """The metadata of a class in the annotations of a dataclass, by field."""
    hints = get_type_hints(kind, include_extras=True)
    pairs = ((name, about) for name, hint in hints.items() for about in getattr(hint, "__metadata__", ()))
    return {name: about for name, about in pairs if isinstance(about, wanted)}


def table_in(hint: object) -> Any:
    """The dataclass in an annotation, if there is one."""
    kinds = (kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and is_dataclass(kind))
    return next(kinds, None)


def may_be_left_out(field: "Field[Any]", hint: object) -> bool:
    """Return True if a key has a default, may be None, or is a table with only such keys."""
    if field.default is not MISSING or field.default_factory is not MISSING or NoneType in get_args(hint):
        return True
    is_table = isinstance(hint, type) and is_dataclass(hint)
    return is_table and all(may_be_left_out(*inner) for inner in keys(hint).values())


def below(parent: str, child: str) -> str:
    return f"{parent}.{child}" if parent else child


def tables_below(kind: type, name: str = "") -> Iterator[tuple[str, type]]:
    """The tables below a dataclass, each by its name as it is written in a file."""
    for key, (_, hint) in keys(kind).items():
        if (inner := table_in(hint)) is not None:
            child = below(name, key)
            yield (f"[[{child}]]" if get_origin(hint) is tuple else f"[{child}]"), inner
            yield from tables_below(inner, child)
