"""Fusion: values worked out by hand, and an independent program over random runs."""

import json
from pathlib import Path
from statistics import fmean, pstdev

import numpy as np
import pytest

from assay.errors import InputError
from assay.formats.runs.columns import RunColumns
from assay.fusion import METHODS, NORMS, Fusion, Method, Norm, fuse

Scores = dict[str, dict[str, float]]


def run_of(scores: Scores) -> RunColumns:
    rows = [(topic, docno, score) for topic, of in scores.items() for docno, score in of.items()]
    columns, _ = RunColumns.ordered(
        topics=list(scores),
        topic_index=np.array([list(scores).index(topic) for topic, _, _ in rows], dtype=np.int32),
        docno=np.array([docno.encode() for _, docno, _ in rows]),
        rank=np.ones(len(rows), dtype=np.int32),
        score=np.array([score for _, _, score in rows]),
    )
    return columns


def fused(runs: list[Scores], fusion: Fusion, depth: int = 100) -> Scores:
    lists = fuse([run_of(scores) for scores in runs], fusion, depth=depth)
    return {
        each.topic: dict(zip((docno.decode() for docno in each.docno), each.score.tolist(), strict=True))
        for each in lists
    }


FIRST: Scores = {"T": {"a": 10.0, "b": 5.0, "c": 0.0}}
SECOND: Scores = {"T": {"c": 3.0, "d": 1.0}}


@pytest.mark.parametrize(
    ("fusion", "expected"),
    [
        (Fusion("sum", "min-max"), {"c": 1.0, "a": 1.0, "b": 0.5, "d": 0.0}),
        (Fusion("mnz", "min-max"), {"c": 2.0, "a": 1.0, "b": 0.5, "d": 0.0}),
        (Fusion("sum", "min-max", [1, 3]), {"c": 3.0, "a": 1.0, "b": 0.5, "d": 0.0}),
        (Fusion("sum", "none"), {"a": 10.0, "b": 5.0, "c": 3.0, "d": 1.0}),
        (Fusion("mnz", "none", [1, 2]), {"c": 12.0, "a": 10.0, "b": 5.0, "d": 2.0}),
        # The deviations are sqrt(50 / 3) and 1.
        (Fusion("sum", "z-score"), {"a": 1.224745, "b": 0.0, "c": -0.224745, "d": -1.0}),
        (Fusion("rrf"), {"c": 1 / 63 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "b": 1 / 62}),
        (Fusion("rrf", k=1, weights=[2, 1]), {"c": 1.0, "a": 1.0, "b": 2 / 3, "d": 1 / 3}),
    ],
    ids=["sum", "mnz", "weights", "none", "mnz of scores", "z-score", "rrf", "rrf with k"],
)
def test_scores_are_those_worked_out_by_hand(fusion: Fusion, expected: dict[str, float]) -> None:
    scores = fused([FIRST, SECOND], fusion)["T"]

    assert list(scores) == list(expected)
    assert scores == pytest.approx(expected, abs=1e-6)


def test_all_methods_and_norms_have_the_scores_of_ranx() -> None:
    known = json.loads(Path(__file__).with_name("fusions.json").read_text())

    for case in known["fused"]:
        runs = list(known[case["runs"]].values())
        n_documents = len({docno for scores in runs for docno in scores["T"]})
        scores = fused(
            runs, Fusion(case["method"], case["norm"], case["weights"], constant=case["constant"])
        )["T"]
        points = n_documents if case["method"] == "borda" else 1  # ranx counts in whole points
        assert {docno: score * points for docno, score in scores.items()} == pytest.approx(
            case["scores"], abs=1e-9
        ), (case["method"], case["norm"])
    assert {case["method"] for case in known["fused"]} == {
        name for name, facts in METHODS.items() if not facts.is_trained
    }
    assert {case["norm"] for case in known["fused"]} == set(NORMS)


def test_condorcet_has_no_neighbors_that_are_outvoted_even_in_a_circle() -> None:
    circle = ["abcd", "bcad", "cabd"]  # a before b, b before c, c before a; d is last
    runs: list[Scores] = [{"T": {docno: -float(n) for n, docno in enumerate(order)}} for order in circle]

    assert "".join(fused(runs, Fusion("condorcet"))["T"]) in {"abcd", "bcad", "cabd"}
    assert "".join(fused(runs, Fusion("condorcet", weights=[1, 1, 3]))["T"]) == "cabd"
    single = fused([*runs, {"T": {"d": 1.0}}], Fusion("condorcet", weights=[1, 1, 1, 4]))["T"]
    assert next(iter(single)) == "d"


@pytest.mark.parametrize(("norm", "value"), [("min-max", 1.0), ("z-score", 0.0)])
def test_equal_scores_are_normalized(norm: str, value: float) -> None:
    equal = {"T": {"a": 7.0, "b": 7.0}}

    assert fused([equal, {"T": {"c": 1.0}}], Fusion("sum", norm))["T"] == {"a": value, "b": value, "c": value}


