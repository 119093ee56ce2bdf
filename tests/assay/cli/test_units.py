"""The commands of analysis on runs of formula instances, which are scored as visually distinct formulas."""

from pathlib import Path

import pytest

from assay.cli.main import main
from tests.helpers.score_files import ask

PROTOCOL = ["--protocol", "arqmath-2020-task2"]
# formula 11 and 12 look alike (v1), 13 is another (v2), 14 a third (v3)
RUNS = {"twice": "11 12 13", "once": "13 12 14"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ids.tsv").write_text("formula_id\tvisual_id\n11\tv1\n12\tv1\n13\tv2\n14\tv3\n")
    (tmp_path / "distinct.txt").write_text("B.1 0 v1 3\nB.1 0 v2 2\nB.1 0 v3 0\n")
    (tmp_path / "instances.txt").write_text("B.1 0 11 1\nB.1 0 12 3\nB.1 0 13 2\nB.1 0 14 0\n")
    for name, formulas in RUNS.items():
        lines = [
            f"B.1\t{formula}\t{900 + rank}\t{rank}\t{10 - rank}\t{name}\n"
            for rank, formula in enumerate(formulas.split(), 1)
        ]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    (tmp_path / "runs.csv").write_text(
        "file,team,tag,kind\ntwice.tsv,Ours,twice,primary\nonce.tsv,Theirs,once,primary\n"
    )
    return tmp_path


def given(folder: Path) -> list[str]:
    return [*PROTOCOL, "--qrels", str(folder / "distinct.txt"), "--formulas", str(folder / "ids.tsv")]


def test_runs_are_scored_by_instance_and_by_formula(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tracks.toml").write_text("""
[[track]]
name = "Formulas"
protocol = "arqmath-2020-task2"
runs = "runs.csv"
qrels = "distinct.txt"
instances = "instances.txt"
formulas = "ids.tsv"
""")

    tables = ask(capsys, "collections", "--measure", "P(rel=2)@2", str(folder / "tracks.toml"))

    # v1 v2 | v2 v1 by formula; 11 12 | 13 12 by instance, where 11 is a poor one
    assert [tuple(row.values())[1:] for row in tables["instances"]] == [
        ("Theirs: once", "1.0000", "1.0000"), ("Ours: twice", "0.5000", "1.0000"),
        ("Kendall's tau with instances", "", ""), ("AP correlation with instances", "", ""),
    ]  # fmt: skip
    assert [(row["Units"], row["Judged: Total"], row["Relevant: Total"]) for row in tables["units"]] == [
        ("visually distinct formulas", "3", "2"), ("instances", "4", "2")
    ]  # fmt: skip


def test_units_that_only_one_team_contributed_are_formulas(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ask(capsys, "reuse", *given(folder), "--runs", str(folder / "runs.csv"), "--samples", "5")

    # both teams have v1 and v2, though by other instances; v3 is alone in once
    assert [(row["team"], row["judged_alone"], row["relevant_alone"]) for row in tables["teams"]] == [
        ("Ours", "0", "0"), ("Theirs", "1", "0")
    ]  # fmt: skip
    assert tables["depths"][-1]["judged"] == "3"


def test_distinct_formulas_need_the_formulas(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["tiers", *PROTOCOL, "--qrels", str(folder / "distinct.txt"), str(folder / "once.tsv")])

    assert status == 2
    assert "--formulas" in capsys.readouterr().err
