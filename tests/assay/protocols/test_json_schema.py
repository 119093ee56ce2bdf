"""The JSON Schema of protocol files, with which editors complete and check them."""

import json
import tomllib
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from assay.cli.main import main
from assay.protocols.loader import MOST, shipped_slugs, shipped_text
from assay.protocols.schema import Protocol
from assay.structure import json_schema

GOOD = shipped_text("arqmath-2021-task1")


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(json_schema(Protocol, most=MOST))


def errors_of(validator: Draft202012Validator, text: str) -> list[tuple[str, str]]:
    """The place and the message of each error."""
    errors: Any = validator.iter_errors(tomllib.loads(text))
    return [(".".join(map(str, error.absolute_path)), error.message) for error in errors]


@pytest.mark.parametrize("slug", shipped_slugs())
def test_shipped_protocol_is_valid(validator: Draft202012Validator, slug: str) -> None:
    assert errors_of(validator, shipped_text(slug)) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ('unit = "answer"', 'unit = "page"', "unit", "'page' is not one of ['answer', 'document'"),
        ('unit = "answer"', 'unit = "answer"\ncolor = 1', "", "'color' was unexpected"),
        ('unit = "answer"', 'unit = "answer"\ntext = ""', "", "'text' was unexpected"),
        ("max_ranks = 1000", "max_rank = 1000", "runs", "'max_rank' was unexpected"),
        ("max_ranks = 1000\n", "", "runs", "'max_ranks' is a required property"),
        ("max_ranks = 1000", 'max_ranks = "many"', "runs.max_ranks", "'many' is not of type 'integer'"),
        ("max_ranks = 1000", "max_ranks = 2147483648", "runs.max_ranks", "greater than the maximum"),
        ('"trec-6"', '"csv"', "runs.formats.1", "'csv' is not one of"),
        ("depth = 45", "depth = true", "runs.kind.0.depth", "True is not of type 'integer'"),
        ("depth = 45", "depths = 45", "runs.kind.0", "'depths' was unexpected"),
        ("value = 2", 'value = "2"', "judging.grade.1.value", "'2' is not of type 'integer'"),
        ('"TF-IDF" = "alternate"', '"TF-IDF" = 1', "runs.kind.2.pooled_as_by_tag.TF-IDF", "1 is not of type"),
    ],
)
def test_wrong_key_or_value_is_rejected(
    validator: Draft202012Validator, old: str, new: str, place: str, message: str
) -> None:
    assert GOOD.count(old) >= 1

    errors = errors_of(validator, GOOD.replace(old, new, 1))

    assert any(where == place and message in text for where, text in errors), errors


def test_command_prints_a_valid_schema_with_the_meaning_of_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", "schema"]) == 0

    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert schema["$defs"]["RunKind"]["properties"]["scored"] == {
        "description": "whether leaderboards have its runs", "default": True, "type": "boolean"
    }  # fmt: skip
