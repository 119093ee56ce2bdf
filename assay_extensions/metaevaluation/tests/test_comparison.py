import json
from pathlib import Path

import numpy as np
import pytest

from assay.errors import InputError
from assay.statistics.rank_correlation import (
    PERSISTENCE,
    Values,
    kendall_tau,
    rank_biased_overlap,
    tau_ap_b,
)
from assay_extensions.metaevaluation.comparison import Comparison, compare, tables
from assay_extensions.metaevaluation.correlation import correlation, correlations
from assay_extensions.metaevaluation.scores import Scores, form_of, read_scores

NAMES = {
    "kendall": "kendall",
    "spearman": "spearman",
    "pearson": "pearson",
    "tauap_b": "tau_ap",
    "tau_gap": "tau_gap",
}


def scores_in(path: Path) -> dict[str, Scores]:
    return {scores.measure: scores for scores in read_scores(path.read_bytes(), path.name)}


def check_values(comparison: Comparison, expected: dict[str, float | None]) -> None:
    values = {row.title: row.value for row in comparison.coefficients}
    for key, value in expected.items():
        name, at, k = key.partition("@")
        if value is not None:
            assert values[NAMES[name] + at + k] == pytest.approx(value, abs=1e-9), key


@pytest.mark.parametrize(
    ("judge", "missing", "answers"),
    [
        ("judge", "refuse", "judge on_missing=error"),
        ("judge-missing", "common", "judge-missing on_missing=skip"),
        ("judge-missing", "zero", "judge-missing on_missing=default"),
    ],
)
def test_answers_are_those_of_auto_judge_evaluate(data: Path, judge: str, missing: str, answers: str) -> None:
    folder = data / "judges" / "metaeval"
    (truth,) = scores_in(folder / "truth.eval.txt").values()
    expected = json.loads((folder / "answers.json").read_text())[answers]
    for name, scores in scores_in(folder / f"{judge}.eval.txt").items():
        comparison = compare(truth, scores, missing=missing, n_resamples=20)
        values = expected[f"PEOPLE / {name}"]
        if missing == "zero":  # the program leaves the absent runs out of the top k even so
            values = {key: value for key, value in values.items() if "@" not in key}
        check_values(comparison, values)
        assert comparison.n_topics == 8
        first = comparison.coefficients[0]
        assert first.low <= first.value <= first.high


def test_missing_runs_are_refused(data: Path) -> None:
    folder = data / "judges" / "metaeval"
    (truth,), (judge,) = (
        scores_in(folder / f"{name}.eval.txt").values() for name in ("truth", "judge-missing")
    )

    with pytest.raises(InputError, match=r"2 runs are missing from judge-missing.eval.txt: run"):
        compare(truth, judge)


def test_constant_judge_is_undefined(data: Path) -> None:
    folder = data / "judges" / "metaeval"
    (truth,), (judge,) = (
        scores_in(folder / f"{name}.eval.txt").values() for name in ("truth", "judge-constant")
    )
    comparison = compare(truth, judge, n_resamples=2)

    assert comparison.is_constant
    assert all(np.isnan(row.value) for row in comparison.coefficients)
    assert comparison.fidelity is not None
    assert comparison.fidelity.alike == comparison.fidelity.only_judge == 0


def test_real_judge_is_worse_among_the_best_runs(data: Path) -> None:
    folder = data / "judges" / "dl"
    (truth,), (judge,) = (scores_in(folder / f"dl2019.{n}.eval.txt").values() for n in ("people", "machine"))
    expected = json.loads((folder / "dl2019.answers.json").read_text())["all_rows_as_published"]
    comparison = compare(truth, judge)

    check_values(
        comparison, {key: value for key, value in expected.items() if key.partition("@")[0] in NAMES}
    )
    assert comparison.overlaps == {5: expected["top_5_in_common"], 10: expected["top_10_in_common"]}
    assert comparison.drop == tuple(expected["largest_drop"])
    assert (comparison.n_topics, comparison.fidelity) == (0, None)
    assert np.isnan(comparison.coefficients[0].low)


def test_small_orders(data: Path) -> None:
    cases = json.loads((data / "judges" / "metaeval" / "answers.json").read_text())["tauap_b cases"]
    for case in cases:
        truth, judge = (np.array(case[key], dtype=float) for key in "ab")
        for name, key in (("tau_ap", "tauap_b"), ("tau_gap", "tau_gap_truth_a"), ("kendall", "kendall_b")):
            value = correlation(name, truth, judge)
            if case["kendall_b"] is None:
                assert np.isnan(value)
            else:
                assert value == pytest.approx(case[key]), case


