"""Previews are compared with pools that are built; contributions with pools without a team."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formulas.columns import Formulas
from assay.pools.preview import Preview, depth_by_kind, judgments_per_unit, preview_pool, usual_seconds
from assay.pools.statistics import contributions_of
from assay.pools.strategies import ByTopic, PoolError, PoolInput, build_pool
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Protocol
from tests.assay.pools.test_distinct_formulas import RUNS, VISUAL, formulas_of, inputs_of
from tests.helpers.pool_files import with_depths

ANSWERS = load_protocol("arqmath-2021-task1")
FORMULAS = load_protocol("arqmath-2021-task2")
NTCIR_10 = load_protocol("ntcir-10-math")

Drawn = list[tuple[dict[str, list[str]], str]]


def inputs_from(drawn: Drawn) -> list[PoolInput]:
    return inputs_of([ranking for ranking, _ in drawn], [kind for _, kind in drawn])


def sizes_of_built_pools(
    inputs: Sequence[PoolInput],
    preview: Preview,
    protocol: Protocol,
    formulas: Formulas | None = None,
    already: ByTopic | None = None,
) -> list[dict[str, int]]:
    """The size of each topic in the pool of each depth."""
    sizes: list[dict[str, int]] = []
    for depth in range(1, len(preview.sizes) + 1):
        try:
            pool = build_pool(
                inputs,
                protocol=protocol,
                seed=1,
                depth=preview.depth_by_kind(depth),
                formulas=formulas,
                already=already,
            )
        except PoolError:  # nothing to pool
            sizes.append({})
            continue
        topics = zip(pool.units.topics.tolist(), pool.units.sizes.tolist(), strict=True)
        sizes.append({topic: n for topic, n in topics if n})
    return sizes


def curve(preview: Preview) -> list[dict[str, int]]:
    codes = preview.topics.tolist()
    return [{code: n for code, n in zip(codes, row, strict=True) if n} for row in preview.sizes.tolist()]


@given(drawn=RUNS)
@settings(max_examples=60, deadline=None)
def test_curve_has_the_sizes_of_the_pools_that_would_be_built(drawn: Drawn) -> None:
    inputs = inputs_from(drawn)

    preview = preview_pool(inputs, protocol=ANSWERS, deepest=7)

    assert curve(preview) == sizes_of_built_pools(inputs, preview, ANSWERS)


@given(drawn=RUNS, visual=VISUAL)
@settings(max_examples=60, deadline=None)
def test_curve_of_distinct_formulas_has_the_sizes_of_the_pools_that_would_be_built(
    drawn: Drawn, visual: dict[str, str]
) -> None:
    inputs, formulas = inputs_from(drawn), formulas_of(visual)

    preview = preview_pool(inputs, protocol=FORMULAS, deepest=5, formulas=formulas)

    assert curve(preview) == sizes_of_built_pools(inputs, preview, FORMULAS, formulas)


@given(drawn=RUNS)
@settings(max_examples=40, deadline=None)
def test_units_of_an_earlier_pool_cost_nothing(drawn: Drawn) -> None:
    inputs = inputs_from(drawn)
    already: Mapping[str, list[str]] = {"B.1": ["95", "99", "100"], "B.2": ["120"]}

    preview = preview_pool(inputs, protocol=ANSWERS, deepest=5, already=already)

    assert curve(preview) == sizes_of_built_pools(inputs, preview, ANSWERS, already=already)


@given(drawn=RUNS, target=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_round_robin_grows_to_the_pool_that_would_be_built(drawn: Drawn, target: int) -> None:
    inputs = inputs_from(drawn)
    protocol = replace(NTCIR_10, pool=replace(NTCIR_10.pool, target=target))

    preview = preview_pool(inputs, protocol=protocol)

    built = build_pool(inputs, protocol=protocol, seed=1).units
    assert dict(zip(preview.topics.tolist(), preview.sizes[-1].tolist(), strict=True)) == dict(
        zip(built.topics.tolist(), built.sizes.tolist(), strict=True)
    )
    assert (np.diff(preview.totals) >= 0).all()
    assert preview.depth_by_kind(3) == {}


def test_curve_ends_at_100_or_at_the_depth_of_the_protocol() -> None:
    inputs = inputs_of([{"B.1": ["1", "2"]}], ["primary"])
    deep = with_depths(ANSWERS, {"primary": 120, "alternate": 40})

    assert len(preview_pool(inputs, protocol=ANSWERS).sizes) == 100
    assert len(preview_pool(inputs, protocol=deep).sizes) == 120


def test_curve_ends_at_the_last_rank_of_runs() -> None:
    short = replace(ANSWERS, runs=replace(ANSWERS.runs, max_ranks=20))
    inputs = inputs_of([{"B.1": ["1", "2"]}], ["primary"])

    assert len(preview_pool(inputs, protocol=with_depths(short, {"primary": 5, "alternate": 1})).sizes) == 20


def test_curve_is_bounded_for_any_depth_of_the_protocol() -> None:
    inputs = inputs_from([({"A.1": ["1", "2"]}, "primary")])
    deep = with_depths(ANSWERS, {"primary": 2**31 - 1})
    endless = replace(deep, runs=replace(deep.runs, max_ranks=2**31 - 1))

    preview = preview_pool(inputs, protocol=endless)

    assert len(preview.sizes) == 100_000
    assert preview.totals[-1] == 2


def test_kinds_keep_their_proportion() -> None:
    assert depth_by_kind({"primary": 45, "alternate": 15}, 45) == {"primary": 45, "alternate": 15}
    assert depth_by_kind({"primary": 20, "alternate": 10}, 15) == {"primary": 15, "alternate": 8}
    assert depth_by_kind({"primary": 20, "alternate": 0}, 7) == {"primary": 7, "alternate": 0}


def small_preview() -> Preview:
    """Pools of 10, 15 and 18 units of two topics."""
    sizes = np.array([[4, 6], [7, 8], [9, 9]])
    return Preview(np.array(["B.1", "B.2"]), sizes, {"primary": 3, "alternate": 1}, judges=2)


def test_hours_count_all_judges() -> None:
    assert small_preview().hours(360).tolist() == [2.0, 3.0, 3.6]


@pytest.mark.parametrize(("hours", "depth"), [(1.9, 0), (2.0, 1), (3.5, 2), (3.6, 3), (100, 3)])
def test_budget_gives_the_deepest_pool_that_fits(hours: float, depth: int) -> None:
    assert small_preview().deepest_within(hours, 360) == depth


def test_depth_of_the_curve_gives_a_depth_for_each_kind() -> None:
    assert small_preview().depth_by_kind(2) == {"primary": 2, "alternate": 1}


def test_default_times_are_the_published_ones() -> None:
    assert (usual_seconds(ANSWERS), usual_seconds(FORMULAS), usual_seconds(NTCIR_10)) == (83.3, 39.5, 39.5)


def test_judgments_per_unit_follow_from_the_protocol() -> None:
    names = ["arqmath-2021-task1", "ntcir-12-wikipedia", "bolt-ir-p3"]

    assert [judgments_per_unit(load_protocol(name)) for name in names] == [1, 2, 1.5]


def test_known_items_have_nothing_to_preview() -> None:
    with pytest.raises(PoolError, match="nothing is judged"):
        preview_pool(inputs_of([{"Q": ["x"]}], ["primary"]), protocol=load_protocol("ntcir-11-math"))


def test_runs_of_kinds_that_are_not_pooled_have_nothing_to_preview() -> None:
    with pytest.raises(PoolError, match="no run of a kind that is pooled"):
        preview_pool(inputs_of([{"Q": ["x"]}], ["phase2"]), protocol=ANSWERS)


# ---- leaving a team out


@given(drawn=RUNS, k=st.integers(1, 6))
@settings(max_examples=80, deadline=None)
def test_pool_without_a_team_equals_the_pool_of_the_other_runs(drawn: Drawn, k: int) -> None:
    inputs = inputs_from(drawn)
    depth = {"primary": k, "alternate": k}
    teams = sorted({run.team for run in inputs})
    units = build_pool(inputs, protocol=ANSWERS, seed=1, depth=depth).units

    contributions = contributions_of(units, [teams.index(run.team) for run in inputs], len(teams))

    for n, team in enumerate(teams):
        others = [run for run in inputs if run.team != team]
        left = build_pool(others, protocol=ANSWERS, seed=1, depth=depth).units if others else None
        assert contributions.without[n] == (len(left) if left else 0)
        of_team = [run for run in inputs if run.team == team]
        assert contributions.contributed[n].sum() == len(
            build_pool(of_team, protocol=ANSWERS, seed=1, depth=depth).units
        )
    assert (contributions.exclusive <= contributions.contributed).all()
    assert contributions.sizes.tolist() == units.sizes.tolist()
