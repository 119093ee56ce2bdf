"""Small runs and qrels as arrays, and the real ones of the shared data."""

from pathlib import Path

import numpy as np

from assay.formats.qrels.reader import columns_from, parse_qrels
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import check_run
from assay.measures.matching import JudgedDocuments
from assay.protocols.loader import load_protocol

KNOWN = {  # run -> nDCG', AP(rel=2)', P(rel=2)@10', averaged over the topics of both
    "prim_MathDowsers-task1-alpha05noReRank-auto-both-A.tsv": ("0.3446", "0.1393", "0.1623"),
    "prim_MIRMU-task1-Ensemble-auto-both-A.tsv": ("0.2378", "0.0641", "0.1390"),
    "psu-task1-auto-both-A.tsv.gz": ("0.2625", "0.0822", "0.1156"),
    "scm_ensemble-task1.tsv.gz": ("0.3979", "0.1020", "0.1636"),
    "prim_Approach0.tsv": ("0.2502", "0.1002", "0.1855"),
    "prim_zbMATH-task1-auto-both-P.tsv": ("0.1006", "0.0533", "0.0656"),
}
KNOWN_OVER_ALL_JUDGED = {"prim_zbMATH-task1-auto-both-P.tsv": ("0.0418", "0.0222", "0.0273")}

Lines = list[tuple[str, str, float]]


def make_run(lines: Lines) -> RunColumns:
    """A run of (topic, docno, score)."""
    codes = sorted({topic for topic, _, _ in lines})
    return RunColumns.ordered(
        topics=codes,
        topic_index=np.array([codes.index(topic) for topic, _, _ in lines], dtype=np.int32),
        docno=np.array([docno.encode() for _, docno, _ in lines], dtype=np.bytes_),
        rank=np.arange(1, len(lines) + 1, dtype=np.int32),
        score=np.array([score for _, _, score in lines], dtype=np.float64),
    )[0]


def make_judged(grades: dict[str, dict[str, int]]) -> JudgedDocuments:
    """Qrels of {topic: {docno: grade}}."""
    rows = [
        (topic.encode(), docno.encode(), grade) for topic in grades for docno, grade in grades[topic].items()
    ]
    return JudgedDocuments(columns_from(rows))


def real_qrels(data: Path) -> Path:
    return data / "arqmath" / "qrels" / "qrels.arqmath-2020-task1.txt"


def real_judged(data: Path) -> JudgedDocuments:
    return JudgedDocuments(parse_qrels(real_qrels(data).read_bytes()))


def real_run(data: Path, name: str) -> RunColumns:
    protocol = load_protocol("arqmath-2020-task1")
    columns = check_run(data / "arqmath" / "runs" / name, protocol=protocol, name=name).columns
    assert columns is not None
    return columns
