"""Values over the orders of ties equal those of every order, computed one by one."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from assay.cli.main import main
from assay.errors import InputError
from assay.research.evaluation import evaluate

MEASURES = [
    "P@1", "P@3", "R@2", "Rprec", "Success@2", "AP", "AP@3", "AP(norm=best)@3", "AP(norm=retrieved)",
    "AP(rel=2)", "RR", "RR@2", "RR(rel=2)'", "nDCG", "nDCG@2", "nDCG@3'", "nDCG(dcg=exp-log2)@4", "DCG@3",
    "CG@2", "Grade@3", "AP'", "P@2'", "Rprec'", "Success(rel=2)@1",
]  # fmt: skip


def orders(scores: dict[str, float]) -> list[list[str]]:
    """All orders of the documents by score."""
    ties = [
        sorted(d for d in scores if scores[d] == score)
        for score in sorted(set(scores.values()), reverse=True)
    ]
    return [[*itertools.chain(*order)] for order in itertools.product(*map(itertools.permutations, ties))]


@pytest.mark.parametrize("seed", range(6))
def test_range_is_that_of_all_orders(seed: int) -> None:
    numbers = random.Random(seed)
    qrels = {
        "1": {f"d{n}": numbers.choice([0, 0, 1, 2, 3]) for n in range(6)} | {"unseen": 1},
        "2": {"a": 2, "b": 0},
    }
    scores = {f"d{n}": float(numbers.randint(1, 3)) for n in range(4)}
    scores |= {f"u{n}": float(numbers.randint(1, 3)) for n in range(3)}
    ranked = [
        evaluate(
            qrels, {"1": {docno: 9.0 - rank for rank, docno in enumerate(order)}, "2": {"a": 1.0}}, MEASURES
        ).values[0][0]
        for order in orders(scores)
    ]

    [tie] = evaluate(qrels, {"1": scores, "2": {"b": 1.0, "a": 1.0}}, MEASURES, ties=True).ranges

    every = np.array(ranked)
    assert tie.lowest.values[0] == pytest.approx(every.min(axis=0))
    assert tie.highest.values[0] == pytest.approx(every.max(axis=0))
    assert tie.expected.values[0] == pytest.approx(every.mean(axis=0))
    assert tie.expected.values[1][MEASURES.index("RR")] == pytest.approx(0.75)


def test_run_without_ties_has_one_value() -> None:
    run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"b": 1.0}, "3": {"a": 1.0}}
    evaluation = evaluate({"1": {"b": 1, "c": 2}, "2": {"a": 1}}, run, MEASURES, ties=True)

    for scores in evaluation.ranges[0]:
        assert scores.values == pytest.approx(evaluation.values[0])


@pytest.mark.parametrize("name", ["bpref", "RBP", "AP(norm=retrieved)@3", "nDCG(gains={1:5})", "GMAP"])
def test_other_measures_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="over the orders of ties is not known; use P, R, Rprec"):
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, [name], ties=True)


def test_command_prints_the_range_and_the_table_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path)
    for name, text in (
        ("qrels", "1 0 a 1\n2 0 b 1\n"),
        ("run", "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n2 Q0 b 1 1 t\n"),
    ):
        (tmp_path / name).write_text(text)

    assert main(["evaluate", "--qrels", f"{folder}/qrels", "--measure", "RR", "--ties", f"{folder}/run"]) == 0

    assert [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["all", "RR", "0.7500"],  # b before a
        ["all", "RR[lowest]", "0.7500"],
        ["all", "RR[expected]", "0.8750"],
        ["all", "RR[highest]", "1.0000"],
    ]
    evaluation = evaluate(f"{folder}/qrels", f"{folder}/run", "RR", ties=True)
    assert evaluation.tables[-1].rows == [("run", "RR", 0.75, 0.875, 1.0)]


@pytest.mark.filterwarnings("ignore::assay.errors.InputWarning")
def test_folds_split_the_topics() -> None:
    codes = [str(code) for code in range(7)]
    qrels, run = {code: {"a": 1} for code in codes}, {code: {"a": 1.0} for code in codes if int(code) % 2}

    evaluation = evaluate(qrels, run, "P@1", folds=3, seed=5)

    table = evaluation.tables[-1].rows
    assert [row[1:3] for row in table] == [
        ("fold=1", 3), ("fold=2", 2), ("fold=3", 2), ("not-fold=1", 4), ("not-fold=2", 5), ("not-fold=3", 5),
    ]  # fmt: skip
    sums = [row[2] * row[3] for row in table]
    assert sum(sums[:3]) == pytest.approx(3)
    assert [inside + outside for inside, outside in zip(sums[:3], sums[3:], strict=True)] == pytest.approx(
        [3] * 3
    )
    members = [group.is_in.tolist() for group in evaluation.of_classes]
    assert members == [
        group.is_in.tolist() for group in evaluate(qrels, run, "P@1", folds=3, seed=5).of_classes
    ]
    assert members != [
        group.is_in.tolist() for group in evaluate(qrels, run, "P@1", folds=3, seed=6).of_classes
    ]
    with pytest.raises(InputError, match="folds 8: use a number from 2 to 7, the number of topics"):
        evaluate(qrels, run, "P@1", folds=8)
    with pytest.raises(InputError, match="folds need at least 2 topics, got 1"):
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, "P@1", folds=2)
