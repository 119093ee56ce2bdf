"""The operations of a site, as its own description (OpenAPI 3.1) states them, and requests that are checked before.

A site describes each operation of its API: its address, its fields and its answers. So one command offers them all,
also those of a newer site than this library.

Decision: ADR 29.
"""

import difflib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlencode

from assay.client.files import write_whole
from assay.client.server import NOT_MODIFIED, Server
from assay.errors import InputError

JSON, FORM = "application/json", "multipart/form-data"
PATHS = "/api/v1/"  # before the addresses of a description
OF_CONTENT = "content."  # before a field of the content that has the name of one in the address
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
WORDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
         "array": "a list", "object": "an object", "null": "null"}  # fmt: skip
LIMITS: Sequence[tuple[tuple[type, ...], str, str, str]] = (  # types, keys of the schema, unit
    ((int, float), "minimum", "maximum", ""),
    ((str,), "minLength", "maxLength", " characters"),
    ((list,), "minItems", "maxItems", " items"),
)
Schema = Mapping[str, Any]


class Field(NamedTuple):
    """A field of an operation: in its `path`, `query`, `header` or `content`, under a name there."""

    place: str
    name: str
    schema: Schema
    is_required: bool
    meaning: str

    @property
    def is_file(self) -> bool:
        return "binary" in (self.schema.get("format"), self.schema.get("items", {}).get("format"))


class Request(NamedTuple):
    """A request: an address below the path of the API, headers and a content; `form` if that is a form."""

    path: str
    headers: Mapping[str, str]
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str
    data: Mapping[str, Any]
    schemas: "Schemas"

    @property
    def summary(self) -> str:
        return str(self.data.get("summary", ""))

    @property
    def answers(self) -> list[str]:
        """The types of what it answers if it succeeds."""
        return [
            content_type
            for status, answer in self.data["responses"].items()
            if status.startswith("2")
            for content_type in answer.get("content", {})
        ]

    @property
    def is_file(self) -> bool:
        """Return whether it answers with a file."""
        return any(content_type != JSON for content_type in self.answers)

    @property
    def is_list(self) -> bool:
        """Return whether the answer is in pages."""
        return "cursor" in self.fields

    @property
    def is_form(self) -> bool:
        """Return whether its content is a form, because it has files or cannot be JSON."""
        return FORM in self._contents and JSON not in self._contents

    @property
    def _contents(self) -> Mapping[str, Any]:
        contents: Mapping[str, Any] = self.data.get("requestBody", {}).get("content", {})
        return contents

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The fields by the names that a user gives them: of the address, of the content, and headers."""
        body = self.schemas.resolved(self._contents.get(FORM, self._contents.get(JSON, {})).get("schema", {}))
        content: Mapping[str, Any] = body.get("properties", {})
        required = body.get("required", ())
        fields = {}
        for parameter in self.data.get("parameters", ()):
            if parameter["in"] == "query" and parameter["name"] in content:
                continue  # the same field, for a content that is the file alone
            schema = self.schemas.resolved(parameter["schema"])
            is_required = bool(parameter.get("required"))
            fields[parameter["name"]] = Field(
                parameter["in"], parameter["name"], schema, is_required, parameter.get("description", "")
            )
        for name, schema in content.items():
            key = f"{OF_CONTENT}{name}" if name in fields else name
            schema = self.schemas.resolved(schema)
            fields[key] = Field("content", name, schema, name in required, schema.get("description", ""))
        return dict(sorted(fields.items(), key=lambda item: item[1].place == "header"))

    def field(self, key: str) -> Field:
        """A field.

        Raises:
            InputError: The operation has none with this name.
        """
        if key not in self.fields:
            raise InputError(f"{self.name} has no field {key}; it takes {', '.join(self.fields) or 'none'}")
        return self.fields[key]

    def read(self, key: str, texts: Sequence[str]) -> Any:
        """The value of a field that is written as texts, several for a list.

        Raises:
            InputError: There is no such field, or they are no such value.
        """
        schema = self.field(key).schema
        if "array" in _types(schema) and not (len(texts) == 1 and texts[0].startswith("[")):
            item = self.schemas.resolved(schema.get("items", {}))
            return [_read(key, item, text) for text in texts]
        if len(texts) > 1:
            raise InputError(f"{self.name}: {key} is given {len(texts)} times, and takes one value")
        return _read(key, schema, texts[0])

    def request(self, values: Mapping[str, object]) -> Request:
        """The request with the values of fields, each a path or a list of them if the field is a file.

        Raises:
            InputError: A field is missing, or a value is not as the description says.
        """
        fields = {key: self.field(key) for key in values}
        missing = [key for key, field in self.fields.items() if field.is_required and key not in values]
        if missing:
            raise InputError(f"{self.name} needs {', '.join(missing)}")
        for key, field in fields.items():
            if not field.is_file:
                for problem in self.schemas.problems(field.schema, values[key], key):
                    raise InputError(f"{self.name}: {problem}")
        places: dict[str, dict[str, Any]] = {
            place: {field.name: values[key] for key, field in fields.items() if field.place == place}
            for place in ("path", "query", "header", "content")
        }
        path = self.path.removeprefix(PATHS).format(
            **{name: quote(_text(value), safe="") for name, value in places["path"].items()}
        )
        query = urlencode(
            [
                (name, _text(value))
                for name, values in places["query"].items()
                for value in (values if isinstance(values, list) else [values])
            ]
        )
        headers = {name: _text(value) for name, value in places["header"].items()}
        return Request(f"{path}?{query}" if query else path, headers, places["content"])


class Schemas:
    """The schemas of a description, and what a value has against one of them."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def resolved(self, schema: Schema) -> Schema:
        """A schema itself instead of its name."""
        while "$ref" in schema:
            schema = {
                **self._schemas[schema["$ref"].rpartition("/")[2]],
                **{key: schema[key] for key in schema if key != "$ref"},
            }
        return schema

    def problems(self, schema: Schema, value: object, where: str) -> Iterator[str]:
        """Yield what is wrong with a value, as sentences that begin with its place."""
        schema = self.resolved(schema)
        if choices := schema.get("oneOf"):
            problems = [list(self.problems(choice, value, where)) for choice in choices]
            yield from min(problems, key=len)
            return
        types = _types(schema)
        kinds = [kind for kind in types if kind == "boolean" or not isinstance(value, bool)]
        if types and not any(isinstance(value, TYPES[kind]) for kind in kinds):
            yield f"{where}: {_shown(value)} is not {' or '.join(WORDS[name] for name in types)}"
        elif "enum" in schema and value not in schema["enum"]:
            accepted = ", ".join(str(choice) for choice in schema["enum"] if choice not in ("", None))
            yield f"{where}: {_shown(value)} is not accepted; use {accepted}"
        else:
            yield from _out_of_limits(schema, value, where)
            yield from self._parts(schema, value, where)

    def _parts(self, schema: Schema, value: object, where: str) -> Iterator[str]:
        if isinstance(value, list):
            for n, item in enumerate(value, 1):
                yield from self.problems(schema.get("items", {}), item, f"{where}, item {n}")
        elif isinstance(value, dict):
            properties, others = schema.get("properties", {}), schema.get("additionalProperties")
            if missing := [name for name in schema.get("required", ()) if name not in value]:
                yield f"{where} needs {', '.join(missing)}"
            for name, part in value.items():
                of_part = properties.get(name, others)
                if of_part is None and properties:
                    yield f"{where} has no field {name}; it takes {', '.join(properties)}"
                elif isinstance(of_part, Mapping):
                    yield from self.problems(of_part, part, f"{where}.{name}")


