import numpy as np
import pytest

from assay.statistics.rank_correlation import kendall_tau
from assay.statistics.topic_stability import default_sizes, topic_stability
from tests.assay.statistics.test_significance import some_scores


def test_more_topics_rank_more_like_all_topics() -> None:
    points = topic_stability(some_scores(n_runs=8), seed=1, n_samples=200)

    assert [point.n_topics for point in points] == [5, 10, 15, 20, 25, 30, 35, 40]
    taus = [point.tau for point in points]
    assert taus == sorted(taus)
    assert (points[-1].tau, points[-1].tau_low, points[-1].tau_high) == pytest.approx((1, 1, 1))
    assert all(point.tau_low <= point.tau <= point.tau_high for point in points)


def test_halves_are_compared_up_to_half_of_the_topics() -> None:
    points = topic_stability(some_scores(n_runs=8), seed=1, n_samples=200)

    assert [point.swaps is None for point in points] == [False] * 4 + [True] * 4
    assert [point.split_tau is None for point in points] == [False] * 4 + [True] * 4
    swaps = [point.swaps for point in points[:4]]
    assert swaps == sorted(swaps, reverse=True)
    # without ties, a pair is swapped or not
    assert points[0].split_tau == pytest.approx(1 - 2 * swaps[0])


def test_runs_with_the_same_order_on_every_topic_need_one_topic() -> None:
    scores = np.array([[0.3], [0.2], [0.1]]) + np.linspace(0, 0.5, 12)

    (point,) = topic_stability(scores, seed=1, sizes=[1], n_samples=20)

    assert point == pytest.approx((1, 1, 1, 1, 1, 0))


def test_each_sample_ranks_by_some_of_the_topics() -> None:
    scores = some_scores(n_runs=4, n_topics=3)

    (point,) = topic_stability(scores, seed=1, sizes=[1], n_samples=3000)

    every = [kendall_tau(scores[:, topic], scores.mean(axis=1)) for topic in range(3)]
    assert point.tau == pytest.approx(np.mean(every), abs=0.03)


def test_same_seed_chooses_the_same_topics() -> None:
    scores = some_scores()

    first, again, other = (topic_stability(scores, seed=seed, n_samples=20) for seed in (1, 1, 2))

    assert first == again != other


def test_tau_of_a_single_run_and_of_runs_that_tie_is_0() -> None:
    for scores in (np.ones((1, 4)), np.ones((3, 4))):
        (point,) = topic_stability(scores, seed=1, sizes=[2], n_samples=5)

        assert point == (2, 0, 0, 0, 0, 0)


def test_all_topics_are_the_last_size() -> None:
    assert default_sizes(12) == [5, 10, 12]
    assert default_sizes(3) == [3]


@pytest.mark.parametrize(
    ("sizes", "n_samples", "seed"), [([0], 5, 1), ([41], 5, 1), ([5], 0, 1), ([5], 5, -1)]
)
def test_sizes_samples_and_seeds_out_of_range_are_refused(
    sizes: list[int], n_samples: int, seed: int
) -> None:
    with pytest.raises(ValueError, match=r"sizes|random draws|the seed"):
        topic_stability(some_scores(), seed=seed, sizes=sizes, n_samples=n_samples)
