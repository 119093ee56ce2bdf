"""Describes files as JSON Schema."""

from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from assay.structure.declarations import OneOf, keys, may_be_left_out, table_in, tables_below, words


def json_schema(root: type, *, most: int) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the files of a dataclass, with the words of its keys as descriptions."""
    tables = {table.__name__: _object(table, most) for _, table in tables_below(root)}
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
