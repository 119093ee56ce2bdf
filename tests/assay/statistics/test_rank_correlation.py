import json
import math
from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.runs.columns import RunColumns
from assay.statistics.rank_correlation import (
    DEPTHS,
    Overlap,
    difference_of_topic,
    kendall_tau,
    moves_of_topic,
    overlap_of_runs,
    rank_biased_overlap,
    ranks,
    tau_ap,
    tau_ap_b,
    topics_of_both,
)
from assay.statistics.ranking_comparison import ALL, UNLABELED, compare_by_label, compare_rankings
from assay.tables import plain
from tests.helpers.real_files import make_run

# The example of ircor, the package by the authors of tau_AP with ties, and the values that it prints.
X = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
Y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
X_TIED, Y_TIED = np.round(X * 5) / 5, np.round(Y * 5) / 5

RANKINGS = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def scores(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@given(RANKINGS)
@settings(deadline=None)
def test_tau_agrees_with_scipy(pair: tuple[list[int], list[int]]) -> None:
    first, second = map(scores, pair)

    expected = scipy.stats.kendalltau(first, second).statistic

    assert kendall_tau(first, second) == pytest.approx(expected, nan_ok=True)
    assert kendall_tau(second, first) == pytest.approx(expected, nan_ok=True)


def test_correlation_is_undefined_for_fewer_than_two_runs_and_if_all_tie() -> None:
    assert math.isnan(kendall_tau(np.zeros(0), np.zeros(0)))
    assert math.isnan(tau_ap(np.ones(1), np.ones(1)))
    assert math.isnan(tau_ap_b(np.ones(3), np.arange(3.0)))


def test_ap_correlation_agrees_with_the_package_of_its_authors() -> None:
    assert tau_ap(X, Y) == pytest.approx(0.7491182, abs=1e-7)
    assert tau_ap(X, Y_TIED) == pytest.approx(0.6074515, abs=1e-7)
    assert kendall_tau(X_TIED, Y_TIED) == pytest.approx(0.75)
    assert tau_ap_b(X_TIED, Y_TIED) == pytest.approx(0.6269841, abs=1e-7)


def plain_tau_ap(reference: list[int], order: list[int]) -> float:
    """The definition of the paper: for each place but the first, the share of runs above it that belong there."""
    total = 0.0
    for place in range(1, len(order)):
        above = [reference[run] - reference[order[place]] for run in order[:place]]
        total += sum((1 if more > 0 else 0.5 if more == 0 else 0) for more in above) / place
    return 2 * total / (len(order) - 1) - 1


@given(RANKINGS.filter(lambda pair: len(pair[0]) <= 5))
@settings(deadline=None)
def test_ties_in_the_estimate_count_as_the_mean_of_all_orders(pair: tuple[list[int], list[int]]) -> None:
    reference, estimate = pair
    orders = [
        list(order)
        for order in permutations(range(len(estimate)))
        if all(estimate[a] >= estimate[b] for a, b in pairwise(order))
    ]
    expected = sum(plain_tau_ap(reference, order) for order in orders) / len(orders)

    correlation = tau_ap(scores(reference), scores(estimate))

    # within a group of ties every pair counts half, whatever its order in the reference
    assert correlation == pytest.approx(expected)


def test_swap_at_the_top_costs_more_than_one_at_the_bottom() -> None:
    reference = np.arange(10.0)
    top, bottom = reference.copy(), reference.copy()
    top[[8, 9]] = top[[9, 8]]
    bottom[[0, 1]] = bottom[[1, 0]]

    assert tau_ap(reference, top) < tau_ap(reference, bottom) < 1
    assert kendall_tau(reference, top) == pytest.approx(kendall_tau(reference, bottom))


@given(RANKINGS)
@settings(deadline=None)
def test_symmetric_form_is_symmetric(pair: tuple[list[int], list[int]]) -> None:
    first, second = map(scores, pair)

    assert tau_ap_b(first, second) == pytest.approx(tau_ap_b(second, first), nan_ok=True)


def test_equal_and_reversed_rankings_are_1_and_minus_1() -> None:
    for correlation in (kendall_tau, tau_ap, tau_ap_b):
        assert correlation(X, X) == pytest.approx(1)
        assert correlation(X, -X) == pytest.approx(-1)


def test_rankings_of_other_runs_are_refused() -> None:
    for correlation in (kendall_tau, tau_ap, tau_ap_b):
        with pytest.raises(ValueError, match="same runs"):
            correlation(np.zeros(2), np.zeros(3))


def test_equal_scores_share_the_better_place() -> None:
    assert ranks(np.array([0.2, 0.9, 0.2, 0.1])).tolist() == [2, 1, 2, 4]


def test_means_that_differ_by_rounding_errors_tie() -> None:
    means = np.array([0.1 + 0.2, 0.3, 0.1])

    assert ranks(means).tolist() == [1, 1, 3]
    assert kendall_tau(means, np.array([0.5, 0.5, 0.4])) == pytest.approx(1)


def of_letters(first: str, second: str, p: float = 0.9) -> Overlap:
    ranks = [(first.index(letter) + 1, second.index(letter) + 1) for letter in first if letter in second]
    return rank_biased_overlap(np.array(ranks, dtype=np.int64).reshape(-1, 2), len(first), len(second), p)


def summed(first: str, second: str, p: float, depth: int = 2000) -> float:
    """The definition: weighted agreement at each depth, if the lists share nothing below their ends."""
    shares = ((1 - p) * p ** (d - 1) * len(set(first[:d]) & set(second[:d])) / d for d in range(1, depth))
    return sum(shares)


@pytest.mark.parametrize(
    ("first", "second"),
    [("abcdefg", "zcavwxy"), ("abc", "abcdefg"), ("qa", "abcdq"), ("abc", "xyz"), ("a", "a"), ("", "ab")],
)
@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_minimum_is_the_sum_of_the_definition(first: str, second: str, p: float) -> None:
    overlap = of_letters(first, second, p)

    assert overlap.minimum == pytest.approx(summed(first, second, p), abs=1e-9)
    assert of_letters(second, first, p) == pytest.approx(overlap)
    assert overlap.minimum - 1e-12 <= overlap.extrapolated <= overlap.minimum + overlap.residual + 1e-12


@pytest.mark.parametrize(("first", "second"), [("abcdefg", "zcavwxy"), ("abc", "xyz"), ("qa", "abcdq")])
def test_residual_bounds_the_overlap_of_lists_that_continue_alike(first: str, second: str) -> None:
    overlap = of_letters(first, second)
    # each list continues with the rest of the other, the short one first, then both with the same letters
    rest = [chr(1000 + n) for n in range(1500)]
    long_first = list(first) + [letter for letter in second if letter not in first]
    long_second = list(second) + [letter for letter in first if letter not in second]
    total = 0.0
    for d in range(1, 1400):
        shared = len(set((long_first + rest)[:d]) & set((long_second + rest)[:d]))
        total += 0.1 * 0.9 ** (d - 1) * shared / d

    assert overlap.minimum + overlap.residual >= total - 1e-9


def test_extrapolated_overlap_agrees_with_the_table_of_the_paper() -> None:
    # Webber et al., Table 1: agreement 0, 0, .667, .5, .4, .333, .286 at depths 1 to 7; RBO weights these
    agreement = [0, 0, 2 / 3, 2 / 4, 2 / 5, 2 / 6, 2 / 7]
    seen = sum(0.1 * 0.9**d * share for d, share in enumerate(agreement))

    overlap = of_letters("abcdefg", "zcavwxy")

    assert overlap.extrapolated == pytest.approx(seen + 0.9**7 * 2 / 7)  # equation 23


def test_the_first_ten_ranks_have_86_percent_of_the_weight() -> None:
    overlap = of_letters("abcdefghij", "abcdefghij")

    assert overlap.minimum == pytest.approx(0.8556, abs=5e-5)
    assert (overlap.minimum + overlap.residual, overlap.extrapolated) == pytest.approx((1, 1))


def test_empty_lists_have_residual_1() -> None:
    assert of_letters("", "") == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("p", [0, 1, -0.5])
def test_persistence_out_of_range_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        of_letters("a", "b", p)


def test_overlap_of_runs_is_by_topic_in_the_order_of_scores() -> None:
    first = make_run([("A.1", "a", 3.0), ("A.1", "b", 2.0), ("A.1", "c", 1.0), ("A.2", "a", 1.0)])
    second = make_run([("A.1", "b", 1.0), ("A.1", "a", 2.0), ("A.10", "a", 1.0)])

    overlaps = overlap_of_runs(first, second, p=0.9)

    assert list(overlaps) == ["A.1", "A.10", "A.2"]
    assert overlaps["A.1"] == of_letters("abc", "ab")
    assert overlaps["A.10"].extrapolated == overlaps["A.2"].extrapolated == 0


SCORES = np.array([[0.9, 0.1, 0.5, 0.3], [0.8, 0.3, 0.4, 0.3], [0.1, 0.2, 0.3, 0.3]])
TOPICS = ["A.1", "A.2", "A.3", "A.4"]


def test_runs_are_ranked_by_the_topics_of_each_label() -> None:
    table = compare_by_label(SCORES, TOPICS, {"A.1": "easy", "A.2": "hard", "A.3": "easy", "A.4": "medium"})

    assert table.names == (ALL, "easy", "medium", "hard")
    assert table.n_topics == (4, 2, 1, 1)
    assert table.means[1].tolist() == pytest.approx([0.7, 0.6, 0.2])
    assert table.ranks.tolist() == [[1, 1, 3], [1, 2, 3], [1, 1, 1], [3, 1, 2]]
    assert table.gap.tolist() == pytest.approx([0.1125, 0.25, 0.0, 0.1])
    assert table.tau[1, 3] == pytest.approx(-1 / 3)
    assert math.isnan(table.tau[1, 2])


def test_topics_without_the_label_are_the_last_column() -> None:
    table = compare_by_label(
        SCORES, TOPICS, {"A.1": "proof", "A.2": "concept", "A.9": "not a topic of the runs"}
    )

    assert table.names == (ALL, "concept", "proof", UNLABELED)
    assert table.n_topics == (4, 1, 1, 2)


def test_without_labels_there_is_one_column() -> None:
    assert compare_by_label(SCORES, TOPICS, {}).names == (ALL,)


def test_undefined_values_are_null_in_json() -> None:
    table = compare_rankings(["one", "other"], np.array([[0.5], [0.4]]), [3, 3])

    stored = json.loads(json.dumps(plain(table), allow_nan=False))

    assert stored["tau"] == [[None, None], [None, None]]
    assert stored["gap"] == [None, None]
    assert stored["ranks"] == [[1], [1]]


def test_each_column_needs_a_name() -> None:
    with pytest.raises(ValueError, match="1 names, 2 columns"):
        compare_rankings(["one"], np.zeros((2, 3)), [1, 1])


def run(ranking: dict[str, str]) -> RunColumns:
    """A run with the documents of each topic, separated by spaces."""
    rows = [(n, docno) for n, topic in enumerate(sorted(ranking)) for docno in ranking[topic].split()]
    n = len(rows)
    return RunColumns(
        topics=np.array(sorted(ranking), dtype=np.str_),
        topic_index=np.array([topic for topic, _ in rows], dtype=np.int32),
        docno=np.array([docno.encode() for _, docno in rows]),
        rank=np.zeros(n, dtype=np.int32),
        score=-np.arange(n, dtype=np.float64),
    )


def test_equal_rankings_overlap_completely() -> None:
    difference = difference_of_topic(run({"1": "a b c"}), run({"1": "a b c"}), "1")

    assert difference.is_equal
    assert difference.overlap == (1.0,) * len(DEPTHS)
    assert difference.rbo == pytest.approx(1.0)


def test_overlap_is_a_share_of_the_longer_ranking_to_that_depth() -> None:
    difference = difference_of_topic(run({"1": "a b c d e f"}), run({"1": "b a x"}), "1")

    assert dict(zip(DEPTHS, difference.overlap, strict=True)) == pytest.approx(
        {1: 0.0, 5: 2 / 5, 10: 2 / 6, 20: 2 / 6, 50: 2 / 6, 100: 2 / 6, 1000: 2 / 6}
    )
    assert (difference.n_first, difference.n_second, difference.n_common) == (6, 3, 2)


def test_topic_of_one_run_has_nothing_in_common() -> None:
    first, second = run({"1": "a"}), run({"2": "a"})

    assert topics_of_both(first, second) == ["1", "2"]
    difference = difference_of_topic(first, second, "2")
    assert (difference.n_common, difference.rbo, difference.overlap[0]) == (0, 0.0, 0.0)


def test_moves_name_the_ranks_of_both_runs() -> None:
    moves = moves_of_topic(run({"1": "a b c"}), run({"1": "c d a"}), "1", k=2)

    assert moves == [("a", 1, 3), ("b", 2, None), ("c", 3, 1), ("d", None, 2)]
