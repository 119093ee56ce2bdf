"""SemEval-2016 Task 3 as a protocol file alone: its runs, gold file and values on the samples, through commands."""

import json

import pytest

from assay.cli.main import main
from assay.samples import path

PROTOCOL = ["--protocol", "semeval-2016-task3"]


def test_runs_and_gold_are_read_and_scored_as_the_scorer_does(capsys: pytest.CaptureFixture[str]) -> None:
    """The order of the thread: good comments are at 1 and 5, 2 and 4, 1, and 3 and 4."""
    run = str(path("runs/cqa-order.txt"))

    assert main(["check", *PROTOCOL, "--topics", str(path("cqa-topics.jsonl")), run]) == 0
    capsys.readouterr()
    gold = str(path("cqa-gold.txt"))
    assert main(["evaluate", *PROTOCOL, "--qrels", gold, "--format", "json", "--quiet", run]) == 0

    values = {row["measure"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    map_at_10 = ((1 + 2 / 5) / 2 + (1 / 2 + 2 / 4) / 2 + 1 + (1 / 3 + 2 / 4) / 2) / 4
    retrieved, possible = (2, 3, 4, 6, 7, 7, 7, 7, 7, 7), (4, 7, 7, 7, 7, 7, 7, 7, 7, 7)
    assert values["AP(rel=2,norm=retrieved)@10"] == pytest.approx(map_at_10, abs=1e-4)
    assert values["AvgRec(rel=2)@10"] == pytest.approx(
        sum(n / most for n, most in zip(retrieved, possible, strict=True)) / 10, abs=1e-4
    )
    assert values["RR(rel=2)@10"] == pytest.approx((1 + 1 / 2 + 1 + 1 / 3) / 4, abs=1e-4)
    assert (values["labelR(rel=2)"], values["labelP(rel=2)"]) == (1.0, pytest.approx(7 / 20, abs=1e-4))
