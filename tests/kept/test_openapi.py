"""The API in short: its operations with parameters, contents and answers, and the properties of each schema."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.test import Client

from tests.helpers import kept

JSON = Mapping[str, Any]


def kind(schema: JSON) -> str:
    """The type of a value, in short."""
    for name in ("allOf", "oneOf", "anyOf"):
        if name in schema:
            return " | ".join(kind(each) for each in schema[name])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"[{kind(schema['items'])}]"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"{{{kind(schema['additionalProperties'])}}}"
    named = schema.get("type", "any")
    if isinstance(named, list):  # one of them is null
        return " | ".join(named)
    return str(schema.get("format", named))


def properties(schema: JSON) -> str:
    """The properties of a schema, those that can be missing with a question mark."""
    required = schema.get("required", ())
    named = schema.get("properties")
    if named is None:
        return kind(schema)
    return ", ".join(
        f"{name}{'' if name in required else '?'}: {kind(each)}" for name, each in sorted(named.items())
    )


def contents(of: JSON) -> str:
    return " or ".join(
        f"{name} {kind(each.get('schema', {}))}" for name, each in sorted(of.get("content", {}).items())
    )


def operations(paths: JSON) -> Iterator[tuple[str, str]]:
    """The operations by method and path. Errors are the same everywhere, and left out."""
    for path, methods in paths.items():
        for method, operation in methods.items():
            parameters = [
                f"{each['in']} {each['name']}{'' if each.get('required') else '?'}: {kind(each['schema'])}"
                for each in operation.get("parameters", ())
            ]
            answers = [
                f"{status} {contents(each)}"
                for status, each in operation["responses"].items()
                if status < "400"
            ]
            parts = [
                operation["operationId"],
                *sorted(parameters),
                contents(operation.get("requestBody", {})),
            ]
            yield f"{path} {method}", "; ".join([*filter(None, parts), *answers])


def test_operations_and_properties_of_the_api(client: Client) -> None:
    pytest.importorskip("assay_extensions.turkle")
    document = json.loads(client.get("/api/schema/").content)

    schemas = document["components"]["schemas"]
    kept.check(
        "openapi.json",
        {
            "operations": dict(operations(document["paths"])),
            "schemas": {name: properties(schema) for name, schema in schemas.items()},
        },
    )
