"""Speed of the measures in characters, compared with sets of characters in plain Python.

    python benchmarks/characters_speed.py [--topics 100] [--depth 1000]

The script makes a run of citations that overlap, and qrels with the first 100 of each topic. Both implementations start
from the parsed run and the qrels. Assay computes all measures of `bolt-ir-p3`, and then `charP@100` alone; the plain
implementation keeps the set of relevant characters of each post, and computes `charP@100` and `charAP@1000`. The values
must be equal.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.formats.qrels.reader import QrelsColumns, columns_from
from assay.formats.runs.columns import RunColumns
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.protocols.loader import load_protocol
from assay.protocols.measures import Measure, parse_measures

POSTS, CHARACTERS, LONGEST, POOLED = 400, 2_000, 250, 100
COMPARED = ["charP@100", "charAP@1000"]
Cite = tuple[int, int, int]  # post, offset, length
Grades = dict[Cite, int]


def make_cites(topic: int, depth: int) -> list[Cite]:
    """Distinct citations of a topic, the best first. At a depth of 1000, most overlap others."""
    rng = np.random.default_rng([1, topic])
    columns = [rng.integers(*limits, 2 * depth) for limits in ((0, POSTS), (0, CHARACTERS), (20, LONGEST))]
    return list(dict.fromkeys(map(tuple, np.column_stack(columns).tolist())))[:depth]


def docno(cite: Cite) -> bytes:
    post, offset, length = cite
    return b"bolt-eng-DF-%d-%d:p1:%d:%d" % (post % 7, post, offset, length)


def make_run(cites: list[list[Cite]]) -> RunColumns:
    n, depth = len(cites), len(cites[0])
    return RunColumns.ordered(
        topics=[f"BIR_{topic:03d}" for topic in range(n)],
        topic_index=np.repeat(np.arange(n, dtype=np.int32), depth),
        docno=np.array([docno(cite) for of_topic in cites for cite in of_topic], dtype=np.bytes_),
        rank=np.tile(np.arange(1, depth + 1, dtype=np.int32), n),
        score=np.tile(np.linspace(1, 0, depth), n),
    )[0]


def make_grades(cites: list[list[Cite]]) -> list[Grades]:
    """Every third of the pooled citations is relevant."""
    return [
        {cite: 2 * (place % 3 == 0) for place, cite in enumerate(of_topic[:POOLED])} for of_topic in cites
    ]


def make_qrels(grades: list[Grades]) -> QrelsColumns:
    return columns_from(
        (b"BIR_%03d" % topic, docno(cite), grade)
        for topic, of_topic in enumerate(grades)
        for cite, grade in of_topic.items()
    )


def scored(run: RunColumns, qrels: QrelsColumns, measures: list[Measure]) -> NDArray[np.float64]:
    """(topics, measures) values. The qrels are new for each call, because they remember their relevant text."""
    return score_run(run, JudgedDocuments(qrels), measures).values


def scored_plainly(cites: list[Cite], grades: Grades) -> tuple[float, float]:
    """The two compared measures from sets of characters."""
    left: dict[int, set[int]] = {}
    for (post, offset, length), grade in grades.items():
        if grade > 0:
            left.setdefault(post, set()).update(range(offset, offset + length))
    n_relevant, n_new, n_cited, total, at_100 = sum(map(len, left.values())), 0, 0, 0.0, 0.0
    for rank, (post, offset, length) in enumerate(cites[:1000], 1):
        new = left.get(post, set()).intersection(range(offset, offset + length))
        left.get(post, set()).difference_update(new)
        n_new, n_cited = n_new + len(new), n_cited + length
        total += len(new) * n_new / n_cited
        if rank <= 100:
            at_100 = n_new / n_cited
    return at_100, total / n_relevant


def median_of(function: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    cites = [make_cites(topic, options.depth) for topic in range(options.topics)]
    grades = make_grades(cites)
    run, qrels = make_run(cites), make_qrels(grades)
    measures = parse_measures(load_protocol("bolt-ir-p3").scoring.measures)
    compared = parse_measures(COMPARED)
    every = median_of(lambda: scored(run, qrels, measures), options.repeats)
    alone = median_of(lambda: scored(run, qrels, compared[:1]), options.repeats)
    start = time.perf_counter()
    plain = [scored_plainly(*pair) for pair in zip(cites, grades, strict=True)]
    theirs = time.perf_counter() - start
    print(f"{len(run):,} citations of {options.topics} topics")
    print(f"{len(measures)} measures of bolt-ir-p3        {every:8.3f} s")
    print(f"charP@100 alone                {alone:8.3f} s")
    print(
        f"2 measures in plain Python     {theirs:8.3f} s: {theirs / every:.1f} times as long as the {len(measures)}"
    )
    is_equal = np.allclose(scored(run, qrels, compared), plain, rtol=0, atol=1e-12)
    print(f"    {'the same values' if is_equal else 'OTHER VALUES'}")


if __name__ == "__main__":
    main()
