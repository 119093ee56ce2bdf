"""Lists of nuggets, their versions and files; assignments and the qrels of them; tables of scores."""

import json
from dataclasses import replace
from typing import Any

import pytest

from assay.answers import CitationUnit, NuggetUnit, Sentence
from assay.errors import InputError
from assay.formats.qrels.columns import columns_from
from assay.formats.qrels.reader import format_qrels
from assay.measures.boards import FORMS as BOARDS
from assay.measures.boards import read_board, write_board
from assay.measures.scores import ScoreRow
from assay.nuggets.assignments import (
    Assignment,
    grades_of,
    qrels_of,
    read_assignments,
    with_nuggets,
    write_assignments,
)
from assay.nuggets.files import keys_by_topic, read_nuggets, write_nuggets
from assay.nuggets.formats import FORMS
from assay.nuggets.lists import GoldAnswer, Nugget, NuggetList, changes, merged
from assay.protocols.loader import load_protocol
from assay.protocols.schema import NuggetRules
from tests.helpers.answer_runs import OWLS, answer_of

JUDGING = load_protocol("trec-rag-2024").judging
SING = Nugget("they sing at night", "vital", ("d1",), "ada")
NEST = Nugget("they nest in barns", "okay", ("d2", "d3"))
WHERE = Nugget(
    "Where do owls nest?", "okay", answers=(GoldAnswer("in barns", ("d2",)), GoldAnswer("in trees"))
)
OWL_LIST = NuggetList("T1", "Why do owls sing?", (SING, NEST))


def line(**content: Any) -> bytes:
    return json.dumps(content).encode()


def test_key_depends_on_what_a_judge_reads_only() -> None:
    assert Nugget("they  sing at night").key == SING.key
    assert Nugget("they sing at noon").key != SING.key
    assert WHERE.key != Nugget("Where do owls nest?").key
    assert Nugget(WHERE.text, answers=WHERE.answers, joined="AND").key != WHERE.key


def test_merge_keeps_the_keys_and_sources_of_the_merged() -> None:
    nugget = merged([SING, NEST], Nugget("they sing in barns", "vital", creator="bob"))

    assert nugget.merged == (SING.key, NEST.key)
    assert (nugget.sources, nugget.creator) == (("d1", "d2", "d3"), "bob")
    assert merged([nugget], Nugget("they sing")).merged == (SING.key, NEST.key, nugget.key)


def test_only_changed_nuggets_are_assigned_again() -> None:
    okay = Nugget(SING.text, "okay")
    new = replace(OWL_LIST, nuggets=(okay, Nugget("they nest in trees", "vital")), version=2)

    assert [(change.words, change.is_assigned_again) for change in changes(OWL_LIST, new)] == [
        ("vital → okay", False),
        ("new", True),
        ("gone", False),
    ]
    assert changes(OWL_LIST, OWL_LIST) == []


@pytest.mark.parametrize(
    ("nuggets", "rules", "message"),
    [
        ([SING, SING], NuggetRules(), "'they sing at night' is in the list 2 times; merge them"),
        ([Nugget("x")], NuggetRules(), "'x' has no importance; use vital or okay"),
        ([SING], NuggetRules(max_words=3), "'they sing at night' has 4 words; at most 3 are accepted"),
        ([SING, NEST], NuggetRules(most=1), "2 nuggets; at most 1 are accepted"),
    ],
)
def test_problem_of_a_list_is_named(nuggets: list[Nugget], rules: NuggetRules, message: str) -> None:
    problems = NuggetList("T1", nuggets=tuple(nuggets)).problems(rules)

    assert list(map(str, problems)) == [f"topic T1: {message}"]


@pytest.mark.parametrize("form", FORMS)
def test_list_is_read_as_it_was_written(form: str) -> None:
    lists = [OWL_LIST, NuggetList("T2", nuggets=(WHERE,))]

    again = read_nuggets(write_nuggets(lists, form), "n.jsonl")

    assert keys_by_topic(again) == keys_by_topic(lists)
    assert [nugget.importance for nugget in again[0].nuggets] == ["vital", "okay"]
    if form == "nuggetizer":
        assert again[0] == OWL_LIST
    if form == "nugget-bank":
        assert again == lists


