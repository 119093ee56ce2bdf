"""What a pool would cost: the curve against pools that are built, and what each team alone brought."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formulas.columns import Formulas
from assay.pools.contribution import shares
from assay.pools.preview import Preview, depth_by_kind, judgments_a_unit, preview_pool, usual_seconds
from assay.pools.strategies import ByTopic, PoolError, PoolInput, build_pool
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Protocol
from tests.assay.pools.test_distinct import RUNS, VISUAL, formulas_of, inputs_of

ANSWERS = load_protocol("arqmath-2021-task1")
FORMULAS = load_protocol("arqmath-2021-task2")
NTCIR_10 = load_protocol("ntcir-10-math")

Drawn = list[tuple[dict[str, list[str]], str]]


def inputs_from(drawn: Drawn) -> list[PoolInput]:
    return inputs_of([one[0] for one in drawn], [one[1] for one in drawn])


def sizes_of_built_pools(
    inputs: Sequence[PoolInput],
    found: Preview,
    protocol: Protocol,
    formulas: Formulas | None = None,
    already: ByTopic | None = None,
) -> list[dict[str, int]]:
    """The size of each topic in the pool of each depth."""
    sizes = []
    for depth in range(1, len(found.sizes) + 1):
        try:
            pool = build_pool(
                inputs,
                protocol=protocol,
                seed=1,
                depth=found.depth_by_kind(depth),
                formulas=formulas,
                already=already,
            )
        except PoolError:  # nothing to pool
            sizes.append({})
            continue
        topics = zip(pool.units.topics.tolist(), pool.units.sizes.tolist(), strict=True)
        sizes.append({topic: n for topic, n in topics if n})
    return sizes


def curve(found: Preview) -> list[dict[str, int]]:
    codes = found.topics.tolist()
    return [{code: n for code, n in zip(codes, row, strict=True) if n} for row in found.sizes.tolist()]


@given(drawn=RUNS)
@settings(max_examples=60, deadline=None)
def test_curve_has_the_sizes_of_the_pools_that_would_be_built(drawn: Drawn) -> None:
    inputs = inputs_from(drawn)

    found = preview_pool(inputs, protocol=ANSWERS, deepest=7)

    assert curve(found) == sizes_of_built_pools(inputs, found, ANSWERS)


@given(drawn=RUNS, visual=VISUAL)
@settings(max_examples=60, deadline=None)
def test_curve_of_distinct_formulas_has_the_sizes_of_the_pools_that_would_be_built(
    drawn: Drawn, visual: dict[str, str]
) -> None:
    inputs, formulas = inputs_from(drawn), formulas_of(visual)

    found = preview_pool(inputs, protocol=FORMULAS, deepest=5, formulas=formulas)

    assert curve(found) == sizes_of_built_pools(inputs, found, FORMULAS, formulas)


@given(drawn=RUNS)
@settings(max_examples=40, deadline=None)
def test_what_is_pooled_already_costs_nothing(drawn: Drawn) -> None:
    inputs = inputs_from(drawn)
    already: Mapping[str, list[str]] = {"B.1": ["95", "99", "100"], "B.2": ["120"]}

    found = preview_pool(inputs, protocol=ANSWERS, deepest=5, already=already)

    assert curve(found) == sizes_of_built_pools(inputs, found, ANSWERS, already=already)


@given(drawn=RUNS, target=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_round_robin_grows_to_the_pool_that_would_be_built(drawn: Drawn, target: int) -> None:
    inputs = inputs_from(drawn)
    protocol = replace(NTCIR_10, pool=replace(NTCIR_10.pool, target=target))

    found = preview_pool(inputs, protocol=protocol)

    built = build_pool(inputs, protocol=protocol, seed=1).units
    assert dict(zip(found.topics.tolist(), found.sizes[-1].tolist(), strict=True)) == dict(
        zip(built.topics.tolist(), built.sizes.tolist(), strict=True)
    )
    assert (np.diff(found.totals) >= 0).all()
    assert found.depth_by_kind(3) == {}


def test_curve_goes_to_a_hundred_or_to_the_depth_of_the_protocol() -> None:
    inputs = inputs_of([{"B.1": ["1", "2"]}], ["primary"])
    deep = replace(ANSWERS, pool=replace(ANSWERS.pool, depth={"primary": 120, "alternate": 40}))

    assert len(preview_pool(inputs, protocol=ANSWERS).sizes) == 100
    assert len(preview_pool(inputs, protocol=deep).sizes) == 120


def test_curve_has_an_end_whatever_the_depth_of_the_protocol() -> None:
    inputs = inputs_from([({"A.1": ["1", "2"]}, "primary")])
    endless = replace(ANSWERS, pool=replace(ANSWERS.pool, depth={"primary": 2**31 - 1}))

    found = preview_pool(inputs, protocol=endless)

    assert len(found.sizes) == 100_000
    assert found.totals[-1] == 2


def test_kinds_keep_their_proportion() -> None:
    assert depth_by_kind({"primary": 45, "alternate": 15}, 45) == {"primary": 45, "alternate": 15}
    assert depth_by_kind({"primary": 20, "alternate": 10}, 15) == {"primary": 15, "alternate": 8}
    assert depth_by_kind({"primary": 20, "alternate": 0}, 7) == {"primary": 7, "alternate": 0}


def small_preview() -> Preview:
    """Pools of 10, 15 and 18 units of two topics."""
    sizes = np.array([[4, 6], [7, 8], [9, 9]])
    return Preview(np.array(["B.1", "B.2"]), sizes, {"primary": 3, "alternate": 1}, judges=2)


def test_hours_are_of_all_judges() -> None:
    assert small_preview().hours(360).tolist() == [2.0, 3.0, 3.6]


@pytest.mark.parametrize(("hours", "depth"), [(1.9, 0), (2.0, 1), (3.5, 2), (3.6, 3), (100, 3)])
def test_budget_gives_the_deepest_pool_that_fits(hours: float, depth: int) -> None:
    assert small_preview().deepest_within(hours, 360) == depth


def test_a_depth_of_the_curve_is_a_depth_for_each_kind() -> None:
    assert small_preview().depth_by_kind(2) == {"primary": 2, "alternate": 1}


def test_rates_are_those_of_the_papers() -> None:
    assert (usual_seconds(ANSWERS), usual_seconds(FORMULAS), usual_seconds(NTCIR_10)) == (83.3, 39.5, 39.5)


def test_judgments_a_unit_are_counted_as_the_protocol_gives_them_out() -> None:
    names = ["arqmath-2021-task1", "ntcir-12-wikipedia", "bolt-ir-p3"]

    assert [judgments_a_unit(load_protocol(name)) for name in names] == [1, 2, 1.5]


def test_known_items_have_nothing_to_preview() -> None:
    with pytest.raises(PoolError, match="nothing is judged"):
        preview_pool(inputs_of([{"Q": ["x"]}], ["primary"]), protocol=load_protocol("ntcir-11-math"))


def test_runs_of_kinds_that_are_not_pooled_have_nothing_to_preview() -> None:
    with pytest.raises(PoolError, match="no run of a kind that is pooled"):
        preview_pool(inputs_of([{"Q": ["x"]}], ["phase2"]), protocol=ANSWERS)


# ---- leaving a team out


@given(drawn=RUNS, k=st.integers(1, 6))
@settings(max_examples=80, deadline=None)
def test_pool_without_a_team_is_that_of_the_other_runs(drawn: Drawn, k: int) -> None:
    inputs = inputs_from(drawn)
    depth = {"primary": k, "alternate": k}
    teams = sorted({one.team for one in inputs})
    units = build_pool(inputs, protocol=ANSWERS, seed=1, depth=depth).units

    found = shares(units, [teams.index(one.team) for one in inputs], len(teams))

    for n, team in enumerate(teams):
        others = [one for one in inputs if one.team != team]
        left = build_pool(others, protocol=ANSWERS, seed=1, depth=depth).units if others else None
        assert found.without[n] == (len(left) if left else 0)
        of_team = [one for one in inputs if one.team == team]
        assert found.brought[n].sum() == len(build_pool(of_team, protocol=ANSWERS, seed=1, depth=depth).units)
    assert (found.alone <= found.brought).all()
    assert found.sizes.tolist() == units.sizes.tolist()
