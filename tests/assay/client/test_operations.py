"""Operations of a description: their fields, and what is wrong with values before anything is sent."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.client.operations import Description
from assay.client.server import Server
from assay.errors import InputError

DESCRIPTION: Mapping[str, Any] = {
    "paths": {
        "/api/v1/tracks/{slug}/pools/{key}/": {
            "post": {
                "operationId": "request_pool",
                "summary": "Build a pool",
                "parameters": [
                    {"in": "path", "name": "slug", "schema": {"type": "string"}, "required": True},
                    {"in": "path", "name": "key", "schema": {"type": "string"}, "required": True},
                    {
                        "in": "query",
                        "name": "measure",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                    {"in": "header", "name": "Idempotency-Key", "schema": {"type": "string"}},
                ],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pool"}}}
                },
                "responses": {"202": {"content": {"application/json": {}}}},
            }
        },
        "/api/v1/runs/": {
            "post": {
                "operationId": "submit_run",
                "parameters": [{"in": "query", "name": "kind", "schema": {"type": "string"}}],
                "requestBody": {
                    "content": {
                        "multipart/form-data": {
                            "schema": {
                                "required": ["file"],
                                "properties": {
                                    "file": {"type": "string", "format": "binary"},
                                    "kind": {"type": "string"},
                                },
                            }
                        },
                        "application/octet-stream": {},
                    }
                },
                "responses": {"201": {"content": {"application/json": {}}}},
            }
        },
        "/api/v1/board/": {
            "get": {"operationId": "download_board", "responses": {"200": {"content": {"text/csv": {}}}}}
        },
    },
    "components": {
        "schemas": {
            "Pool": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "slug": {"type": "string", "pattern": "^[a-z]+$"},
                    "name": {"type": "string", "minLength": 1, "maxLength": 5},
                    "seed": {"type": "integer", "minimum": 0},
                    "share": {"type": "number", "maximum": 1},
                    "is_shared": {"type": "boolean"},
                    "order": {"enum": ["random", "by-answer"], "type": "string"},
                    "limit": {"type": ["integer", "null"]},
                    "email": {"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 0}]},
                    "depth": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "people": {
                        "type": "array",
                        "maxItems": 2,
                        "items": {"$ref": "#/components/schemas/Person"},
                    },
                    "answers": {},
                },
            },
            "Person": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "role": {"type": "string"}},
            },
        }
    },
}
NEEDED = {"slug": "a b/c", "key": "1", "name": "Pool"}


@pytest.fixture
def description() -> Description:
    return Description(DESCRIPTION)


def read(description: Description, **texts: str) -> dict[str, Any]:
    pool = description.operation("request_pool")
    return {key: pool.read(key, [text]) for key, text in {**NEEDED, **texts}.items()}


def test_fields_go_to_their_places_with_their_types(description: Description) -> None:
    pool = description.operation("request_pool")
    texts = {
        "seed": "7",
        "is_shared": "true",
        "limit": "null",
        "depth": '{"primary": 5}',
        "answers": "free text",
    }
    values = read(description, **texts) | {"content.slug": "other", "Idempotency-Key": "k"}
    values["measure"] = pool.read("measure", ["P@5", "AP"])
    values["people"] = pool.read("people", ['[{"name": "Zoe"}]'])

    path, headers, content = pool.request(values)

    assert path == "tracks/a%20b%2Fc/pools/1/?measure=P%405&measure=AP"
    assert headers == {"Idempotency-Key": "k"}
    assert content == {
        "slug": "other",
        "name": "Pool",
        "seed": 7,
        "is_shared": True,
        "limit": None,
        "depth": {"primary": 5},
        "answers": "free text",
        "people": [{"name": "Zoe"}],
    }


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("seed", "x", "seed: 'x' is not a whole number"),
        ("seed", "1.5", "request_pool: seed: 1.5 is not a whole number"),
        ("seed", "true", "request_pool: seed: true is not a whole number"),
        ("seed", "-1", "request_pool: seed: -1; accepted: at least 0"),
        ("share", "1.5", "request_pool: share: 1.5; accepted: at most 1"),
        ("is_shared", "yes", "is_shared: 'yes' is not true or false"),
        ("order", "best", 'request_pool: order: "best" is not accepted; use random, by-answer'),
        ("name", "", "request_pool: name: 0 characters; accepted: at least 1, at most 5"),
        ("content.slug", "A1", 'request_pool: content.slug: "A1" does not have the form ^[a-z]+$'),
        ("depth", "primary", "depth: 'primary' is not an object in JSON"),
        ("depth", '{"primary": "x"}', 'request_pool: depth.primary: "x" is not a whole number'),
        ("people", '[{"role": "x"}]', "request_pool: people, item 1 needs name"),
        ("people", '[{"name": "x", "age": 3}]', "people, item 1 has no field age; it takes name, role"),
        (
            "people",
            '[{"name":"a"},{"name":"b"},{"name":"c"}]',
            "request_pool: people: 3 items; accepted: at most 2",
        ),
        (
            "nam",
            "x",
            "request_pool has no field nam; it takes slug, key, measure, content.slug, name",
        ),
    ],
)
def test_wrong_value_is_named_before_it_is_sent(
    description: Description, key: str, text: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        description.operation("request_pool").request(read(description, **{key: text}))

    assert message in str(error.value)


def test_missing_and_repeated_fields_are_named(description: Description) -> None:
    pool = description.operation("request_pool")

    with pytest.raises(InputError, match="request_pool needs key, name"):
        pool.request({"slug": "a"})
    with pytest.raises(InputError, match="seed is given 2 times, and takes one value"):
        pool.read("seed", ["1", "2"])


def test_unknown_operation_names_similar_ones(description: Description) -> None:
    with pytest.raises(InputError, match="no operation request_pol; similar: request_pool"):
        description.operation("request_pol")


def test_form_has_each_field_once_and_a_file_is_a_path(description: Description) -> None:
    run = description.operation("submit_run")

    assert run.is_form
    assert {key: (field.place, field.is_file) for key, field in run.fields.items()} == {
        "file": ("content", True),
        "kind": ("content", False),
    }
    assert run.request({"file": [Path("run.tsv")]}).content == {"file": [Path("run.tsv")]}


def test_words_find_operations_and_a_file_is_no_json(description: Description) -> None:
    assert [each.name for each in description.search(["Build", "POOL"])] == ["request_pool"]
    assert description.operation("download_board").is_file
    assert not description.operation("request_pool").is_file


def test_description_is_kept_until_the_site_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if request.headers.get("If-None-Match") == '"1"':
            return httpx.Response(304)
        return httpx.Response(200, json=dict(DESCRIPTION), headers={"ETag": '"1"'})

    with Server("https://site.test/lab", "", transport=httpx.MockTransport(handle)) as server:
        first, second = Description.of(server), Description.of(server)
        [kept] = (tmp_path / "assay").iterdir()
        kept.write_text(json.dumps({"etag": 3})[:-2])
        third = Description.of(server)

    assert list(first.operations) == list(second.operations) == list(third.operations)
    assert {str(request.url) for request in requests} == {"https://site.test/lab/api/schema/"}
    assert ["If-None-Match" in request.headers for request in requests] == [False, True, False]
