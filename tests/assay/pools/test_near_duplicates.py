"""Near-duplicates of passages: the rule against a comparison of all pairs, and pools of citations."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.runs.columns import RunColumns
from assay.passages import _Leaders, leaders, needed, words_of
from assay.pools.depth import Members
from assay.pools.files import members_tsv, pool_tsv
from assay.pools.preview import preview_pool
from assay.pools.strategies import BuiltPool, PoolError, PoolInput, build_pool
from assay.protocols.loader import load_protocol

PROTOCOL = load_protocol("bolt-ir-p3")
SHARE = Fraction("0.95")
Bigrams = frozenset[tuple[str, ...]]


def bigrams(passage: str) -> Bigrams:
    """The distinct word bigrams of a passage; its word, if it has only one."""
    words = words_of(passage)
    return frozenset({tuple(words)}) if len(words) == 1 else frozenset(pairwise(words))


def are_near_duplicates(left: Bigrams, right: Bigrams, overlap: Fraction) -> bool:
    return bool(left and right) and len(left & right) >= needed(max(len(left), len(right)), overlap)


def of_words(*numbers: int) -> str:
    return " ".join(f"w{n}" for n in numbers)


def words(n: int, changed: Sequence[int] = ()) -> str:
    """A passage of n different words, some of them changed."""
    return of_words(*(1000 + i if i in changed else i for i in range(n)))


# ---- what is a near-duplicate


def test_bigrams_ignore_case_and_punctuation() -> None:
    assert bigrams("The cat – the CAT, the dog!") == {("the", "cat"), ("cat", "the"), ("the", "dog")}


def test_passage_of_one_word_is_near_equal_passages_only() -> None:
    assert are_near_duplicates(bigrams("Yes!"), bigrams("yes"), SHARE)
    assert not are_near_duplicates(bigrams("Yes"), bigrams("No"), SHARE)
    assert not are_near_duplicates(bigrams("yes"), bigrams("yes yes"), SHARE)


def test_passages_without_words_are_not_near_duplicates() -> None:
    assert leaders(["...", "...", ""], 0.95) == [0, 1, 2]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (words(21), words(21), True),
        (words(21), words(20), True),  # 19 of 20 bigrams: 95 %
        (words(20), words(19), False),  # 18 of 19
        (words(41), words(39), True),  # 38 of 40
        (words(41), words(38), False),  # 37 of 40
        (words(41), words(41, [20]), True),  # a word in the middle changes two bigrams of 40
        (words(40), words(40, [20]), False),  # and of 39
        (words(40), words(40, [0]), True),  # a word at the end changes one bigram
        (words(100), words(40), False),  # the second is contained in the first, but not the reverse
    ],
)
def test_overlap_must_hold_in_both_directions(first: str, second: str, expected: bool) -> None:
    assert are_near_duplicates(bigrams(first), bigrams(second), SHARE) is expected
    assert are_near_duplicates(bigrams(second), bigrams(first), SHARE) is expected
    assert (leaders([first, second], 0.95) == [0, 0]) is expected


def test_near_duplicates_of_near_duplicates_are_not_joined() -> None:
    chain = [words(41), words(41, [40]), words(41, [0, 40]), words(41, [0, 1, 40])]

    assert leaders(chain, 0.95) == [0, 0, 0, 3]


PASSAGES = st.lists(
    st.lists(st.integers(0, 4), max_size=9).map(lambda numbers: of_words(*numbers)), min_size=1, max_size=14
)


@given(PASSAGES, st.sampled_from([0.3, 0.5, 0.75, 0.95, 1.0]))
@settings(max_examples=300, deadline=None)
def test_leaders_equal_those_of_a_comparison_of_all_pairs(passages: list[str], overlap: float) -> None:
    share, expected = Fraction(str(overlap)), list[int]()
    for i, passage in enumerate(passages):
        near = [
            j
            for j in range(i)
            if expected[j] == j and are_near_duplicates(bigrams(passages[j]), bigrams(passage), share)
        ]
        expected.append(near[0] if near else i)

    assert leaders(passages, overlap) == expected


@pytest.mark.parametrize("overlap", [0, -0.5, 1.01])
def test_overlap_out_of_range_is_refused(overlap: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        leaders(["a b"], overlap)


def test_work_does_not_grow_with_the_number_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passages of the same common words, with hardly a bigram in common: hardly any two are compared."""
    compared = []
    plain = _Leaders._is_near

    def counted(leaders: _Leaders, ours: frozenset[int], leader: int) -> bool:
        compared.append(leader)
        return plain(leaders, ours, leader)

    monkeypatch.setattr(_Leaders, "_is_near", counted)
    rng = np.random.default_rng(1)
    passages = [of_words(*rng.integers(0, 300, 40)) for _ in range(2000)]

    numbers = leaders(passages + passages[:500], 0.95)

    assert numbers == [*range(2000), *range(500)]
    assert len(compared) < 2000


# ---- pools of citations


def run_of(ranking: dict[str, list[tuple[str, str]]]) -> RunColumns:
    """A run of citations, each with its passage."""
    rows = [(t, docno, text) for t in sorted(ranking) for docno, text in ranking[t]]
    topics = sorted(ranking)
    return RunColumns(
        topics=np.array(topics),
        topic_index=np.array([topics.index(t) for t, _, _ in rows], dtype=np.int32),
        docno=np.array([docno.encode() for _, docno, _ in rows]),
        rank=np.arange(1, len(rows) + 1, dtype=np.int32),
        score=np.linspace(1, 0, len(rows)),
        passage=np.array([text.encode() for _, _, text in rows]),
    )


