"""Serializers of computed answers, made from the types that hold them."""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import date, datetime
from inspect import getdoc
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from django.db import models
from rest_framework import serializers

from assay.tables import Undefinable

Answer = type[serializers.Serializer[Any]]


class Number(serializers.FloatField):
    """A number; null where it is undefined."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: Any) -> Any:
        return float(value) if math.isfinite(value) else None


_FIELDS: Mapping[Any, Any] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    datetime: serializers.DateTimeField,
    date: serializers.DateField,
}
_COLUMNS: Mapping[str, Any] = {
    "AutoField": int,
    "BigAutoField": int,
    "IntegerField": int,
    "PositiveIntegerField": int,
    "BooleanField": bool,
    "CharField": str,
    "SlugField": str,
    "TextField": str,
    "DateTimeField": datetime,
}
_made: dict[Any, Answer] = {}  # the answers of types, for types that have them in a field


def answer(kind: Any, name: str, fields: str, about: str = "", /, **meanings: Any) -> Answer:
    """Make the serializer of some fields of a model, dataclass or named tuple, with their types.

    An object that lacks one of the fields is an error, and never an answer without it.

    Args:
        name: of the object in the description of the API.
        fields: names of fields and properties. `n_units=total` is `total` under another name, `batch=batch_id` the id
            of another row, and `track=track.slug` a field of a field: null if that may be None. What is not named is
            not answered, because pages use the same types.
        about: what the object is, for the description; without it, the first sentence about the type.
        meanings: of fields, for the description; or the field itself, where its type says too little.

    Raises:
        TypeError: A field is unknown, or there is no field of a serializer for its type.
    """
    made: dict[str, Any] = {"__doc__": about or (getdoc(kind) or "").partition(".")[0] + "."}
    sources = {
        shown: source or shown for shown, _, source in (part.partition("=") for part in fields.split())
    }
    is_model, extra = issubclass(kind, models.Model), dict[str, Any]()
    columns = {column.name for column in kind._meta.concrete_fields} if is_model else set()
    for shown, source in sources.items():
        meaning = meanings.pop(shown, None)
        options = {"help_text": meaning} if meaning else {}
        if source != shown:
            options["source"] = source
        try:
            if isinstance(meaning, serializers.Field):
                made[shown] = deepcopy(meaning)  # a serializer orders its fields by their creation
            elif source in columns:
                extra[shown] = options
            else:
                made[shown] = _field(_type_at(kind, source), **options)
        except KeyError as error:
            raise TypeError(f"{kind.__name__}.{source} cannot be answered: {error} is unknown") from None
    if meanings:
        raise TypeError(f"{name} has no {', '.join(meanings)}")
    base: Any = serializers.ModelSerializer if is_model else serializers.Serializer
    if is_model:
        made["Meta"] = type("Meta", (), {"model": kind, "fields": list(sources), "extra_kwargs": extra})
    _made[kind] = type(f"{name}Serializer", (base,), made)
    return _made[kind]


def _type_at(kind: Any, path: str) -> Any:
    """Return the type of a field or property, also at the end of a path; raise KeyError for an unknown name."""
    is_optional = False
    for name in path.split("."):
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        if NoneType in get_args(kind):
            is_optional, [kind] = True, set(get_args(kind)) - {NoneType}
        read = getattr(kind, name, None)
        if isinstance(read, property):
            kind = get_type_hints(read.fget, include_extras=True)["return"]
        elif issubclass(kind, models.Model):
            columns = kind._meta.concrete_fields
            column = {place: column for column in columns for place in (column.name, column.attname)}[name]
            hint = column.related_model if name == column.name else int
            hint = hint or _COLUMNS[column.get_internal_type()]
            kind = hint | None if column.null else hint
        else:
            kind = get_type_hints(kind, include_extras=True)[name]
    return kind | None if is_optional else kind


def _field(hint: object, **options: Any) -> Any:
    """Return the field of a serializer for a type; raise KeyError for an unknown type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint == Undefinable:
        return Number(**options)
    if origin is Annotated:
        return _field(arguments[0], **options)
    if NoneType in arguments:
        [hint] = set(arguments) - {NoneType}
        return _field(hint, allow_null=True, **options)
    if origin is Literal:
        return serializers.ChoiceField(list(arguments), **options)
    if origin in (list, tuple, Sequence) and arguments[0] in _made:
        return _made[arguments[0]](many=True, **options)
    if origin in (list, tuple, Sequence):
        return serializers.ListField(child=_field(arguments[0]), **options)
    if origin in (dict, Mapping):
        child = {} if arguments[1] is Any else {"child": _field(arguments[1])}
        return serializers.DictField(**child, **options)
    if isinstance(hint, type) and issubclass(hint, str):
        return serializers.CharField(**options)
    return (_made[hint] if hint in _made else _FIELDS[hint])(**options)
