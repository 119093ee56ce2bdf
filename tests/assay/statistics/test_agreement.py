import json
import math
import warnings
from dataclasses import astuple
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics.agreement import (
    Kappa,
    Patterns,
    cohen_kappa,
    confusion,
    gwet_ac,
    krippendorff_alpha,
    shared_units,
)

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30)

# Krippendorff (2011): the example with four observers, twelve units and missing data
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def published() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit, judge and grade of each judgment."""
    rows = [
        (unit, judge, int(grade))
        for judge, line in enumerate(OBSERVERS)
        for unit, grade in enumerate(line.split())
        if grade != "."
    ]
    unit, judge, grade = np.array(rows).T
    return unit, judge, grade


@given(PAIRS)
@settings(max_examples=50, deadline=None)
def test_kappa_agrees_with_statsmodels(pairs: list[tuple[int, int]]) -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    first, second = np.array(pairs).T
    _, table = confusion(first, second)
    if len(table) < 2:
        return

    for weights, theirs in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its standard error divides by 0 if all agree
            expected = cohens_kappa(table, wt=theirs, return_results=False)
        assert cohen_kappa(first, second, weights=weights).value == pytest.approx(expected)


@given(PAIRS)
@settings(max_examples=50, deadline=None)
def test_standard_error_of_kappa_is_that_of_kappas_without_one_unit(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs).T
    n = len(pairs)
    error = cohen_kappa(first, second, weights="linear", scale=range(4)).error

    without = [
        cohen_kappa(np.delete(first, n_), np.delete(second, n_), weights="linear", scale=range(4)).value
        for n_ in range(n)
    ]

    assert error == pytest.approx(np.std(without) * math.sqrt(n - 1), nan_ok=True)


def test_weights_count_the_steps_of_the_scale_and_not_of_the_grades_that_occur() -> None:
    first, second = np.array([0, 0, 1, 3, 3, 1]), np.array([0, 1, 1, 3, 1, 0])

    without_scale, kappa = (
        cohen_kappa(first, second, weights="linear", scale=scale).value for scale in ((), range(4))
    )

    distance, chance = np.abs(first - second).mean(), np.abs(np.subtract.outer(first, second)).mean()
    assert kappa == pytest.approx(1 - distance / chance)
    assert without_scale != pytest.approx(kappa)


JUDGED = st.lists(
    st.lists(st.sampled_from([None, 0, 1, 2, 3]), min_size=3, max_size=3), min_size=1, max_size=20
)


@given(JUDGED)
@settings(max_examples=50, deadline=None)
def test_alpha_agrees_with_the_package_krippendorff(rows: list[list[int | None]]) -> None:
    unit = np.array([n for n, row in enumerate(rows) for grade in row if grade is not None], dtype=int)
    grade = np.array([grade for row in rows for grade in row if grade is not None], dtype=int)

    for metric in ("nominal", "ordinal", "interval"):
        alpha = krippendorff_alpha(unit, grade, metric=metric)
        if math.isnan(alpha):
            continue
        theirs = krippendorff.alpha(
            reliability_data=np.array(rows, dtype=float).T, level_of_measurement=metric
        )
        assert alpha == pytest.approx(theirs)


@given(PAIRS)
@settings(max_examples=50, deadline=None)
def test_kappa_is_symmetric(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs).T

    back = astuple(cohen_kappa(second, first))
    assert astuple(cohen_kappa(first, second)) == pytest.approx(back, nan_ok=True)


def test_kappa_agrees_with_the_calculation_by_hand() -> None:
    first, second = np.array([1, 1, 1, 0, 0, 0, 0, 1, 0, 1]), np.array([1, 1, 0, 0, 0, 0, 0, 1, 1, 1])

    kappa = cohen_kappa(first, second)

    # 8 of 10 agree; both give 1 to half of the units, so chance gives 0.5
    assert astuple(kappa)[:4] == pytest.approx((10, 0.8, 0.5, 0.6))
    assert [math.atanh(end) for end in kappa.interval(0.95)] == pytest.approx(
        [math.atanh(0.6) + sign * 2.262157 * kappa.error / 0.64 for sign in (-1, 1)]
    )


def test_interval_of_an_undefined_kappa_is_undefined() -> None:
    kappa = cohen_kappa(np.array([2, 2]), np.array([2, 2]))

    assert all(math.isnan(end) for end in kappa.interval())


def test_interval_of_kappa_stays_between_minus_1_and_1() -> None:
    low, high = Kappa(4, 0.9, 0.5, 0.8, 0.3).interval()

    assert -1 < low < 0.8 < high < 1


def test_interval_of_units_that_all_agree_is_undefined() -> None:
    grades = np.array([0, 1, 2])
    unit, grade = np.repeat(np.arange(60), 2), np.repeat([0, 1], 60)

    assert cohen_kappa(grades, grades).value == 1
    assert not cohen_kappa(grades, grades).interval().is_defined
    assert not Patterns.of(unit, grade).interval("nominal").is_defined


@pytest.mark.parametrize("n_units", [12, 25, 50])
def test_intervals_of_kappa_contain_it_as_often_as_they_say(n_units: int) -> None:
    rng, share = np.random.default_rng(1), 0.5
    n_within = n_defined = 0
    for _ in range(400):
        first, other = rng.choice(4, (2, n_units), p=(0.4, 0.3, 0.2, 0.1))
        low, high = cohen_kappa(first, np.where(rng.random(n_units) < share, first, other)).interval()
        n_within, n_defined = n_within + (low <= share <= high), n_defined + (low <= high)

    assert n_within >= 0.93 * n_defined


def test_interval_of_alpha_contains_it() -> None:
    unit, _, grade = published()

    interval = Patterns.of(unit, grade).interval("nominal")

    assert interval.low < krippendorff_alpha(unit, grade, metric="nominal") < interval.high


def test_interval_of_alpha_narrows_with_more_units() -> None:
    unit, _, grade = published()
    more = np.concatenate([unit + 100 * n for n in range(16)])

    few, many = (
        Patterns.of(units, np.tile(grade, n)).interval("ordinal") for units, n in ((unit, 1), (more, 16))
    )

    # sixteen times the units: a quarter of the width, roughly
    assert 3 < (few.high - few.low) / (many.high - many.low) < 6


def test_interval_of_an_undefined_alpha_is_undefined() -> None:
    for unit, grade in (([], []), ([1, 2], [0, 3]), ([1, 1], [2, 2])):
        interval = Patterns.of(np.array(unit, dtype=int), np.array(grade, dtype=int)).interval("ordinal")
        assert all(math.isnan(end) for end in interval)


def test_kappa_is_undefined_if_chance_gives_perfect_agreement() -> None:
    assert math.isnan(cohen_kappa(np.array([2, 2]), np.array([2, 2])).value)
    assert cohen_kappa(np.array([2, 2]), np.array([2, 2])).observed == 1
    assert math.isnan(cohen_kappa(np.zeros(0, dtype=int), np.zeros(0, dtype=int)).value)


@pytest.mark.parametrize(
    ("metric", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_agrees_with_the_published_example(metric: str, expected: float) -> None:
    unit, _, grade = published()

    assert krippendorff_alpha(unit, grade, metric=metric) == pytest.approx(expected, abs=5e-4)


def test_alpha_is_undefined_without_units_judged_twice_or_with_one_grade() -> None:
    for unit, grade in (([], []), ([1, 2], [0, 3]), ([1, 1], [2, 2])):
        for metric in ("nominal", "ordinal", "interval"):
            alpha = krippendorff_alpha(np.array(unit, dtype=int), np.array(grade, dtype=int), metric=metric)
            assert math.isnan(alpha)


def test_alpha_of_perfect_agreement_is_1() -> None:
    assert krippendorff_alpha(np.array([1, 1, 7, 7]), np.array([0, 0, 3, 3])) == 1


def test_two_judges_are_compared_on_the_units_that_both_judged() -> None:
    unit, judge, grade = published()

    pairs = {(pair.first, pair.second): pair for pair in shared_units(unit, judge)}

    assert set(pairs) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    pair = pairs[0, 2]
    assert unit[pair.of_first].tolist() == unit[pair.of_second].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert grade[pair.of_second].tolist() == [3, 3, 3, 2, 3, 4, 2, 2]


def test_judges_without_shared_units_are_not_a_pair() -> None:
    assert list(shared_units(np.array([1, 2]), np.array([0, 1]))) == []


def test_judgments_of_other_units_are_refused() -> None:
    with pytest.raises(ValueError, match="same units"):
        cohen_kappa(np.zeros(2, dtype=int), np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="one of each"):
        krippendorff_alpha(np.zeros(2, dtype=int), np.zeros(3, dtype=int))


WEIGHTS = {"none": "identity", "linear": "linear", "quadratic": "quadratic"}


@pytest.mark.parametrize(
    "name",
    ["a_five_raters", "b_skewed", "c_unused_category", "d_two_raters_complete", "e_all_agree", "f_no_pair"],
)
def test_ac_is_that_of_irrcac(data: Path, name: str) -> None:
    folder = data / "judges" / "agreement"
    unit, _, grade = np.loadtxt(folder / f"{name}.tsv", dtype=str, skiprows=1).T
    answers = json.loads((folder / "answers.json").read_text())[name]
    scale = [int(category) for category in answers["categories"] or ()]
    for weights, theirs in WEIGHTS.items():
        ac = gwet_ac(unit.astype(np.int64), grade.astype(np.int64), weights=weights, scale=scale)
        expected = answers["values"][f"gwet/{theirs}"]
        if expected["coefficient_value"] is None:
            assert math.isnan(ac.value)
            continue
        assert ac.value == pytest.approx(expected["coefficient_value"], abs=1e-9)
        assert ac.error == pytest.approx(expected["se"], abs=1e-9)
        if expected["se"]:
            assert ac.interval() == pytest.approx(expected["confidence_interval"], abs=1e-9)
        else:
            assert not ac.interval().is_defined


def test_ac_of_real_grades(data: Path) -> None:
    folder = data / "judges"
    people, machine = (
        np.loadtxt(folder / "rag25" / f"{name}.qrels", dtype=str, comments=None)
        for name in ("people", "machine")
    )
    assert np.array_equal(people[:, :3], machine[:, :3])
    panel = np.loadtxt(folder / "panel" / "grades.tsv", dtype=str, skiprows=1)[:, 2:].astype(np.int64)
    of_two = np.column_stack((people[:, 3], machine[:, 3])).astype(np.int64)
    for grades, answers, key in (
        (of_two, "rag25/agreement.answers.json", "coefficient_value"),
        (panel, "panel/answers.json", "coefficient"),
    ):
        expected = json.loads((folder / answers).read_text())
        unit = np.repeat(np.arange(len(grades)), grades.shape[1])
        for weights, theirs in WEIGHTS.items():
            ac = gwet_ac(unit, grades.ravel(), weights=weights, scale=range(5))
            values = expected[f"gwet/{theirs}"]
            assert (ac.value, ac.error) == pytest.approx((values[key], values["se"]), abs=1e-7)


def test_ac_with_one_grade_is_undefined() -> None:
    unit, grade = np.array([1, 1, 2, 2]), np.ones(4, dtype=np.int64)
    assert math.isnan(gwet_ac(unit, grade).value)  # irrCAC has 1
    assert gwet_ac(unit, grade, scale=(0, 1)).value == 1
