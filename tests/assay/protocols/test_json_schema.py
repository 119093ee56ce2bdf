"""The JSON Schema of protocol files, with which editors complete and check them."""

import json
import tomllib
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from jsonschema import Draft202012Validator

from assay.cli.main import main
from assay.protocols.loader import MOST, shipped_slugs, shipped_text
from assay.protocols.measures import Measure, MeasureError, parse_measure, parse_measures
from assay.protocols.schema import Protocol
from assay.structure import OneOf, json_schema, keys, table_in, words

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
        "title": "On leaderboards",
        "description": "Whether leaderboards have the runs of the kind.",
        "default": True,
        "type": "boolean",
    }
    formats = schema["$defs"]["RunRules"]["properties"]["formats"]
    assert "](" not in formats["description"], "links of the reference lead nowhere in an editor"


def tables_of(kind: type) -> Iterator[type]:
    """A dataclass and all below it."""
    yield kind
    for _, hint in keys(kind).values():
        if (inner := table_in(hint)) is not None:
            yield from tables_of(inner)


def test_every_key_has_a_label_and_words_for_all_its_values() -> None:
    for table in dict.fromkeys(tables_of(Protocol)):
        for name, (_, hint) in keys(table).items():
            key = words(table)[name]
            listed = next(
                (get_args(each) for each in (hint, *get_args(hint)) if get_origin(each) is Literal), ()
            )
            assert key.label, (table, name)
            assert key.help or table is Protocol, (table, name)
            listed = tuple(hint.registry) if isinstance(hint, OneOf) else listed
            assert not key.values or set(key.values) == set(listed), (table, name)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG'", Measure("nDCG", judged_only=True)),
        ("nDCG(judged_only=True)", Measure("nDCG", judged_only=True)),
        ("nDCG(judged_only=True)@10", Measure("nDCG", k=10, judged_only=True)),
        ("AP(rel=2)'", Measure("AP", level=2, judged_only=True)),
        ("AP(rel=2, judged_only=False)", Measure("AP", level=2)),
        ("P(rel=2)@10'", Measure("P", level=2, k=10, judged_only=True)),
        ("P'@10", Measure("P", k=10, judged_only=True)),
        ("bpref(rel=2)", Measure("bpref", level=2)),
        (" judged@10 ", Measure("judged", k=10)),
    ],
)
def test_a_name_is_read(name: str, measure: Measure) -> None:
    assert parse_measure(name) == measure


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("ndcg", "no measure 'ndcg'; did you mean nDCG? Use nDCG, AP, P,"),
        ("nDCG(rel=2)", "nDCG does not accept rel="),
        ("P", "P needs a rank, as in P@10"),
        ("P@0", "must be at least 1"),
        ("bpref@10", "bpref does not accept @k"),
        ("judged@10'", "judged does not accept a prime"),
        ("AP(rel=0)", "use rel=LEVEL"),
        ("AP(rel=x)", "'rel=x' is not accepted"),
        ("AP()", "is not accepted"),
        ("AP''", "is not a measure; write it like nDCG'"),
        ("P@9999999", "the rank after @ must be at most 999999"),
        ("", "is not a measure"),
        ("AP @10", "is not a measure"),
    ],
)
def test_any_other_name_is_refused_with_what_is_allowed(name: str, complaint: str) -> None:
    with pytest.raises(MeasureError) as refusal:
        parse_measure(name)

    assert complaint in str(refusal.value)
    assert repr(name) in str(refusal.value)


@pytest.mark.parametrize(
    "name", ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "RR@5", "bpref", "judged@10", "nDCG@20'"]
)
def test_a_measure_is_written_as_it_is_read(name: str) -> None:
    assert str(parse_measure(name)) == name


def test_a_measure_in_two_spellings_is_kept_once() -> None:
    assert parse_measures(["nDCG'", "AP", "nDCG(judged_only=True)"]) == [
        Measure("nDCG", judged_only=True),
        Measure("AP"),
    ]


def test_a_title_describes_the_measure() -> None:
    assert parse_measure("P(rel=2)@10'").title == (
        "precision at rank 10, relevant from grade 2, unjudged documents removed"
    )
    assert parse_measure("nDCG@5").title == "normalized discounted cumulative gain over the top 5 ranks"
