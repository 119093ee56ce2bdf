from pathlib import Path

import pytest
import pytrec_eval

from assay.measures.curves import CUTOFFS, RECALLS, precision_at, recall_precision
from tests.helpers.real_files import make_judged, make_run, real_judged, real_qrels, real_run


def test_curves_agree_with_the_calculation_by_hand() -> None:
    judged = make_judged({"A.1": {"a": 3, "b": 2, "c": 0, "d": 1}, "A.2": {"a": 0}, "A.3": {"a": 2}})
    run = make_run(
        [("A.1", "a", 9.0), ("A.1", "x", 8.0), ("A.1", "c", 7.0), ("A.1", "b", 6.0), ("A.2", "a", 1.0)]
    )
    hits = judged.hits(run)

    assert precision_at(hits, judged, level=2, cutoffs=[1, 2, 4, 10]).tolist() == [
        [1.0, 0.5, 0.5, 0.2], [0.0] * 4, [0.0] * 4
    ]  # fmt: skip
    curve = recall_precision(hits, judged, level=2, recalls=[0.0, 0.2, 0.5, 0.75, 1.0])
    assert curve.tolist() == [[1.0, 1.0, 1.0, 0.5, 0.5], [0.0] * 5, [0.0] * 5]


def test_judged_documents_only_move_up() -> None:
    judged = make_judged({"A.1": {"a": 3, "b": 2}})
    run = make_run([("A.1", "a", 9.0), ("A.1", "x", 8.0), ("A.1", "b", 6.0)])

    hits = judged.hits(run).judged_only()

    assert precision_at(hits, judged, level=2, cutoffs=[2]).tolist() == [[1.0]]
    assert recall_precision(hits, judged, level=2, recalls=[1.0]).tolist() == [[1.0]]


def test_curves_agree_with_trec_eval(data: Path) -> None:
    judged, run = real_judged(data), real_run(data, "psu-task1-auto-both-A.tsv.gz")
    grades: dict[str, dict[str, int]] = {}
    for line in real_qrels(data).read_text().splitlines():
        code, _, document, grade = line.split()
        grades.setdefault(code, {})[document] = int(grade)
    ranked: dict[str, dict[str, float]] = {}
    for topic, docno, score in zip(
        run.topic_index.tolist(), run.docno.tolist(), run.score.tolist(), strict=True
    ):
        ranked.setdefault(str(run.topics[topic]), {})[docno.decode()] = score

    measures = {"iprec_at_recall", "P"}
    expected = pytrec_eval.RelevanceEvaluator(grades, measures, relevance_level=2).evaluate(ranked)

    hits = judged.hits(run)
    precision = precision_at(hits, judged, level=2)
    curve = recall_precision(hits, judged, level=2)
    n_relevant = judged.n_graded(2).tolist()
    for place, code in enumerate(judged.topics.tolist()):
        for n, k in enumerate(CUTOFFS):
            assert precision[place, n] == pytest.approx(expected[code][f"P_{k}"], abs=1e-6)
        for n, recall in enumerate(RECALLS):
            value = expected[code][f"iprec_at_recall_{recall:.2f}"]
            share = recall * n_relevant[place]
            if int(share + 0.9) == int(share + 0.5):  # where trec_eval 9, which this is, rounds as 10 does
                assert curve[place, n] == pytest.approx(value, abs=1e-6), (code, recall)


def test_no_cutoffs_give_no_columns_and_cutoff_0_is_refused() -> None:
    judged = make_judged({"A.1": {"a": 1}})
    hits = judged.hits(make_run([("A.1", "a", 1.0)]))

    assert precision_at(hits, judged, level=1, cutoffs=[]).shape == (1, 0)
    with pytest.raises(ValueError, match="at least 1"):
        precision_at(hits, judged, level=1, cutoffs=[0])