def test_numbers_and_unknown_keys_of_a_bank_are_kept() -> None:
    """The form of autojudge-base (v3): importance is a whole number, and nobody knows what programs add."""
    question = {
        "question": "Who?", "question_id": "f1", "query_id": "1", "aggregator_type": "OR", "importance": 2,
        "references": [], "answers": {"he": {"answer": "he", "references": [{"doc_id": "d1"}]}},
    }  # fmt: skip
    claim = {"claim": "rain", "query_id": "1", "references": [], "importance": "vital", "mine": {"a": [1]}}
    bank = {
        "query_id": "1", "title_query": "S", "format_version": "v3", "full_query": "Short",
        "nugget_bank": {"Who?": question}, "claim_bank": {"rain": claim},
    }  # fmt: skip

    (nuggets,) = read_nuggets(json.dumps(bank).encode(), "n.jsonl")

    assert [nugget.importance for nugget in nuggets.nuggets] == ["", "vital"]
    assert json.loads(write_nuggets([nuggets], "nugget-bank")) == bank
    (line,) = map(json.loads, write_nuggets([nuggets], "nuggetizer").splitlines())
    assert [item["importance"] for item in line["nuggets"]] == ["failed", "vital"]


@pytest.mark.parametrize("number", ["NaN", "true", "[]"])
def test_other_importance_is_refused(number: str) -> None:
    line = '{"query_id": "1", "nugget_bank": {"Who?": {"question": "Who?", "importance": ' + number + "}}}"

    with pytest.raises(InputError, match="importance: expected vital, okay or failed"):
        read_nuggets(line.encode(), "n.jsonl")


def test_file_with_indents_and_bare_ids_is_read() -> None:
    text = json.dumps(
        {
            "query_id": 7,
            "nugget_bank": [
                {"question": "Why?", "answers": [{"answer": "so", "references": ["d1"]}], "creator": [{}]}
            ],
        },
        indent=1,
    )

    (nuggets,) = read_nuggets(text.encode(), "n.json")

    assert nuggets == NuggetList("7", "", (Nugget("Why?", "", (), "program", (GoldAnswer("so", ("d1",)),)),))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "n: the file is empty"),
        (b"\x81", r"n: Line 1 is neither UTF-8 nor Windows-1252 \(byte 0x81\)"),
        (b"\n{x", r"n: line 2: not JSON \(column 2"),
        (b"7", "n: line 1: expected a JSON object"),
        (line(qid="T1"), "n: line 1: object: expected qid and nuggets, query_id and nugget_bank, or"),
        (line(qid="T 1", nuggets=[]), "qid: expected the code of a topic"),
        (line(qid="T1", nuggets=7), "nuggets: expected a list of objects"),
        (line(qid="T1", nuggets=[7]), r"nuggets\[0\]: expected an object"),
        (line(qid="T1", nuggets=[{"text": " "}]), r"nuggets\[0\].text: expected a text"),
        (line(qid="T1", nuggets=[{"text": "\ud800"}]), r"nuggets\[0\].text: expected a text"),
        (
            line(qid="T1", nuggets=[{"text": "x", "importance": "high"}]),
            "importance: expected vital, okay or failed",
        ),
        (line(qid="T1", nuggets=[{"text": "x", "sources": 7}]), "sources: expected a list of ids"),
        (
            line(qid="T1", nuggets=[{"text": "x", "sources": ["a b"]}]),
            r"sources\[0\]: expected the id of a document",
        ),
        (line(qid="T1", nuggets=[], version=0), "version: expected a whole number from 1"),
        (line(qid="T1", nuggets=[{"text": str(n)} for n in range(10_001)]), "expected at most 10,000 items"),
        (
            line(qid="T1", nuggets=[]) + b"\n" + line(qid="T1", nuggets=[]),
            "line 2: T1: expected each topic once",
        ),
        (
            line(query_id="T1", nugget_bank={"q": {"question": "q", "aggregator_type": "NOT"}}),
            r"nugget_bank\.q\.aggregator_type: expected AND or OR",
        ),
        (
            line(query_id="T1", nugget_bank={"q": {"question": "q", "sub_nuggets": [{}]}}),
            r"nugget_bank\.q\.sub_nuggets: expected none",
        ),
    ],
)
def test_wrong_file_is_refused_with_line_and_key(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_nuggets(data, "n")


def test_assignments_of_nuggetizer_become_qrels() -> None:
    answer = answer_of("T1", OWLS["T1"])
    nuggets = [
        {"text": SING.text, "importance": "vital", "assignment": "support"},
        {"text": NEST.text, "importance": "okay", "assignment": "failed"},
    ]
    citations = [{"text": "They eat mice.", "docid": "d3", "assignment": "partial_support"}]
    data = line(qid="T1", answer_text=answer.text, run_id="owls", nuggets=nuggets, citations=citations)

    assignments = read_assignments(data, "a", JUDGING)

    assert assignments == [
        Assignment("T1", NuggetUnit(answer.digest, SING.key), 2),
        Assignment("T1", NuggetUnit(answer.digest, NEST.key), -1),
        Assignment("T1", CitationUnit(Sentence("They eat mice.").digest, "d3"), 1),
    ]
    columns = qrels_of(assignments, [OWL_LIST])
    assert f"T1\tvital\tnugget:-:{SING.key}\t-1\n" in format_qrels(columns).decode()
    runs = {"owls": {"T1": answer, "T9": answer}}
    written = write_assignments(runs, [OWL_LIST], grades_of(columns), JUDGING, citations=1)
    assert read_assignments(written, "again", JUDGING) == assignments
    assert written.count(b"\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "nuggets: expected a list of nuggets with assignments, criteria with verdicts, or citations"),
        ({"nuggets": [{"text": "x", "assignment": "support"}]}, "answer_text: expected a text"),
        (
            {"answer_text": "y", "nuggets": [{"text": "x", "assignment": "maybe"}]},
            r"nuggets\[0\]\.assignment: expected support, partial_support, not_support, failed",
        ),
        ({"citations": [{"text": "x", "docid": 7}]}, r"citations\[0\]\.docid: expected the id of a document"),
        (
            {
                "answer_text": "y",
                "nuggets": [{"text": "x", "assignment": word} for word in ("support", "failed")],
            },
            r"nuggets\[1\]: expected the assignment that an earlier line with the same texts has",
        ),
    ],
)
def test_wrong_assignment_is_refused_with_line_and_key(content: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"a: line 1: {message}"):
        read_assignments(line(qid="T1", **content), "a", JUDGING)


