"""The orders of judging: static ones, and the next unit of move-to-front."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.pools.depth import PooledUnits, Top, union
from assay.pools.move_to_front import TopicLists, Verdict, next_unit, priorities
from assay.pools.order import MAX_SEED, ORDERS, by_best_rank, by_run_votes

Ranking = list[str]


def units_of(*runs: dict[str, Ranking]) -> PooledUnits:
    codes = np.array(sorted({topic for run in runs for topic in run}), dtype=np.str_)
    number = {code: i for i, code in enumerate(codes.tolist())}
    tops = []
    for run in runs:
        rows = [(number[t], d.encode(), rank) for t, docs in run.items() for rank, d in enumerate(docs, 1)]
        rows.sort(key=lambda row: row[0])
        tops.append(
            Top(
                np.array([row[0] for row in rows], dtype=np.int32),
                np.array([row[1] for row in rows], dtype=np.bytes_),
                np.array([row[2] for row in rows], dtype=np.int32),
            )
        )
    return union(tops, codes)


def in_order(units: PooledUnits, position: np.ndarray) -> list[str]:
    """The docnos of a pool of one topic, in the order of presentation."""
    return [units.docno[row].decode() for row in np.argsort(position)]


def lists_of(units: PooledUnits, topic: int, seed: int) -> TopicLists:
    """The lists of one topic of a pool; its units are numbered from the first entry of the topic."""
    start, n = int(units.sizes[:topic].sum()), int(units.sizes[topic])
    rows = zip((units.entry - start).tolist(), units.run.tolist(), units.rank.tolist(), strict=True)
    of_topic = [row for row in rows if 0 <= row[0] < n]
    return TopicLists.of(of_topic, n_units=n, n_runs=units.n_runs, topic=str(units.topics[topic]), seed=seed)


def simulated_order(lists: TopicLists, is_relevant: np.ndarray) -> list[int]:
    """The order in which a single assessor would judge all units of a topic."""
    is_open = np.ones(lists.n_units, dtype=np.bool_)
    verdicts: list[Verdict] = []
    while (unit := next_unit(lists, verdicts, is_open)) is not None:
        is_open[unit] = False
        verdicts.append(Verdict(unit, bool(is_relevant[unit])))
    return [verdict.unit for verdict in verdicts]


RANKINGS = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=1), min_size=1, max_size=4)
SEEDS = st.integers(0, MAX_SEED)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@given(rankings=RANKINGS, others=RANKINGS, seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_positions_are_a_permutation_that_other_topics_do_not_change(
    order: Callable[[PooledUnits, int], np.ndarray], rankings: list[Ranking], others: list[Ranking], seed: int
) -> None:
    alone = units_of(*({"B.2": ranking} for ranking in rankings))
    runs = [{"B.2": ranking} for ranking in rankings] + [{"B.1": ranking} for ranking in others]
    among = units_of(*runs)

    position = order(among, seed)

    assert sorted(position[among.topic_index == 1].tolist()) == list(range(1, len(alone) + 1))
    assert position[among.topic_index == 1].tolist() == order(alone, seed).tolist()


@given(rankings=RANKINGS, seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_entries_of_the_most_runs_come_first(rankings: list[Ranking], seed: int) -> None:
    units = units_of(*({"B.1": ranking} for ranking in rankings))

    docnos = in_order(units, by_run_votes(units, seed))

    votes = [sum(docno in ranking for ranking in rankings) for docno in docnos]
    assert votes == sorted(votes, reverse=True)


@given(rankings=RANKINGS, seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_move_to_front_without_judgments_goes_rank_by_rank(rankings: list[Ranking], seed: int) -> None:
    units = units_of(*({"B.1": ranking} for ranking in rankings))

    docnos = in_order(units, by_best_rank(units, seed))

    best = [min(ranking.index(docno) for ranking in rankings if docno in ranking) for docno in docnos]
    assert best == sorted(best)


def test_ties_are_broken_with_the_seed() -> None:
    units = units_of({"B.1": list("abcdefgh")}, {"B.1": list("hgfedcba")})

    orders = {tuple(in_order(units, by_run_votes(units, seed))) for seed in range(40)}

    assert len(orders) == 40


# ---- move to front


def plain_move_to_front(rankings: list[Ranking], relevant: set[str], precedence: list[int]) -> list[str]:
    """The rule, step by step with a list for each run: read from Cormack, Palmer and Clarke."""
    lists = [list(ranking) for ranking in rankings]
    priority = [0] * len(lists)
    judged: list[str] = []
    while any(lists):
        waiting = [run for run, left in enumerate(lists) if left]
        run = max(waiting, key=lambda run: (priority[run], -precedence[run]))
        docno = lists[run][0]
        judged.append(docno)
        for left in lists:
            if docno in left:
                left.remove(docno)
        if docno not in relevant:
            priority[run] -= 1
    return judged


@given(rankings=RANKINGS, relevant=st.sets(st.sampled_from("abcdefghij")), seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_order_of_a_single_assessor_equals_the_plain_rule(
    rankings: list[Ranking], relevant: set[str], seed: int
) -> None:
    units = units_of(*({"B.1": ranking} for ranking in rankings))
    lists = lists_of(units, 0, seed)
    is_relevant = np.array([docno.decode() in relevant for docno in units.docno.tolist()], dtype=np.bool_)

    order = [units.docno[unit].decode() for unit in simulated_order(lists, is_relevant)]

    assert order == plain_move_to_front(rankings, relevant, lists.precedence.tolist())


def the_lists(rankings: list[Ranking]) -> tuple[TopicLists, dict[str, int]]:
    """Lists in which runs of equal priority are in the given order, and the number of each docno."""
    units = units_of(*({"B.1": ranking} for ranking in rankings))
    lists = lists_of(units, 0, 1)
    lists.precedence[:] = np.arange(len(rankings))
    return lists, {docno.decode(): i for i, docno in enumerate(units.docno.tolist())}


def test_run_with_relevant_units_keeps_its_priority() -> None:
    lists, number = the_lists([["a", "b", "c"], ["x", "y", "z"]])
    is_open = np.ones(6, dtype=np.bool_)

    def judge(docno: str, is_relevant: bool) -> Verdict:
        is_open[number[docno]] = False
        return Verdict(number[docno], is_relevant)

    verdicts: list[Verdict] = []
    for docno, is_relevant in [("a", True), ("b", False), ("x", False), ("c", True), ("y", True)]:
        assert next_unit(lists, verdicts, is_open) == number[docno]
        verdicts.append(judge(docno, is_relevant))

    assert priorities(lists, verdicts).tolist() == [-1, -1]
    assert next_unit(lists, verdicts, is_open) == number["z"]


def test_assigned_units_are_skipped() -> None:
    lists, number = the_lists([["a", "b"], ["x"]])
    is_open = np.array([True, True, True])
    is_open[number["a"]] = False

    assert next_unit(lists, [], is_open) == number["b"]


def test_nonrelevant_unit_lowers_the_run_that_would_have_presented_it() -> None:
    lists, number = the_lists([["a", "s"], ["b", "s"], ["c"]])

    after_a = [Verdict(number["a"], False)]

    assert priorities(lists, [*after_a, Verdict(number["s"], False)]).tolist() == [-1, -1, 0]


def test_units_without_a_run_come_last() -> None:
    lists = TopicLists.of([(0, 0, 1)], n_units=3, n_runs=1, topic="B.1", seed=1)

    assert simulated_order(lists, np.ones(3, dtype=np.bool_)) == [0, 1, 2]


def test_no_unit_is_next_if_none_is_open() -> None:
    lists, _ = the_lists([["a"]])

    assert next_unit(lists, [], np.zeros(1, dtype=np.bool_)) is None


def test_order_of_the_rows_does_not_change_the_lists() -> None:
    units = units_of({"B.1": ["a", "b"], "B.2": ["c", "d"]}, {"B.2": ["d", "e"]})
    rows: Iterator[tuple[int, int, int]] = zip(
        (units.entry[2:] - 2).tolist(), units.run[2:].tolist(), units.rank[2:].tolist(), strict=True
    )

    of_rows = TopicLists.of(reversed(list(rows)), n_units=3, n_runs=2, topic="B.2", seed=9)

    of_pool = lists_of(units, 1, 9)
    for name in ("unit", "run", "rank", "precedence"):
        assert getattr(of_rows, name).tolist() == getattr(of_pool, name).tolist()


def test_every_run_is_first_equally_often() -> None:
    rows = [(run, run, 1) for run in range(4)]

    first = [
        next_unit(
            TopicLists.of(rows, n_units=4, n_runs=4, topic="B.1", seed=seed), [], np.ones(4, dtype=np.bool_)
        )
        for seed in range(400)
    ]

    assert all(70 <= first.count(run) <= 130 for run in range(4))
