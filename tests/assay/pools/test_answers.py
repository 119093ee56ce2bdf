"""Pools of generated answers: what is pooled, once, and in which order it is judged."""

from collections.abc import Mapping, Sequence
from io import BytesIO

import pytest

from assay.answers import CitationUnit, NuggetUnit, unit_of
from assay.formats.runs.reader import check_run
from assay.pools.files import contributions_tsv, pool_tsv
from assay.pools.strategies import BuiltPool, PoolInput, build_pool
from assay.protocols.loader import load_protocol
from tests.helpers.answer_runs import CROWS, OWLS, Sentences, answer_run, citation, nugget

PROTOCOL = load_protocol("trec-rag-2024")
NUGGETS = {"T1": ["sing", "nest", "mice"], "T2": ["air"]}


def run_of(answers: Mapping[str, Sentences], team: str, kind: str = "rag") -> PoolInput:
    columns = check_run(BytesIO(answer_run(answers, tag=team)), protocol=PROTOCOL, name=team).columns
    assert columns is not None
    return PoolInput(columns, team, team, kind)


RUNS = [run_of(OWLS, "owls"), run_of(CROWS, "crows")]


def pool(
    inputs: Sequence[PoolInput] = RUNS, *, nuggets: Mapping[str, list[str]] = NUGGETS, seed: int = 1
) -> BuiltPool:
    return build_pool(inputs, protocol=PROTOCOL, seed=seed, nuggets=nuggets)


def docnos(built: BuiltPool, topic: str) -> list[str]:
    """The units of a topic in the order of judging."""
    lines = [line.split("\t") for line in pool_tsv(built).decode().splitlines()]
    return [docno for code, docno, _ in lines if code == topic]


def test_units_are_nuggets_of_answers_and_first_citations_each_once() -> None:
    assert set(docnos(pool(), "T1")) == {
        *(nugget("T1", key) for key in NUGGETS["T1"]),
        *(nugget("T1", key, CROWS) for key in NUGGETS["T1"]),
        citation("Owls sing at night.", "d1"),  # in both answers
        citation("They eat mice.", "d3"),
        citation("Crows do not.", "d5"),
    }
    assert len(docnos(pool(), "T2")) == 2  # the answers are equal


def test_runs_of_a_unit_have_the_place_of_the_nugget_or_sentence() -> None:
    rows = [line.split("\t") for line in contributions_tsv(pool(), RUNS).decode().splitlines()]

    of_both = [row[2:] for row in rows if row[1] == nugget("T2", "air")]
    of_third = [row[2:] for row in rows if row[1] == citation("They eat mice.", "d3")]
    assert of_both == [["owls", "owls", "1"], ["crows", "crows", "1"]]
    assert of_third == [["owls", "owls", "3"]]


def test_answers_come_one_after_the_other_with_their_nuggets_in_the_order_of_the_list() -> None:
    units = [unit_of(docno) for docno in docnos(pool(), "T1")]

    keys = [unit.nugget for unit in units if isinstance(unit, NuggetUnit)]
    answers = [unit.answer for unit in units if isinstance(unit, NuggetUnit)]
    assert keys == NUGGETS["T1"] * 2
    assert answers[0] == answers[2] != answers[3] == answers[5]
    assert all(isinstance(unit, CitationUnit) for unit in units[6:])


def test_seed_decides_which_answer_is_first() -> None:
    orders = {tuple(docnos(pool(seed=seed), "T1")) for seed in range(8)}

    assert len(orders) > 1
    assert docnos(pool(seed=3), "T1") == docnos(pool(seed=3), "T1")
    with pytest.raises(ValueError, match="the seed is -1"):
        pool(seed=-1)


def test_topic_without_nuggets_has_its_citations_only() -> None:
    assert docnos(pool(nuggets={}), "T2") == [citation("Swifts sleep in the air.", "d4")]


def test_later_pool_has_only_the_units_of_new_nuggets() -> None:
    first = pool(nuggets={"T2": ["air"]})
    already = {topic: docnos(first, topic) for topic in ("T1", "T2")}

    later = build_pool(RUNS, protocol=PROTOCOL, seed=1, nuggets={"T2": ["air", "sleep"]}, already=already)

    assert docnos(later, "T2") == [nugget("T2", "sleep")]
    assert docnos(later, "T1") == []


def test_run_of_depth_0_is_not_pooled() -> None:
    built = build_pool([*RUNS[:1], run_of(CROWS, "crows", "ag")], protocol=PROTOCOL, seed=1, depth={"ag": 0})

    assert citation("Crows do not.", "d5") not in docnos(built, "T1")
    assert built.reach.tolist() == [[1, 1], [0, 0]]
