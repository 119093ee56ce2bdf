"""The harness of the benchmarks: every case is described, and prints its figures next to a peer's."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from maintenance.benchmarks import harness
from server.paths import ROOT


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "maintenance.benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_case_is_in_the_readme() -> None:
    listed = {line.split()[0] for line in run("--list").splitlines()}

    table = re.findall(
        r"^\| `([\w-]+)", (ROOT / "maintenance/benchmarks/README.md").read_text(), re.MULTILINE
    )

    assert listed == set(table)


def test_small_case_prints_its_figures_and_their_ratio_to_a_peer() -> None:
    output = run("significance", "--runs", "3", "--topics", "10", "--repeats", "1", "--permutations", "100")

    assert re.search(r"paired randomization, 3 pairs .* SciPy .* ratio [\d.]+", output)
    assert "of 3 pairs by the randomized test" in output


def test_ratio_above_one_means_that_ours_is_better(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(harness.FIGURES, str(tmp_path / "figures"))

    harness.figure("pooling", 2, "s", {"peer": 3})
    harness.figure("judging", 2, "judgments/s", {"peer": 1})

    assert re.findall(r"ratio ([\d.]+)", capsys.readouterr().out) == ["1.50", "2.00"]
    lines = (tmp_path / "figures").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [["pooling", 2], ["judging", 2]]
