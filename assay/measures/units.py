"""The units by which runs are scored: retrieved documents, or the visually distinct formulas of their instances.

Distinct formulas follow the ARQMath labs: each instance of a run becomes its visually distinct formula, and the first
instance of each formula remains (highest score first, ties in the order of the file). Then the run is ranked like any
other. Instances without a visual id are skipped and counted.

Near-duplicates of judged documents inherit the grade, and repeated ones count as not relevant (BOLT): in each group of
near-duplicates, the first document that a run retrieves counts with its grade, further ones count as not relevant, and
the group counts as one relevant document. A file of near-duplicates has a line for each, with the document that was
judged in its place: topic docno judged.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, NotMeasurable
from assay.formats.qrels.columns import QrelsColumns, columns_from
from assay.formats.runs.columns import RunColumns
from assay.formats.text import decoded
from assay.formulas.columns import Formulas

if TYPE_CHECKING:
    from assay.protocols.schema import Protocol  # importing it takes 10 ms


def check_units(protocol: "Protocol", *, has_formulas: bool, how: str) -> None:
    """Refuse to score instances if the protocol scores distinct formulas; `how` is the instruction in the message.

    Raises NotMeasurable: the protocol has `collapse_instances`, and there are no formulas.
    """
    if protocol.scoring.collapse_instances and not has_formulas:
        raise NotMeasurable(
            f"{protocol.slug}: scoring.collapse_instances: each instance counts as its visually distinct formula; {how}"
        )


def read_formulas(paths: Sequence[Path]) -> Formulas:
    """Read the formulas of some files.

    Raises:
        Refused: A file is neither a formula index nor an id map.
        InputError: None of the formulas has a visual id.
        OSError: A file cannot be read.
    """
    # Few runs need formulas, and the readers of all collection formats are imported with them.
    from assay.formats.formulas import read_index  # noqa: PLC0415

    formulas = read_index(paths)
    if not (formulas.visual != b"").any():
        files = ", ".join(map(str, paths))
        raise InputError(f"{files}: none of the {len(formulas)} formulas has a visual id")
    return formulas


def _visual_ids(docno: NDArray[np.bytes_], formulas: Formulas) -> NDArray[np.bytes_]:
    """(n,) the visual id of each instance; empty if it has none, or if it is not in the formulas."""
    if not len(formulas):
        return np.zeros(len(docno), dtype="S1")
    row = formulas.rows(docno)
    return np.where(row >= 0, formulas.visual[row], b"")


def collapse_instances(run: RunColumns, formulas: Formulas) -> tuple[RunColumns, int]:
    """Replace each instance by its distinct formula, and keep the first instance of each formula of a topic.

    Returns:
        A run of the topics that have a formula left; docno is the visual id, rank that of the remaining instance. And
        the number of instances without a visual id.
    """
    visual = _visual_ids(run.docno, formulas)
    at = np.flatnonzero(visual != b"")
    n_skipped = len(run) - len(at)
    # the first row of each topic and visual id; the rows of a topic are sorted by score
    _, code = np.unique(visual[at], return_inverse=True)
    _, first = np.unique(run.topic_index[at].astype(np.int64) * (len(at) + 1) + code, return_index=True)
    at = at[np.sort(first)]
    columns, _ = RunColumns.ordered(
        topics=run.topics.tolist(),
        topic_index=run.topic_index[at],
        docno=visual[at],
        rank=run.rank[at],
        score=run.score[at],
    )
    left, index = np.unique(columns.topic_index, return_inverse=True)  # topics that have a row left
    return replace(columns, topics=columns.topics[left], topic_index=index.astype(np.int32)), n_skipped


def with_visual_ids(qrels: QrelsColumns, formulas: Formulas) -> QrelsColumns:
    """The lines of qrels whose instance has a visual id."""
    has_id = _visual_ids(qrels.docno, formulas) != b""
    topics, index = np.unique(qrels.topic_index[has_id], return_inverse=True)
    return replace(qrels.kept(has_id), topics=qrels.topics[topics], topic_index=index.astype(np.int32))


def to_distinct_formulas(qrels: QrelsColumns, formulas: Formulas) -> tuple[QrelsColumns, int]:
    """Replace the instances of qrels by distinct formulas, each with the highest grade of its instances.

    Returns:
        The qrels, and the number of lines that were left out because their instance has no visual id.
    """
    visual = _visual_ids(qrels.docno, formulas)
    codes = [code.encode() for code in qrels.topics.tolist()]
    grades: dict[tuple[bytes, bytes], int] = {}
    rows = zip(qrels.topic_index.tolist(), visual.tolist(), qrels.grade.tolist(), strict=True)
    for topic, formula, grade in rows:
        if formula:
            unit = codes[topic], formula
            grades[unit] = max(grade, grades.get(unit, grade))
    return columns_from((*unit, grade) for unit, grade in grades.items()), int((visual == b"").sum())


def several_instances(qrels: QrelsColumns, formulas: Formulas) -> tuple[int, int]:
    """The number of distinct formulas of a topic with several instances in qrels, and of all distinct formulas."""
    visual = _visual_ids(qrels.docno, formulas)
    n_instances = Counter(zip(qrels.topic_index.tolist(), visual.tolist(), strict=True))
    counts = [n for (_, formula), n in n_instances.items() if formula]
    return sum(n > 1 for n in counts), len(counts)


class DuplicatesError(ValueError):
    """The near-duplicates are malformed, or contradict one another."""


def parse_duplicates(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Read topic, near-duplicate and judged document of each line. A header line is skipped.

    Raises DuplicatesError: a line does not have three columns, or repeats a near-duplicate.
    """
    rows: dict[tuple[bytes, bytes], bytes] = {}
    for number, line in enumerate(decoded(data).data.splitlines(), 1):
        words = line.split()
        if not words or (number == 1 and words[0].lower() == b"topic"):
            continue
        if len(words) != 3:
            raise DuplicatesError(
                f"line {number}: expected 3 columns (topic, docno, judged), got {len(words)}"
            )
        topic, docno, judged = words
        if (topic, docno) in rows:
            repeated = f"{docno.decode(errors='replace')} of topic {topic.decode(errors='replace')}"
            raise DuplicatesError(f"line {number}: {repeated} is repeated")
        rows[topic, docno] = judged
    return [(topic, docno, judged) for (topic, docno), judged in rows.items()]


