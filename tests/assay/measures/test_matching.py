"""The join of a run with qrels, compared with dictionaries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.qrels.reader import columns_from
from assay.formats.runs.columns import Ranking
from assay.measures import matching
from assay.measures.matching import JudgedDocuments
from tests.helpers.real_files import Lines, make_run

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
