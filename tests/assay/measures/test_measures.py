import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.runs.columns import RunColumns
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_hits, score_run
from assay.protocols.measures import FAMILIES, parse_measures
from tests.helpers.real_files import (
    KNOWN,
    KNOWN_OVER_ALL_JUDGED,
    Lines,
    make_judged,
    make_run,
    real_judged,
    real_run,
)

MAIN = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'"]
EVERY = [
    "nDCG",
    "nDCG@5",
    "AP(rel=2)",
    "AP@5",
    "P@3",
    "P(rel=2)@10",
    "R@5",
    "Rprec",
    "RR",
    "RR@2",
    "bpref(rel=2)",
    "judged@4",
]
PRIMED = ["nDCG'", "nDCG@5'", "AP(rel=2)'", "P@3'", "R@5'", "RR'", "Rprec'", "bpref(rel=2)'"]


def values(run: RunColumns, judged: JudgedDocuments, name: str) -> list[float]:
    return score_run(run, judged, parse_measures([name])).values[:, 0].tolist()


def one_topic(order: str, grades: dict[str, int], name: str) -> float:
    """The value of a measure for one topic whose documents are ranked in the order of the letters."""
    lines = [("A.1", docno, -float(rank)) for rank, docno in enumerate(order)]
    return values(make_run(lines), make_judged({"A.1": grades}), name)[0]


def test_every_family_of_the_notation_has_a_kernel() -> None:
    for family in FAMILIES.values():
        assert callable(resolve_name(family.compute))
        assert bool(family.counts) == (family.summary == "ratio of sums")
        assert not family.counts or callable(resolve_name(family.counts))


def test_ndcg_discounts_grades_by_the_logarithm_of_the_rank() -> None:
    value = one_topic("xab", {"a": 3, "b": 1}, "nDCG")

    assert value == pytest.approx((3 / math.log2(3) + 1 / math.log2(4)) / (3 + 1 / math.log2(3)))


def test_ndcg_of_the_top_k_has_an_ideal_of_k_ranks() -> None:
    assert one_topic("a", {"a": 2, "b": 2}, "nDCG@1") == 1.0
    assert one_topic("a", {"a": 2, "b": 2}, "nDCG@2") < 1.0


def test_ndcg_sorts_the_ideal_by_grade() -> None:
    assert one_topic("dcba", {"a": 0, "b": 1, "c": 2, "d": 3}, "nDCG") == pytest.approx(1.0)


def test_average_precision_divides_by_all_relevant_documents() -> None:
    assert one_topic("axb", {"a": 1, "b": 1, "c": 1, "d": 1}, "AP") == pytest.approx((1 + 2 / 3) / 4)


def test_level_decides_which_documents_are_relevant() -> None:
    grades = {"a": 1, "b": 2}

    assert one_topic("ab", grades, "AP") == 1.0
    assert one_topic("ab", grades, "AP(rel=2)") == 0.5


def test_precision_divides_by_k_also_for_short_runs() -> None:
    assert one_topic("ab", {"a": 1, "b": 1}, "P@10") == pytest.approx(0.2)


def test_recall_counts_the_relevant_documents_of_the_top_k() -> None:
    assert one_topic("axb", {"a": 1, "b": 1}, "R@2") == 0.5


def test_r_precision_counts_as_many_ranks_as_relevant_documents() -> None:
    assert one_topic("axb", {"a": 1, "b": 1}, "Rprec") == 0.5
    assert one_topic("a", {"a": 1, "b": 1}, "Rprec") == 0.5


def test_reciprocal_rank_is_of_the_first_relevant_document() -> None:
    assert one_topic("xyab", {"a": 1, "b": 1}, "RR") == pytest.approx(1 / 3)
    assert one_topic("xyab", {"a": 1, "b": 1}, "RR@2") == 0.0


def test_bpref_is_1_without_judged_nonrelevant_documents_above() -> None:
    assert one_topic("xab", {"a": 1, "b": 1, "n": 0}, "bpref") == 1.0


def test_bpref_counts_nonrelevant_documents_above_up_to_the_number_of_relevant_documents() -> None:
    assert one_topic("nmoa", {"a": 1, "b": 1, "n": 0, "m": 0, "o": 0}, "bpref") == 0.0
    assert one_topic("nab", {"a": 1, "b": 1, "n": 0, "m": 0, "o": 0}, "bpref") == 0.5


