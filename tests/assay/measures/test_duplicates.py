from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.main import main
from assay.formats.qrels.reader import columns_from, parse_qrels
from assay.formats.runs.columns import Ranking
from assay.measures import matching
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.measures.units import DuplicatesError, parse_duplicates, with_duplicates
from assay.protocols.measures import parse_measures
from tests.helpers.real_files import Lines, make_run

QRELS = b"T 0 a 2\nT 0 b 0\nT 0 c 1\nU 0 a 1\n"
PAIRS = b"topic docno judged\nT a1 a\nT a2 a\nT b1 b\nT x1 x\n"


def judged(qrels: bytes = QRELS, pairs: bytes = PAIRS) -> JudgedDocuments:
    return JudgedDocuments(*with_duplicates(parse_qrels(qrels), parse_duplicates(pairs)))


def values(lines: list[tuple[str, str, float]], *measures: str) -> list[float]:
    """Of topic T."""
    row: list[float] = score_run(make_run(lines), judged(), parse_measures(measures)).values[0].tolist()
    return row


def ranked(*docnos: str) -> list[tuple[str, str, float]]:
    return [("T", docno, -place) for place, docno in enumerate(docnos)]


def test_near_duplicates_inherit_the_grade() -> None:
    columns, group = with_duplicates(parse_qrels(QRELS), parse_duplicates(PAIRS))

    rows = dict(
        zip(
            zip(columns.topic_index.tolist(), columns.docno.tolist(), strict=True),
            columns.grade.tolist(),
            strict=True,
        )
    )
    assert rows == {
        (0, b"a"): 2,
        (0, b"a1"): 2,
        (0, b"a2"): 2,
        (0, b"b"): 0,
        (0, b"b1"): 0,
        (0, b"c"): 1,
        (1, b"a"): 1,
    }
    assert len(np.unique(group)) == 4


def test_near_duplicate_counts_like_the_judged_document() -> None:
    assert values(ranked("a1", "x"), "AP", "P@2", "R@2") == values(ranked("a", "x"), "AP", "P@2", "R@2")


def test_repeated_near_duplicate_lowers_the_score() -> None:
    assert values(ranked("a1", "a", "a2", "c"), "P@4", "R@4", "AP", "Rprec") == [0.5, 1.0, 0.75, 0.5]


def test_repeated_near_duplicate_counts_as_judged_and_not_relevant() -> None:
    assert values(ranked("a", "a1", "c"), "P@2'", "bpref")[0] == 0.5
    assert values(ranked("a", "a1", "c"), "bpref") == values(ranked("a", "b", "c"), "bpref")


def test_each_group_counts_as_one_relevant_document() -> None:
    assert values(ranked("a2", "c"), "R@10", "nDCG", "AP") == [1.0, 1.0, 1.0]


DOCNOS = st.lists(st.sampled_from(["a", "a1", "a2", "b", "b1", "c", "x", "x1"]), unique=True, min_size=1)


@given(DOCNOS)
def test_repeated_near_duplicates_score_like_nonrelevant_documents(docnos: list[str]) -> None:
    heads = {"a1": "a", "a2": "a", "b1": "b"}
    plain, seen = [], set()
    for place, docno in enumerate(docnos):
        head = heads.get(docno, docno)
        plain.append(f"no{place}" if head in seen or head == "x1" else head)
        seen.add(head)
    measures = parse_measures(["nDCG", "AP", "P@3", "R@5", "Rprec", "RR"])

    ours = score_run(make_run(ranked(*docnos)), judged(), measures).values
    theirs = score_run(make_run(ranked(*plain)), JudgedDocuments(parse_qrels(QRELS)), measures).values

    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (b"T a1\n", "line 1: expected 3 columns (topic, docno, judged), got 2"),
        (b"T a1 a\nT a1 b\n", "line 2: a1 of topic T is repeated"),
        (b"T a a1\nT c a\n", "a of topic T has near-duplicates and is a near-duplicate of another document"),
    ],
)
def test_malformed_or_contradictory_pairs_are_refused(pairs: bytes, reason: str) -> None:
    with pytest.raises(DuplicatesError) as refusal:
        judged(pairs=pairs)

    assert str(refusal.value) == reason


