from itertools import permutations, product

import numpy as np
import pytest
import scipy

from assay.statistics.significance import PairTest
from assay.statistics.tukey import letters, tiers, tukey_hsd, tukey_of_measures
from tests.assay.statistics.test_significance import some_scores


def two_way_p(scores: np.ndarray, i: int, j: int) -> float:
    """Tukey's test with the topics as blocks, from the studentized range."""
    k, n = scores.shape
    residuals = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    degrees = (k - 1) * (n - 1)
    error = np.sqrt((residuals**2).sum() / degrees / n)
    q = abs(scores[i].mean() - scores[j].mean()) / error
    return float(scipy.stats.studentized_range.sf(q, k, degrees))


def all_shuffles_p(tenths: list[list[int]], i: int, j: int) -> float:
    """Share of all ways to shuffle runs within topics whose range reaches the observed difference."""
    by_topic = list(zip(*tenths, strict=True))
    observed = abs(sum(tenths[i]) - sum(tenths[j]))
    n_reached = n_ways = 0
    for way in product(*(permutations(topic) for topic in by_topic)):
        totals = [sum(column) for column in zip(*way, strict=True)]
        n_reached += max(totals) - min(totals) >= observed
        n_ways += 1
    return n_reached / n_ways


def test_p_values_are_close_to_those_of_all_shuffles() -> None:
    tenths = [[1, 4, 2, 7], [3, 5, 2, 9], [6, 5, 8, 9]]

    p = tukey_hsd(np.array(tenths) / 10, n_permutations=20_000, seed=1).p

    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert p[i, j] == pytest.approx(all_shuffles_p(tenths, i, j), abs=0.012)


def test_two_runs_are_a_paired_randomization_test() -> None:
    tenths = [[1, 4, 2, 7, 3], [3, 5, 2, 9, 9]]

    p = tukey_hsd(np.array(tenths) / 10, n_permutations=20_000, seed=1).p

    # of 2^4 sign patterns of the four differences (one topic has none), those of a single sign reach the difference
    assert p[0, 1] == pytest.approx(2 / 2**4, abs=0.008)


def test_topics_count_as_blocks() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 0.05, (6, 80)) + rng.beta(1, 2, 80)
    test = tukey_hsd(scores, seed=4)

    for i, j in ((0, 5), (0, 3), (2, 4), (1, 2)):
        assert test.p[i, j] == pytest.approx(two_way_p(scores, i, j), abs=0.03)
    # a one-way test, with topics as noise, would find no difference
    assert test.p.min() < 0.7 < 0.99 < scipy.stats.tukey_hsd(*scores).pvalue.min()


def test_with_equal_topics_it_agrees_with_the_one_way_test_of_scipy() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(0.5, 0.1, (4, 200))

    expected = scipy.stats.tukey_hsd(*scores).pvalue

    assert tukey_hsd(scores, seed=4).p == pytest.approx(expected, abs=0.04)


def test_seed_gives_the_same_p_values_on_any_machine() -> None:
    scores = np.round(some_scores(n_runs=3, n_topics=30), 4)

    test = tukey_hsd(scores, n_permutations=999, seed=7)

    assert (test.p[np.triu_indices(3, 1)] * 1000).round(6).tolist() == PINNED
    assert test.p.tolist() == tukey_hsd(scores, n_permutations=999, seed=7).p.tolist()
    assert test.p.tolist() != tukey_hsd(scores, n_permutations=999, seed=8).p.tolist()


PINNED = [721.0, 7.0, 54.0]


@pytest.mark.parametrize("n_runs", [2, 3, 8, 9, 65])
def test_every_shuffle_keeps_the_runs_of_a_topic(n_runs: int) -> None:
    from assay.statistics.tukey import _shuffles

    shuffled = np.concatenate(list(_shuffles(n_runs, 3, 40, seed=3)))

    assert shuffled.shape == (40, 3, n_runs)
    assert np.sort(shuffled, axis=2).tolist() == [np.arange(3 * n_runs).reshape(3, n_runs).tolist()] * 40
    assert len({tuple(shuffle.ravel()) for shuffle in shuffled}) > 1


