import warnings
from typing import Any

import numpy as np
import pytest
import scipy

from assay.statistics.interaction import change_by_time, interaction_change
from assay.statistics.intervals import (
    bootstrap,
    bootstrap_ratio,
    coverage,
    interval_of_ratio,
    intervals_of_means,
    t_quantile,
)


def skewed(n_runs: int = 3, n_topics: int = 50) -> np.ndarray:
    """Scores distributed like average precision: most topics are near 0."""
    return np.random.default_rng(4).beta(0.5, 2.0, (n_runs, n_topics))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("degrees", [1, 2, 9, 200])
def test_quantiles_of_t_agree_with_scipy(level: float, degrees: int) -> None:
    assert t_quantile(level, degrees) == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, degrees), rel=1e-9)


def test_interval_of_values_without_skew_is_that_of_t() -> None:
    scores = np.array([[0.1, 0.3, 0.4, 0.5, 0.7]])

    intervals = intervals_of_means(scores)

    error = scipy.stats.sem(scores[0])
    assert (intervals.low[0], intervals.high[0]) == pytest.approx(scipy.stats.t.interval(0.95, 4, 0.4, error))


def test_interval_of_skewed_values_contains_that_of_t_and_reaches_farther_to_their_tail() -> None:
    scores = skewed(n_runs=1)
    intervals = intervals_of_means(scores)

    low, high = scipy.stats.t.interval(0.95, 49, scores.mean(), scipy.stats.sem(scores[0]))

    assert intervals.low[0] <= low + 1e-12
    assert intervals.high[0] > high
    assert intervals.high[0] - scores.mean() > 1.1 * (scores.mean() - intervals.low[0])


@pytest.mark.parametrize("n_topics", [10, 25, 50])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, size: rng.beta(0.5, 2.0, size),  # like average precision
        lambda rng, size: rng.beta(2.0, 2.5, size),  # like nDCG
        lambda rng, size: rng.binomial(10, rng.beta(0.6, 1.4, size)) / 10,  # like P@10
        lambda rng, size: 1.0 / rng.geometric(rng.beta(1.0, 1.2, size)),  # like RR
        lambda rng, size: rng.beta(0.5, 2.0, size) - rng.beta(0.5, 2.2, size),
    ],
)
def test_intervals_contain_the_true_mean_as_often_as_they_say(draw: Any, n_topics: int) -> None:
    rng = np.random.default_rng(3)
    mean = draw(rng, 1_000_000).mean()

    intervals = intervals_of_means(draw(rng, (2000, n_topics)))

    assert ((intervals.low <= mean) & (mean <= intervals.high)).mean() >= 0.93


def test_interval_does_not_leave_the_possible_values() -> None:
    scores = np.array([[0.0, 0.0, 0.1, 0.9, 0.0]])

    intervals = intervals_of_means(scores, within=(0.0, 1.0))

    assert (intervals.low[0], intervals.high[0]) == (0.0, 1.0)


def test_interval_of_equal_values_and_of_a_single_topic_is_undefined() -> None:
    for scores in (np.full((1, 7), 0.3), np.array([[0.3]])):
        intervals = intervals_of_means(scores)

        assert np.isnan([intervals.low[0], intervals.high[0]]).all()


def test_coverage_is_stated_for_the_simulated_level_only() -> None:
    assert "with 25 topics, 93 to 99 of 100" in coverage(30)
    assert "with 5 topics, 70 to 100 of 100" in coverage(9, "bca")
    assert coverage(2) == coverage(30, level=0.9) == ""


def test_bca_interval_agrees_with_scipy() -> None:
    scores = skewed()

    intervals = bootstrap(scores, seed=1, n_resamples=20_000)

    for run in range(3):
        expected = scipy.stats.bootstrap(
            (scores[run],), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(2)
        ).confidence_interval
        assert (intervals.low[run], intervals.high[run]) == pytest.approx(expected, abs=0.004)


def test_interval_of_skewed_scores_is_wider_above_the_mean() -> None:
    scores = skewed(n_runs=1)

    intervals = bootstrap(scores, seed=1)

    assert intervals.high[0] - intervals.means[0] > 1.1 * (intervals.means[0] - intervals.low[0])
    assert 0 < intervals.low[0] < scores.mean() < intervals.high[0] < 1


def test_interval_covers_the_true_mean_about_as_often_as_its_level() -> None:
    rng = np.random.default_rng(8)
    samples = rng.beta(0.5, 2.0, (400, 40))  # 400 experiments of 40 topics; the true mean is 0.2

    intervals = bootstrap(samples, seed=1, n_resamples=1000, level=0.9)

    coverage = ((intervals.low <= 0.2) & (intervals.high >= 0.2)).mean()
    assert 0.85 < coverage < 0.95


def test_higher_level_gives_a_wider_interval() -> None:
    narrow, wide = (bootstrap(skewed(), seed=1, level=level) for level in (0.8, 0.99))

    assert (wide.low < narrow.low).all()
    assert (wide.high > narrow.high).all()


