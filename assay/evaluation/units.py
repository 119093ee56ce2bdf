"""What runs are scored by: the documents that they retrieve, or the visually distinct formulas of their instances.

Distinct formulas follow the ARQMath labs: each instance of a run becomes its visually distinct formula, and the first
instance of each formula remains (highest score first, ties in the order of the file). Then the run is ranked like any
other. Instances without a visual id are skipped and counted.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import columns_from
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formulas.columns import Formulas
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.scores import mismatch
from assay.protocols.schema import Protocol, RunFormat

VISUAL_IDS = "visual-ids"  # runs that name formulas by their visual ids, in any form of lines
FORMATS_OF_VISUAL_IDS: tuple[RunFormat, ...] = ("arqmath-5", "arqmath-6", "trec-6")


class NotComputed(InputError):
    """The scores of a protocol cannot be computed from this input: slug, key, and what is needed."""


def check_units(protocol: Protocol, *, has_formulas: bool, how: str) -> None:
    """Refuse to score instances if the protocol scores distinct formulas; `how` is the instruction in the message.

    Raises
    ------
    NotComputed
        The protocol has `collapse_instances`, and there are no formulas.
    """
    if protocol.scoring.collapse_instances and not has_formulas:
        raise NotComputed(
            f"{protocol.slug}: scoring.collapse_instances: each instance counts as its visually distinct formula; {how}"
        )


def read_units(protocol: Protocol, units: str | None, paths: Sequence[Path]) -> Formulas | None:
    """The formulas whose visual ids replace instances; None if runs are scored as they are.

    Parameters
    ----------
    units : "distinct", "instances" or "visual-ids"; None for the units of the protocol.
    paths : formula indexes and id maps.

    Raises
    ------
    InputError
        An index cannot be used, or distinct formulas need one and none is given.
    """
    if units in {"instances", VISUAL_IDS} or not (units or protocol.scoring.collapse_instances):
        return None
    how = "name the formula index or id map with --formulas, or use --units instances or --units visual-ids"
    check_units(protocol, has_formulas=bool(paths), how=how)
    if not paths:
        raise InputError(f"--units distinct: {how}")
    return read_formulas(paths)


def read_formulas(paths: Sequence[Path]) -> Formulas:
    """Read the formulas of some files.

    Raises
    ------
    Refused
        A file is neither a formula index nor an id map.
    InputError
        None of the formulas has a visual id.
    OSError
        A file cannot be read.
    """
    # Few runs need formulas, and the readers of all collection formats are imported with them.
    formulas: Formulas = import_module("assay.formats.formulas.files").read_index(paths)
    if not (formulas.visual != b"").any():
        files = ", ".join(map(str, paths))
        raise InputError(f"{files}: none of the {len(formulas)} formulas has a visual id")
    return formulas


class Prepared(NamedTuple):
    """A run ready for scoring, a note on what was changed, and what is probably wrong."""

    ranking: Ranked
    note: str = ""
    problem: str = ""
    n_instances: int = 0  # of formulas
    n_identified: int = 0  # those that have a visual id


def prepare(run: RunColumns, formulas: Formulas) -> Prepared:
    """The run with its instances replaced by distinct formulas."""
    collapsed = collapse_instances(run, formulas)
    note = f"{len(run)} instances, {len(collapsed.columns)} distinct formulas"
    if collapsed.n_skipped:
        note += f", {collapsed.n_skipped} instances without a visual id skipped"
    problem = ""
    if collapsed.n_skipped == len(run) > 0:
        problem = (
            f"none of its formulas, such as {run.docno[0].decode()}, has a visual id, every value is 0; "
            "if the run has visual ids, use --units visual-ids"
        )
    return Prepared(collapsed.columns, note, problem, len(run), len(run) - collapsed.n_skipped)


def why_unjudged(run: Prepared, judged: JudgedDocuments, hits: Hits) -> str:
    """Why nothing of a run is judged, with an id of each side; empty if something is.

    For distinct formulas, it also says how many ids each side has: maps of different years number formulas differently.
    """
    if len(hits.topic):
        return ""
    reason = run.problem or mismatch(run.ranking, judged, hits)
    if not reason or run.problem or not run.n_identified:
        return reason
    ours, theirs = np.unique(run.ranking.docno), np.unique(judged.docno)
    n_common = len(np.intersect1d(ours, theirs))
    return (
        f"{reason}; {run.n_identified:,} of its {run.n_instances:,} formulas have a visual id: {len(ours):,} different "
        f"ids; the qrels have {len(theirs):,}, of which {n_common:,} are in the run, for other topics; check that both "
        "number formulas alike"
    )


class Collapsed(NamedTuple):
    """A run of distinct formulas.

    columns : the topics that have a formula left; docno is the visual id, rank that of the remaining instance.
    n_skipped : instances without a visual id, or that are not in the formulas.
    n_repeated : instances of a formula that has an instance above them.
    """

    columns: RunColumns
    n_skipped: int
    n_repeated: int


def collapse_instances(run: RunColumns, formulas: Formulas) -> Collapsed:
    """Replace each instance by its distinct formula, and keep the first instance of each formula of a topic."""
    row = formulas.rows(run.docno)
    visual = formulas.visual[row] if len(formulas) else np.zeros(len(run), dtype="S1")
    has_visual = (row >= 0) & (visual != b"")
    at = np.flatnonzero(has_visual)
    at = at[_firsts(run.topic_index[at], visual[at])]
    columns, _ = RunColumns.ordered(
        topics=run.topics.tolist(),
        topic_index=run.topic_index[at],
        docno=visual[at],
        rank=run.rank[at],
        score=run.score[at],
    )
    n_skipped = len(run) - int(has_visual.sum())
    return Collapsed(_without_empty_topics(columns), n_skipped, len(run) - n_skipped - len(at))


def _firsts(topic: NDArray[np.int32], visual: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """The first row of each (topic, visual id), ascending; the rows of a topic are sorted by score."""
    _, code = np.unique(visual, return_inverse=True)
    first: NDArray[np.intp]
    _, first = np.unique(topic.astype(np.int64) * (len(visual) + 1) + code, return_index=True)
    first.sort()
    return first


def _without_empty_topics(columns: RunColumns) -> RunColumns:
    """The run without the topics that have no row left."""
    left, index = np.unique(columns.topic_index, return_inverse=True)
    return RunColumns(
        columns.topics[left], index.astype(np.int32), columns.docno, columns.rank, columns.score
    )


def with_visual_ids(qrels: QrelsColumns, formulas: Formulas) -> QrelsColumns:
    """The lines of qrels whose instance has a visual id."""
    row = formulas.rows(qrels.docno)
    has_id = (row >= 0) & (formulas.visual[row] != b"") if len(formulas) else row >= 0
    topics, index = np.unique(qrels.topic_index[has_id], return_inverse=True)
    return QrelsColumns(
        qrels.topics[topics], index.astype(np.int32), qrels.docno[has_id], qrels.grade[has_id]
    )


def of_distinct_formulas(qrels: QrelsColumns, formulas: Formulas) -> tuple[QrelsColumns, int]:
    """Replace the instances of qrels by distinct formulas, each with the highest grade of its instances.

    Returns
    -------
    The qrels, and the number of lines that were left out because their instance has no visual id.
    """
    row = formulas.rows(qrels.docno)
    visual = (
        np.where(row >= 0, formulas.visual[row], b"") if len(formulas) else np.zeros(len(row), dtype="S1")
    )
    codes = [code.encode() for code in qrels.topics.tolist()]
    grades: dict[tuple[bytes, bytes], int] = {}
    rows = zip(qrels.topic_index.tolist(), visual.tolist(), qrels.grade.tolist(), strict=True)
    for topic, formula, grade in rows:
        if formula:
            unit = codes[topic], formula
            grades[unit] = max(grade, grades.get(unit, grade))
    n_skipped = int((visual == b"").sum())
    return columns_from((*unit, grade) for unit, grade in grades.items()), n_skipped
