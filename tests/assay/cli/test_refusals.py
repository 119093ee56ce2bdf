"""The commands of analysis refuse unusable input in one line each."""

from pathlib import Path

import pytest

from assay.cli.main import main
from tests.helpers.score_files import PROTOCOL, qrels

REFUSED = [
    (["compare", "QRELS", "good.tsv", "nowhere.tsv"], "nowhere.tsv: No such file"),
    (["compare", "QRELS", "good.tsv", "good.tsv"], "the run is given twice"),
    (["compare", "QRELS", "good.tsv", "qrels.txt"], "qrels.txt: "),
    (["compare", "QRELS", "--measure", "nope", "good.tsv", "poor.tsv"], "'nope'"),
    (
        ["compare", "QRELS", "--table", "nope", "good.tsv", "poor.tsv"],
        "there is no table 'nope'; use summary",
    ),
    (["tiers", "--protocol", "nope", "--qrels", "qrels.txt", "good.tsv"], "nope"),
    (
        ["tiers", *PROTOCOL, "--qrels", "good.tsv", "good.tsv"],
        "good.tsv: The lines look like those of a run, with a rank, a score and a tag; line 1: expected 4 columns",
    ),
    (["tiers", *PROTOCOL, "--qrels", "-", "-", "good.tsv"], "only once"),
    (["reuse", "QRELS", "--runs", "nowhere.csv"], "nowhere.csv: No such file"),
    (["reuse", "QRELS", "--runs", "qrels.txt"], "qrels.txt: line 1: expected the columns"),
    (["evaluate", "QRELS", "--labels", "nowhere.csv", "good.tsv"], "nowhere.csv: No such file"),
    (["evaluate", "QRELS", "--labels", "qrels.txt", "good.tsv"], "qrels.txt"),
    (["evaluate", "QRELS", "--labels", "other.csv", "good.tsv"], "no label is for a topic of the qrels"),
    (
        ["evaluate", "QRELS", "--labels", "some.csv", "--label", "x", "good.tsv"],
        "no label 'x'; the labels are kind",
    ),
    (["agreement", "nowhere.csv"], "nowhere.csv: No such file"),
    (["agreement", "judged.csv", "--kind", "dual"], "no batch of the kind 'dual'; the kinds are main"),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=[f"{line[0]} {reason}" for line, reason in REFUSED])
def test_unusable_input_is_refused_in_one_line(
    line: list[str],
    reason: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "other.csv").write_text("topic,kind\nB.9,proof\n")
    (folder / "some.csv").write_text("topic,kind\nA.1,proof\n")
    (folder / "judged.csv").write_text("topic,docno,assessor,grade,kind\nA.1,10,ada,1,main\n")
    monkeypatch.chdir(folder)
    words = [word for shorthand in line for word in (qrels(folder) if shorthand == "QRELS" else [shorthand])]

    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"assay {line[0]}: ")
    assert captured.err.count("\n") == 1
    assert reason in captured.err


@pytest.mark.parametrize(
    "option", [["--seed", "-1"], ["--seed", "x"], ["--alpha", "1"], ["--alpha", "x"], ["--permutations", "0"]]
)
def test_options_out_of_range_are_refused(
    option: list[str], folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tiers", *qrels(folder), *option, *three])

    assert ended.value.code == 2
    assert f"argument {option[0]}: {option[1]!r} is not" in capsys.readouterr().err


def test_runs_without_a_common_topic_cannot_be_compared_on_common_ones(
    folder: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "far.tsv").write_text("A.77\t10\t1\t9\tfar\n")

    assert main(["compare", *qrels(folder), "--average", "common", three[0], str(folder / "far.tsv")]) == 2
    assert "no topic of the qrels is in every run" in capsys.readouterr().err
