"""Half of the qrels of TREC RAG 2025 by people and by a machine, six made runs, and a sample of 5 % of the units.

`rag25.tsv.xz` has them in one table, with pseudonyms of documents: grades of NIST's assessors and of UMBRELA-2 from
castorini/anserini-tools; the ranks of the runs are made from the grades and noise. `known.json` has the answers of
ppi-python 0.2.3, of UW-Madison's LLM-judge-reporting, and of a program of our own for samples.
"""

import csv
import json
import lzma
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

DATA = Path(__file__).parent / "data"
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
def known() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((DATA / "known.json").read_text())
    return answers


@pytest.fixture(scope="session")
def rag25(tmp_path_factory: pytest.TempPathFactory) -> Rag25:
    folder = tmp_path_factory.mktemp("rag25")
    text = lzma.decompress((DATA / "rag25.tsv.xz").read_bytes()).decode()
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
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