def test_judged_share_counts_only_documents_of_the_run_in_the_top_k() -> None:
    assert one_topic("axyz", {"a": 0}, "judged@4") == 0.25
    assert one_topic("ax", {"a": 0}, "judged@10") == 0.5


def test_primed_measure_removes_unjudged_documents_after_sorting() -> None:
    assert one_topic("xya", {"a": 1}, "RR'") == 1.0
    assert one_topic("xya", {"a": 1}, "RR") == pytest.approx(1 / 3)


def test_negative_grade_is_neither_judged_nor_relevant() -> None:
    grades = {"p": -1, "a": 1}

    assert one_topic("pa", grades, "RR'") == 1.0
    assert one_topic("pa", grades, "judged@2") == 0.5
    assert one_topic("pa", grades, "bpref") == 1.0
    assert one_topic("pa", {"p": -1}, "nDCG") == 0.0


def test_depth_cut_comes_before_the_removal() -> None:
    run = make_run([("A.1", "x", 3.0), ("A.1", "y", 2.0), ("A.1", "a", 1.0)])
    judged = make_judged({"A.1": {"a": 1}})

    top = [judged.named_hits(run, depth=depth).graded() for depth in (2, 3)]

    values = [score_hits(hits, judged, parse_measures(["RR'"])).values.tolist() for hits in top]
    assert values == [[[0.0]], [[1.0]]]


def test_ties_are_broken_by_docno_descending_by_bytes() -> None:
    run = make_run([("A.1", "10", 0.0), ("A.1", "9", -0.0), ("A.1", "é", 0.0)])

    assert values(run, make_judged({"A.1": {"é": 1}}), "RR") == [1.0]
    assert values(run, make_judged({"A.1": {"9": 1}}), "RR") == [0.5]
    assert values(run, make_judged({"A.1": {"10": 1}}), "RR") == [pytest.approx(1 / 3)]


def test_a_run_of_few_topics_finds_the_same_documents_as_one_of_all() -> None:
    """For few topics, only their qrels are prepared."""
    grades = {f"A.{n}": {"a": n % 3, "b": 1, "c": -1} for n in range(20)}
    few = make_run([(topic, docno, -n) for topic in ("A.3", "A.9", "B") for n, docno in enumerate("bxca")])
    alone, after = make_judged(grades), make_judged(grades)
    _ = after.table

    hits, expected = alone.named_hits(few), after.named_hits(few)

    assert "table" not in vars(alone)
    assert hits.entry is not None
    assert expected.entry is not None
    assert hits.entry.tolist() == expected.entry.tolist() == [40, 41, 39, 58, 59, 57]
    assert hits.rank.tolist() == expected.rank.tolist()


def test_topics_without_relevant_documents_score_zero() -> None:
    assert [one_topic("ab", {"a": 0}, name) for name in ("nDCG", "AP", "bpref", "Rprec", "R@5")] == [0.0] * 5


def test_docno_that_only_begins_like_a_judged_docno_is_unjudged() -> None:
    long = "Article_name:12345678901234567890"
    run = make_run([("A.1", long, 2.0), ("A.1", long[:8], 1.0)])

    assert values(run, make_judged({"A.1": {long[:8]: 1}}), "RR") == [0.5]
    assert values(run, make_judged({"A.1": {long: 1}}), "RR") == [1.0]


def test_document_is_judged_for_its_topic_only() -> None:
    run = make_run([("A.1", "a", 1.0), ("A.2", "b", 1.0)])

    assert values(run, make_judged({"A.1": {"b": 1}, "A.2": {"b": 1}}), "RR") == [0.0, 1.0]


def test_all_of_many_documents_are_found() -> None:
    docnos = [str(number) for number in range(5000)]
    run = make_run([("A.1", docno, -float(docno)) for docno in docnos])
    judged = make_judged({"A.1": dict.fromkeys(docnos, 1)})

    assert values(run, judged, "R@5000") == [1.0]


