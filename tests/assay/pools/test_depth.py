"""Pools as arrays: union, ranks, order, statistics."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.extensions import ExtensionError
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import check_run
from assay.pools.depth import PooledUnits, top_k
from assay.pools.files import contributions_tsv, pool_tsv, record
from assay.pools.order import MAX_SEED, random_order
from assay.pools.preview import preview_pool
from assay.pools.statistics import contributions_of, overlap, statistics
from assay.pools.strategies import PoolError, PoolInput, as_pooled, build_pool, depths_of
from assay.protocols.description import facts
from assay.protocols.loader import ProtocolError, load_protocol, parse_protocol, shipped_text
from tests.helpers.extensions import other_packages

PROTOCOL = load_protocol("arqmath-2020-task1")
SEVERAL = {"A.1": ["a", "b", "c"], "A.2": ["x", "y"]}


def run_of(ranking: dict[str, list[str]]) -> RunColumns:
    """A run that ranks the documents of each topic in the order given."""
    lines = [f"{t} Q0 {d} {i} {1000 - i} tag" for t, docs in ranking.items() for i, d in enumerate(docs, 1)]
    columns = check_run(io.BytesIO("\n".join(lines).encode()), protocol=PROTOCOL, name="run").columns
    assert columns is not None
    return columns


def entries(units: PooledUnits) -> list[tuple[str, str]]:
    codes = units.topics.tolist()
    return [(codes[t], d.decode()) for t, d in zip(units.topic_index, units.docno.tolist(), strict=True)]


def plain_pool(
    runs: list[dict[str, list[str]]], depths: list[int]
) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """A plain implementation: the runs and ranks of each unit."""
    pool: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, (run, depth) in enumerate(zip(runs, depths, strict=True)):
        for topic, docs in run.items():
            for rank, docno in enumerate(docs[:depth], 1):
                pool.setdefault((topic, docno), []).append((i, rank))
    return dict(sorted(pool.items(), key=lambda item: (item[0][0].encode(), item[0][1].encode())))


DOCNOS = st.lists(
    st.sampled_from([f"d{i}" for i in range(15)] + ["é", "Z", "9", "10"]), unique=True, min_size=1
)
RUNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["A.1", "A.10", "A.2"]), DOCNOS, min_size=1), st.integers(0, 8)
    ),
    min_size=1,
    max_size=5,
)


@given(RUNS)
@settings(max_examples=100, deadline=None)
def test_pool_equals_the_plain_union(drawn: list[tuple[dict[str, list[str]], int]]) -> None:
    rankings, depths = [ranking for ranking, _ in drawn], [depth for _, depth in drawn]

    units = top_k([run_of(ranking) for ranking in rankings], depths)

    expected = plain_pool(rankings, depths)
    assert entries(units) == list(expected)
    given_by = [[] for _ in range(len(units))]  # type: ignore[var-annotated]
    for entry, run, rank in zip(units.entry.tolist(), units.run.tolist(), units.rank.tolist(), strict=True):
        given_by[entry].append((run, rank))
    assert given_by == list(expected.values())


@given(RUNS, st.integers(0, MAX_SEED))
@settings(max_examples=50, deadline=None)
def test_positions_are_a_permutation_within_each_topic(
    drawn: list[tuple[dict[str, list[str]], int]], seed: int
) -> None:
    units = top_k([run_of(ranking) for ranking, _ in drawn], [depth for _, depth in drawn])

    position = random_order(units, seed)

    for topic, size in enumerate(units.sizes.tolist()):
        assert sorted(position[units.topic_index == topic].tolist()) == list(range(1, size + 1))


def test_order_of_a_topic_does_not_depend_on_other_topics() -> None:
    ranking = {"A.2": [f"d{i}" for i in range(50)]}
    alone = top_k([run_of(ranking)], [50])
    among = top_k([run_of(ranking | {"A.1": ["x"], "A.3": ["y", "z"]})], [50])

    position = random_order(among, 7)

    assert random_order(alone, 7).tolist() == position[among.topic_index == 1].tolist()


def test_order_is_the_same_in_every_version() -> None:
    units = top_k([run_of({"A.1": [f"d{i}" for i in range(8)]})], [8])

    assert random_order(units, 2020).tolist() == FIRST_ORDER
    assert random_order(units, 2021).tolist() != FIRST_ORDER


FIRST_ORDER = [4, 8, 2, 5, 6, 7, 3, 1]


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1])
def test_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="whole number from 0"):
        random_order(top_k([run_of(SEVERAL)], [2]), seed)


def test_each_run_needs_a_depth() -> None:
    with pytest.raises(ValueError, match="got 1 run and the depths"):
        top_k([run_of(SEVERAL)], [])


def inputs() -> list[PoolInput]:
    return [
        PoolInput(run_of({"A.1": ["a", "b", "c"], "A.2": ["x"]}), "one", "r1", "primary"),
        PoolInput(run_of({"A.1": ["b", "d"], "A.2": ["x"]}), "one", "r2", "alternate"),
        PoolInput(run_of({"A.1": ["b", "e"]}), "two", "r3", "baseline"),
    ]


def test_statistics_count_the_contributions_of_runs_and_teams() -> None:
    pool = build_pool(inputs(), protocol=PROTOCOL, seed=1)

    values = statistics(pool, inputs())

    assert values["n"] == 6
    assert values["topics"] == [{"topic": "A.1", "n": 5}, {"topic": "A.2", "n": 1}]
    assert values["overlap"] == [[4, 2, 1], [2, 3, 1], [1, 1, 2]]
    assert [(run["n"], run["alone"]) for run in values["runs"]] == [(4, 2), (3, 1), (2, 1)]
    first, second = values["teams"]
    assert (first["team"], first["n"], first["alone"], first["without"]) == ("one", 5, 4, 2)
    assert (second["team"], second["n"], second["alone"], second["without"]) == ("two", 2, 1, 5)
    assert (first["brought_by_topic"], first["alone_by_topic"]) == ([4, 1], [3, 1])
    assert [run["reach"] for run in values["runs"]] == [[3, 1], [2, 1], [2, 0]]
    assert json.dumps(values)


@given(RUNS)
@settings(max_examples=60, deadline=None)
def test_overlap_and_exclusive_units_equal_those_of_plain_sets(
    drawn: list[tuple[dict[str, list[str]], int]],
) -> None:
    units = top_k([run_of(ranking) for ranking, _ in drawn], [depth for _, depth in drawn])
    sets = [set(units.entry[units.run == i].tolist()) for i in range(units.n_runs)]
    group = np.array([i % 2 for i in range(units.n_runs)], dtype=np.int32)
    halves = [set().union(*sets[side::2]) for side in (0, 1)]

    assert overlap(units).tolist() == [[len(left & right) for right in sets] for left in sets]
    contributions = contributions_of(units, group, 2)
    assert contributions.contributed.sum(axis=1).tolist() == [len(half) for half in halves]
    assert contributions.exclusive.sum(axis=1).tolist() == [
        len(halves[0] - halves[1]),
        len(halves[1] - halves[0]),
    ]
    assert contributions.without.tolist() == [len(halves[1]), len(halves[0])]


def test_overlap_counted_in_parts_is_correct(monkeypatch: pytest.MonkeyPatch) -> None:
    units = top_k([run_of({"A.1": [f"d{i}" for i in range(k, k + 50)]}) for k in (0, 10, 20)], [50, 50, 50])
    split = np.array_split

    whole = overlap(units).tolist()
    monkeypatch.setattr(np, "array_split", lambda array, _n: split(array, 7))

    assert overlap(units).tolist() == whole == [[50, 40, 30], [40, 50, 40], [30, 40, 50]]


def test_depth_depends_on_the_kind_of_run_and_of_baseline() -> None:
    assert depths_of(inputs(), PROTOCOL.runs) == [50, 20, 50]
    as_alternate = PoolInput(run_of(SEVERAL), "two", "r3", "baseline", pooled_as="alternate")
    assert depths_of([as_alternate], PROTOCOL.runs, {"alternate": 15}) == [15]


def test_same_seed_gives_the_same_bytes() -> None:
    first, again = (pool_tsv(build_pool(inputs(), protocol=PROTOCOL, seed=5)) for _ in range(2))

    assert first == again
    assert first != pool_tsv(build_pool(inputs(), protocol=PROTOCOL, seed=6))
    assert len(first.splitlines()) == 6


@pytest.mark.parametrize("strategy", ["top-k", "round-robin-until", "top-k-by-score", "known-item"])
def test_runs_cut_to_their_depths_give_the_same_pool(strategy: str) -> None:
    protocol = replace(PROTOCOL, pool=replace(PROTOCOL.pool, strategy=strategy, target=3))
    depth, known = {"primary": 2, "alternate": 1}, {"A.1": ["b"], "A.2": ["x"]}
    cut = [as_pooled(run, protocol, depth) for run in inputs()]

    pools = [
        build_pool(runs, protocol=protocol, seed=5, depth=depth, known=known) for runs in (inputs(), cut)
    ]

    assert [len(run.columns) for run in cut] == [3, 2, 2]
    of_all, of_cut = (
        (pool_tsv(pool), contributions_tsv(pool, inputs()), pool.reach.tolist()) for pool in pools
    )
    assert of_cut == of_all


def test_runs_of_formulas_are_not_cut() -> None:
    run = inputs()[0]

    assert as_pooled(run, load_protocol("arqmath-2020-task2"), {"primary": 1}) is run


def test_order_of_the_runs_does_not_change_the_pool() -> None:
    forward = pool_tsv(build_pool(inputs(), protocol=PROTOCOL, seed=5))

    assert pool_tsv(build_pool(inputs()[::-1], protocol=PROTOCOL, seed=5)) == forward


def test_contributions_name_team_run_and_rank() -> None:
    lines = contributions_tsv(build_pool(inputs(), protocol=PROTOCOL, seed=5), inputs()).decode().splitlines()

    assert lines[:4] == [
        "A.1\ta\tone\tr1\t1",
        "A.1\tb\tone\tr1\t2",
        "A.1\tb\tone\tr2\t1",
        "A.1\tb\ttwo\tr3\t1",
    ]


def test_record_has_everything_that_a_rebuild_needs() -> None:
    pool = build_pool(inputs(), protocol=PROTOCOL, seed=5)
    sources = [{"file": f"{i}.tsv", "sha256": "0" * 64} for i in range(3)]

    recorded = record(pool, inputs(), protocol=PROTOCOL, seed=5, sha256="f" * 64, sources=sources)

    assert recorded["protocol"] == {"slug": "arqmath-2020-task1", "sha256": PROTOCOL.digest}
    assert (recorded["seed"], recorded["sha256"]) == (5, "f" * 64)
    assert recorded["runs"][1] | {"n": 3} == recorded["runs"][1]
    assert recorded["runs"][1]["depth"] == 20


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"strategy": "by-hand"}, "pool.strategy: by-hand is not available; use answers, "),
        ({"order": "backwards"}, "pool.order: backwards is not available; use by-answer, by-run-votes"),
        ({"strategy": "distinct-units"}, "distinct-units pools visually distinct formulas only"),
        ({"near_duplicate_overlap": 0.95}, "top-k does not detect near-duplicates"),
    ],
)
def test_unknown_strategy_is_refused_by_name(fields: dict[str, Any], complaint: str) -> None:
    protocol = replace(PROTOCOL, pool=replace(PROTOCOL.pool, **fields))

    with pytest.raises(PoolError, match=complaint):
        build_pool(inputs(), protocol=protocol, seed=1)


@pytest.mark.parametrize("depth", [{"phase2": 5}, {"primary": -1}, {"primary": 0, "alternate": 0}])
def test_depths_that_cannot_be_used_are_refused(depth: dict[str, int]) -> None:
    with pytest.raises(PoolError):
        build_pool(inputs(), protocol=PROTOCOL, seed=1, depth=depth)


def test_real_runs_give_a_known_pool(data: Path) -> None:
    names = ["prim_Approach0.tsv", "prim_zbMATH-task1-auto-both-P.tsv", "scm_ensemble-task1.tsv.gz"]
    files = [data / "arqmath" / "runs" / name for name in names]
    columns = [check_run(file, protocol=PROTOCOL, name=file.name).columns for file in files]
    rankings = [
        {
            code: run.docno[run.offsets[i] : run.offsets[i + 1]].astype(str).tolist()
            for i, code in enumerate(run.topics.tolist())
        }
        for run in columns
        if run is not None
    ]

    units = top_k([run for run in columns if run is not None], [50, 50, 20])

    assert entries(units) == list(plain_pool(rankings, [50, 50, 20]))


SHORTEST = """
from assay.pools.depth import reach_of_rows, top_k
from assay.pools.strategies import BuiltPool
from assay.protocols.strategies import PoolStrategy