def test_shuffles_put_every_run_in_every_place_equally_often() -> None:
    from assay.statistics.tukey import _shuffles

    shuffled = np.concatenate(list(_shuffles(5, 1, 20_000, seed=3)))[:, 0, :]

    counts = np.array([[(shuffled[:, place] == run).sum() for place in range(5)] for run in range(5)])
    assert counts == pytest.approx(np.full((5, 5), 4000), abs=250)


def test_several_measures_are_tested_as_each_alone() -> None:
    first, second = some_scores(n_runs=5), some_scores(n_runs=5) ** 2

    together = tukey_of_measures([first, second], n_permutations=300, seed=2)

    for scores, test in zip((first, second), together, strict=True):
        alone = tukey_hsd(scores, n_permutations=300, seed=2)
        assert (test.critical, test.p.tolist()) == (alone.critical, alone.p.tolist())
    with pytest.raises(ValueError, match="different shapes"):
        tukey_of_measures([first, first[:, 1:]], seed=2)


def test_easier_topics_do_not_change_p_values() -> None:
    scores = some_scores(n_runs=4)
    easier = scores + np.linspace(0, 5, scores.shape[1])

    assert tukey_hsd(easier, n_permutations=300, seed=1).p == pytest.approx(
        tukey_hsd(scores, n_permutations=300, seed=1).p
    )


def test_order_of_runs_changes_only_the_random_draws() -> None:
    scores = some_scores(n_runs=4)
    order = [2, 0, 3, 1]

    reordered = tukey_hsd(scores[order], seed=1).p

    assert reordered == pytest.approx(tukey_hsd(scores, seed=1).p[np.ix_(order, order)], abs=0.025)


def test_differences_above_the_critical_one_are_significant() -> None:
    test = tukey_hsd(some_scores(n_runs=8), n_permutations=2000, seed=1)
    pairs = np.triu_indices(8, 1)

    assert test.critical is not None
    differs = np.abs(test.difference[pairs])
    assert (differs > test.critical + 1e-9).tolist() == test.is_significant()[pairs].tolist()
    assert 0 < test.is_significant()[pairs].sum() < len(pairs[0])


def test_too_few_shuffles_make_nothing_significant() -> None:
    test = tukey_hsd(some_scores(), n_permutations=10, seed=1)

    assert test.critical is None
    assert not test.is_significant().any()


def test_equal_runs_and_a_single_run_have_p_value_1() -> None:
    assert tukey_hsd(np.full((3, 5), 0.3), n_permutations=50, seed=1).p.tolist() == np.ones((3, 3)).tolist()
    assert tukey_hsd(np.full((1, 5), 0.3), n_permutations=50, seed=1).p.tolist() == [[1.0]]
    assert tiers(tukey_hsd(np.zeros((0, 5)), n_permutations=50, seed=1)) == []


def by_difference(means: list[float], significant_from: float) -> PairTest:
    """A test in which differences are significant from a given size."""
    differs = np.abs(np.subtract.outer(means, means))
    p = np.where(differs >= significant_from, 0.01, 0.9)
    return PairTest("tukey", np.array(means), p, p)


def test_tiers_are_neighbors_that_do_not_differ_significantly() -> None:
    assert tiers(by_difference([0.1, 0.5, 0.45, 0.3, 0.4], 0.12)) == [[1, 2, 4], [4, 3], [0]]


def test_tier_within_another_is_left_out() -> None:
    assert tiers(by_difference([0.5, 0.49, 0.48], 0.2)) == [[0, 1, 2]]
    assert tiers(by_difference([0.5, 0.3, 0.1], 0.15)) == [[0], [1], [2]]


def test_runs_share_a_letter_if_and_only_if_they_do_not_differ_significantly() -> None:
    test = tukey_hsd(some_scores(n_runs=9), n_permutations=2000, seed=1)
    run_letters = letters(tiers(test), 9)

    for i, j in product(range(9), repeat=2):
        if i != j:
            assert bool(set(run_letters[i]) & set(run_letters[j])) == (not test.is_significant()[i, j])


def test_letters_continue_after_z() -> None:
    run_letters = letters([[n] for n in range(28)], 28)

    assert (run_letters[0], run_letters[25], run_letters[26]) == ("a", "z", "(27)")
