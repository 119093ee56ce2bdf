"""The names of the API: one verb per kind of operation, one word per thing, one form of addresses and of lists."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

VERBS = {
    "get": {"list", "get", "download"},
    "put": {"update"},
    "patch": {"update"},
    "delete": {"delete"},
}
ACTIONS = (
    "accept adopt assign archive build cancel check clone close cluster correct derive disqualify exclude export "
    "extend fetch freeze give import join leave load log merge move offer open plan preview publish rebuild "
    "record refuse reinstate release remind renew resend restore retry return revoke run score settle share "
    "skip start submit supersede take test train undo upload withdraw"
)
# Words for which there is another one, and the objects in which the word means something else
OTHER_WORDS: dict[str, tuple[str, set[str]]] = {
    "state": ("status", set()),
    "digest": ("sha256", set()),
    "checksum": ("sha256", set()),
    "document": ("docno", set()),
    "size": ("n_bytes", set()),
    "form": ("format", set()),
    "at": ("created_at", set()),
    "by": ("created_by", set()),
    "frozen_at": ("created_at", set()),
    "uploaded_at": ("created_at", set()),
    "release": (
        "released_to",
        {"NewDownloadRequest", "PatchedDownloadPartChangeRequest"},
    ),  # hidden, now or later
    "audience": ("released_to", set()),
}
BOOLEANS = ("is_", "has_", "may_")
# as keys of protocols, which a unit repeats
OF_PROTOCOLS = {"required", "needs_comment"}
# Properties of an answer that it may lack
OPTIONAL = {"Error": {"line", "field", "accepted", "n"}, "Problem": {"errors"}}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return SchemaGenerator().get_schema(request=None, public=True)


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def test_the_verb_of_an_operation_says_its_method(schema: dict[str, Any]) -> None:
    wrong = {
        operation["operationId"]
        for method, _, operation in operations(schema)
        if operation["operationId"].partition("_")[0] not in VERBS.get(method, {"create", *ACTIONS.split()})
    }
    lists = {path for method, path, each in operations(schema) if each["operationId"].startswith("list_")}
    created = {
        operation["operationId"]: min(operation["responses"])
        for method, _, operation in operations(schema)
        if operation["operationId"].startswith("create_")
    }
    posted = {
        operation["operationId"].partition("_")[0]
        for method, path, operation in operations(schema)
        if method == "post" and path in lists
    }

    assert wrong == set()
    assert {name: status for name, status in created.items() if status not in {"201", "202"}} == {}
    assert posted == {"create", "submit"}


def test_addresses_have_one_form(schema: dict[str, Any]) -> None:
    form = re.compile(r"/api/v1/(([a-z][a-z-]*|\{[a-z_]+\})/)+")

    assert [path for path in schema["paths"] if not form.fullmatch(path)] == []


def test_every_list_is_a_page_with_a_total(schema: dict[str, Any]) -> None:
    answers = {
        operation["operationId"]: each["content"]["application/json"]["schema"]
        for _, _, operation in operations(schema)
        for status, each in operation["responses"].items()
        if status < "300" and "application/json" in each.get("content", {})
    }
    pages = {name for name, answer in answers.items() if "/Paginated" in answer.get("$ref", "")}

    assert [name for name, answer in answers.items() if answer.get("type") == "array"] == []
    assert {name for name in answers if name.startswith("list_")} <= pages


def test_a_thing_has_one_name(schema: dict[str, Any]) -> None:
    properties = [
        (model, name, each)
        for model, content in schema["components"]["schemas"].items()
        for name, each in content.get("properties", {}).items()
    ]
    parameters = [
        (operation["operationId"], each["name"], each["schema"])
        for _, _, operation in operations(schema)
        for each in operation.get("parameters", ())
        if each["in"] == "query"
    ]
    named = [*properties, *parameters]

    assert [
        (model, name) for model, name, _ in named if name in OTHER_WORDS and model not in OTHER_WORDS[name][1]
    ] == []
    assert {
        name
        for _, name, each in named
        if "boolean" in str(each.get("type")) and not name.startswith(BOOLEANS) and name not in OF_PROTOCOLS
    } == set()
    assert {
        (model, name)
        for model, name, each in properties
        if name.startswith(BOOLEANS) and "boolean" not in str(each.get("type"))
    } == set()


def test_each_property_of_an_answer_is_always_there(schema: dict[str, Any]) -> None:
    models = schema["components"]["schemas"]
    missing = {
        name: content["properties"].keys() - set(content.get("required", ()))
        for name, content in models.items()
        if not name.endswith("Request") and "properties" in content
    }

    assert {name: fields for name, fields in missing.items() if fields} == OPTIONAL


def test_each_content_of_a_request_has_an_example_that_is_valid(schema: dict[str, Any]) -> None:
    models = schema["components"]["schemas"]
    taken = {
        each["schema"]["$ref"].rpartition("/")[2]
        for _, _, operation in operations(schema)
        for each in operation.get("requestBody", {}).get("content", {}).values()
        if "$ref" in each["schema"]
    }
    problems = {
        name: error.message
        for name in taken
        for example in models[name].get("examples", ())
        for error in Draft202012Validator(
            models[name] | {"additionalProperties": False, "components": schema["components"]},
            format_checker=Draft202012Validator.FORMAT_CHECKER,
        ).iter_errors(example)
    }

    assert {name for name in taken if not models[name].get("examples")} == set()
    assert problems == {}
