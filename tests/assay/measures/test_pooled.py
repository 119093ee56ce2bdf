"""Measures that are ratios of sums over all topics, and average precision of the retrieved; values worked out by hand.

Two questions, each with two relevant comments. The first ranking is relevant at ranks 1 and 3, the second at ranks 2
and 4. Found up to rank 1, 2, 3: 1, 2, 3 of at most 2, 4, 4, so AvgRec@3 is (0.5 + 0.5 + 0.75) / 3. Of seven labels,
five are right: three of four that say relevant, and two that do not.
"""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from assay.errors import NotMeasurable
from assay.formats.qrels.reader import parse_qrels
from assay.formats.runs import columns
from assay.formats.runs.columns import RunColumns, load, save
from assay.measures.curves import CUTOFFS, RECALLS, precision_at, recall_precision
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import classes_of, score_run
from assay.protocols.measures import parse_measure
from tests.helpers.real_files import make_judged, make_run, real_judged, real_qrels, real_run

QRELS = parse_qrels(b"Q1 0 a 1\nQ1 0 b 0\nQ1 0 c 1\nQ2 0 d 0\nQ2 0 e 1\nQ2 0 f 0\nQ2 0 g 1\n")
LABELS = [True, True, False, False, True, False, True]


def run_of(labels: list[bool] | None) -> RunColumns:
    index = np.array([0, 0, 0, 1, 1, 1, 1], dtype=np.int32)
    docno = np.array([b"a", b"b", b"c", b"d", b"e", b"f", b"g"])
    score, rank = np.arange(7, 0, -1, dtype=np.float64), np.zeros(7, dtype=np.int32)
    label = None if labels is None else np.array(labels)
    return RunColumns(np.array(["Q1", "Q2"]), index, docno, rank, score, label=label)


@pytest.mark.parametrize(
    ("name", "by_topic", "mean"),
    [
        ("AP(norm=retrieved)@3", [5 / 6, 1 / 2], 2 / 3),
        ("AP(norm=retrieved)@1", [1, 0], 1 / 2),
        ("AvgRec@3", [(1 + 1 / 2 + 1) / 3, (0 + 1 / 2 + 1 / 2) / 3], (1 / 2 + 1 / 2 + 3 / 4) / 3),
        ("RR@1", [1, 0], 1 / 2),
        ("labelAcc", [1 / 3, 1], 5 / 7),
        ("labelP", [1 / 2, 1], 3 / 4),
        ("labelR", [1 / 2, 1], 3 / 4),
        ("labelF", [1 / 2, 1], 3 / 4),
    ],
)
def test_value_is_the_one_worked_out_by_hand(name: str, by_topic: list[float], mean: float) -> None:
    scores = score_run(run_of(LABELS), JudgedDocuments(QRELS), [parse_measure(name)])

    assert scores.values[:, 0].tolist() == pytest.approx(by_topic)
    assert scores.means("judged")[0] == pytest.approx(mean)


def test_class_of_topics_has_the_ratio_of_its_own_sums() -> None:
    scores = score_run(run_of(LABELS), JudgedDocuments(QRELS), [parse_measure("labelAcc")])

    (hard,) = classes_of(["Q1", "Q2"], {"difficulty": {"Q2": "hard"}})

    assert scores.means_over(hard, "judged").tolist() == [1.0]


def test_topic_that_the_run_lacks_lowers_recall_and_accuracy() -> None:
    qrels = parse_qrels(b"Q1 0 a 1\nQ1 0 b 0\nQ1 0 c 1\nQ2 0 d 0\nQ3 0 h 1\n")
    measures = [parse_measure(name) for name in ("labelAcc", "labelR", "AvgRec@1")]

    scores = score_run(run_of(LABELS), JudgedDocuments(qrels), measures)

    assert scores.means("judged").tolist() == pytest.approx([2 / 5, 1 / 3, 1 / 2])
    assert scores.means("common").tolist() == pytest.approx([2 / 4, 1 / 2, 1])


def test_labels_are_stored_with_the_run() -> None:
    stored = save(run_of(LABELS))
    loaded, ranking = load(BytesIO(stored)), columns.load_ranking(BytesIO(stored))

    assert loaded.label is not None
    assert ranking.label is not None
    assert loaded.label.tolist() == ranking.label.tolist() == LABELS


def test_run_without_labels_is_refused() -> None:
    with pytest.raises(NotMeasurable, match="need a format with a column label"):
        score_run(run_of(None), JudgedDocuments(QRELS), [parse_measure("labelF")])


def test_values_are_those_of_the_scorer_as_it_is_documented() -> None:
    """Plain loops over random rankings: precision at each relevant rank, recall at each rank, labels line by line."""
    rng, n, k = np.random.default_rng(3), 12, 10
    relevant = [rng.random(rng.integers(1, 15)) < 0.4 for _ in range(n)]
    labels = [rng.random(len(of_topic)) < 0.5 for of_topic in relevant]
    lines = [
        f"Q{t:02} 0 {t}-{i:02} {int(is_relevant)}\n"
        for t, of in enumerate(relevant)
        for i, is_relevant in enumerate(of)
    ]
    index = np.repeat(np.arange(n, dtype=np.int32), [len(of_topic) for of_topic in relevant])
    run = RunColumns(
        np.array([f"Q{t:02}" for t in range(n)]),
        index,
        np.array([line.split()[2].encode() for line in lines]),
        np.zeros(len(index), dtype=np.int32),
        -np.arange(len(index), dtype=np.float64),
        label=np.concatenate(labels),
    )
    names = ("AP(norm=retrieved)@10", "AvgRec@10", "RR@10", "labelAcc", "labelF")

    scores = score_run(
        run, JudgedDocuments(parse_qrels("".join(lines).encode())), [parse_measure(m) for m in names]
    )

    precisions = [[sum(of[: i + 1]) / (i + 1) for i in range(min(k, len(of))) if of[i]] for of in relevant]
    average = sum(sum(of) / len(of) for of in precisions if of) / n
    recalls = [
        sum(sum(of[:x]) for of in relevant) / sum(min(x, sum(of)) for of in relevant) for x in range(1, k + 1)
    ]
    firsts = [next((1 / (i + 1) for i in range(min(k, len(of))) if of[i]), 0.0) for of in relevant]
    pairs = list(zip(np.concatenate(relevant), np.concatenate(labels), strict=True))
    true = sum(a and b for a, b in pairs)
    precision, recall = true / sum(b for _, b in pairs), true / sum(a for a, _ in pairs)
    expected = [
        average,
        sum(recalls) / k,
        sum(firsts) / n,
        sum(a == b for a, b in pairs) / len(pairs),
        2 * precision * recall / (precision + recall),
    ]
    assert scores.means("judged").tolist() == pytest.approx(expected)


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
