"""Serializers of computed answers, made from the types that hold them."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from inspect import getdoc
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from django.utils.safestring import SafeString
from rest_framework import serializers

Answer = type[serializers.Serializer[Any]]
_FIELDS: Mapping[Any, Any] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    SafeString: serializers.CharField,
    datetime: serializers.DateTimeField,
    date: serializers.DateField,
}
_made: dict[Any, Answer] = {}  # the answers of types, for types that have them in a field


def answer(kind: type, name: str, fields: str, /, **meanings: Any) -> Answer:
    """Make the serializer of some fields of a dataclass or named tuple, with their types and its first sentence.

    An object that lacks one of the fields is an error, and never an answer without it.

    Args:
        name: of the object in the description of the API.
        fields: names of fields and properties; `n_units=total` is `total` under another name. What is not named is not
            answered, because pages use the same types.
        meanings: of fields, for the description; or the field itself, where its type says too little.

    Raises:
        TypeError: A field is unknown, or there is no field of a serializer for its type.
    """
    hints, made = get_type_hints(kind), {}
    for shown, _, source in (part.partition("=") for part in fields.split()):
        place = source or shown
        if isinstance(read := getattr(kind, place, None), property):
            hints[place] = get_type_hints(read.fget)["return"]
        meaning, options = meanings.pop(shown, None), {"source": source} if source else {}
        try:
            is_field = isinstance(meaning, serializers.Field)
            made[shown] = meaning if is_field else _field(hints[place], help_text=meaning, **options)
        except KeyError as error:
            raise TypeError(f"{kind.__name__}.{place} cannot be answered: {error} is unknown") from None
    if meanings:
        raise TypeError(f"{name} has no {', '.join(meanings)}")
    made["__doc__"] = (getdoc(kind) or "").partition(".")[0] + "."
    _made[kind] = type(f"{name}Serializer", (serializers.Serializer,), made)
    return _made[kind]


def _field(hint: Any, **options: Any) -> Any:
    """The field of a serializer for a type; KeyError if there is none."""
    origin, arguments = get_origin(hint), get_args(hint)
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
        return serializers.DictField(child=_field(arguments[1]), **options)
    return (_made[hint] if hint in _made else _FIELDS[hint])(**options)