def with_duplicates(
    qrels: QrelsColumns, duplicates: Iterable[tuple[bytes, bytes, bytes]]
) -> tuple[QrelsColumns, NDArray[np.int64]]:
    """Add the near-duplicates of judged documents to qrels. Near-duplicates of other documents are left out.

    Returns:
        Rows of judged documents and of their near-duplicates, with the grade of the judged document; and, for each row,
        the row of the document that was judged in its place: its own row if that is itself.

    Raises DuplicatesError: a document that has near-duplicates is listed as a near-duplicate of another document, or
        the qrels have more than grades.
    """
    if qrels.parts is not None:
        raise DuplicatesError(f"near-duplicates inherit grades, but no {qrels.kind}")
    codes = [code.encode() for code in qrels.topics.tolist()]
    judged = zip(qrels.topic_index.tolist(), qrels.docno.tolist(), qrels.grade.tolist(), strict=True)
    grades = {(codes[topic], docno): grade for topic, docno, grade in judged}
    heads = {unit: unit for unit in grades}
    named = {(topic, docno): (topic, head) for topic, docno, head in duplicates}
    for unit, head in named.items():
        if named.get(head, head) != head:
            topic, docno = (word.decode(errors="replace") for word in head)
            raise DuplicatesError(
                f"{docno} of topic {topic} has near-duplicates and is a near-duplicate of another document"
            )
        if head in grades:
            heads[unit] = head
    columns = columns_from((topic, docno, grades[heads[topic, docno]]) for topic, docno in heads)
    # a topic without rows still counts in averages
    place = np.searchsorted(qrels.topics, columns.topics).astype(np.int32)
    columns = replace(columns, topics=qrels.topics, topic_index=place[columns.topic_index])
    pairs = zip(columns.topic_index.tolist(), columns.docno.tolist(), strict=True)
    units = [(codes[topic], docno) for topic, docno in pairs]
    rows = {unit: row for row, unit in enumerate(units)}
    group = [rows[heads[unit]] for unit in units]
    return columns, np.array(group, dtype=np.int64)
