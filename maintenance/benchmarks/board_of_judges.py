"""A board of judges: each orders the runs with its qrels, and is compared with people."""

import time

import numpy as np

from assay.formats.qrels.columns import QrelsColumns, columns_from
from assay.formats.runs.columns import Ranking
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_hits
from assay.protocols.measures import parse_measure
from assay_extensions.metaevaluation import boards
from maintenance.benchmarks.harness import case, figure

MEASURE = "nDCG@10"


@case
def board_of_judges(
    *, judges: int = 132, runs: int = 40, topics: int = 22, documents: int = 235, depth: int = 100
) -> None:
    """The time of a board with as many judges as TREC AutoJudge had, and topics and documents as in TREC RAG 2025."""
    rng, codes = np.random.default_rng(1), [f"t{n:02}" for n in range(topics)]
    grades = rng.integers(0, 5, (topics, documents)) * (rng.random((topics, documents)) < 0.5)

    def qrels(changed: float) -> QrelsColumns:
        noise = np.rint(changed * rng.normal(size=grades.shape))
        own = np.clip(grades + noise, 0, 4).astype(int).tolist()
        return columns_from(
            (code.encode(), f"{code}-{n:04}".encode(), grade)
            for code, row in zip(codes, own, strict=True)
            for n, grade in enumerate(row)
        )

    rankings = {}
    for run in range(runs):
        values = grades + rng.uniform(0.3, 4.3) * rng.normal(size=grades.shape)
        order = np.argsort(-values, axis=1)[:, :depth]
        docnos = [
            f"{code}-{n:04}".encode() for code, row in zip(codes, order.tolist(), strict=True) for n in row
        ]
        offsets = np.arange(topics + 1) * order.shape[1]
        rankings[f"run{run}"] = Ranking(np.array(codes), offsets, np.array(docnos))
    people, measure = qrels(0), parse_measure(MEASURE)
    judged = JudgedDocuments(people)
    rows = [
        row
        for tag, ranking in rankings.items()
        for row in score_hits(judged.hits(ranking), judged, [measure]).rows(
            judged, [measure], "judged", per_topic=True, run=tag
        )
    ]
    scores = boards.truth_of(rows, MEASURE)
    truth = boards.Truth(scores, people, measure, "judged", 2, range(5), {tag: tag for tag in rankings})
    compared = [
        boards.Judge(n, f"judge{n}", f"judge{n}.qrels", qrels(rng.uniform(0, 2))) for n in range(judges)
    ]
    start, cpu = time.perf_counter(), time.process_time()
    n_results = sum(
        1
        for _ in boards.results(
            compared, truth, rankings.items, JudgedDocuments, boards.Options(), boards.Left()
        )
    )
    figure(f"{n_results} judges, {runs} runs", time.perf_counter() - start, "s")
    figure("of it on the processor", time.process_time() - cpu, "s")
