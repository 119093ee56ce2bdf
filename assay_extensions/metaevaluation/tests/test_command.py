"""`assay meta` on files."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay import samples
from assay.cli.main import main

QRELS, MAREK = (str(samples.path(name)) for name in ("qrels.txt", "qrels-marek.txt"))
JUDGMENTS = str(samples.path("judgments.csv"))
RUNS = [str(samples.path(f"runs/{name}")) for name in ("abacus.tsv", "lemma.tsv", "abacus-text.tsv")]
PROTOCOL = ("--protocol", "arqmath-2020-task1")


def ask(
    capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """The tables of a command, by name."""
    assert main(["meta", *arguments, "--format", "json"]) == status
    tables: dict[str, list[dict[str, Any]]] = json.loads(capsys.readouterr().out)
    return tables


def written(path: Path, values: dict[str, list[float]], measures: tuple[str, ...] = ("M",)) -> str:
    """A table of scores; a second measure has the reverse order."""
    rows = []
    for sign, measure in zip((1, -1), measures, strict=False):
        for run, row in values.items():
            rows += [f"{run}\tt{n}\t{measure}\t{sign * value}" for n, value in enumerate(row)]
            rows.append(f"{run}\tall\t{measure}\t{sign * sum(row) / len(row)}")
    path.write_text("\n".join(rows))
    return str(path)


@pytest.fixture
def truth(tmp_path: Path) -> str:
    values = {run: [0.1 * n + 0.01 * t for t in range(6)] for n, run in enumerate("abcdefg")}
    return written(tmp_path / "truth.txt", values, ("M", "N"))


def test_scores_of_tables(truth: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {run: [0.1 * n] * 6 for n, run in enumerate("bacdefg")}
    judge = written(tmp_path / "judge.txt", values, ("X",))
    topics = tmp_path / "topics.txt"
    topics.write_text("t0\nt1\n")
    options = ("scores", "--truth", truth, "--truth-measure", "M", "--top", "3", "--resamples", "20", judge)

    tables = ask(capsys, *options)
    of_two = ask(capsys, *options, "--topics", str(topics), "--seed", "7")

    (row,) = tables["judges"]
    assert (row["truth"], row["judge"], row["runs"], row["topics"]) == ("M", "X", 7, 6)
    assert row["kendall"] == pytest.approx(19 / 21)
    assert (row["best"], row["kendall_of_best"], row["top_in_common"]) == (3, 1, 3)
    assert (row["largest_drop"], row["places"]) == ("b", 1) or (row["largest_drop"], row["places"]) == (
        "a",
        1,
    )
    assert row["low"] <= row["kendall"] <= row["high"]
    assert (of_two["judges"][0]["topics"], of_two["judges"][0]["low"]) == (2, None)


def test_measures_of_the_same_name_are_compared(truth: str, capsys: pytest.CaptureFixture[str]) -> None:
    same = ask(capsys, "scores", "--truth", truth, truth)["judges"]
    by_one = ask(capsys, "scores", "--truth", truth, "--truth-measure", "M", truth)["judges"]

    assert [(row["truth"], row["judge"], row["kendall"]) for row in same] == [("M", "M", 1), ("N", "N", 1)]
    assert [(row["judge"], row["kendall"]) for row in by_one] == [("M", 1), ("N", -1)]


def test_missing_runs_and_forms(truth: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = tmp_path / "judge.tot"
    judge.write_text("".join(f"{run} X all {n}\n" for n, run in enumerate("abcd")))
    options = ("scores", "--truth", truth, "--truth-measure", "M", str(judge))

    assert main(["meta", *options]) == 2
    assert "3 runs are missing from" in capsys.readouterr().err
    assert ask(capsys, *options, "--missing", "common")["judges"][0]["kendall"] == 1
    assert ask(capsys, *options, "--missing", "zero")["judges"][0]["kendall"] < 1
    assert main(["meta", *options, "--form", "tot"]) == 2  # of both tables
    assert "has no 'M'; it has t0" in capsys.readouterr().err


def test_scores_of_qrels_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    two = ("--qrels", QRELS, "--judge-qrels", MAREK, *PROTOCOL)
    tables = ask(capsys, "scores", *two, "--truth-measure", "nDCG'", *RUNS)

    assert [row["run"] for row in tables["runs"]] == ["abacus", "lemma", "abacus-text"]
    assert tables["judges"][0]["topics"] == 2  # the others are not in the qrels of the judge


def test_qrels(capsys: pytest.CaptureFixture[str]) -> None:
    from_2 = ask(capsys, "qrels", "--qrels", QRELS, MAREK, *PROTOCOL)
    from_1 = ask(capsys, "qrels", "--qrels", QRELS, MAREK, "--level", "1")

    assert from_2["topics"][0]["precision"] == from_1["topics"][0]["precision"] == 0.75
    assert (from_2["topics"][0]["recall"], from_1["topics"][0]["recall"]) == (1, 0.75)
    assert [row["judge_0"] for row in from_2["confusion"]] == [10, 4, 2, 4]


def test_alt_test(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("alt-test", "--machine", "qrels", JUDGMENTS, QRELS)
    tested = ask(capsys, *options, "--least", "5")
    strict = ask(capsys, *options, "--least", "5", "--epsilon", "0", "--score", "neg_rmse")
    too_few = ask(capsys, *options, status=1)

    assert (tested["machine"][0]["omega"], tested["machine"][0]["passed"]) == (1, "yes")
    assert [row["replaced"] for row in strict["people"]] == ["no", "no"]
    assert (too_few["machine"][0]["omega"], too_few["people"][0]["units"]) == (None, 12)
    never = ask(capsys, *options, "--least", "5", "--false-discoveries", "0.001")
    assert [row["replaced"] for row in never["people"]] == ["yes", "no"]


def test_other_machines_do_not_count_as_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (str(tmp_path / name) for name in ("one.txt", "two.txt"))
    for copy in (first, second):
        Path(copy).write_bytes(Path(QRELS).read_bytes())
    options = ("alt-test", "--least", "5", "--machine", "one")
    alone = ask(capsys, *options, JUDGMENTS, first)
    both = ask(capsys, *options, "--machine", "two", JUDGMENTS, first, second)
    assert main(["meta", *options, "--machine", "two", JUDGMENTS, first]) == 2

    assert "there are no judgments of 'two'" in capsys.readouterr().err
    assert [row["machine"] for row in both["machine"]] == ["one", "two"]
    assert both["machine"][:1] == alone["machine"]
    of_first = [row for row in both["people"] if row.pop("machine") == "one"]
    assert of_first == alone["people"]
    assert {row["person"] for row in both["people"]} == {"ines", "marek"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scores", QRELS], "name the scores of the truth with --truth"),
        (["scores", "--qrels", QRELS, QRELS], "--qrels needs --judge-qrels"),
        (["qrels", "--qrels", QRELS, JUDGMENTS], "judgments.csv: "),
        (["alt-test", "--machine", "x", JUDGMENTS], "there are no judgments of 'x'"),
    ],
)
def test_what_cannot_be_compared_is_said(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["meta", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_unknown_measure_and_unmatched_names(
    truth: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = written(tmp_path / "judge.txt", {run: [0.1] for run in "abc"}, ("X",))
    for options, message in (
        ((), "choose one with --truth-measure"),
        (("--truth-measure", "Q"), "has no 'Q'; it has M, N"),
    ):
        assert main(["meta", "scores", "--truth", truth, *options, judge]) == 2
        assert message in capsys.readouterr().err


def test_files_without_judgments_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes, damaged = tmp_path / "notes.md", tmp_path / "judge.zip"
    notes.write_text("# Notes\n")
    damaged.write_bytes(b"\x8f\x00\xff" * 100)

    assert main(["meta", "check", str(notes)]) == 1
    assert "notes.md: no file has judgments by its name" in capsys.readouterr().err
    assert main(["meta", "check", str(damaged)]) == 2
    assert "judge.zip" in capsys.readouterr().err