def table_of(values: dict[str, list[float]], measure: str = "M") -> Scores:
    return Scores(
        "made", measure, {}, {run: {f"t{n}": v for n, v in enumerate(row)} for run, row in values.items()}
    )


def test_held_out_topics_and_significance() -> None:
    """Topics t0 to t7 have one order and t8 to t15 the reverse, by the judge."""
    base = np.linspace(0.2, 0.5, 16)
    truth = table_of({run: [*(base + step)] for run, step in (("a", 0.3), ("b", 0.1), ("c", 0.0))})
    turned = {"a": 0.0, "b": 0.1, "c": 0.3}
    judge = table_of(
        {
            run: [*(base[:8] + step), *(base[8:] + turned[run])]
            for run, step in (("a", 0.3), ("b", 0.1), ("c", 0.0))
        }
    )
    first, last = (
        compare(truth, judge, topics=[f"t{n}" for n in part], n_resamples=10)
        for part in (range(8), range(8, 16))
    )

    assert (first.coefficients[0].value, last.coefficients[0].value) == (1, -1)
    assert (first.n_topics, first.fidelity) == (8, (3, 0, 0, 0, 0))
    assert last.fidelity == (0, 3, 0, 0, 0)
    rows = tables([last, first])[0].rows
    assert [row[4] for row in rows] == [1, -1]  # the best judge first
    assert first.notes == ("means of the 8 topics with a value of each run in both tables",)
    with pytest.raises(InputError, match="none of the 1 topic"):
        compare(truth, judge, topics=["x"])


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("r all M 1", "ir_measures"),
        ("r M all 1", "tot"),
        ("all r M 1", "rag4reports"),
        ("M all 1", "trec_eval"),
        ('{"run_id": "r", "topic_id": "all", "measure": "M", "value": 1}', "jsonl"),
    ],
)
def test_forms_are_detected(text: str, form: str) -> None:
    assert form_of(text.encode(), "x") == form
    (scores,) = read_scores(text.encode(), "r.eval.txt")
    assert (scores.measure, scores.means) == ("M", {"r": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r 1 M 1", "the order of the columns is not clear"),
        ("r 1", "line 1: got 2 columns"),
        ("r all M 1\nr all M 2", "line 2: M of run r, topic all, is in line 1 too"),
        ("r all M 1\nr 1 M x", "line 2: expected a number"),
        ("", "got 0 columns"),
    ],
)
def test_wrong_tables_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_scores(text.encode(), "x")


def test_means_of_other_topics_are_not_compared() -> None:
    truth = table_of({"a": [0.9, 0.1], "b": [0.5, 0.5], "c": [0.0, 0.9]})
    judge = table_of({"a": [0.8], "b": [0.4], "c": [0.1]})
    for scores in (truth, judge):
        scores.means.update({run: sum(row.values()) / len(row) for run, row in scores.by_topic.items()})
    comparison = compare(truth, judge)

    assert comparison.coefficients[0].value == 1
    assert (comparison.n_topics, comparison.truth.tolist()) == (1, [0.9, 0.5, 0.0])
    assert comparison.notes == ("means of the 1 topic with a value of each run in both tables",)
    assert np.isnan(comparison.coefficients[0].low)


def test_means_that_are_not_those_of_the_topics_are_noted() -> None:
    by_topic = {run: dict.fromkeys("12345", value) for run, value in (("a", 0.1), ("b", 0.2), ("c", 0.3))}
    truth = Scores("people", "M", {run: values["1"] for run, values in by_topic.items()}, by_topic)
    judge = Scores("judge", "N", {"a": 0.3, "b": 0.2, "c": 0.1}, by_topic)

    comparison = compare(truth, judge, n_resamples=20)

    assert comparison.coefficients[0].value == -1
    assert comparison.notes == ("judge: N of all is not the mean of the topics, as in the intervals",)


def test_correlations_of_many_samples_are_those_of_each() -> None:
    """With ties; the first ranking of the truth ties all runs."""
    rng = np.random.default_rng(1)
    truth, judge = rng.integers(0, 6, (2, 60, 9)) / 6
    truth[0] = 0.5

    many = correlations(truth, judge)

    def overlap(*sides: Values) -> float:
        order = np.array([np.argsort(np.argsort(-side, kind="stable")) + 1 for side in sides]).T
        return rank_biased_overlap(order, 9, 9, PERSISTENCE).extrapolated

    for name, single in (("kendall", kendall_tau), ("tau_ap", tau_ap_b), ("rbo", overlap)):
        expected = [single(*pair) for pair in zip(truth[1:], judge[1:], strict=True)]
        assert np.isnan(many[name][0])
        np.testing.assert_allclose(many[name][1:], expected, rtol=1e-12)
