"""Pools by the other strategies: instances, round robin, known items."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.pools.files import pool_tsv
from assay.pools.statistics import statistics
from assay.pools.strategies import PoolError, build_pool
from assay.protocols.loader import load_protocol
from tests.assay.pools.test_distinct_formulas import PLAIN, PROTOCOL, RUNS, Ranking, build, inputs_of
from tests.helpers.pool_files import with_depths


def test_top_k_of_distinct_formulas_takes_the_first_ranks() -> None:
    top_2 = with_depths(replace(PROTOCOL, pool=replace(PROTOCOL.pool, strategy="top-k")), {"primary": 2})

    pool = build([{"B.1": ["1", "2", "3"]}], ["primary"], PLAIN, protocol=top_2)

    assert pool.units.docno.tolist() == [b"a"]
    assert pool.reach.tolist() == [[2]]


def test_instances_can_be_the_units_of_a_protocol() -> None:
    protocol = load_protocol("ntcir-12-wikipedia")
    rankings = [
        {"T1": [f"Article,_a:{n}" for n in range(30)]},
        {"T1": [f"Article,_a:{n}" for n in range(15, 45)]},
    ]

    pool = build_pool(inputs_of(rankings, ["primary", "alternate"]), protocol=protocol, seed=1)

    assert len(pool.units) == 35
    assert pool.members is None


ROUND_ROBIN = load_protocol("ntcir-10-math")


def plain_round_robin(rankings: Sequence[Ranking], topic: str, target: int) -> tuple[int, set[str]]:
    """One rank at a time from every run; the rank at which there are enough is finished."""
    pooled: set[str] = set()
    longest = max((len(ranking.get(topic, ())) for ranking in rankings), default=0)
    for rank in range(1, longest + 1):
        pooled |= {ranking[topic][rank - 1] for ranking in rankings if len(ranking.get(topic, ())) >= rank}
        if len(pooled) >= target:
            return rank, pooled
    return longest, pooled


@given(drawn=RUNS, target=st.integers(1, 30))
@settings(max_examples=150, deadline=None)
def test_round_robin_stops_with_the_rank_that_reaches_the_target(
    drawn: list[tuple[dict[str, list[str]], str]], target: int
) -> None:
    rankings, kinds = [ranking for ranking, _ in drawn], [kind for _, kind in drawn]
    protocol = replace(ROUND_ROBIN, pool=replace(ROUND_ROBIN.pool, target=target))

    pool = build_pool(inputs_of(rankings, kinds), protocol=protocol, seed=1)

    for topic, code in enumerate(pool.units.topics.tolist()):
        rank, pooled = plain_round_robin(rankings, code, target)
        assert set(pool.units.docno[pool.units.topic_index == topic].astype(str)) == pooled
        for reach, ranking in zip(pool.reach[:, topic].tolist(), rankings, strict=True):
            assert min(reach, len(ranking.get(code, ()))) == min(rank, len(ranking.get(code, ())))
    assert (pool.units.rank <= pool.reach[pool.units.run, pool.units.topic_index[pool.units.entry]]).all()


def test_round_robin_counts_distinct_formulas_if_they_are_the_units() -> None:
    by_three = replace(PROTOCOL.pool, strategy="round-robin-until", target=3)

    pool = build(
        [{"B.1": ["1", "2", "3"]}, {"B.1": ["2", "4", "5"]}],
        ["primary", "primary"],
        PLAIN,
        protocol=with_depths(replace(PROTOCOL, pool=by_three), {}),
    )

    assert pool.units.docno.tolist() == [b"a", b"b", b"c"]
    assert pool.reach.tolist() == [[3], [3]]


KNOWN = load_protocol("ntcir-11-math")


def test_pool_of_known_items_has_only_these_and_their_ranks() -> None:
    rankings = [{"Q1": ["x", "y"], "Q2": ["u"]}, {"Q1": ["y", "z"]}]
    inputs = inputs_of(rankings, ["primary", "primary"])

    pool = build_pool(inputs, protocol=KNOWN, seed=1, known={"Q1": ["y"], "Q2": ["v"], "Q3": ["w"]})

    assert pool_tsv(pool) == b"Q1\ty\t1\nQ2\tv\t1\nQ3\tw\t1\n"
    given_by = zip(pool.units.entry.tolist(), pool.units.run.tolist(), pool.units.rank.tolist(), strict=True)
    assert list(given_by) == [(0, 0, 2), (0, 1, 1)]
    assert [run["n"] for run in statistics(pool, inputs)["runs"]] == [1, 1]


def test_topics_without_a_known_item_are_refused() -> None:
    with pytest.raises(PoolError, match="1 topic has no known item, such as Q2"):
        build_pool(
            inputs_of([{"Q1": ["x"], "Q2": ["y"]}], ["primary"]),
            protocol=KNOWN,
            seed=1,
            known={"Q1": ["x"]},
        )