def test_command_reads_near_duplicates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("q.txt", QRELS), ("d.tsv", PAIRS), ("r.run", b"T Q0 a 1 2 r\nT Q0 a1 2 1 r\n")):
        (tmp_path / name).write_bytes(content)
    arguments = [
        "evaluate",
        "--protocol",
        "trec-adhoc",
        "--qrels",
        str(tmp_path / "q.txt"),
        str(tmp_path / "r.run"),
    ]
    arguments += ["--measure", "P@2", "--average", "common"]

    assert main([*arguments, "--duplicates", str(tmp_path / "d.tsv")]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "r\tall\tP@2\t0.5000"
    assert main([*arguments, "--duplicates", str(tmp_path / "r.run")]) == 2
    assert "r.run: line 1: expected 3 columns" in capsys.readouterr().err


Grades = dict[str, dict[str, int]]
DOCNO = st.text("ab1Ł", min_size=1, max_size=20)
TOPIC = st.sampled_from(["T", "U", "V.10"])
GRADES = st.dictionaries(TOPIC, st.dictionaries(DOCNO, st.integers(-1, 3), min_size=1), min_size=1)
RUN = st.lists(st.tuples(TOPIC, DOCNO), min_size=1, unique=True)


def judged_documents(grades: Grades) -> JudgedDocuments:
    rows = [(topic, docno, grade) for topic, of_topic in grades.items() for docno, grade in of_topic.items()]
    return JudgedDocuments(
        columns_from((topic.encode(), docno.encode(), grade) for topic, docno, grade in rows)
    )


def joined(run: Lines, grades: Grades, depth: int | None) -> list[tuple[str, int, int]]:
    """Topic, rank and grade of the judged documents, looked up line by line."""
    hits = []
    for topic in sorted({topic for topic, _, _ in run}):
        ranking = sorted((-score, docno) for code, docno, score in run if code == topic)
        for rank, (_, docno) in enumerate(ranking[:depth], 1):
            if docno in grades.get(topic, {}):
                hits.append((topic, rank, grades[topic][docno]))
    return hits


def scored(pairs: list[tuple[str, str]]) -> Lines:
    return [(topic, docno, -float(place)) for place, (topic, docno) in enumerate(pairs)]


@given(RUN, GRADES, st.none() | st.integers(1, 5))
def test_hits_equal_those_of_a_lookup_line_by_line(
    pairs: list[tuple[str, str]], grades: Grades, depth: int | None
) -> None:
    run, judged = scored(pairs), judged_documents(grades)

    hits = judged.named_hits(make_run(run), depth=depth)

    codes = judged.topics[hits.topic].tolist()
    assert list(zip(codes, hits.rank.tolist(), hits.grade.tolist(), strict=True)) == joined(
        run, grades, depth
    )
    returned = {code: sum(topic == code for topic, _ in pairs) for code in judged.topics.tolist()}
    cut = [n if depth is None else min(n, depth) for n in returned.values()]
    assert hits.n_returned.tolist() == cut


@pytest.mark.parametrize("block", [1, 7, 64])
def test_runs_of_many_blocks_have_all_hits(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BLOCK", block)
    rng = np.random.default_rng(block)
    docnos = [str(n) for n in rng.permutation(400)]
    grades = {topic: {docno: int(docno) % 4 for docno in docnos[::3]} for topic in ("T", "U")}
    run = scored([(topic, docno) for topic in ("T", "U", "W") for docno in docnos])

    hits = judged_documents(grades).named_hits(make_run(run))

    assert len(hits.topic) == len(joined(run, grades, None)) == 268


def test_table_with_many_collisions_finds_all_documents() -> None:
    """Docnos that differ in their last bytes only, and very large qrels."""
    docnos = [f"document-with-a-long-name-{n:07d}" for n in range(3000)]
    grades = {"T": dict.fromkeys(docnos, 1)}
    run = scored([("T", docno) for docno in reversed(docnos)] + [("T", f"{docno}x") for docno in docnos])

    hits = judged_documents(grades).hits(make_run(run))

    assert hits.rank.tolist() == list(range(1, 3001))


def test_empty_run_has_no_hits() -> None:
    empty = Ranking(np.zeros(0, dtype=np.str_), np.zeros(1, dtype=np.int64), np.zeros(0, dtype="S8"))

    hits = judged_documents({"T": {"a": 1}}).hits(empty)

    assert (len(hits.topic), hits.n_returned.tolist()) == (0, [0])
