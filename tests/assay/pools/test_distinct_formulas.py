"""Pools of visually distinct formulas against a slow, plain reading of the rule; and the pools of the other tasks."""

import csv
import gzip
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import check_run
from assay.formulas.columns import Formulas
from assay.pools.depth import Members
from assay.pools.files import member_contributions_tsv, members_tsv, pool_tsv
from assay.pools.statistics import statistics
from assay.pools.strategies import BuiltPool, PoolError, PoolInput, build_pool
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Protocol

PROTOCOL = load_protocol("arqmath-2021-task2")
Ranking = Mapping[str, Sequence[str]]  # formula ids by topic


def run_of(ranking: Ranking) -> RunColumns:
    topics = sorted(ranking)
    lengths = [len(ranking[topic]) for topic in topics]
    return RunColumns(
        topics=np.array(topics, dtype=np.str_),
        topic_index=np.repeat(np.arange(len(topics), dtype=np.int32), lengths),
        docno=np.array([docno.encode() for topic in topics for docno in ranking[topic]], dtype=np.bytes_),
        rank=np.concatenate([np.arange(1, n + 1, dtype=np.int32) for n in lengths]),
        score=np.concatenate([np.arange(n, 0, -1, dtype=np.float64) for n in lengths]),
    )


def formulas_of(visual: Mapping[str, str]) -> Formulas:
    """Formulas with their visual ids, each in a post and a thread of its own."""
    return Formulas.of(
        [
            (formula, f"p{formula}", f"t{formula}", "answer", visual_id)
            for formula, visual_id in visual.items()
        ]
    )


def build(
    rankings: Sequence[Ranking],
    kinds: Sequence[str],
    visual: Mapping[str, str],
    protocol: Protocol = PROTOCOL,
    **options: Any,
) -> BuiltPool:
    return build_pool(
        inputs_of(rankings, kinds), protocol=protocol, seed=7, formulas=formulas_of(visual), **options
    )


def inputs_of(rankings: Sequence[Ranking], kinds: Sequence[str]) -> list[PoolInput]:
    return [
        PoolInput(run_of(ranking), f"team{i // 2}", f"run{i}", kind)
        for i, (ranking, kind) in enumerate(zip(rankings, kinds, strict=True))
    ]


# ---- the plain reading


def plain_reach(ranked: Sequence[str], visual: Mapping[str, str], k: int) -> int:
    """Down a run to the first instance of its k-th distinct formula; all of it where there are fewer."""
    distinct: list[str] = []
    if k == 0:
        return 0
    for rank, formula in enumerate(ranked, 1):
        if visual.get(formula) and visual[formula] not in distinct:
            distinct.append(visual[formula])
            if len(distinct) == k:
                return rank
    return len(ranked)


def plain_pool(
    rankings: Sequence[Ranking], depths: Sequence[int], visual: Mapping[str, str]
) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """(topic, visual id) of each pooled formula, with the runs and the ranks of its first instances."""
    pool: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for run, (ranking, k) in enumerate(zip(rankings, depths, strict=True)):
        for topic, ranked in ranking.items():
            met = set()
            for rank, formula in enumerate(ranked[: plain_reach(ranked, visual, k)], 1):
                if visual.get(formula) and visual[formula] not in met:
                    met.add(visual[formula])
                    pool[topic, visual[formula]].append((run, rank))
    return dict(sorted(pool.items(), key=lambda item: (item[0][0].encode(), item[0][1].encode())))


def plain_members(
    rankings: Sequence[Ranking], depths: Sequence[int], visual: Mapping[str, str], topic: str, unit: str
) -> dict[str, list[tuple[int, int]]]:
    """The instances of a unit at any rank, and run and rank of each."""
    members_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for run, (ranking, k) in enumerate(zip(rankings, depths, strict=True)):
        for rank, formula in enumerate(ranking.get(topic, ()), 1):
            if k and visual.get(formula) == unit:
                members_of[formula].append((run, rank))
    return dict(sorted(members_of.items(), key=lambda item: item[0].encode()))


