"""The units by which runs are scored: retrieved documents, or the visually distinct formulas of their instances.

Distinct formulas follow the ARQMath labs: each instance of a run becomes its visually distinct formula, and the first
instance of each formula remains (highest score first, ties in the order of the file). Then the run is ranked like any
other. Instances without a visual id are skipped and counted.

Near-duplicates of judged documents inherit the grade, and repeated ones count as not relevant (BOLT): in each group of
near-duplicates, the first document that a run retrieves counts with its grade, further ones count as not relevant, and
the group counts as one relevant document. A file of near-duplicates has a line for each, with the document that was
judged in its place: topic docno judged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import columns_from
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_hits
from assay.protocols.measures import Measure
from assay.protocols.schema import Protocol, RunFormat

VISUAL_IDS = "visual-ids"  # runs that name formulas by their visual ids, in any form of lines


class NotComputed(InputError):
    """The scores of a protocol cannot be computed from this input: slug, key, and what is needed."""


class Units(NamedTuple):
    """What the rows of runs count as. With `formulas`, each instance counts as its visually distinct formula."""

    formulas: Formulas | None = None
    formats: Sequence[RunFormat] = ()  # that runs may have; empty: those of the protocol


def check_units(protocol: Protocol, *, has_formulas: bool, how: str) -> None:
    """Refuse to score instances if the protocol scores distinct formulas; `how` is the instruction in the message.

    Raises NotComputed: the protocol has `collapse_instances`, and there are no formulas.
    """
    if protocol.scoring.collapse_instances and not has_formulas:
        raise NotComputed(
            f"{protocol.slug}: scoring.collapse_instances: each instance counts as its visually distinct formula; {how}"
        )


def read_units(protocol: Protocol, units: str | None, paths: Sequence[Path]) -> Units:
    """The units that runs are scored by.

    Args:
        units: "distinct", "instances" or "visual-ids"; None for the units of the protocol.
        paths: formula indexes and id maps.

    Raises InputError: an index cannot be used, or distinct formulas need one and none is given.
    """
    if units == VISUAL_IDS:
        own: Sequence[RunFormat] = () if protocol.runs.columns is None else ("columns",)
        return Units(formats=(*own, "arqmath-5", "arqmath-6", "trec-6"))
    if units == "instances" or not (units or protocol.scoring.collapse_instances):
        return Units()
    how = "name the formula index or id map with --formulas, or use --units instances or --units visual-ids"
    check_units(protocol, has_formulas=bool(paths), how=how)
    if not paths:
        raise InputError(f"--units distinct: {how}")
    return Units(read_formulas(paths))


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


class Prepared(NamedTuple):
    """A run ready for scoring, a note on what was changed, and what is probably wrong."""

    ranking: Ranked
    note: str = ""
    problem: str = ""
    n_instances: int = 0  # of formulas
    n_identified: int = 0  # those that have a visual id


def prepare(run: RunColumns, formulas: Formulas | None) -> Prepared:
    """The run with its instances replaced by distinct formulas; as it is, without formulas."""
    if formulas is None:
        return Prepared(run)
    columns, n_skipped = collapse_instances(run, formulas)
    note = f"{len(run)} instances, {len(columns)} distinct formulas"
    if n_skipped:
        note += f", {n_skipped} instances without a visual id skipped"
    problem = ""
    if n_skipped == len(run) > 0:
        problem = (
            f"none of its formulas, such as {run.docno[0].decode()}, has a visual id, every value is 0; "
            "if the run has visual ids, use --units visual-ids"
        )
    return Prepared(columns, note, problem, len(run), len(run) - n_skipped)


class Scored(NamedTuple):
    """The scores of a run, how many topics it has, a note on its units, and why nothing is judged, if so."""

    scores: RunScores
    n_topics: int
    note: str
    problem: str


def score_prepared(run: Prepared, judged: JudgedDocuments, measures: Sequence[Measure]) -> Scored:
    """Score a run that is read from a file, and find out why none of its documents is judged, if so."""
    hits = judged.hits(run.ranking)
    problem = "" if len(hits.topic) else run.problem or _why_unjudged(run, judged)
    return Scored(score_hits(hits, judged, measures), len(run.ranking.topics), run.note, problem)


def _why_unjudged(run: Prepared, judged: JudgedDocuments) -> str:
    """Return why nothing of a run is judged, with an id of each side; empty if one side is empty.

    For distinct formulas, it also says how many ids each side has: maps of different years number formulas differently.
    """
    ranking = run.ranking
    if not len(ranking.docno) or not len(judged.topic):
        return ""
    in_run = {code: n for n, code in enumerate(ranking.topics.tolist())}
    common = [code for code in judged.topics.tolist() if code in in_run]
    if not common:
        reason = (
            "none of its topics is in the qrels, every value is 0; "
            f"the run has {ranking.topics[0]}, the qrels have {judged.topics[0]}"
        )
    else:
        mine = ranking.docno[ranking.offsets[in_run[common[0]]]].decode()
        other = judged.docno[np.searchsorted(judged.topic, judged.topics.tolist().index(common[0]))].decode()
        reason = (
            f"none of its documents is judged, every value is 0; for topic {common[0]}, "
            f"the run has {mine}, the qrels have {other}"
        )
    if not run.n_identified:
        return reason
    ours, theirs = np.unique(ranking.docno), np.unique(judged.docno)
    n_common = len(np.intersect1d(ours, theirs))
    return (
        f"{reason}; {run.n_identified:,} of its {run.n_instances:,} formulas have a visual id: {len(ours):,} different "
        f"ids; the qrels have {len(theirs):,}, of which {n_common:,} are in the run, for other topics; check that both "
        "number formulas alike"
    )


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


def of_distinct_formulas(qrels: QrelsColumns, formulas: Formulas) -> tuple[QrelsColumns, int]:
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


class DuplicatesError(ValueError):
    """The near-duplicates are malformed, or contradict one another."""


def judged_documents(qrels: QrelsColumns, path: str | None) -> JudgedDocuments:
    """The qrels for scoring, with the near-duplicates of a file if there is one.

    Raises InputError: the file cannot be used.
    """
    group = None
    if path:
        try:
            qrels, group = with_duplicates(qrels, parse_duplicates(read_file(path)))
        except DuplicatesError as error:
            raise InputError(f"{path}: {error}") from None
    return JudgedDocuments(qrels, group)


def parse_duplicates(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Read topic, near-duplicate and judged document of each line. A header line is skipped.

    Raises DuplicatesError: a line does not have three columns, or repeats a near-duplicate.
    """
    rows: dict[tuple[bytes, bytes], bytes] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
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
