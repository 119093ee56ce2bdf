"""A command that runs in the folder of the sample files, and readers of what commands print."""

from collections.abc import Callable

import pytest

from assay import samples
from assay.cli.main import main

TASK = "arqmath-2020-task1"
FORMULA_TASK = "arqmath-2021-task2"
RUNS = ("runs/abacus.tsv", "runs/abacus-text.tsv", "runs/lemma.tsv", "runs/baseline.tsv.gz")
FORMULAS = ("--formulas", "formulas-latex.tsv")

Rows = list[dict[str, str]]
Assay = Callable[..., str]


def rows_of(text: str) -> Rows:
    """The rows of one TSV table with a header; comment lines are left out."""
    header, *lines = [line.split("\t") for line in text.splitlines() if line and not line.startswith("# ")]
    return [dict(zip(header, line, strict=True)) for line in lines]


def value(text: str, topic: str, measure: str) -> float:
    """The value of a measure in the output of `evaluate`."""
    (row,) = (row for row in rows_of(text) if (row["topic"], row["measure"]) == (topic, measure))
    return float(row["value"])


def lines_of(name: str) -> list[list[str]]:
    """The lines of a sample file as words."""
    return [line.split() for line in samples.path(name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def assay(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Assay:
    """Run a command in the folder of the samples; gives what it prints, and checks the exit status."""
    monkeypatch.chdir(samples.path("qrels.txt").parent)

    def run(*words: str, status: int = 0) -> str:
        capfdbinary.readouterr()
        actual = main(list(words))
        output = capfdbinary.readouterr()
        assert actual == status, output.err.decode()
        return output.out.decode()

    return run