A, A_TOO, B = words(41), words(41, [40]), words(41, range(41))


def pool_of(*runs: RunColumns, **options: object) -> BuiltPool:
    inputs = [PoolInput(run, f"team{i}", f"run{i}", "evaluation") for i, run in enumerate(runs)]
    return build_pool(inputs, protocol=PROTOCOL, seed=3, **options)  # type: ignore[arg-type]


def entry_names(pool: BuiltPool) -> list[bytes]:
    return pool.units.docno.tolist()  # type: ignore[no-any-return]


def classes(members: Members | None) -> list[tuple[int, bytes, int]]:
    assert members is not None
    return list(zip(members.entry.tolist(), members.docno.tolist(), members.position.tolist(), strict=True))


FIRST = run_of({"T1": [("x", A), ("y", B)], "T2": [("z", A)]})
SECOND = run_of({"T1": [("v", B), ("w", A_TOO), ("x", A)]})


def test_highest_ranked_unit_of_a_group_is_judged_and_the_others_are_its_members() -> None:
    pool = pool_of(FIRST, SECOND)

    # x leads w, at rank 1 in the first run; v leads y, at rank 1 in the second; topics are apart.
    assert entry_names(pool) == [b"v", b"x", b"z"]
    assert classes(pool.members) == [(0, b"v", 1), (0, b"y", 0), (1, b"w", 0), (1, b"x", 1), (2, b"z", 1)]
    given_by = zip(pool.units.entry.tolist(), pool.units.run.tolist(), pool.units.rank.tolist(), strict=True)
    assert list(given_by) == [(0, 0, 2), (0, 1, 1), (1, 0, 1), (1, 1, 2), (2, 0, 1)]
    members = pool.members
    assert members is not None
    by_member = zip(members.member.tolist(), members.run.tolist(), members.rank.tolist(), strict=True)
    assert list(by_member) == [(0, 1, 1), (1, 0, 2), (2, 1, 2), (3, 0, 1), (3, 1, 3), (4, 0, 1)]


def test_order_of_the_runs_does_not_change_the_groups() -> None:
    forward, backward = pool_of(FIRST, SECOND), pool_of(SECOND, FIRST)

    assert pool_tsv(forward) == pool_tsv(backward)
    assert members_tsv(forward) == members_tsv(backward)


def test_runs_without_passages_cannot_be_pooled_by_near_duplicates() -> None:
    run = run_of({"T1": [("x", A)]})
    bare = RunColumns(run.topics, run.topic_index, run.docno, run.rank, run.score)

    with pytest.raises(PoolError, match="there are none in 1 of 2 runs"):
        pool_of(run, bare)


def test_citations_are_separate_units_if_the_protocol_names_no_overlap() -> None:
    plain = replace(PROTOCOL, pool=replace(PROTOCOL.pool, near_duplicate_overlap=None))
    inputs = [PoolInput(run, "team", f"run{i}", "evaluation") for i, run in enumerate([FIRST, SECOND])]

    pool = build_pool(inputs, protocol=plain, seed=1)

    assert entry_names(pool) == [b"v", b"w", b"x", b"y", b"z"]
    assert pool.members is None


def test_preview_of_runs_without_passages_is_refused() -> None:
    bare = replace(FIRST, passage=None)

    with pytest.raises(PoolError, match="there are none in 1 of 1 run"):
        preview_pool([PoolInput(bare, "team", "run", "evaluation")], protocol=PROTOCOL)


def test_preview_counts_one_unit_of_each_group_at_every_depth() -> None:
    inputs = [PoolInput(run, "team", f"run{i}", "evaluation") for i, run in enumerate([FIRST, SECOND])]

    preview = preview_pool(inputs, protocol=PROTOCOL, deepest=4)

    for depth, size in enumerate(preview.totals.tolist(), 1):
        kinds = dict.fromkeys(PROTOCOL.runs.depths, depth)
        assert size == len(build_pool(inputs, protocol=PROTOCOL, seed=1, depth=kinds).units)
    assert preview.judges == 1.5  # half of the topics are judged twice


# ---- topping up


def test_new_near_duplicates_of_an_old_unit_become_its_members() -> None:
    first = pool_of(FIRST)
    already = {"T1": ["x", "y"], "T2": ["z"]}
    assert entry_names(first) == [b"x", b"y", b"z"]

    pool = pool_of(FIRST, SECOND, already=already)

    # y was pooled before v came and outranked it: it goes on leading.
    assert entry_names(pool) == [b"x", b"y"]
    assert classes(pool.members) == [(0, b"w", 0), (0, b"x", 1), (1, b"v", 0), (1, b"y", 1)]
    assert pool.n_already == 3


def test_known_near_duplicates_do_not_add_their_unit_again() -> None:
    already, tied = {"T1": ["x", "v"], "T2": ["z"]}, {"T1": ["x", "w", "v", "y"], "T2": ["z"]}

    pool = pool_of(FIRST, SECOND, already=already, tied=tied)

    assert entry_names(pool) == []
    assert classes(pool.members) == []