def build(runs, depths, material):
    units = top_k(runs, [1 for _ in runs])
    return BuiltPool(units, reach_of_rows(runs, [1 for _ in runs], units.topics))

FIRST = PoolStrategy(
    "first-rank", "the first rank of each run", cell="first rank", sentence="Rank 1 of {depths}.", build="short:build"
)
EXTENSION = Extension(name="short", title="Short pools", adds=(FIRST,))
"""


def test_strategy_of_an_extension_builds_the_pool_of_a_protocol(tmp_path: Path) -> None:
    text = shipped_text("arqmath-2020-task1").replace('strategy = "top-k"', 'strategy = "first-rank"')
    with pytest.raises(ProtocolError, match="'first-rank' is not allowed; use top-k, distinct-units, "):
        parse_protocol(text, name="lab.toml")

    with other_packages(tmp_path, short=SHORTEST):
        protocol = parse_protocol(f'extensions = ["short"]\n{text}', name="lab.toml")
        pool = build_pool(inputs(), protocol=protocol, seed=5)

        assert pool.reach.max() == 1
        assert dict(facts(protocol))["Pool"].startswith("Rank 1 of ")
        with pytest.raises(PoolError, match="first-rank has no preview"):
            preview_pool(inputs(), protocol=protocol)


def test_strategy_of_an_extension_without_depths_takes_none(tmp_path: Path) -> None:
    text = shipped_text("arqmath-2020-task1").replace('strategy = "top-k"', 'strategy = "first-rank"')
    text = f'extensions = ["short"]\n{text}'
    with other_packages(tmp_path, short=SHORTEST.replace('build="', 'depth="never", build="')):
        with pytest.raises(
            ProtocolError, match=r"kind\[1\].depth: the strategy first-rank takes no depth; leave"
        ):
            parse_protocol(text, name="lab.toml")
        plain = re.sub(r"(?m)^(depth|pooled_as) = .*\n", "", text)
        protocol = parse_protocol(plain, name="lab.toml")

        assert build_pool(inputs(), protocol=protocol, seed=5).reach.max() == 1
        with pytest.raises(PoolError, match="this protocol has no depths"):
            build_pool(inputs(), protocol=protocol, seed=5, depth={"primary": 1})


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("len(runs)", "short:sizes must return PooledUnits, got 3"),
        ("runs[9]", "short:sizes fails: IndexError: list index out of range (short.py, line "),
    ],
)
def test_strategy_of_an_extension_without_sizes_of_a_pool_is_named(
    sizes: str, message: str, tmp_path: Path
) -> None:
    text = shipped_text("arqmath-2020-task1").replace('strategy = "top-k"', 'strategy = "first-rank"')
    code = SHORTEST.replace('build="', 'sizes="short:sizes", build="')
    code += f"def sizes(runs, depths, material):\n    return {sizes}\n"
    with other_packages(tmp_path, short=code):
        protocol = parse_protocol(f'extensions = ["short"]\n{text}', name="lab.toml")
        with pytest.raises(
            ExtensionError, match=re.escape(f"the extension short: pool strategy first-rank: {message}")
        ):
            preview_pool(inputs(), protocol=protocol)


@pytest.mark.parametrize(
    ("built", "message"),
    [
        ("7", "short:build must return a BuiltPool, got 7"),
        ("1 / 0", "short:build fails: ZeroDivisionError: division by zero (short.py, line "),
    ],
)
def test_strategy_of_an_extension_that_builds_no_pool_is_named(
    built: str, message: str, tmp_path: Path
) -> None:
    text = shipped_text("arqmath-2020-task1").replace('strategy = "top-k"', 'strategy = "first-rank"')
    code = re.sub("return .*", f"return {built}", SHORTEST)
    with other_packages(tmp_path, short=code):
        protocol = parse_protocol(f'extensions = ["short"]\n{text}', name="lab.toml")
        with pytest.raises(
            ExtensionError, match=re.escape(f"the extension short: pool strategy first-rank: {message}")
        ):
            build_pool(inputs(), protocol=protocol, seed=5)
