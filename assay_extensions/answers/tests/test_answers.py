"""Rubrics and support: scores that RAGDoll computes, and the commands on the sample files.

The known answers were computed by RAGDoll 1f06719 on made answers, t5 to t8 and e1 to e5 being edge cases.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from assay import samples
from assay.cli.main import main
from assay.errors import InputError
from assay_extensions.answers.rubric_files import read_graded, read_rubrics, write_rubrics
from assay_extensions.answers.rubrics import BINARY, Criterion, Rubric, impacts, score
from assay_extensions.answers.support import HARD, of_all, of_first, read_support
from tests.helpers.score_files import read

GRADED = str(samples.path("rag/graded.jsonl"))


def known(data: Path, name: str) -> list[dict[str, Any]]:
    rows = json.loads((data / "judges/answers/answers.json").read_text())[name]
    return [*rows.values()] if isinstance(rows, dict) else rows


RUBRICS = "judges/answers/rubrics.jsonl"  # with an unknown verdict, which RAGDoll takes as not satisfied


def test_scores_by_rubrics_equal_those_of_ragdoll(data: Path) -> None:
    rubrics = read_graded((data / RUBRICS).read_bytes(), "rubrics.jsonl", unknown=[])
    answers = {(answer.topic, answer.run): answer for answer in rubrics}

    assert len(answers) == len(known(data, "rubric_cells")) == 16
    for cell in known(data, "rubric_cells"):
        answer = answers[cell["qid"], cell["run_id"]]
        assert score(answer.criteria) == pytest.approx(cell["ternary_score"], abs=1e-12)
        assert score(answer.criteria, BINARY) == pytest.approx(cell["binary_score"], abs=1e-12)
        assert (len(answer.criteria), answer.failed, answer.words) == (
            cell["n_criteria"],
            cell["n_mandatory_fail"],
            cell["response_length"],
        )


def test_runs_and_types_equal_those_of_ragdoll(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(data / RUBRICS)

    assert main(["rubrics", "score", path]) == 2
    place = f"{path}: line 15: criteria[1].verdict: expected satisfied, partially_satisfied, not_satisfied"
    assert f"{place}, got 'maybe'" in capsys.readouterr().err
    assert main(["rubrics", "score", path, "--unknown-verdicts", "not-satisfied"]) == 0

    out, err = capsys.readouterr()
    assert err == f"warning: {path}: counted as not satisfied: line 15: criteria[1].verdict: 'maybe'\n"
    tables = read(out)
    runs = {row["run"]: row for row in tables["runs"]}
    for expected in known(data, "rubric_runs"):
        row = runs[expected["run_id"]]
        assert float(row["score"]) == pytest.approx(expected["ternary_score"], abs=6e-5)
        assert float(row["binary"]) == pytest.approx(expected["binary_score"], abs=6e-5)
        assert int(row["answers"]) == expected["n_topics"]
    assert {run: row["no_score"] for run, row in runs.items()} == {"run-a": "1", "run-b": "0", "run-c": "1"}
    kinds = {row["type"]: (int(row["verdicts"]), int(row["failed"])) for row in tables["types"]}
    # The two edge cases without a type are explicit ones, which the other program counts as well.
    assert kinds == {row["type"]: (row["n_total"], row["n_failed"]) for row in known(data, "rubric_failures")}


def test_support_equals_that_of_ragdoll(data: Path) -> None:
    answers = read_support((data / "judges/answers/support.jsonl").read_bytes(), "support.jsonl")

    expected = {(row["topic_id"], row["run_id"]): row for row in known(data, "support")}
    assert len(answers) == len(expected) == 11
    for answer in answers:
        row = expected[answer.topic, answer.run]
        names = ("weighted_precision_{}", "weighted_recall_{}")
        for values, keys in (
            (of_first(answer), [name.format("first_citation") for name in names]),
            (of_all(answer), [name.format("all_judged_citations") for name in names]),
            (of_first(answer, HARD), ["hard_precision", "hard_recall"]),
        ):
            assert values == pytest.approx([row[key] for key in keys], abs=1e-6)


def test_impact_names_universal_and_hard_criteria(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rubrics", "impact", GRADED]) == 0

    rows = read("# impact\n" + capsys.readouterr().out)["impact"]
    assert {row["criterion"]: row["impact"] for row in rows} == {
        "Says that owls mark their territory.": "universal",
        "Says that song carries far at night.": "hard",
        "Says where owls nest.": "separates",
        "States what no source says.": "separates",
        "Says that swifts sleep in the air.": "universal",
        "Says for how long.": "hard",
    }


def test_impact_counts_unknown_verdicts_if_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "graded.jsonl"
    lines = [
        line(run_id=f"r{n}", criterion={"verdict": word})
        for n, word in enumerate(["failed"] * 7 + ["satisfied"])
    ]
    path.write_text("\n".join(map(json.dumps, lines)))

    assert main(["rubrics", "impact", str(path), "--unknown-verdicts", "not-satisfied"]) == 0

    out, err = capsys.readouterr()
    assert read("# impact\n" + out)["impact"][0]["satisfied"] == "0.1250"
    assert "line 5: criteria[0].verdict: 'failed'; and 2 more" in err


def test_criteria_at_the_bounds_separate() -> None:
    def answers(n_satisfied: int) -> list[Rubric]:
        verdicts = ["satisfied"] * n_satisfied + ["partially_satisfied"] * (10 - n_satisfied)
        return [
            Rubric("t", "", (Criterion("c", 1, verdict=verdict),), run=str(n))
            for n, verdict in enumerate(verdicts)
        ]

    words = [impacts(answers(n))[0].verdict for n in (0, 1, 8, 9)]
    assert words == ["hard", "separates", "separates", "universal"]


RESEARCH = {
    "qid": "5f0a",
    "domain": "law",
    "exploration": "low",
    "rubrics": [
        {"criterion": "Names the court.", "weight": 5, "axis": "Explicit Criteria", "note": 1},
        {"criterion": "Guesses.", "weight": -2, "axis": "References"},
    ],
}


def test_rubrics_are_converted_and_unknown_keys_survive() -> None:
    rubrics = read_rubrics(json.dumps(RESEARCH).encode(), "dev.jsonl")

    ragdoll = json.loads(write_rubrics(rubrics, "ragdoll"))
    assert ragdoll == {
        "domain": "law",
        "exploration": "low",
        "qid": "5f0a",
        "criteria": [
            {"note": 1, "text": "Names the court.", "type": "explicit", "tier": "optional", "weight": 5},
            {"text": "Guesses.", "type": "references", "tier": "optional", "weight": -2},
        ],
    }
    again = json.loads(write_rubrics(read_rubrics(json.dumps(ragdoll).encode(), "r"), "research-rubrics"))
    assert again["rubrics"][0] == {
        "note": 1,
        "criterion": "Names the court.",
        "weight": 5,
        "axis": "Explicit",
    }
    assert again["domain"] == "law"


def line(**changes: Any) -> dict[str, Any]:
    criterion = {"text": "a", "weight": 1, "verdict": "satisfied"} | changes.pop("criterion", {})
    return {"qid": "t", "run_id": "r", "criteria": [criterion]} | changes


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([line(), line()], "line 2: r t: expected each answer once"),
        (
            [line(criterion={"verdict": "maybe"})],
            "line 1: criteria[0].verdict: expected satisfied, partially",
        ),
        (
            [line(criterion={"verdict": None})],
            "verdict: expected satisfied, partially_satisfied, not_satisfied, got none",
        ),
        ([line(criterion={"weight": "5"})], "criteria[0].weight: expected a number"),
        ([line(criterion={"weight": True})], "criteria[0].weight: expected a number"),
        ([line(criterion={"tier": "gold"})], "criteria[0].tier: expected mandatory or optional"),
        ([line(criterion={"text": " "})], "criteria[0].text: expected a text"),
        ([line(qid="")], "line 1: qid: expected the code of a topic"),
        ([{"qid": "t", "run_id": "r"}], "line 1: object: expected qid with criteria or rubrics"),
        ([line(criteria={"a": 1})], "criteria.a: expected an object"),
    ],
)
def test_wrong_lines_are_named(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_graded("\n".join(map(json.dumps, rows)).encode(), "graded.jsonl")

    assert message in str(refusal.value)


def test_a_rubric_needs_criteria_and_support_a_known_label() -> None:
    with pytest.raises(InputError, match="at least one criterion"):
        read_rubrics(b'{"qid": "t", "rubrics": []}', "r.jsonl")
    sentence = {"citations": [{"support": "3"}]}
    with pytest.raises(InputError, match=r"sentences\[0\]\.citations\[0\]\.support: expected 2, 1, 0, or -1"):
        read_support(json.dumps({"topic_id": "t", "run_id": "r", "sentences": [sentence]}).encode(), "s")


def test_check_warns_of_a_rubric_without_a_positive_weight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rubrics.jsonl"
    rows = [(topic, {"criterion": "Guesses.", "weight": weight}) for topic, weight in (("t1", -1), ("t2", 1))]
    path.write_text("".join(json.dumps({"qid": topic, "rubrics": [row]}) + "\n" for topic, row in rows))

    assert main(["nuggets", "check", str(path)]) == 0

    err = capsys.readouterr().err
    assert err == f"{path}: topic t1: no criterion has a positive weight, so the rubric gives no score\n"


def test_command_of_support_prints_means_of_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["support", str(samples.path("rag/support.jsonl"))]) == 0

    tables = read(capsys.readouterr().out)
    assert [(row["run"], row["first_precision"], row["all_recall"]) for row in tables["runs"]] == [
        ("crows", "0.2500", "0.2500"),
        ("owls", "0.8750", "0.7083"),
    ]
