"""pytrec_eval-terrier with the fastest readers in plain Python, without checks; it imports nothing of Assay.

As a process: `python -m maintenance.benchmarks.peers QRELS RUN...`.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytrec_eval

FOUR = {"ndcg", "map", "P.10", "bpref"}
Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]


def read_grades(path: Path) -> Grades:
    grades: Grades = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        topic, _, docno, grade = line.split()
        grades[topic][docno] = int(grade)
    return grades


def read_run(path: Path) -> Scores:
    """A run with the five columns of ARQMath or the six of TREC."""
    run: Scores = defaultdict(dict)
    with path.open(encoding="utf-8") as file:
        for line in file:
            words = line.split()
            run[words[0]][words[-4]] = float(words[-2])
    return run


def evaluate(grades: Grades, runs: Sequence[Scores]) -> list[Scores]:
    """Evaluate nDCG', AP(rel=2)', P(rel=2)@10' and bpref(rel=2) by topic."""
    relevance = pytrec_eval.RelevanceEvaluator(grades, FOUR, relevance_level=2, judged_docs_only_flag=True)
    return [relevance.evaluate(run) for run in runs]


def evaluators(grades: Grades, runs: Mapping[str, Scores]) -> dict[str, Callable[[], object]]:
    """Functions that score runs with ir_measures and ranx, if installed; ranx has its own form of runs."""
    works: dict[str, Callable[[], object]] = {}
    if find_spec("ir_measures"):
        import ir_measures

        measures = [
            ir_measures.parse_measure(name) for name in ("nDCG", "AP(rel=2)", "P(rel=2)@10", "Bpref(rel=2)")
        ]
        evaluator = ir_measures.evaluator(measures, grades)
        works["ir_measures"] = lambda: [evaluator.calc(run) for run in runs.values()]
    if find_spec("ranx"):
        import ranx

        qrels, ranked = ranx.Qrels(grades), [ranx.Run(run) for run in runs.values()]
        names = ["ndcg", "map-l2", "precision@10-l2"]
        works["ranx"] = lambda: [ranx.evaluate(qrels, run, names, make_comparable=True) for run in ranked]
        works["ranx, with its runs made of the dictionaries"] = lambda: [
            ranx.evaluate(qrels, ranx.Run(run), names, make_comparable=True) for run in runs.values()
        ]
        works["ranx"]()  # compiles
    return works


if __name__ == "__main__":
    qrels, *files = map(Path, sys.argv[1:])
    evaluated = evaluate(read_grades(qrels), [read_run(file) for file in files])