def test_means_are_over_the_topics_of_the_qrels_or_over_those_of_both() -> None:
    run = make_run([("A.1", "a", 1.0), ("A.9", "z", 1.0)])
    judged = make_judged({"A.1": {"a": 1}, "A.10": {"b": 1}, "A.2": {"c": 1}})

    scores = score_run(run, judged, parse_measures(["RR"]))

    assert scores.n_missing == 2
    assert scores.means("judged").tolist() == [pytest.approx(1 / 3)]
    assert scores.means("common").tolist() == [1.0]
    assert scores.averaged("common").tolist() == [True, False, False]


def test_topic_with_only_unjudged_documents_is_not_missing() -> None:
    scores = score_run(
        make_run([("A.1", "x", 1.0)]), make_judged({"A.1": {"a": 1}}), parse_measures(["nDCG'"])
    )

    assert scores.n_missing == 0
    assert scores.means("common").tolist() == [0.0]


def test_run_without_a_topic_of_the_qrels_scores_zero() -> None:
    scores = score_run(make_run([("B.1", "x", 1.0)]), make_judged({"A.1": {"a": 1}}), parse_measures(EVERY))

    assert scores.values.tolist() == [[0.0] * len(EVERY)]
    assert scores.means("common").tolist() == [0.0] * len(EVERY)


@pytest.mark.parametrize("name", KNOWN)
def test_real_runs_have_their_published_values(data: Path, name: str) -> None:
    scores = score_run(real_run(data, name), real_judged(data), parse_measures(MAIN))

    assert tuple(f"{mean:.4f}" for mean in scores.means("common")) == KNOWN[name]
    if name in KNOWN_OVER_ALL_JUDGED:
        assert tuple(f"{mean:.4f}" for mean in scores.means("judged")) == KNOWN_OVER_ALL_JUDGED[name]


def as_nested(run: RunColumns) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = defaultdict(dict)
    codes = run.topics.tolist()
    for topic, docno, score in zip(
        run.topic_index.tolist(), run.docno.tolist(), run.score.tolist(), strict=True
    ):
        nested[codes[topic]][docno.decode()] = score
    return nested


