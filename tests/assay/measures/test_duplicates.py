from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.main import main
from assay.formats.qrels.reader import parse_qrels
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.measures.units import DuplicatesError, parse_duplicates, with_duplicates
from assay.protocols.measures import parse_measures
from tests.helpers.real_files import make_run

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
