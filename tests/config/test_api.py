"""The description of the API in OpenAPI."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from tests.helpers.factories import make_organizer, make_user
from web.api.views import Endpoints


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    with GENERATOR_STATS.silence():
        GENERATOR_STATS.reset()
        return SchemaGenerator().get_schema(request=None, public=True)


def test_methods_of_a_path_are_always_in_the_same_order(schema: dict[str, Any]) -> None:
    order = ["parameters", *Endpoints.http_method_names]

    for path, operations in schema["paths"].items():
        assert list(operations) == sorted(operations, key=order.index), path


def test_schema_is_made_without_a_warning(schema: dict[str, Any]) -> None:
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache


def test_null_is_written_as_openapi_3_1_has_it(schema: dict[str, Any]) -> None:
    """A client that reads `nullable`, of 3.0, expects an address in the last page of a list."""
    assert "'nullable'" not in str(schema)
    assert schema["components"]["schemas"]["PaginatedRunList"]["properties"]["next"]["type"] == [
        "string",
        "null",
    ]


def defaults(part: Any) -> Iterator[dict[str, Any]]:
    """Every schema, at any depth, that has a default."""
    if isinstance(part, dict) and "type" in part and "default" in part:
        yield part
    for below in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from defaults(below)


def test_every_default_is_a_value_that_its_field_takes(schema: dict[str, Any]) -> None:
    """Generated clients send defaults: with one that is refused, they cannot call the operation at all."""
    fields = list(defaults(schema))
    check = Draft202012Validator.FORMAT_CHECKER

    wrong = [
        each
        for each in fields
        if not Draft202012Validator(each, format_checker=check).is_valid(each["default"])
    ]

    assert len(fields) > 10
    assert wrong == []


def operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, item in schema["paths"].items()
        for method, operation in item.items()
    ]


def test_every_operation_says_what_it_does_and_how_it_fails(schema: dict[str, Any]) -> None:
    for method, path, operation in operations(schema):
        where = f"{method} {path}"
        assert operation["summary"], where
        assert "Scope: " in operation["description"], where
        assert {"401", "403", "429"} <= set(operation["responses"]), where
        assert set(operation["tags"]) != {"v1"}, where
        for code, response in operation["responses"].items():
            assert response["description"], f"{where} {code}"
        assert "Retry-After" in operation["responses"]["429"]["headers"]
        for code, header in (("201", "Location"), ("202", "Location"), ("304", "ETag")):
            assert header in operation["responses"].get(code, {"headers": header})["headers"], where


def test_parameters_state_the_values_that_they_take(schema: dict[str, Any]) -> None:
    described = {
        (operation["operationId"], each["name"]): each["schema"]
        for _, _, operation in operations(schema)
        for each in operation.get("parameters", ())
    }

    assert described["get_task", "texts"]["enum"] == ["html", "plain"]
    assert described["list_jobs", "status"]["enum"] == ["done", "failed", "queued", "running"]
    assert described["get_board", "batch"]["type"] == "integer"
    assert described["list_runs", "order"]["enum"] == ["-submitted_at", "-tag", "submitted_at", "tag"]


@pytest.mark.django_db
def test_no_operation_fails_over_deep_json(schema: dict[str, Any], client: Client) -> None:
    """An object that does not exist is looked up first, so the operations without one show the message."""
    client.force_login(make_organizer(is_superuser=True))
    depths = (600, 5000)  # Python's parser refuses the second itself

    answers = {
        f"{method} {path} {depth}": client.generic(
            method, re.sub(r"{\w+}", "1", path), "[" * depth + "]" * depth, content_type="application/json"
        )
        for method, path, operation in operations(schema)
        for depth in depths
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    }

    assert len(answers) > 80
    assert [where for where, answer in answers.items() if answer.status_code not in {400, 403, 404}] == []
    for depth in depths:
        detail = answers[f"POST /api/v1/tracks/ {depth}"].json()["detail"]
        assert detail.startswith("The JSON is nested too deeply")


@pytest.mark.django_db
def test_everyone_gets_the_schema(client: Client) -> None:
    visitor = client.get("/api/schema/")
    client.force_login(make_user())

    assert visitor.status_code == 200
    assert visitor.json()["paths"].keys() == client.get("/api/schema/").json()["paths"].keys()
    # without extensions, an archive has no parts to choose, and generated clients refuse choices without a value
    assert '"enum": []' not in json.dumps(visitor.json())


@pytest.mark.django_db
def test_page_shows_the_schema_with_files_of_this_site(client: Client) -> None:
    page = client.get("/api/docs/")

    assert page.status_code == 200
    assert 'data-schema="/api/schema/"' in page.text
    assert page.text.count("vendor/swagger-ui/") == 2
    assert "unsafe" not in page["Content-Security-Policy"]
