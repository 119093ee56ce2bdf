"""`assay agreement`: how far assessors agree, from a file of judgments."""

import io
import sys
from pathlib import Path

import pytest

from assay.cli.main import main
from tests.helpers.score_files import PROTOCOL, ask

JUDGMENTS = (
    "topic,docno,assessor,grade,kind,is_current,choice\n"
    "A.1,10,ada,3,main,True,high\nA.1,10,bob,2,dual,True,medium\n"
    "A.1,11,ada,0,main,True,none\nA.1,11,bob,0,dual,True,none\n"
    "A.2,12,ada,1,main,True,low\nA.2,12,bob,3,dual,True,high\n"
    "A.2,13,ada,,main,True,unknown\nA.2,13,bob,1,dual,True,low\n"
    "A.2,12,ada,3,main,False,high\n"
)


def test_assessors_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("\ufeff" + JUDGMENTS)

    tables = ask(capsys, "agreement", str(path), "--level", "2")

    (everything,) = tables["all"]
    assert (everything["judges"], everything["judgments"], everything["units_judged_twice"]) == (
        "2",
        "7",
        "3",
    )
    assert (everything["without_grade"], everything["repeated"]) == ("1", "0")
    (pair,) = tables["pairs"]
    assert (pair["first"], pair["second"], pair["units"]) == ("ada", "bob", "3")
    assert (pair["agreement"], pair["agreement_two_way"], pair["kappa_two_way"]) == (
        "0.3333",
        "0.6667",
        "0.4000",
    )
    assert [row["topic"] for row in tables["topics"]] == ["A.1", "A.2"]


def test_only_judgments_of_a_kind_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text(JUDGMENTS)

    tables = ask(capsys, "agreement", str(path), "--kind", "main", "--quiet", *PROTOCOL)

    assert tables["all"][0]["judges"] == "1"
    assert tables["all"][0]["alpha_ordinal"] == ""
    assert tables["pairs"] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            b"topic,docno,grade\n",
            "line 1: expected the columns topic, docno, assessor, grade; assessor is missing",
        ),
        (b"topic,docno,assessor,grade\nA.1,10,ada,good\n", "line 2: grade 'good' is not a whole number"),
        (
            b"topic,docno,assessor,grade\nA.1,10,ada,1\nA.1,,ada,1\n",
            "line 3: expected a topic, a docno and an assessor",
        ),
        (
            b"topic,docno,assessor,grade\nA.1,10,ada,1,9\n",
            "line 2: expected a topic, a docno and an assessor",
        ),
        (b'topic,docno,assessor,grade\nA.1,"10"0,ada,1\n', "line 2"),
        (b"topic,docno,assessor,grade\nA.1,\xff,ada,1\n", "not UTF-8 (byte 32)"),
        (b"", "line 1: expected the columns"),
    ],
)
def test_judgments_that_cannot_be_used_are_refused(
    text: bytes, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "judgments.csv"
    path.write_bytes(text)

    assert main(["agreement", str(path)]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert captured.err.startswith(f"assay agreement: {path}: ")
    assert reason in captured.err


def test_standard_input_can_be_judgments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JUDGMENTS.encode())))

    assert ask(capsys, "agreement", "-")["all"][0]["judges"] == "2"


def test_judgments_without_a_second_assessor_explain_the_empty_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("topic,docno,assessor,grade\nA.1,10,ada,3\nA.1,11,bob,1\nA.1,12,bob,\n")

    assert main(["agreement", str(path)]) == 0

    assert capsys.readouterr().err == (
        "no unit has grades from two assessors, so there is no agreement: 2 grades by 2 assessors, "
        "1 judgments without a grade\n"
    )