def test_same_seed_gives_the_same_interval_and_the_same_resamples_to_all_runs() -> None:
    scores = skewed()
    intervals = bootstrap(scores, seed=6)

    again, other, alone = bootstrap(scores, seed=6), bootstrap(scores, seed=7), bootstrap(scores[1:2], seed=6)

    assert (again.low.tolist(), again.high.tolist()) == (intervals.low.tolist(), intervals.high.tolist())
    assert other.low.tolist() != intervals.low.tolist()
    assert alone.low[0] == pytest.approx(intervals.low[1])


def test_resamples_in_several_blocks_agree_with_one_block() -> None:
    scores = skewed(n_runs=1, n_topics=700)

    in_blocks, at_once = (bootstrap(scores, seed=1, n_resamples=n) for n in (4000, 2900))

    assert in_blocks.low == pytest.approx(at_once.low, abs=0.003)


def test_bca_interval_of_equal_scores_and_of_a_single_topic_is_their_value() -> None:
    for scores in (np.full((1, 7), 0.3), np.array([[0.3]])):
        intervals = bootstrap(scores, seed=1)

        assert (intervals.low[0], intervals.high[0]) == pytest.approx((0.3, 0.3))


def test_scores_that_are_0_but_for_one_topic_give_an_interval_without_warnings() -> None:
    scores = np.zeros((1, 30))
    scores[0, 4] = 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        intervals = bootstrap(scores, seed=1, level=0.9999, n_resamples=200)

    assert 0 <= intervals.low[0] <= 1 / 30 <= intervals.high[0] <= 1


def test_single_resample_gives_an_interval() -> None:
    intervals = bootstrap(skewed(), seed=1, n_resamples=1)

    assert (intervals.low == intervals.high).all()


@pytest.mark.parametrize(
    ("level", "n_resamples", "seed"),
    [(0, 10, 1), (1, 10, 1), (0.95, 0, 1), (0.95, 10, -1), (0.95, 10, 2**63)],
)
def test_levels_numbers_and_seeds_out_of_range_are_refused(level: float, n_resamples: int, seed: int) -> None:
    with pytest.raises(ValueError, match=r"the level|random draws|the seed"):
        bootstrap(skewed(), level=level, n_resamples=n_resamples, seed=seed)
    if not 0 < level < 1:
        with pytest.raises(ValueError, match="the level"):
            intervals_of_means(skewed(), level=level)


def test_ratio_with_equal_denominators_has_the_interval_of_the_mean() -> None:
    values = skewed()[0]
    counts = np.stack([values, np.ones_like(values)], axis=1)

    ends = bootstrap_ratio(counts, lambda sums: sums[:, 0] / sums[:, 1], seed=3, n_resamples=500)

    mean = bootstrap(values[np.newaxis], seed=3, n_resamples=500)
    assert ends == pytest.approx((mean.low[0], mean.high[0]), abs=1e-12)


def test_interval_of_a_ratio_covers_it() -> None:
    """Of binomial counts with a known share, over topics of unequal size; 95 % intervals of 1,000 samples."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(1000):
        sizes = rng.integers(1, 40, size=10)
        counts = np.stack([rng.binomial(sizes, 0.3), sizes], axis=1).astype(np.float64)
        low, high = interval_of_ratio(counts, lambda sums: sums[:, 0] / sums[:, 1])
        covered += low <= 0.3 <= high

    assert 930 <= covered <= 980


def test_interval_of_a_ratio_with_equal_denominators_is_that_of_the_mean() -> None:
    values = skewed()[0]
    counts = np.stack([values, np.ones_like(values)], axis=1)

    ends = interval_of_ratio(counts, lambda sums: sums[:, 0] / sums[:, 1])

    mean = intervals_of_means(values[np.newaxis])
    assert ends == pytest.approx((mean.low[0], mean.high[0]))


BEFORE = {"T1": 0.2, "T2": 0.5, "T3": 0.0, "T4": 0.1}
AFTER = {"T1": 0.6, "T2": 0.4, "T3": 0.0}  # T4 is missing from the run: 0
SECONDS = {"T1": 100.0, "T2": 30.0, "T9": 5.0}  # T9 is not in the qrels


def test_change_is_over_the_interacted_topics_and_over_all() -> None:
    change = interaction_change(BEFORE, AFTER, SECONDS)

    assert [(each.topic, each.seconds, round(each.change, 9)) for each in change.sessions] == [
        ("T1", 100.0, 0.4), ("T2", 30.0, -0.1)
    ]  # fmt: skip
    assert change.interacted == (2, pytest.approx(0.35), pytest.approx(0.5))
    assert change.interacted.change == pytest.approx(0.15)
    assert change.all_topics == (4, pytest.approx(0.2), pytest.approx(0.25))
    assert change.mean_seconds == 65.0


def test_change_by_the_time_used() -> None:
    points = change_by_time(interaction_change(BEFORE, AFTER, SECONDS).sessions, 120)

    assert [point.seconds for point in points] == [15, 30, 45, 60, 75, 90, 105, 120]
    assert [point.n_sessions for point in points] == [0, 1, 1, 1, 1, 1, 2, 2]
    assert points[0].change is None
    assert points[1].change == pytest.approx(-0.1)
    assert points[7].change == pytest.approx(0.15)


def test_no_session_changes_nothing() -> None:
    change = interaction_change(BEFORE, AFTER, {})

    assert (change.sessions, change.interacted, change.mean_seconds) == ([], (0, 0.0, 0.0), 0.0)
