"""Half of the qrels of TREC RAG 2025 by people and by a machine, six made runs, and a sample of 5 % of the units.

They are read from the folder of real files: grades of NIST's assessors and of UMBRELA-2 from castorini/anserini-tools;
the ranks of the runs are made from the grades and noise. The known answers are those of ppi-python 0.2.3, of
UW-Madison's LLM-judge-reporting, and of a program of our own for samples.
"""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.protocols.measures import parse_measures
from assay.research.comparison import read_inputs
from assay.research.evaluation import Scoring
from assay_extensions.estimates.reading import Machine
from assay_extensions.estimates.weights import Units, gains

RUNS = [f"r{n}" for n in range(1, 7)]


class Rag25(NamedTuple):
    """The files, and by row of the machine's qrels people's grades and the rows of the sample."""

    folder: Path
    machine: Machine
    people: NDArray[np.int64]
    sampled: NDArray[np.int64]
    probability: NDArray[np.float64]  # of the sampled rows

    def units(self, name: str) -> tuple[Units, NDArray[np.float64]]:
        """The units of a measure, and the gains by people."""
        (measure,) = parse_measures([name])
        return self.machine.units(measure), gains(measure, self.people)


@pytest.fixture(scope="session")
def known(data: Path) -> dict[str, Any]:
    judges = data / "judges"
    difference = json.loads((judges / "difference/answers.json").read_text())
    ppi = json.loads((judges / "ppi/answers.json").read_text())
    return {
        "difference": {name: _of_samples(answers) for name, answers in difference.items()},
        "ppi": {name: _of_topics(judges / f"ppi/{name}.tsv", answers) for name, answers in ppi.items()},
        **json.loads((judges / "adjusted/answers.json").read_text()),
    }


def _of_samples(answers: dict[str, Any]) -> dict[str, Any]:
    def numbers(estimate: dict[str, float]) -> list[float]:
        return [estimate[name] for name in ("mean", "se", "low", "high")]

    runs = {name: [*numbers(answers[name]["estimate"]), answers[name]["machine"]["mean"]] for name in RUNS}
    differences = {pair: numbers(each["estimate"]) for pair, each in answers["differences"].items()}
    return {"runs": runs, "differences": differences, "U of r1": answers["r1"]["U_by_topic"]}


def _of_topics(path: Path, answers: dict[str, Any]) -> dict[str, Any]:
    rows = _table(path)
    judged = [row for row in rows if row["people"]]
    values = {name: [float(row[name]) for row in judged] for name in ("people", "machine")}
    others = [float(row["machine"]) for row in rows if not row["people"]]
    for name, key in (("cross_fitted", "crossfit_5_folds_t"), ("people_alone", "people_alone_t")):
        values[name] = [answers[key]["estimate"], answers[key]["se"], *answers[key]["interval"]]
    return values | {"others": others}


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@cache
def rows_of(data: Path) -> list[dict[str, str]]:
    """Rows of topic, docno, grades, rank in each run, and probability in the sample. Documents are d0000 on."""
    judges = data / "judges"
    rows: dict[tuple[str, str], dict[str, str]] = {}
    empty = dict.fromkeys((*RUNS, "probability"), "")
    for name in ("machine", "people"):
        for line in (judges / f"rag25/{name}.qrels").read_text().splitlines():
            topic, _, docno, grade = line.split()
            row = rows.setdefault((topic, docno), {"topic": topic, "docno": f"d{len(rows):04}"} | empty)
            row[name] = grade
    for name in RUNS:
        for line in (judges / f"difference/{name}.run").read_text().splitlines():
            topic, _, docno, rank, *_ = line.split()
            rows[topic, docno][name] = rank
    for sampled in _table(judges / "difference/sample.tsv"):
        rows[sampled["topic"], sampled["docid"]]["probability"] = sampled["probability"]
    return [*rows.values()]


@pytest.fixture(scope="session")
def rag25(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Rag25:
    folder = tmp_path_factory.mktemp("rag25")
    rows = rows_of(data)
    for name in ("machine", "people"):
        lines = [f"{row['topic']} 0 {row['docno']} {row[name]}\n" for row in rows]
        (folder / f"{name}.txt").write_text("".join(lines))
    for name in RUNS:
        ranked = [row for row in rows if row[name]]
        lines = [f"{row['topic']} Q0 {row['docno']} {row[name]} -{row[name]} {name}\n" for row in ranked]
        (folder / f"{name}.txt").write_text("".join(lines))
    sample = [row for row in rows if row["probability"]]
    lines = [f"{row['topic']} {row['docno']} {row['people']} sample {row['probability']}\n" for row in sample]
    (folder / "sample.tsv").write_text("".join(lines))
    path = folder / "machine.txt"
    runs = {name: str(folder / f"{name}.txt") for name in RUNS}
    machine = Machine(read_inputs(str(path), runs, ["CG@20"], Scoring()), str(path))
    people = np.zeros(len(rows), dtype=np.int64)
    for row in rows:
        people[machine.row_of[row["topic"].encode(), row["docno"].encode()]] = int(row["people"])
    sampled = np.array([machine.row_of[row["topic"].encode(), row["docno"].encode()] for row in sample])
    order = np.argsort(sampled)
    probability = np.array([float(row["probability"]) for row in sample])[order]
    return Rag25(folder, machine, people, sampled[order], probability)
