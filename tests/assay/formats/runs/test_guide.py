"""The guidelines about runs for programs: the example validates, and the JSON Schema agrees with the check."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from assay.cli.main import main
from assay.formats.runs.examples import EXAMPLES
from assay.formats.runs.guide import guide, run_schema
from assay.formats.runs.reader import check_run
from assay.formats.runs.rules import AnswerForm, forms_of, scored_lines
from assay.protocols.loader import load_protocol, parse_protocol, shipped_slugs, shipped_text
from assay.protocols.schema import Protocol

WITH_RUNS = [slug for slug in shipped_slugs() if load_protocol(slug).takes_runs]
OF_ANSWERS = [slug for slug in WITH_RUNS if load_protocol(slug).is_of_answers]
OF_RECORDS = [slug for slug in WITH_RUNS if scored_lines(forms_of(load_protocol(slug))) is not None]


def errors_of(content: bytes, protocol: Protocol) -> list[str]:
    return [
        error.code for error in check_run(io.BytesIO(content), protocol=protocol, name="run").report.errors
    ]


@pytest.mark.parametrize("slug", WITH_RUNS)
def test_example_has_no_errors_and_every_rule_is_stated(slug: str) -> None:
    protocol = load_protocol(slug)

    text = guide(protocol, topics=["7", "8", "9"])

    example = text.partition("## Example\n")[2].partition("```\n")[2].partition("\n```")[0]
    assert errors_of(example.encode() + b"\n", protocol) == []
    assert ("8" in example, "9" in example.split()) == (True, False)
    assert "- A run has lines for 3 topics, from `7` to `9`.\n" in text
    assert f"assay check --protocol {slug} FILE" in text
    shown = [f"\n- `{kind.key}`" in text for kind in protocol.runs.kinds]
    assert shown == [kind.submitted_by == "teams" for kind in protocol.runs.kinds]
    assert ("## JSON Schema of a line" in text) == (slug in OF_ANSWERS + OF_RECORDS)
    assert ("JSON lines with the fields qid" in text) == (slug in OF_RECORDS)
    assert (f"assay protocol runs {slug} --schema" in text) == (slug in OF_RECORDS)


def wrong_lines(line: dict[str, object], form: AnswerForm) -> Iterator[tuple[str, str]]:
    """Lines that the form alone refuses, with what is wrong with each."""
    for place in form.places:
        outer, _, key = place.rpartition(".")
        inner = {k: v for k, v in (line[outer] if outer else line).items() if k != key}  # type: ignore[attr-defined]
        yield f"without {place}", json.dumps(line | {outer: inner} if outer else inner)
    key = form.sentences
    yield "sentences are a text", json.dumps(line | {key: "text"})
    yield "a sentence without citations", json.dumps(line | {key: [{"text": "A"}]})
    yield "a sentence of spaces", json.dumps(line | {key: [{"text": " ", "citations": []}]})
    yield "a citation is true", json.dumps(line | {key: [{"text": "A", "citations": [True]}]})
    yield "a citation below 0", json.dumps(line | {key: [{"text": "A", "citations": [-1]}]})
    yield "an id with a space", json.dumps(line | {key: [{"text": "A", "citations": ["a b"]}]})
    if form.has_references:
        yield "a reference is a number", json.dumps(line | {"references": [7]})
    yield "a list", "[]"


@pytest.mark.parametrize("slug", OF_ANSWERS)
def test_schema_accepts_what_the_check_accepts_and_refuses_what_is_wrong_in_form(slug: str) -> None:
    protocol = load_protocol(slug)
    [form] = (form for form in forms_of(protocol) if isinstance(form, AnswerForm))
    schema = run_schema(protocol)
    assert schema is not None
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    line = json.loads(EXAMPLES[form.name])

    assert [error.message for error in validator.iter_errors(line)] == []
    assert errors_of(json.dumps(line).encode(), protocol) == []
    for fault, wrong in wrong_lines(line, form):
        assert not validator.is_valid(json.loads(wrong)), fault
        assert errors_of(wrong.encode(), protocol), fault


RECORD: dict[str, object] = {"qid": "1", "docno": "d1", "rank": 1, "score": 12.5, "run": "my-run"}
OTHER_NAMES: list[dict[str, object]] = [
    {"topic_id": 1, "did": 17, "score": -2},
    {"query_id": "1", "docid": "d1", "score": 1e-3, "system": None},
    {"topic": "1", "qid": None, "doc_id": "d1", "docid": "a", "score": 0, "more": {"a": []}},
]


@pytest.mark.parametrize("slug", OF_RECORDS)
def test_schema_of_ranked_documents_agrees_with_the_check(slug: str) -> None:
    protocol = load_protocol(slug)
    schema = run_schema(protocol)
    assert schema is not None
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)

    for line in (RECORD, *OTHER_NAMES):
        errors = errors_of(json.dumps(line).encode() + b"\n", protocol)
        assert (validator.is_valid(line), {*errors} & {"name", "score", "json"}) == (True, set()), line
    wrong: list[object] = [{k: v for k, v in RECORD.items() if k != key} for key in ("qid", "docno", "score")]
    wrong += [RECORD | change for change in ({"qid": True}, {"qid": "a b"}, {"docno": 1.5}, {"docno": ""})]
    wrong += [
        RECORD | change for change in ({"score": "2"}, {"score": True}, {"run": "my run"}, {"topic": None})
    ]
    for content in wrong:
        lines = f"{json.dumps(RECORD)}\n{json.dumps(content)}\n"
        assert (validator.is_valid(content), errors_of(lines.encode(), protocol) != []) == (False, True), (
            content
        )


def test_example_follows_the_naming_scheme() -> None:
    scheme = '[runs]\ntag_pattern = "{team}-{kind}-{number}"\n'
    protocol = parse_protocol(shipped_text("trec-adhoc").replace("[runs]\n", scheme), name="x")
    example = guide(protocol).partition("## Example\n")[2].partition("```\n")[2].partition("\n```")[0]

    def errors(team: str) -> list[str]:
        source = io.BytesIO(example.encode())
        checked = check_run(source, protocol=protocol, name="run", is_named=True, team=team)
        return [error.accepted for error in checked.report.errors]

    assert errors("") == errors("owls") == []
    assert errors("Two Crows") == ["Tags of the form {team}-{kind}-{number}, such as Two-Crows-primary-1."]


def test_schema_has_the_limits_of_the_protocol() -> None:
    schema = run_schema(load_protocol("trec-rag-2025"))

    assert schema is not None
    assert schema["properties"]["references"]["maxItems"] == 100
    assert run_schema(load_protocol("arqmath-2021-task2")) is None


def test_command_prints_the_guidelines_and_the_schema(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["protocol", "runs", "trec-rag-2026"]) == 0
    assert capsys.readouterr().out == guide(load_protocol("trec-rag-2026"))
    assert main(["protocol", "runs", "trec-rag-2026", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == run_schema(load_protocol("trec-rag-2026"))
    assert main(["protocol", "runs", "arqmath-2021-task2", "--schema"]) == 2
    assert capsys.readouterr().err == (
        "assay protocol runs: --schema is for runs in JSON lines, which arqmath-2021-task2 does not accept\n"
    )


def test_guide_states_what_the_check_of_answers_says_besides_limits() -> None:
    of_2024, of_2026 = (guide(load_protocol(f"trec-rag-{year}")) for year in (2024, 2026))

    assert "- A citation is a place in references, from 0, or an id that is there." in of_2026
    assert "- A sentence with more than 3 citations gets a warning; the first 3 are judged." in of_2026
    assert "- metadata.narrative is the text of the topic, unchanged except for white space." in of_2026
    assert "or with a period first, gets a warning." in of_2026
    assert "narrative" not in of_2024.partition("## Kinds")[0].partition("## Rules")[2]


def test_columns_without_a_score_are_made_of_json_lines() -> None:
    protocol = load_protocol("touche-2025-images")
    line = b'{"argument_id": "a", "image_id": "b", "rank": 1, "tag": "t"}\n'

    report = check_run(io.BytesIO(line), protocol=protocol, name="run").report

    way = "such as with jq -r '[.topic, .docno, .rank, .tag] | @tsv' and the keys of your lines"
    assert f"- JSON lines are not accepted: make columns of them, {way}." in guide(protocol)
    assert way in report.errors[0].accepted
