"""pytrec_eval-terrier with the fastest readers in plain Python, without checks; it imports nothing of Assay.

As a process: `python -m maintenance.benchmarks.peers QRELS RUN...`.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
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


if __name__ == "__main__":
    qrels, *files = map(Path, sys.argv[1:])
    evaluated = evaluate(read_grades(qrels), [read_run(file) for file in files])
