"""The instances of a formula that are shown: each policy compared with its rule, and the random numbers."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import random_draws
from assay.pools import sampling
from assay.pools.depth import Members
from assay.protocols.schema import InstanceRules, InstanceStrategy

POLICIES: tuple[InstanceStrategy, ...] = ("thread-random", "most-runs", "reciprocal-rank-vote")


class Instance(NamedTuple):
    """An instance of a formula: its post and thread, whether it is in a pooled row, and its ranks in runs."""

    docno: str
    post: str
    thread: str
    is_pooled: bool
    ranks: tuple[tuple[int, int], ...]  # run, rank


Unit = tuple[Instance, ...]


def members_of(units: Sequence[Unit]) -> tuple[Members, np.ndarray]:
    rows = [
        (entry, instance)
        for entry, unit in enumerate(units)
        for instance in sorted(unit, key=lambda instance: instance.docno.encode())
    ]
    given_by = [
        (member, run, rank)
        for member, (_, instance) in enumerate(rows)
        for run, rank in sorted(instance.ranks)
    ]
    contributions = np.array(given_by, dtype=np.int32).reshape(-1, 3)
    members = Members(
        entry=np.array([entry for entry, _ in rows], dtype=np.int32),
        docno=np.array([instance.docno.encode() for _, instance in rows], dtype=np.bytes_),
        post=np.array([instance.post.encode() for _, instance in rows], dtype=np.bytes_),
        thread=np.array([instance.thread.encode() for _, instance in rows], dtype=np.bytes_),
        position=np.zeros(len(rows), dtype=np.int32),
        member=contributions[:, 0],
        run=contributions[:, 1],
        rank=contributions[:, 2],
    )
    return members, np.array([instance.is_pooled for _, instance in rows], dtype=np.bool_)


def shown(
    units: Sequence[Unit], policy: InstanceStrategy | None, limit: int | None, seed: int = 0, first: int = 0
) -> list[list[str]]:
    """Docnos of each unit in the order in which they are shown; `first` numbers the units, as their names."""
    members, is_pooled = members_of(units)
    starts = random_draws.stream_starts(seed, ((b"B.1", b"%d" % n) for n in range(first, first + len(units))))
    candidates = sampling.Candidates.of(members, is_pooled, starts)
    is_shown = sampling.choose(candidates, InstanceRules(strategy=policy, limit=limit))
    position = sampling.positions(candidates, is_shown)
    return [
        [
            members.docno[row].decode()
            for row in sorted(np.flatnonzero(members.entry == entry), key=lambda row: position[row])
            if position[row]
        ]
        for entry in range(len(units))
    ]


RANKS = st.dictionaries(st.integers(0, 5), st.integers(1, 40), min_size=1).map(
    lambda ranks: tuple(sorted(ranks.items()))
)


@st.composite
def a_unit(draw: st.DrawFn) -> Unit:
    """Instances in posts of threads; a post may hold the formula twice, and the formula is pooled somewhere."""
    docnos = draw(st.lists(st.integers(1, 200), unique=True, min_size=1, max_size=14))
    instances = []
    for n, docno in enumerate(docnos):
        post = draw(st.integers(1, 9))
        is_pooled = n == 0 or draw(st.booleans())
        instances.append(Instance(str(docno), f"p{post}", f"t{post % 4}", is_pooled, draw(RANKS)))
    return tuple(instances)


UNITS = st.lists(a_unit(), min_size=1, max_size=4)
LIMITS = st.integers(1, 6)
SEEDS = st.integers(0, 2**63 - 1)


def by_docno(unit: Unit) -> dict[str, Instance]:
    return {instance.docno: instance for instance in unit}


# ---- every policy


@given(units=UNITS, limit=LIMITS, seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_never_more_than_the_limit_and_never_none(units: list[Unit], limit: int, seed: int) -> None:
    for policy in POLICIES:  # of the same units: to make them takes longer than to choose
        for unit, docnos in zip(units, shown(units, policy, limit, seed), strict=True):
            assert 1 <= len(docnos) <= limit, policy
            assert len(docnos) == len(set(docnos)), policy
            assert set(docnos) <= set(by_docno(unit)), policy


@given(units=UNITS, limit=LIMITS, seed=SEEDS, order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_other_units_and_the_order_of_the_runs_do_not_change_a_choice(
    units: list[Unit], limit: int, seed: int, order: object
) -> None:
    shuffled = [tuple(order.sample(unit, len(unit))) for unit in units]  # type: ignore[attr-defined]
    renamed = [tuple(replace_runs(instance) for instance in unit) for unit in units]

    for policy in POLICIES:
        together = shown(units, policy, limit, seed)

        assert shown(shuffled, policy, limit, seed) == together, policy
        assert shown(renamed, policy, limit, seed) == together, policy
        for n, unit in enumerate(units):
            assert shown([unit], policy, limit, seed, first=n) == [together[n]], policy


def replace_runs(instance: Instance) -> Instance:
    """The same instance, where the runs were given in the opposite order."""
    return instance._replace(ranks=tuple(sorted((5 - run, rank) for run, rank in instance.ranks)))


@given(units=UNITS, seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_all_instances_are_shown_without_a_policy(units: list[Unit], seed: int) -> None:
    for unit, docnos in zip(units, shown(units, None, None, seed), strict=True):
        assert sorted(docnos) == sorted(by_docno(unit))


def test_seed_chooses_the_same_in_every_version() -> None:
    unit = tuple(Instance(f"{n:02d}", f"p{n}", f"t{n % 7}", True, ((0, 1),)) for n in range(20))

    assert {policy: shown([unit], policy, 5, seed=2021)[0] for policy in POLICIES} == FIRST_CHOICES


FIRST_CHOICES = {
    "thread-random": ["11", "05", "13", "10", "15"],
    "most-runs": ["00", "19", "05", "13", "15"],
    "reciprocal-rank-vote": ["00", "19", "05", "13", "15"],
}


def test_members_are_shown_in_an_order_independent_of_their_votes() -> None:
    unit = tuple(Instance(f"{n:02d}", f"p{n}", "t", True, ((0, n + 1),)) for n in range(5))

    orders = {tuple(shown([unit], "reciprocal-rank-vote", 5, seed)[0]) for seed in range(60)}

    assert len(orders) > 40


# ---- the three policies of the guidelines


@given(unit=a_unit(), limit=LIMITS, seed=SEEDS)
@settings(max_examples=120, deadline=None)
def test_threads_are_sampled_as_the_guidelines_specify(unit: Unit, limit: int, seed: int) -> None:
    pooled = [instance for instance in unit if instance.is_pooled]
    posts, threads = {instance.post for instance in pooled}, {instance.thread for instance in pooled}

    chosen = [by_docno(unit)[docno] for docno in shown([unit], "thread-random", limit, seed)[0]]

    served = [instance.thread for instance in chosen]
    assert all(instance.is_pooled for instance in chosen)
    assert len({instance.post for instance in chosen}) == len(chosen)
    for instance in chosen:  # of several instances in a post, the first is chosen
        of_post = [other.docno.encode() for other in pooled if other.post == instance.post]
        assert instance.docno.encode() == min(of_post)
    if len(posts) <= limit:
        assert {instance.post for instance in chosen} == posts
    elif len(threads) < limit:
        assert set(served) == threads
        assert len(chosen) == limit
    else:
        assert len(set(served)) == len(chosen) == limit


def plain_choices(unit: Unit, limit: int, seeds: range) -> Counter[str]:
    """The number of times each instance is chosen over some seeds."""
    return Counter(docno for seed in seeds for docno in shown([unit], "thread-random", limit, seed)[0])


def even(counts: Counter[str], docnos: Sequence[str], expected: float, n: int) -> bool:
    """Return whether each of some docnos was chosen as often as a fair lot would, within 4.5 standard deviations."""
    bound = 4.5 * (n * (expected / n) * (1 - expected / n)) ** 0.5
    return all(abs(counts[docno] - expected) <= bound for docno in docnos)


def test_threads_have_equal_chances_for_any_number_of_posts() -> None:
    # Six threads, one of them with fifteen posts; three threads are chosen, and one post of each.
    sizes = [15, 1, 1, 1, 1, 2]
    unit = tuple(
        Instance(f"{thread}-{n:02d}", f"p{thread}-{n}", f"t{thread}", True, ((0, 1),))
        for thread, size in enumerate(sizes)
        for n in range(size)
    )

    counts = plain_choices(unit, 3, range(1500))

    by_thread = Counter({str(t): sum(counts[d] for d in counts if d[0] == str(t)) for t in range(6)})
    assert even(by_thread, [str(t) for t in range(6)], 750, 1500)
    assert even(counts, [f"0-{n:02d}" for n in range(15)], 50, 1500)


def test_rest_is_chosen_evenly_from_the_other_posts() -> None:
    # Two threads of 6 and of 2 posts, five are shown: one of each thread, then 3 of the other 6.
    unit = tuple(
        Instance(f"{thread}-{n}", f"p{thread}-{n}", f"t{thread}", True, ((0, 1),))
        for thread, size in enumerate([6, 2])
        for n in range(size)
    )

    counts = plain_choices(unit, 5, range(1500))

    # 1/6 + 5/6 * 1/2 of those in the larger thread, 1/2 + 1/2 * 1/2 of those in the smaller one
    assert even(counts, [f"0-{n}" for n in range(6)], 1500 * 7 / 12, 1500)
    assert even(counts, ["1-0", "1-1"], 1500 * 3 / 4, 1500)


# ---- votes


@given(unit=a_unit(), limit=LIMITS, seed=SEEDS)
@settings(max_examples=80, deadline=None)
def test_chosen_instances_are_in_the_most_runs(unit: Unit, limit: int, seed: int) -> None:
    chosen = shown([unit], "most-runs", limit, seed)[0]

    n_runs = {instance.docno: len(instance.ranks) for instance in unit}
    assert (
        sorted((n_runs[docno] for docno in chosen), reverse=True)
        == sorted(n_runs.values(), reverse=True)[:limit]
    )


@given(unit=a_unit(), limit=LIMITS, seed=SEEDS)
@settings(max_examples=80, deadline=None)
def test_chosen_instances_have_the_highest_sums_of_reciprocal_ranks(
    unit: Unit, limit: int, seed: int
) -> None:
    chosen = shown([unit], "reciprocal-rank-vote", limit, seed)[0]

    votes = {instance.docno: sum(Fraction(1, rank) for _, rank in instance.ranks) for instance in unit}
    best = sorted(votes.values(), reverse=True)[:limit]
    assert sorted((votes[docno] for docno in chosen), reverse=True) == best


@pytest.mark.parametrize("policy", ["most-runs", "reciprocal-rank-vote"])
def test_ties_are_broken_evenly(policy: InstanceStrategy) -> None:
    # One clear winner, and seven equals for the two places that are left: 1/2 = 1/3 + 1/6 is a tie of votes.
    equals = [Instance(f"e{n}", f"p{n}", "t", True, ((0, 3), (1, 6))) for n in range(7)]
    unit = (Instance("w", "p", "t", True, ((0, 1), (1, 1), (2, 1))), *equals)

    counts = Counter(docno for seed in range(1400) for docno in shown([unit], policy, 3, seed)[0])

    assert counts["w"] == 1400
    assert even(counts, [f"e{n}" for n in range(7)], 400, 1400)


def test_votes_of_equal_sums_are_equal() -> None:
    unit = (
        Instance("a", "p", "t", True, ((0, 2),)),
        Instance("b", "p", "t", True, ((1, 3), (2, 6))),
        Instance("c", "p", "t", True, ((3, 4), (4, 6), (5, 12))),
        Instance("d", "p", "t", True, ((3, 4), (4, 6), (5, 13))),
    )

    a, b, c, d = sampling.votes(members_of([unit])[0]).tolist()

    assert a == b == c > d


# ---- random numbers


def test_random_numbers_of_a_unit_depend_on_seed_topic_and_unit_only() -> None:
    start, other = random_draws.stream_starts(5, [(b"B.1", b"7"), (b"B.1", b"8")]).tolist()

    assert random_draws.stream_starts(5, [(b"B.1", b"7")]).tolist() == [start]
    assert (
        len(
            {
                start,
                other,
                *random_draws.stream_starts(6, [(b"B.1", b"7")]).tolist(),
                *random_draws.stream_starts(5, [(b"B.11", b"7")]).tolist(),
            }
        )
        == 4
    )


def test_random_numbers_equal_those_of_splitmix64() -> None:
    """The first numbers that the reference implementation gives for the seed 1234567."""
    start = np.array([1234567], dtype=np.uint64)

    drawn = [int(random_draws.random_numbers(start, np.array([n]))[0]) for n in range(3)]

    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]