@pytest.mark.parametrize("score", [0.1, 7.3, 1e-9, 12345.678, -0.7])
@pytest.mark.parametrize("n", [2, 3, 7, 10])
def test_z_score_of_equal_scores_is_0_whatever_they_are(score: float, n: int) -> None:
    equal = {"T": {str(docno): score for docno in range(n)}}

    assert set(fused([equal, equal], Fusion("sum", "z-score"))["T"].values()) == {0.0}


@pytest.mark.parametrize("norm", ["min-max", "z-score", "borda", "none"])
@pytest.mark.parametrize(
    "method", [name for name, facts in METHODS.items() if not (facts.needs or facts.is_trained)]
)
def test_order_of_the_runs_changes_nothing(method: Method, norm: Norm) -> None:
    if METHODS[method].has_times and norm == "z-score":
        return
    rng = np.random.default_rng(5)
    runs = [
        {"T": {str(docno): float(rng.integers(1, 12)) / 7 for docno in rng.permutation(40)[:25]}}
        for _ in range(3)
    ]

    orders = [
        list(fused([runs[n] for n in order], Fusion(method, norm))["T"].items())
        for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0))
    ]

    assert all(order == orders[0] for order in orders)


def test_totals_that_differ_by_rounding_errors_tie() -> None:
    runs: list[Scores] = [{"T": {"a": 0.1, "b": 0.3}}, {"T": {"a": 0.2, "b": 0.3}}, {"T": {"a": 0.3}}]

    assert list(fused(runs, Fusion("sum", "none"))["T"].items()) == [("b", 0.6), ("a", 0.6)]


def test_topic_that_one_run_lacks_has_the_documents_of_the_others() -> None:
    longer = FIRST | {"U": {"e": 1.0}}

    assert fused([longer, SECOND], Fusion())["U"] == {"e": 1.0}


def test_cut_follows_score_and_then_docno_descending() -> None:
    scores = fused([{"T": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"T": {"d": 1.0}}], Fusion(), depth=2)

    assert list(scores["T"]) == ["d", "c"]


def by_definition(runs: list[Scores], method: str, norm: str, weights: list[float]) -> Scores:
    """Fusion as the sources define it, document by document."""
    result: Scores = {}
    for topic in {topic for scores in runs for topic in scores}:
        for docno in {docno for scores in runs for docno in scores.get(topic, ())}:
            total, n = 0.0, 0
            for scores, weight in zip(runs, weights, strict=True):
                of = scores.get(topic, {})
                if docno not in of:
                    continue
                values, n = list(of.values()), n + 1
                least, spread = min(values), max(values) - min(values)
                if method == "rrf":
                    rank = 1 + sum((of[other], other) > (of[docno], docno) for other in of)
                    total += weight / (60 + rank)
                elif norm == "min-max":
                    total += weight * ((of[docno] - least) / spread if spread else 1)
                else:
                    total += weight * ((of[docno] - fmean(values)) / pstdev(values) if spread else 0)
            result.setdefault(topic, {})[docno] = total * n if method == "mnz" else total
    return result


@pytest.mark.parametrize(
    ("method", "norm"), [("sum", "min-max"), ("mnz", "min-max"), ("sum", "z-score"), ("rrf", "none")]
)
def test_random_runs_have_the_scores_of_an_independent_program(method: str, norm: str) -> None:
    rng = np.random.default_rng(3)
    runs: list[Scores] = [
        {
            topic: {
                f"d{n}": float(rng.integers(0, 9))
                for n in rng.choice(40, size=rng.integers(1, 25), replace=False)
            }
            for topic in "UVW"
        }
        for _ in range(3)
    ]
    weights = [1.0, 0.5, 2.0]

    scores = fused(runs, Fusion(method, norm, weights))

    expected = by_definition(runs, method, norm, weights)
    assert {topic: pytest.approx(of) for topic, of in expected.items()} == scores


@pytest.mark.parametrize(
    ("runs", "fusion", "message"),
    [
        ([FIRST], Fusion(), "at least two runs"),
        ([FIRST, SECOND], Fusion(weights=[1]), "1 weight for 2 runs"),
        ([FIRST, SECOND], Fusion("mnz", "z-score"), "CombMNZ cannot use z-scores"),
        ([FIRST, {"T": {"a": -1.0}}], Fusion("mnz", "none"), "negative scores"),
        ([FIRST, SECOND], Fusion("gmnz"), "gmnz needs a constant: the power"),
        (
            [FIRST, SECOND],
            Fusion("sum", constant=1),
            "sum has no constant; gmnz, logn-isr, rbc, probfuse, slidefuse have one",
        ),
        ([FIRST, SECOND], Fusion("rbc", constant=1), "from 0 to below 1, got 1"),
        ([FIRST, SECOND], Fusion("logn-isr", constant=0), "above 0, got 0"),
        ([FIRST, SECOND], Fusion("wmnz", "z-score"), "wmnz cannot use z-scores"),
        ([FIRST, SECOND, {"X": {"a": 1.0}}], Fusion(), "run 3 has no topic in common"),
    ],
)
def test_what_cannot_be_fused_is_refused(runs: list[Scores], fusion: Fusion, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fused(runs, fusion)