def check_against_the_plain_reading(
    pool: BuiltPool, rankings: Sequence[Ranking], depths: Sequence[int], visual: Mapping[str, str]
) -> None:
    units = pool.units
    codes = units.topics.tolist()
    for run, (ranking, k) in enumerate(zip(rankings, depths, strict=True)):
        assert pool.reach[run].tolist() == [plain_reach(ranking.get(code, ()), visual, k) for code in codes]
    expected = plain_pool(rankings, depths, visual)
    names = [(codes[t], d.decode()) for t, d in zip(units.topic_index, units.docno.tolist(), strict=True)]
    assert names == list(expected)
    given_by: list[list[tuple[int, int]]] = [[] for _ in names]
    for entry, run, rank in zip(units.entry.tolist(), units.run.tolist(), units.rank.tolist(), strict=True):
        given_by[entry].append((run, rank))
    assert given_by == list(expected.values())
    members_of = members_by_entry(pool.members)
    for entry, (topic, unit) in enumerate(names):
        members = plain_members(rankings, depths, visual, topic, unit)
        assert {name: ranks for name, (_, ranks) in members_of[entry].items()} == members
        check_shown(members_of[entry])


def members_by_entry(members: Members | None) -> dict[int, dict[str, tuple[int, list[tuple[int, int]]]]]:
    """Of each entry its members with position and contributions."""
    assert members is not None
    members_of: dict[int, dict[str, tuple[int, list[tuple[int, int]]]]] = defaultdict(dict)
    rows = list(zip(members.entry.tolist(), members.docno.tolist(), members.position.tolist(), strict=True))
    for entry, docno, position in rows:
        members_of[entry][docno.decode()] = (position, [])
    for member, run, rank in zip(
        members.member.tolist(), members.run.tolist(), members.rank.tolist(), strict=True
    ):
        members_of[rows[member][0]][rows[member][1].decode()][1].append((run, rank))
    return members_of


def check_shown(members: Mapping[str, tuple[int, list[tuple[int, int]]]]) -> None:
    """The five with the highest sums of reciprocal ranks, at places 1 to 5."""
    shown = [name for name, (position, _) in members.items() if position]
    votes = {name: sum(Fraction(1, rank) for _, rank in ranks) for name, (_, ranks) in members.items()}
    assert sorted(members[name][0] for name in shown) == list(range(1, min(5, len(members)) + 1))
    assert sorted((votes[name] for name in shown), reverse=True) == sorted(votes.values(), reverse=True)[:5]


FORMULAS = [str(n) for n in range(95, 125)]
RANKED = st.lists(st.sampled_from(FORMULAS), unique=True, max_size=25)
RUNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["B.1", "B.10", "B.2"]), RANKED.filter(bool), min_size=1),
        st.sampled_from(["primary", "alternate", "baseline"]),
    ),
    min_size=1,
    max_size=4,
)
VISUAL = st.fixed_dictionaries({formula: st.sampled_from(["", "1", "10", "9", "é"]) for formula in FORMULAS})


@given(drawn=RUNS, visual=VISUAL, k=st.integers(0, 4))
@settings(max_examples=150, deadline=None)
def test_pool_of_distinct_formulas_equals_the_plain_implementation(
    drawn: list[tuple[dict[str, list[str]], str]], visual: dict[str, str], k: int
) -> None:
    rankings, kinds = [ranking for ranking, _ in drawn], [kind for _, kind in drawn]
    depths = [k if kind == "alternate" else 3 for kind in kinds]
    if not plain_pool(rankings, depths, visual):
        with pytest.raises(PoolError, match=r"nothing to pool|no run of a kind"):
            build(rankings, kinds, visual, depth={"primary": 3, "alternate": k})
        return

    pool = build(rankings, kinds, visual, depth={"primary": 3, "alternate": k})

    check_against_the_plain_reading(pool, rankings, depths, visual)


# ---- a real run


def rankings_of(run: RunColumns) -> dict[str, list[str]]:
    docnos = run.docno.astype(str).tolist()
    return {code: docnos[run.offsets[i] : run.offsets[i + 1]] for i, code in enumerate(run.topics.tolist())}


@pytest.fixture(scope="module")
def real_run(data: Path) -> dict[str, list[str]]:
    """The real run of the first 20 topics."""
    path = data / "arqmath" / "runs" / "scm_ensemble-task2.tsv.gz"
    columns = check_run(path, protocol=PROTOCOL, name=path.name).columns
    assert columns is not None
    return dict(list(rankings_of(columns).items())[:20])