def grades_of(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        topic, _, docno, grade = line.split()
        grades[topic][docno] = int(grade)
    return grades


def in_float32(run: RunColumns) -> RunColumns:
    """The run as trec_eval 9 reads it: scores cut to 32 bits, so that some different scores tie."""
    score = run.score.astype(np.float32).astype(np.float64)
    fields = {name: getattr(run, name) for name in ("topic_index", "docno", "rank")}
    return RunColumns.ordered(topics=run.topics.tolist(), score=score, **fields)[0]


TREC_NAMES = {  # ours -> (trec_eval's, level)
    "nDCG": ("ndcg", 1),
    "nDCG@10": ("ndcg_cut_10", 1),
    "AP(rel=2)": ("map", 2),
    "AP(rel=2)@100": ("map_cut_100", 2),
    "P(rel=2)@10": ("P_10", 2),
    "R(rel=2)@100": ("recall_100", 2),
    "Rprec(rel=2)": ("Rprec", 2),
    "RR(rel=2)": ("recip_rank", 2),
    "bpref(rel=2)": ("bpref", 2),
    "bpref": ("bpref", 1),
    "AP": ("map", 1),
}


def trec_eval_values(
    grades: dict[str, dict[str, int]], run: RunColumns, *, level: int, is_judged_only: bool
) -> dict[str, dict[str, float]]:
    measures = {
        "ndcg",
        "ndcg_cut.10",
        "map",
        "map_cut.100",
        "P.10",
        "recall.100",
        "Rprec",
        "recip_rank",
        "bpref",
    }
    evaluator = pytrec_eval.RelevanceEvaluator(
        grades, measures, relevance_level=level, judged_docs_only_flag=is_judged_only
    )
    return evaluator.evaluate(as_nested(run))  # type: ignore[no-any-return]


@pytest.mark.parametrize("is_judged_only", [True, False])
@pytest.mark.parametrize("name", KNOWN)
def test_every_topic_of_every_real_run_scores_as_in_pytrec_eval(
    data: Path, name: str, is_judged_only: bool
) -> None:
    prime = "'" if is_judged_only else ""
    run, judged = real_run(data, name), real_judged(data)
    grades = grades_of(data / "arqmath" / "qrels" / "qrels.arqmath-2020-task1.txt")
    cut = in_float32(run)
    # If cutting the scores to 32 bits moves no document, the two orders are equal.
    is_moved = np.zeros(len(run.topics), dtype=bool)
    is_moved[run.topic_index[run.docno != cut.docno]] = True
    moved = set(run.topics[is_moved].tolist())

    for level in (1, 2):
        expected = trec_eval_values(grades, run, level=level, is_judged_only=is_judged_only)
        names = [ours for ours in TREC_NAMES if TREC_NAMES[ours][1] == level]
        measures = parse_measures(f"{ours}{prime}" for ours in names)
        scores, scores_of_cut = score_run(run, judged, measures), score_run(cut, judged, measures)

        assert set(judged.topics[scores.has_topic].tolist()) == set(expected)
        for row, topic in enumerate(judged.topics.tolist()):
            if topic in expected:
                theirs = [expected[topic][TREC_NAMES[ours][0]] for ours in names]
                assert scores_of_cut.values[row].tolist() == pytest.approx(theirs, abs=1e-9)
                if topic not in moved:
                    assert scores.values[row].tolist() == pytest.approx(theirs, abs=1e-9)


DOCNOS = st.sampled_from([*"abcdefgh", "é", "10", "9", "a-name-longer-than-a-word", "x1", "x2"])
RUNS = st.dictionaries(
    st.tuples(st.sampled_from(["A.1", "A.10", "A.2"]), DOCNOS),
    st.sampled_from([-1.0, 0.0, -0.0, 0.5, 2.0]),
    min_size=1,
).map(lambda scores: [(topic, docno, score) for (topic, docno), score in scores.items()])
GRADES = st.dictionaries(
    st.sampled_from(["A.1", "A.2", "A.3"]),
    st.dictionaries(DOCNOS, st.integers(-1, 3), min_size=1),
    min_size=1,
)


@settings(max_examples=200, deadline=None)
@given(RUNS, GRADES, st.randoms(use_true_random=False))
def test_order_of_lines_does_not_change_a_score(
    lines: Lines, grades: dict[str, dict[str, int]], rng: object
) -> None:
    judged, measures = make_judged(grades), parse_measures([*EVERY, *PRIMED])
    before = score_run(make_run(lines), judged, measures).values
    shuffled = list(lines)

    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert score_run(make_run(shuffled), judged, measures).values.tolist() == before.tolist()


@settings(max_examples=200, deadline=None)
@given(RUNS, GRADES, st.sampled_from([-2.0, 0.0, 0.25, 9.0]))
def test_unjudged_document_does_not_change_a_primed_score(
    lines: Lines, grades: dict[str, dict[str, int]], score: float
) -> None:
    judged, measures = make_judged(grades), parse_measures(PRIMED)
    before = score_run(make_run(lines), judged, measures).values

    more = [*lines, ("A.1", "never-judged", score), ("A.2", "~", score)]

    assert score_run(make_run(more), judged, measures).values.tolist() == before.tolist()


@settings(max_examples=200, deadline=None)
@given(RUNS, GRADES.filter(lambda topics: all(max(grades.values()) >= 0 for grades in topics.values())))
def test_small_runs_score_as_in_pytrec_eval(lines: Lines, grades: dict[str, dict[str, int]]) -> None:
    # Not with a topic that has negative grades alone: there trec_eval reads memory that it never wrote.
    run, judged = make_run(lines), make_judged(grades)
    names = [ours for ours in TREC_NAMES if TREC_NAMES[ours][1] == 1]
    scores = score_run(run, judged, parse_measures(names))

    expected = trec_eval_values(grades, run, level=1, is_judged_only=False)

    for row, topic in enumerate(judged.topics.tolist()):
        theirs = [expected.get(topic, {}).get(TREC_NAMES[ours][0], 0.0) for ours in names]
        assert scores.values[row].tolist() == pytest.approx(theirs, abs=1e-9)


def test_run_without_lines_scores_zero() -> None:
    run = make_run([("A.1", "a", 1.0)])
    empty = replace(
        run, **{name: getattr(run, name)[:0] for name in ("topics", "topic_index", "docno", "rank", "score")}
    )

    assert score_run(empty, make_judged({"A.1": {"a": 1}}), parse_measures(["AP"])).values.tolist() == [[0.0]]