class Description:
    """The operations of a site by their names."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        schemas = Schemas(data["components"]["schemas"])
        self.operations = {
            operation["operationId"]: Operation(
                operation["operationId"], method.upper(), path, operation, schemas
            )
            for path, methods in data["paths"].items()
            for method, operation in methods.items()
        }

    @classmethod
    def of(cls, server: Server) -> Self:
        """The description of a site. It is kept, and asked for again only if the site has another one.

        Raises:
            ServerError: The site cannot be reached, or is no site of Assay.
        """
        folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        path = Path(folder) / "assay" / f"{hashlib.sha256(server.url.encode()).hexdigest()[:32]}.json"
        kept: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            kept = json.loads(path.read_bytes())
        headers = {"If-None-Match": kept["etag"]} if "etag" in kept else {}
        response = server.send("GET", server.own("../schema/"), headers=headers)
        if response.status_code != NOT_MODIFIED:
            kept = {"etag": response.headers.get("ETag", ""), "description": server.content(response)}
            with suppress(OSError):  # a home that is read-only only makes it slower
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, json.dumps(kept).encode())
        return cls(kept["description"])

    def operation(self, name: str) -> Operation:
        """An operation.

        Raises:
            InputError: The site has none with this name; the message has similar ones.
        """
        if name not in self.operations:
            similar = difflib.get_close_matches(name, self.operations, n=3)
            hint = f"; similar: {', '.join(similar)}" if similar else ""
            raise InputError(
                f"the site has no operation {name}{hint}; assay site operations WORD searches them"
            )
        return self.operations[name]

    def search(self, words: Sequence[str]) -> list[Operation]:
        """The operations with all of some words, in upper or lower case, in the order of the description."""
        return [
            operation
            for operation in self.operations.values()
            if all(
                word.lower() in f"{operation.name} {operation.path} {operation.summary}".lower()
                for word in words
            )
        ]


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _out_of_limits(schema: Schema, value: object, where: str) -> Iterator[str]:
    for types, least, most, unit in LIMITS:
        if isinstance(value, types) and not isinstance(value, bool):
            size: Any = len(value) if unit else value  # type: ignore[arg-type]
            if not schema.get(least, size) <= size <= schema.get(most, size):
                limits = ((word, schema.get(name)) for word, name in (("at least", least), ("at most", most)))
                accepted = ", ".join(f"{word} {limit}" for word, limit in limits if limit is not None)
                yield f"{where}: {size}{unit}; accepted: {accepted}"
    pattern = schema.get("pattern")
    if pattern and isinstance(value, str) and not re.search(pattern, value):
        yield f"{where}: {_shown(value)} does not have the form {pattern}"


def _read(key: str, schema: Schema, text: str) -> Any:
    """The value that a text is, for a field of a schema."""
    types = _types(schema)
    if "oneOf" in schema or "string" in types:
        return None if text == "null" and "null" in types else text
    try:
        return json.loads(text)
    except ValueError:
        if not types:
            return text
        wanted = " or ".join(WORDS[name] for name in types)
        form = " in JSON" if {"array", "object"} & set(types) else ""
        raise InputError(f"{key}: {text!r} is not {wanted}{form}") from None


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