@pytest.fixture(scope="module")
def real_visual_ids(data: Path) -> dict[str, str]:
    with gzip.open(data / "arqmath" / "formulas" / "formula_id_visual_id.tsv.gz", "rt") as file:
        return {row["formula_id"]: row["visual_id_v2"] for row in csv.DictReader(file, delimiter="\t")}


def companions(run: Ranking) -> list[dict[str, list[str]]]:
    """Runs made from a real run: the tail first, every other row first, and a shorter one."""
    return [
        {topic: [*ranked[600:], *ranked[:300]] for topic, ranked in run.items()},
        {topic: [*ranked[::2], *ranked[1::2]] for topic, ranked in list(run.items())[::2]},
        {topic: list(ranked[5:40]) for topic, ranked in run.items()},
    ]


KINDS = ["primary", "alternate", "baseline", "alternate"]


def test_real_run_and_companions_are_pooled_like_the_plain_implementation(
    real_run: dict[str, list[str]], real_visual_ids: dict[str, str]
) -> None:
    rankings = [real_run, *companions(real_run)]
    seen = {formula for ranking in rankings for ranked in ranking.values() for formula in ranked}
    # The published map has few of the formulas of this run: the others share an id with some, or have none.
    visual = {
        formula: real_visual_ids.get(formula) or ("" if int(formula) % 7 == 0 else f"s{int(formula) % 4001}")
        for formula in seen
    }

    pool = build(rankings, KINDS, visual)

    check_against_the_plain_reading(pool, rankings, [20, 10, 20, 10], visual)
    assert pool.reach.max() > 20  # some run was taken further than its depth, as formulas came again


def test_real_run_with_only_the_published_map_is_pooled(
    real_run: dict[str, list[str]], real_visual_ids: dict[str, str]
) -> None:
    rankings = [real_run, *companions(real_run)]
    rows = [(formula, "", "", "answer", visual) for formula, visual in real_visual_ids.items()]

    pool = build_pool(inputs_of(rankings, KINDS), protocol=PROTOCOL, seed=7, formulas=Formulas.of(rows))

    check_against_the_plain_reading(pool, rankings, [20, 10, 20, 10], real_visual_ids)
    assert len(real_visual_ids) == 81_103
    assert sum(pool.skipped) > 0.9 * sum(int(taken.sum()) for taken in pool.reach)


# ---- what is refused, counted, and written


PLAIN = {"1": "a", "2": "a", "3": "b", "4": "", "5": "c"}


def test_instances_without_a_visual_id_are_skipped_and_counted() -> None:
    pool = build([{"B.1": ["4", "1", "unknown", "2", "3", "5"]}], ["primary"], PLAIN, depth={"primary": 2})

    assert pool.reach.tolist() == [[5]]
    assert pool.skipped == (2,)
    assert pool_tsv(pool).splitlines()[0].startswith(b"B.1\t")
    values = statistics(pool, inputs_of([{"B.1": ["1"]}], ["primary"]))
    assert (values["runs"][0]["skipped"], values["members"]) == (2, {"n": 3, "shown": 3, "partly": 0})


@pytest.mark.parametrize("formulas", [None, Formulas.of([])])
def test_distinct_formulas_without_formulas_are_refused(formulas: Formulas | None) -> None:
    with pytest.raises(PoolError, match="add the formulas with their visual ids"):
        build_pool(inputs_of([{"B.1": ["1"]}], ["primary"]), protocol=PROTOCOL, seed=1, formulas=formulas)


def test_ids_of_more_than_eight_bytes_are_found() -> None:
    visual = {f"article-{n:020d}": f"look-{n // 2:020d}" for n in range(6)}

    pool = build([{"B.1": list(visual)}], ["primary"], visual, depth={"primary": 2})

    assert pool.units.docno.tolist() == [b"look-" + b"%020d" % n for n in (0, 1)]
    assert pool.reach.tolist() == [[3]]


def thread_random() -> Protocol:
    return replace(PROTOCOL, instances=replace(PROTOCOL.instances, strategy="thread-random"))


