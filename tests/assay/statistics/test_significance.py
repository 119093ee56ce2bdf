from itertools import pairwise, product
from random import Random

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics.significance import (
    PairTest,
    holm,
    packed_pairs,
    paired_t,
    randomization,
    t_statistics,
    two_sided_p,
    unpacked_pairs,
    wilcoxon,
)

TENTHS = st.integers(0, 10).map(lambda tenth: tenth / 10)


@st.composite
def score_tables(draw: st.DrawFn, most_topics: int = 8) -> np.ndarray:
    n_runs, n_topics = draw(st.integers(2, 4)), draw(st.integers(1, most_topics))
    return np.array(draw(st.lists(TENTHS, min_size=n_runs * n_topics, max_size=n_runs * n_topics))).reshape(
        n_runs, n_topics
    )


def some_scores(n_runs: int = 5, n_topics: int = 40, seed: int = 1) -> np.ndarray:
    """Runs that differ a little, on topics that differ a lot."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(1, 2, n_topics) + rng.normal(0, 0.1, (n_runs, n_topics))
    return np.clip(scores + np.linspace(0, 0.08, n_runs)[:, None], 0, 1)


def enumerated_p(first: np.ndarray, second: np.ndarray) -> float:
    """Share of all sign patterns that reach the observed difference; in tenths, so that equal values tie."""
    differences = np.rint((first - second) * 10).astype(int).tolist()
    observed = abs(sum(differences))
    totals = [
        abs(sum(sign * difference for sign, difference in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(total >= observed for total in totals) / len(totals)


@given(score_tables())
@settings(max_examples=50, deadline=None)
def test_few_topics_are_tested_with_all_sign_patterns(scores: np.ndarray) -> None:
    test = randomization(scores, seed=1)

    assert (test.is_exact, test.seed, test.n_permutations) == (True, None, 2 ** scores.shape[1])
    for i, j in product(range(len(scores)), repeat=2):
        assert test.p[i, j] == pytest.approx(enumerated_p(scores[i], scores[j]) if i != j else 1.0)


def test_random_patterns_are_close_to_all_patterns() -> None:
    scores = np.round(some_scores(n_runs=3, n_topics=12), 1)
    drawn = randomization(scores, n_permutations=4000, seed=5)

    assert not drawn.is_exact
    assert drawn.p == pytest.approx(randomization(scores, seed=5).p, abs=0.025)


@pytest.mark.parametrize("places", [1, 4])  # with one, many differences tie
def test_sampled_tails_are_close_to_all_patterns(monkeypatch: pytest.MonkeyPatch, places: int) -> None:
    monkeypatch.setattr("assay.statistics.significance.MOST_COMPARED", 0)
    scores = np.round(some_scores(n_runs=6, n_topics=14) + np.linspace(0, 0.5, 6)[:, None], places)
    scores[5] = scores[0] + 0.25  # higher on every topic: only 2 of 2^14 patterns reach the difference

    test = randomization(scores, seed=1)

    assert (test.n_permutations, test.n_tilted) == (10_000, 1000)
    assert test.p[0, 5] == pytest.approx(2 / 2**14, rel=0.001)
    exact = randomization(scores, n_permutations=2**14, seed=1).p
    tails = [(i, j) for i, j in zip(*np.triu_indices(6, 1), strict=True) if test.p[i, j] < 0.01]
    assert len(tails) > 4
    assert [test.p[pair] for pair in tails] == pytest.approx([exact[pair] for pair in tails], rel=0.3)


def test_p_value_agrees_with_scipy() -> None:
    scores = some_scores()
    expected = scipy.stats.permutation_test(
        (scores[0] - scores[4],),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(3),
    )

    assert randomization(scores, n_permutations=20_000, seed=3).p[0, 4] == pytest.approx(
        expected.pvalue, abs=0.01
    )


def test_seed_gives_the_same_p_values_on_any_machine() -> None:
    scores = np.round(some_scores(n_runs=3, n_topics=30), 4)

    test = randomization(scores, n_permutations=999, seed=7)

    assert (test.p[np.triu_indices(3, 1)] * 1000).round(6).tolist() == PINNED
    assert test.p.tolist() == randomization(scores, n_permutations=999, seed=7).p.tolist()
    assert test.p.tolist() != randomization(scores, n_permutations=999, seed=8).p.tolist()


PINNED = [343.0, 2.0, 42.0]


def test_p_value_of_random_patterns_is_never_0_and_that_of_equal_runs_is_1() -> None:
    scores = np.vstack((np.zeros(50), np.full(50, 0.5), np.full(50, 0.5)))

    p = randomization(scores, n_permutations=99, seed=1).p

    assert p.tolist() == [[1.0, 0.01, 0.01], [0.01, 1.0, 1.0], [0.01, 1.0, 1.0]]


@given(score_tables(20), st.randoms())
@settings(max_examples=30, deadline=None)
def test_order_of_runs_does_not_change_p_values(scores: np.ndarray, random: Random) -> None:
    order = list(range(len(scores)))
    random.shuffle(order)
    for test in (lambda table: randomization(table, n_permutations=50, seed=2), paired_t, wilcoxon):
        reordered, original = test(scores[order]), test(scores)

        places = np.ix_(order, order)
        assert reordered.p == pytest.approx(original.p[places], nan_ok=True)
        assert reordered.adjusted == pytest.approx(original.adjusted[places], nan_ok=True)
        assert original.p == pytest.approx(original.p.T, nan_ok=True)


@given(score_tables(20), st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_easier_topics_do_not_change_p_values(scores: np.ndarray, tenths: int) -> None:
    easier = scores.copy()
    easier[:, 0] += tenths / 10

    assert randomization(easier, n_permutations=50, seed=2).p == pytest.approx(
        randomization(scores, n_permutations=50, seed=2).p
    )


def test_scale_of_the_scores_does_not_change_p_values() -> None:
    scores = some_scores()
    small = randomization(scores, n_permutations=500, seed=1)

    assert randomization(scores * 1e6, n_permutations=500, seed=1).p == pytest.approx(small.p)
    assert randomization(-scores, n_permutations=500, seed=1).p == pytest.approx(small.p)


def test_t_agrees_with_scipy() -> None:
    scores = some_scores()
    test = paired_t(scores)

    for i, j in ((0, 1), (0, 4), (3, 2)):
        expected = scipy.stats.ttest_rel(scores[i], scores[j])
        assert t_statistics(scores)[i, j] == pytest.approx(expected.statistic)
        assert test.p[i, j] == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("degrees", [1, 2, 5, 30, 99, 999])
def test_tails_of_t_agree_with_scipy(degrees: int) -> None:
    t = np.array([0.0, 1e-6, 0.1, 1.0, -2.5, 7.0, 40.0, np.inf, -np.inf, 1e200])

    assert two_sided_p(t, degrees) == pytest.approx(2 * scipy.stats.t.sf(np.abs(t), degrees), rel=1e-9)


def test_t_of_constant_differences_has_p_value_0_and_that_of_equal_runs_is_undefined() -> None:
    level = np.array([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.2, 0.3, 0.4]])

    test, single = paired_t(level), paired_t(level[:, :1])

    expected = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, np.nan], [0.0, np.nan, 1.0]])
    assert np.array_equal(test.p, expected, equal_nan=True)
    assert np.isnan(t_statistics(level)[1, 2])
    assert np.isnan(single.p[0, 1])
    assert np.isnan(single.adjusted[0, 1])


@pytest.mark.parametrize("n_topics", [1, 5, 13, 14, 50, 51, 200])
@pytest.mark.parametrize("places", [4, 30])
def test_signed_ranks_agree_with_scipy(n_topics: int, places: int) -> None:
    """With four binary places many differences tie or are 0, with thirty none."""
    scores = np.ldexp(np.rint(np.ldexp(some_scores(n_topics=n_topics), places)), -places)

    test = wilcoxon(scores)

    assert (test.p == test.p.T).all()
    for i, j in ((0, 0), (0, 1), (2, 1), (3, 4)):
        differs = bool((scores[i] != scores[j]).any())
        expected = scipy.stats.wilcoxon(scores[i], scores[j]).pvalue if differs else 1.0
        assert test.p[i, j] == pytest.approx(expected, rel=1e-9)
    pairs = np.triu_indices(5, 1)
    assert test.adjusted[pairs].tolist() == pytest.approx(holm(test.p[pairs]).tolist())


def test_differences_that_are_equal_in_decimals_share_their_rank() -> None:
    """0.3 - 0.1 and 0.6 - 0.4 differ in the last bit. Of 8 patterns of the ranks 1, 2.5 and 2.5, 2 reach 6 or 0."""
    scores = np.array([[0.3, 0.6, 0.4, 0.5], [0.1, 0.4, 0.3, 0.5]])

    assert wilcoxon(scores).p[0, 1] == 2 / 8
    assert wilcoxon(scores * np.array([1, 1, -1, 1])).p[0, 1] == 4 / 8


@given(st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=20, deadline=None)
def test_holm_agrees_with_statsmodels(p: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p, method="holm")[1].tolist() if p else []

    assert holm(np.array(p)).tolist() == pytest.approx(expected)


def test_pairs_are_adjusted_together() -> None:
    test = paired_t(some_scores())
    pairs = np.triu_indices(5, 1)

    assert test.adjusted[pairs].tolist() == pytest.approx(holm(test.p[pairs]).tolist())


def test_discriminative_power_is_the_share_of_significant_pairs() -> None:
    p = np.array([[1, 0.01, 0.05], [0.01, 1, 0.2], [0.05, 0.2, 1]])
    test = PairTest("t", np.array([0.1, 0.2, 0.3]), p, p)

    assert test.share_significant() == pytest.approx(2 / 3)
    assert test.share_significant(0.01) == pytest.approx(1 / 3)
    assert PairTest("t", np.zeros(1), np.eye(1), np.eye(1)).share_significant() == 0.0


def test_values_of_pairs_survive_packing() -> None:
    test = randomization(some_scores(), n_permutations=200, seed=9)

    packed = packed_pairs(test.p)

    assert unpacked_pairs(packed, len(test.p)).tolist() == test.p.tolist()
    with pytest.raises(ValueError, match="2 runs have 1"):
        unpacked_pairs(packed, 2)


def test_progress_counts_up_to_all_permutations() -> None:
    reports: list[tuple[int, int]] = []

    randomization(some_scores(), n_permutations=2500, seed=1, progress=lambda *report: reports.append(report))

    assert reports[-1] == (2500, 2500)
    assert all(done < done_next for (done, _), (done_next, _) in pairwise(reports))


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((2, 0)), np.array([[0.1, np.nan]])])
def test_scores_of_another_shape_or_not_finite_are_refused(scores: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"shape|finite"):
        randomization(scores, seed=1)
    with pytest.raises(ValueError, match=r"shape|finite"):
        paired_t(scores)
    with pytest.raises(ValueError, match=r"shape|finite"):
        wilcoxon(scores)


@pytest.mark.parametrize(("n_permutations", "seed"), [(0, 1), (10, -1), (10, 2**63)])
def test_permutations_and_seeds_out_of_range_are_refused(n_permutations: int, seed: int) -> None:
    with pytest.raises(ValueError, match=r"random draws|seed"):
        randomization(np.zeros((2, 20)), n_permutations=n_permutations, seed=seed)