@pytest.mark.parametrize(
    ("nugget", "message"),
    [(NEST, f"the nugget {NEST.key} of topic T1 is not in the list"), (Nugget("x"), "has no importance")],
)
def test_qrels_need_the_nugget_and_its_importance(nugget: Nugget, message: str) -> None:
    listed = [nugget] if nugget.text == "x" else [SING]

    with pytest.raises(InputError, match=message):
        qrels_of(
            [Assignment("T1", NuggetUnit("0f", nugget.key), 1)], [NuggetList("T1", nuggets=tuple(listed))]
        )


def test_judgments_get_importance_and_lose_nuggets_of_earlier_versions() -> None:
    rows = [
        (b"T1", f"nugget:0f:{SING.key}".encode(), 2),
        (b"T1", f"nugget:0f:{NEST.key}".encode(), 1),
        (b"T1", b"citation:0f:d1", 1),
    ]

    text = format_qrels(with_nuggets(columns_from(rows), [NuggetList("T1", nuggets=(SING,))])).decode()

    assert text == (
        f"T1\t-\tcitation:0f:d1\t1\nT1\tvital\tnugget:-:{SING.key}\t-1\nT1\tvital\tnugget:0f:{SING.key}\t2\n"
    )
    with pytest.raises(InputError, match="d1 of topic T1 is neither a nugget nor a citation"):
        with_nuggets(columns_from([(b"T1", b"d1", 1)]), [])


SCORES = [
    ScoreRow("owls", topic, measure, value)
    for topic, value in (("T1", 1 / 3), ("all", 0.25))
    for measure in ("V_strict", "A_strict", "V", "A")
]


@pytest.mark.parametrize("form", BOARDS)
def test_scores_are_read_as_they_were_written(form: str) -> None:
    assert read_board(write_board(SCORES, form).encode(), form, name="b", run="owls") == SCORES


@pytest.mark.parametrize("form", ["trec_eval", "nuggetizer"])
def test_form_of_one_run_refuses_several(form: str) -> None:
    with pytest.raises(InputError, match=f"{form} has the scores of one run, but there are 2: owls, crows"):
        write_board([*SCORES, ScoreRow("crows", "all", "V", 1.0)], form)


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("tot", "owls V all", "b: line 1: expected run, measure, topic, value; got 3 columns"),
        ("tot", "owls V all nan", "b: line 1: expected a number as the value"),
        ("jsonl", "[]", "b: line 1: expected a JSON object with run_id"),
        ("nuggetizer", '{"qid": "T1"}', "b: line 1: expected a JSON object with qid, strict_vital_score"),
        ("jsonl", " \n", "b: the file has no scores"),
        ("jsonl", "x", "b: line 1: expected a JSON object with run_id"),
        ("tot", "owls V all high", "b: line 1: expected a number as the value"),
        ("tot", "\u0081", "b: Line 1 is neither UTF-8 nor Windows-1252"),
    ],
)
def test_wrong_scores_are_refused_with_their_line(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_board(text.encode("latin-1"), form, name="b")


def test_nuggetizer_has_no_other_measures() -> None:
    with pytest.raises(InputError, match="none of these was computed"):
        write_board([ScoreRow("owls", "all", "SupportP", 1.0)], "nuggetizer")