def test_thread_random_needs_threads() -> None:
    formulas = Formulas.of([("1", "p1", "", "answer", "a")])

    with pytest.raises(PoolError, match="the post and the thread of each formula"):
        build_pool(
            inputs_of([{"B.1": ["1"]}], ["primary"]), protocol=thread_random(), seed=1, formulas=formulas
        )


def test_thread_random_shows_only_pooled_instances() -> None:
    visual = {str(n): "a" for n in range(10)} | {"x": "b"}

    pool = build(
        [{"B.1": ["0", "x", *map(str, range(1, 10))]}],
        ["primary"],
        visual,
        protocol=thread_random(),
        depth={"primary": 2},
    )

    shown = {name: at for name, (at, _) in members_by_entry(pool.members)[0].items() if at}
    assert shown == {"0": 1}


def test_posts_that_are_only_in_runs_are_kept() -> None:
    run = replace(run_of({"B.1": ["1", "3"]}), post=np.array([b"post-of-1", b"post-of-3"]))
    formulas = Formulas.of([("1", "", "", "answer", "a"), ("3", "known", "t", "answer", "b")])

    pool = build_pool([PoolInput(run, "t", "r", "primary")], protocol=PROTOCOL, seed=1, formulas=formulas)

    assert pool.members is not None
    assert pool.members.post.tolist() == [b"post-of-1", b"known"]


def test_members_are_written_with_post_thread_and_place() -> None:
    rankings = [{"B.1": ["1", "3", "2"]}, {"B.1": ["2"]}]
    inputs = inputs_of(rankings, ["primary", "primary"])

    pool = build(rankings, ["primary", "primary"], PLAIN)

    lines = members_tsv(pool).decode().splitlines()
    assert sorted(line.rsplit("\t", 1)[0] for line in lines) == [
        "B.1\ta\t1\tp1\tt1",
        "B.1\ta\t2\tp2\tt2",
        "B.1\tb\t3\tp3\tt3",
    ]
    assert member_contributions_tsv(pool, inputs).decode().splitlines() == [
        "B.1\ta\t1\tteam0\trun0\t1",
        "B.1\ta\t2\tteam0\trun0\t3",
        "B.1\ta\t2\tteam0\trun1\t1",
        "B.1\tb\t3\tteam0\trun0\t2",
    ]


@given(drawn=RUNS, visual=VISUAL)
@settings(max_examples=40, deadline=None)
def test_order_of_the_runs_does_not_change_the_files(
    drawn: list[tuple[dict[str, list[str]], str]], visual: dict[str, str]
) -> None:
    rankings, kinds = [ranking for ranking, _ in drawn], [kind for _, kind in drawn]
    if not plain_pool(rankings, [1] * len(kinds), visual):
        return

    forward, backward = build(rankings, kinds, visual), build(rankings[::-1], kinds[::-1], visual)

    assert pool_tsv(forward) == pool_tsv(backward)
    assert members_tsv(forward) == members_tsv(backward)


def test_late_run_adds_only_new_units() -> None:
    early, late = {"B.1": ["1", "3"], "B.2": ["1"]}, {"B.1": ["2", "5"], "B.2": ["3"]}
    already = {"B.1": ["a", "b"], "B.2": ["a"]}

    pool = build([early, late], ["primary", "primary"], PLAIN, already=already)

    assert [line.rsplit(b"\t", 1)[0] for line in pool_tsv(pool).splitlines()] == [b"B.1\tc", b"B.2\tb"]
    assert members_by_entry(pool.members) == {0: {"5": (1, [(1, 2)])}, 1: {"3": (1, [(1, 1)])}}
    assert pool.n_already == 3


def test_ids_longer_than_all_known_ids_are_skipped() -> None:
    pool = build([{"B.1": ["1", "123456789", "3"]}], ["primary"], PLAIN)

    assert pool.skipped == (1,)
    assert pool.units.docno.tolist() == [b"a", b"b"]


def test_pools_without_members_have_no_files_of_members() -> None:
    inputs = inputs_of([{"T1": ["a"]}], ["primary"])

    pool = build_pool(inputs, protocol=load_protocol("ntcir-12-simto"), seed=1)

    assert members_tsv(pool) == member_contributions_tsv(pool, inputs) == b""
