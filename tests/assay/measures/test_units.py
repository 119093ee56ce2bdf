"""Runs of instances are scored as runs of distinct formulas; compared with a plain implementation."""

import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.qrels.reader import columns_from, parse_qrels
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import read_run
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.measures.units import collapse_instances, to_distinct_formulas
from assay.protocols.loader import load_protocol
from assay.protocols.measures import parse_measures
from tests.helpers.real_files import make_run

Line = tuple[str, str, float]
MEASURES = parse_measures(["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"])
THEIRS = ["ndcg", "map", "P_10", "bpref"]


def plainly_collapsed(lines: list[Line], visual: dict[str, str]) -> tuple[dict[str, dict[str, float]], int]:
    """A plain implementation: by score within a topic; the first instance of each formula remains."""
    collapsed: defaultdict[str, dict[str, float]] = defaultdict(dict)
    n_skipped = 0
    for topic, formula, score in sorted(lines, key=lambda line: -line[2]):  # stable
        if formula not in visual:
            n_skipped += 1
        elif visual[formula] not in collapsed[topic]:
            collapsed[topic][visual[formula]] = score
    return {topic: ranking for topic, ranking in collapsed.items() if ranking}, n_skipped


def formulas(visual: dict[str, str], without: tuple[str, ...] = ()) -> Formulas:
    rows = [(formula, "1", "1", "answer", visual_id) for formula, visual_id in visual.items()]
    return Formulas.of([*rows, *((formula, "1", "1", "answer", "") for formula in without)])


def rankings(run: RunColumns) -> dict[str, dict[str, float]]:
    scores: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for topic, docno, score in zip(
        run.topic_index.tolist(), run.docno.tolist(), run.score.tolist(), strict=True
    ):
        scores[str(run.topics[topic])][docno.decode()] = score
    return dict(scores)


def test_first_instance_of_each_formula_remains() -> None:
    run = make_run([("B.1", "a1", 5), ("B.1", "b1", 4), ("B.1", "a2", 3), ("B.1", "x", 2), ("B.2", "a2", 1)])

    collapsed, n_skipped = collapse_instances(
        run, formulas({"a1": "A", "a2": "A", "b1": "B"}, without=("x",))
    )

    assert rankings(collapsed) == {"B.1": {"A": 5, "B": 4}, "B.2": {"A": 1}}
    assert (n_skipped, len(collapsed)) == (1, len(run) - 2)
    assert collapsed.offsets.tolist() == [0, 2, 3]


def test_topic_without_formulas_is_removed_from_the_run() -> None:
    collapsed, _ = collapse_instances(make_run([("B.1", "x", 5), ("B.2", "a", 5)]), formulas({"a": "A"}))

    assert collapsed.topics.tolist() == ["B.2"]
    assert collapsed.topic_index.tolist() == [0]


@pytest.mark.parametrize("known", [{}, {"other": "O"}])
def test_run_of_unknown_formulas_is_empty(known: dict[str, str]) -> None:
    collapsed, n_skipped = collapse_instances(make_run([("B.1", "x", 5)]), formulas(known))

    assert (len(collapsed), n_skipped) == (0, 1)


def test_formula_has_the_highest_grade_of_its_instances() -> None:
    qrels = parse_qrels(b"B.1 0 11 1\nB.1 0 12 3\nB.1 0 13 2\nB.1 0 14 0\nB.2 0 11 -1\n")

    collapsed, n_skipped = to_distinct_formulas(qrels, formulas({"11": "v1", "12": "v1", "13": "v2"}))

    assert collapsed.docno.tolist() == [b"v1", b"v2", b"v1"]
    assert collapsed.grade.tolist() == [3, 2, -1]
    assert collapsed.topics[collapsed.topic_index].tolist() == ["B.1", "B.1", "B.2"]
    assert n_skipped == 1


INSTANCE = st.tuples(st.sampled_from(["B.1", "B.10", "B.2"]), st.integers(0, 30), st.integers(0, 4))


@given(
    st.lists(INSTANCE, min_size=1, max_size=60, unique_by=lambda row: row[:2]),
    st.dictionaries(st.integers(0, 30), st.integers(0, 8)),
)
def test_any_run_collapses_like_the_plain_implementation(
    rows: list[tuple[str, int, int]], ids: dict[int, int]
) -> None:
    lines = [(topic, f"f{formula}", float(score)) for topic, formula, score in rows]
    visual = {f"f{formula}": f"v{number}" for formula, number in ids.items()}

    collapsed, n_skipped = collapse_instances(make_run(lines), formulas(visual))

    assert (rankings(collapsed), n_skipped) == plainly_collapsed(lines, visual)


def test_real_run_scores_as_pytrec_eval_scores_its_collapsed_file(data: Path) -> None:
    """With the 81,103 real visual ids; a formula in the qrels has the highest grade of its instances."""
    path = data / "arqmath" / "runs" / "scm_ensemble-task2.tsv.gz"
    words = [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    lines = [(word[0], word[1], float(word[4])) for word in words]
    with gzip.open(data / "arqmath" / "formulas" / "formula_id_visual_id.tsv.gz", "rt") as file:
        visual = dict(line.split("\t")[:2] for line in file)
    del visual["formula_id"]
    plain, n_skipped = plainly_collapsed(lines, visual)
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    judged = parse_qrels((data / "arqmath" / "qrels" / "qrels.arqmath-2020-task2.txt").read_bytes())
    for index, docno, grade in zip(
        judged.topic_index.tolist(), judged.docno.tolist(), judged.grade.tolist(), strict=True
    ):
        visual_id = visual.get(docno.decode())
        if visual_id is not None:
            topic = str(judged.topics[index])
            grades[topic][visual_id] = max(grade, grades[topic].get(visual_id, 0))
    evaluator = pytrec_eval.RelevanceEvaluator(
        grades, {"ndcg", "map", "P.10", "bpref"}, relevance_level=2, judged_docs_only_flag=True
    )
    theirs = evaluator.evaluate(plain)
    by_formula = JudgedDocuments(
        columns_from((t.encode(), d.encode(), g) for t in grades for d, g in grades[t].items())
    )
    run = read_run(str(path), load_protocol("arqmath-2020-task2"))

    collapsed, n_without_id = collapse_instances(run, formulas(visual))

    assert (len(run), n_without_id) == (85_000, n_skipped)
    assert n_skipped == 84_270
    ours = score_run(collapsed, by_formula, MEASURES)
    compared = 0
    for topic, values in zip(by_formula.topics.tolist(), ours.values.tolist(), strict=True):
        if topic in theirs:
            assert values == pytest.approx([theirs[topic][name] for name in THEIRS], abs=1e-6)
            compared += any(values)
    assert compared >= 5
    assert np.count_nonzero(ours.has_topic) == len(theirs)
