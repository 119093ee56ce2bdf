"""Qrels that are derived from preferences, and the pairs that are judged, on values worked out by hand."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from assay import samples
from assay.cli.main import main
from assay.pools.depth import PooledUnits
from assay.pools.next_pairs import pooled_best
from assay.pools.pairs import pool_pairs
from assay.preferences.votes import Vote
from assay.protocols.loader import ProtocolError, parse_protocol
from assay.protocols.schema import PairRules
from assay.protocols.units import documents_of
from assay.qrels.derived import derive
from assay.qrels.freezing import Frozen, Unit
from assay.qrels.freezing import Vote as Judged

LAB = samples.path("pairs-lab.toml").read_text()


GRADE = '[[judging.grade]]\nkey = "x"\nvalue = 1\nlabel = "x"\ndefinition = "x"\n'


def derived(rule: str, choices: dict[str, str], *others: tuple[str, Judged]) -> Frozen:
    """The qrels of a topic, of pairs with their choices; an empty one is not judged."""
    selection = "tournament" if rule == "tournament" else "all"
    text = LAB.replace('selection = "all"', f'selection = "{selection}"')
    text = text.replace('"copeland"', '"votes"').replace('"bradley-terry"', f'"{rule}"')
    protocol = parse_protocol(text, name="lab.toml")
    given = {pair: choice for pair, choice in choices.items() if choice}
    judged = [(pair, Judged("main", True, "ada", each, grade_of(each))) for pair, each in given.items()]
    return derive(
        [Unit("1", pair) for pair in choices],
        [(Unit("1", pair), vote) for pair, vote in [*judged, *others]],
        rules=protocol.qrels.sets[0],
        protocol=protocol,
        seed=1,
    )  # fmt: skip


def grade_of(choice: str) -> int | None:
    return None if choice == "unreadable" else 1


def grades(qrels: Frozen) -> dict[str, int]:
    return {
        docno.decode(): grade
        for docno, grade in zip(qrels.columns.docno.tolist(), qrels.columns.grade.tolist(), strict=True)
    }


FOUR = {"a|b": "first", "a|c": "first-much", "a|d": "first", "b|c": "tie", "b|d": "first", "c|d": "bad"}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("copeland", {"a": 6, "b": 3, "c": 1, "d": 0}),  # d wins nothing, and c|d is a point for neither
        ("bradley-terry", {"a": 4, "b": 3, "c": 2, "d": 0}),  # d was called useless, and was never preferred
        ("tournament", {"a": 104, "b": 102, "c": 101, "d": 0}),
        ("votes", {"a": 1, "b": 1, "c": 0, "d": 0}),
    ],
)
def test_grades_follow_from_the_preferences_by_the_rule(rule: str, expected: dict[str, int]) -> None:
    qrels = derived(rule, FOUR)

    assert grades(qrels) == expected
    assert (qrels.report["preferences"], qrels.report["votes"]) == (rule, 6)


def test_document_with_a_pair_that_nobody_judged_has_no_copeland_grade() -> None:
    qrels = derived("copeland", {**FOUR, "a|d": "", "b|c": "unreadable"})

    assert grades(qrels) == {}
    assert [row["topic"] for row in qrels.report["dropped"]] == ["1"]
    assert qrels.report["unjudged"]["first"] == [["1", "a|d"]]
    assert qrels.report["non_answers"] == [{"topic": "1", "docno": "b|c", "choice": "unreadable"}]
    assert grades(derived("copeland", {**FOUR, "c|d": ""})) == {"a": 6, "b": 3}


def test_an_adjudication_decides_a_pair_alone_and_dual_judgments_count_if_asked_for() -> None:
    other = Judged("adjudication", True, "cy", "second", 2)

    assert grades(derived("copeland", FOUR, ("a|b", other)))["b"] == 5
    assert grades(derived("copeland", FOUR, ("a|b", other._replace(kind="dual"))))["b"] == 3
    assert derived("copeland", FOUR, ("a|b", other._replace(kind="dual"))).report["left_out"] == {"dual": 1}


def pool_of(n: int, *, docnos: str = "") -> PooledUnits:
    """`n` documents of a topic, of two runs that rank them in opposite orders."""
    names = [(docnos or f"d{i:02}").encode() for i in range(n)]
    entry = np.repeat(np.arange(n, dtype=np.int32), 2)
    ranks = np.array([[i + 1, n - i] for i in range(n)], dtype=np.int32).reshape(-1)
    return PooledUnits(
        topics=np.array(["1"]), topic_index=np.zeros(n, np.int32), docno=np.array(names, dtype=np.bytes_),
        entry=entry, run=np.tile(np.array([0, 1], dtype=np.int32), n), rank=ranks, n_runs=2,
    )  # fmt: skip


def test_pairs_are_of_the_runs_that_have_one_of_their_documents_at_the_better_rank() -> None:
    pairs = pool_pairs(pool_of(4), [], PairRules(), seed=1)

    assert pairs.docno.tolist() == [f"d{i:02}|d{j:02}".encode() for i, j in combinations(range(4), 2)]
    assert pairs.run.tolist() == [0, 1] * 6
    assert pairs.rank[:4].tolist() == [1, 3, 1, 2], "d00 and d01: rank 1 of the first run, 3 of the second"


def test_rounds_end_with_the_best_document_after_few_comparisons() -> None:
    """Of 30 documents, whose order is that of their ids. A tournament takes 105 pairs in its first round alone."""
    for selection, most in (("pooled-best", 60), ("tournament", 200)):
        units = pool_of(30)
        votes: list[Vote] = []
        rules = PairRules(selection)  # type: ignore[arg-type]
        while len(pairs := pool_pairs(units, votes, rules, seed=3)):
            for docno in pairs.docno.tolist():
                first, second = documents_of(docno.decode()) or ("", "")
                votes.append(Vote("1", first, second, min(first, second), str(len(votes))))
        wins = {docno: sum(vote.winner == docno for vote in votes) for vote in votes for docno in vote.pair}
        lost = {vote.loser for vote in votes}
        assert set(wins) - lost == {"d00"}
        assert len(votes) <= most < 435, "of 435 pairs"


def test_documents_that_beat_the_winner_meet_one_another() -> None:
    votes = [Vote("1", "a", "b", "b"), Vote("1", "a", "c", "c")]

    assert pooled_best([["a"], ["b"], ["c"]], votes) == [("b", "c")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('[pool.pairs]\nselection = "all"', '[pool.pairs]\nselection = "some"', "'some' is not allowed; use all"),
        ('[pool.pairs]\nselection = "all"', "", "pool.pairs: missing; the layout pair needs"),
        ('selection = "all"', 'selection = "all"\nk = 3', "k: has no effect on 'all'; it is a figure of a tournament"),
        ('selection = "all"', 'selection = "tournament"\nk = 8', "k, 8, must be above 0 and below partners, 7"),
        ('layout = "pair"', 'layout = "topic-document"', "pool.pairs: has no effect, because no pairs are judged"),
        ('preferences = "copeland"', "", "qrels.preferences: missing"),
        ('preferences = "copeland"', 'preferences = "tournament"', "'tournament' needs pool.pairs.selection"),
        ('preferences = "copeland"', 'preferences = "copeland"\naggregate = "mean"', "aggregate: has no effect"),
        ("[judging.preference]", "[judging.preference]\nstrength = 3", "strength: 3 is neither 1, better, nor 2"),
        ('"nDCG@5"', '"PGC"', "PGC needs preferences; give it a set with preferences = 'votes'"),
        ('unit = "document"', 'unit = "formula"', "'pair' shows two documents"),
        ('strategy = "top-k"', 'strategy = "top-k"\norder = "move-to-front"', "follows relevant units"),
        ("[[judging.non_answer]]", f"{GRADE}[[judging.non_answer]]", "judging.grade: has no effect on the layout pair"),
    ],
)  # fmt: skip
def test_keys_of_pairs_that_contradict_each_other_are_refused(old: str, new: str, message: str) -> None:
    assert LAB.count(old) == 1
    with pytest.raises(ProtocolError) as refused:
        parse_protocol(LAB.replace(old, new), name="lab.toml")

    assert message in str(refused.value)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "lab.toml").write_text(LAB)
    lines = [f"1 Q0 d{i} {i} {9 - i} ours\n" for i in range(1, 10)]
    (tmp_path / "run.txt").write_text("".join(lines))
    (tmp_path / "m.csv").write_text("file,team,tag,kind\nrun.txt,one,ours,primary\n")
    return tmp_path


def pooled(folder: Path, *options: str) -> list[str]:
    protocol, out = str(folder / "lab.toml"), folder / "pool.tsv"
    arguments = ["--protocol", protocol, "--runs", str(folder / "m.csv"), "--seed", "7", "--output", str(out)]
    assert main(["pool", "--quiet", *arguments, *options]) == 0
    return [line.split("\t")[1] for line in out.read_text().splitlines()]


@pytest.mark.parametrize(
    ("pairs", "n"),
    [
        ('selection = "all"', 36),
        ('selection = "pooled-best"', 0),
        ('selection = "tournament"\nfew = 8', 32),
        ('selection = "tournament"\nfew = 8\npartners = 6', 27),
        ('selection = "tournament"', 36),
    ],
)
def test_command_pools_the_pairs_that_the_keys_ask_for(
    files: Path, capsys: pytest.CaptureFixture[str], pairs: str, n: int
) -> None:
    text = LAB.replace('selection = "all"', pairs).replace("depth = 3", "depth = 9")
    (files / "lab.toml").write_text(text.replace('"copeland"', '"bradley-terry"'))

    if n:
        assert len(pooled(files)) == n
        return
    protocol, manifest = str(files / "lab.toml"), str(files / "m.csv")
    assert main(["pool", "--protocol", protocol, "--runs", manifest, "--seed", "7"]) == 2
    assert "no new pair to judge" in capsys.readouterr().err


def test_command_pools_the_next_round_of_votes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LAB.replace('selection = "all"', 'selection = "pooled-best"').replace("depth = 3", "depth = 9")
    (files / "lab.toml").write_text(text.replace('"copeland"', '"bradley-terry"'))
    (files / "votes.txt").write_text("1\td1\td2\td2\tada\n")

    assert pooled(files, "--votes", str(files / "votes.txt")) == ["d2|d3"]
    assert '"votes"' in (files / "pool.tsv.json").read_text()
    (files / "run.txt").write_text("1 Q0 d|1 1 9 ours\n1 Q0 d2 2 8 ours\n")
    manifest = ["--runs", str(files / "m.csv"), "--seed", "7"]
    assert main(["pool", "--protocol", str(files / "lab.toml"), *manifest]) == 2
    assert "the document d|1 cannot be in a pair" in capsys.readouterr().err
    assert main(["pool", "--protocol", "trec-adhoc", *manifest, "--votes", str(files / "votes.txt")]) == 2
    assert "trec-adhoc judges no pairs" in capsys.readouterr().err
