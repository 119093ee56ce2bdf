"""`assay preview`: what it prints and refuses."""

from pathlib import Path

import pytest

from assay.cli.main import main
from tests.helpers.pool_files import (
    TASK_2,
    TREC,
    add_the_late_run,
    lines_of,
    pool,
    write_formula_files,
    write_trec_files,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_formula_files(tmp_path)


@pytest.fixture
def trec(tmp_path: Path) -> Path:
    return write_trec_files(tmp_path)


def preview(folder: Path, *options: str, protocol: list[str] = TREC) -> int:
    return main(["preview", *protocol, "--runs", str(folder / "m.csv"), *options])


def test_preview_prints_a_line_for_each_depth(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_the_late_run(trec)

    status = preview(trec, "--deepest", "2", "--rate", "360", "--budget-hours", "0.4")

    assert status == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-5:] == ["units", "mean", "least", "most", "hours"]
    assert [line.split()[-5:] for line in lines[1:3]] == [
        ["3", "1.5", "1", "2", "0.3"],
        ["5", "2.5", "2", "3", "0.5"],
    ]
    assert lines[3].startswith("hours: 1 judgment per unit, 360 s each")
    assert lines[4].startswith("Within 0.4 h: depth 1 (--depth primary=1")
    assert lines[4].endswith("3 units, 0.3 h.")


def test_preview_counts_the_first_runs_of_each_team_like_the_pool(
    trec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_the_late_run(trec)
    manifest = trec / "m.csv"
    rows = manifest.read_text().splitlines()
    first = trec / "first.csv"
    teams = [line.split(",") for line in rows]
    column = teams[0].index("team")
    same = [teams[0], *([*row[:column], "One", *row[column + 1 :]] for row in teams[1:])]
    manifest.write_text("\n".join(map(",".join, same)))
    first.write_text("\n".join(map(",".join, same[:2])))

    assert preview(trec, "--runs-per-team", "1", "--deepest", "3") == 0
    limited = capsys.readouterr().out
    assert main(["preview", *TREC, "--runs", str(first), "--deepest", "3"]) == 0

    assert limited == capsys.readouterr().out


def test_preview_marks_the_depth_of_the_protocol(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preview(folder, "--formulas", str(folder / "index.tsv"), "--deepest", "30", protocol=TASK_2)

    marked = [line for line in capsys.readouterr().out.splitlines() if line.endswith("*")]
    assert [line.split()[:3] for line in marked] == [["20", "10", "4"]]


def test_preview_says_if_no_depth_fits(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preview(trec, "--budget-hours", "0.01")

    assert "No pool can be judged in 0.01 h: depth 1 takes" in capsys.readouterr().out


def test_preview_writes_the_sizes_of_topics(trec: Path) -> None:
    add_the_late_run(trec)

    preview(trec, "--deepest", "2", "--by-topic", str(trec / "sizes.tsv"))

    assert lines_of(trec / "sizes.tsv") == ["depth\t1\t2", "1\t2\t1", "2\t3\t2"]


def test_preview_counts_only_new_units(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool(trec, protocol=TREC)
    add_the_late_run(trec)

    preview(trec, "--deepest", "2", "--top-up", str(trec / "pool.tsv"))

    assert [line.split()[-5] for line in capsys.readouterr().out.splitlines()[1:3]] == ["0", "2"]


def test_preview_of_round_robin_goes_by_rank(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preview(trec, "--deepest", "2", protocol=["--protocol", "ntcir-10-math"])

    assert capsys.readouterr().out.splitlines()[0].split()[0] == "rank"


def test_preview_of_known_items_is_refused(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert preview(trec, protocol=["--protocol", "ntcir-11-math"]) == 2
    assert "nothing is judged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [["--rate", "0"], ["--rate", "fast"], ["--rate", "nan"], ["--budget-hours", "-1"], ["--deepest", "0"]],
)
def test_numbers_that_cannot_be_used_are_refused(
    trec: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        preview(trec, *options)

    assert "is not a" in capsys.readouterr().err
