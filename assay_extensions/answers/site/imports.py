"""Imports of answers that were graded by rubrics elsewhere, as judgments of the criteria in a pool."""

from collections.abc import Iterator
from typing import BinaryIO

from assay.errors import InputError
from assay.formats.judgments.reader import JudgmentsError
from assay.formats.judgments.rows import JudgmentRow, JudgmentStream
from assay.formats.qrels.reader import COMPLAINTS_KEPT, Complaint
from assay.formats.text import keep_notes
from assay.nuggets.assignments import NO_GRADE, units_in
from assay.nuggets.files import records
from assessment.imports.services import reads_judgments
from assessment.models import JudgmentImport
from pooling.models import Pool, PoolEntry

SIGN = b'"criteria"'


@reads_judgments
def graded_in(source: JudgmentImport, file: BinaryIO) -> JudgmentStream | None:
    """The verdicts of a file as judgments; None for other files, and in tracks without rubrics."""
    if not source.track.protocol.parsed.judged.has_weights:
        return None
    file.seek(0)
    first = next((line for line in file if line.strip()), b"")
    file.seek(0)
    if not first.lstrip().startswith(b"{") or SIGN not in first:
        return None
    return JudgmentStream(source.name, "graded", _rows(source, file.read()))


def _rows(source: JudgmentImport, data: bytes) -> Iterator[JudgmentRow]:
    """The judgments of all lines. A verdict of two systems with the same answer is one judgment. Skip failed ones.

    Raises:
        JudgmentsError: A line is wrong, no pool has what it graded, or equal answers have different verdicts.
    """
    judging = source.track.protocol.parsed.judging
    keys = {grade.value: grade.key for grade in judging.grades}
    pools, topics = _pools(source), {*source.track.topics.values_list("code", flat=True)}
    verdicts: dict[tuple[str, str], int] = {}
    complaints: list[Complaint] = []
    n_failed = 0
    try:
        for record in records(data, source.name):
            topic = record.topic(record.content.get("qid"), "qid")
            if topic not in topics:
                complaints.append(Complaint(record.line, f"qid: the track has no topic {topic}"))
                continue
            for place, unit, grade in units_in(record, judging):
                key = topic, str(unit)
                if verdicts.setdefault(key, grade) != grade:
                    complaints.append(
                        Complaint(record.line, f"{place}: an equal answer has another verdict above")
                    )
                elif key not in pools:
                    text = "no pool has this answer with this text"
                    complaints.append(Complaint(record.line, f"{place}: {text}"))
        for key, grade in verdicts.items():
            if grade == NO_GRADE:
                n_failed += 1
            elif not complaints:
                yield JudgmentRow(*key, source.name, choice=keys[grade], pool=pools[key])
    except InputError as error:
        raise JudgmentsError(
            source.name, [Complaint(0, str(error).removeprefix(f"{source.name}: "))]
        ) from error
    if n_failed:
        keep_notes([f"verdicts that failed and are left out: {n_failed:,}"])
    if complaints:
        raise JudgmentsError(source.name, complaints[:COMPLAINTS_KEPT], n_complaints=len(complaints))


def _pools(source: JudgmentImport) -> dict[tuple[str, str], str]:
    """The names of the pools by topic and unit."""
    pools = Pool.objects.filter(
        track=source.track, status=Pool.Status.READY, protocol=source.track.protocol_id
    )
    pools = pools.filter(pk=source.pool_id) if source.pool_id else pools
    entries = PoolEntry.objects.filter(pool__in=pools).order_by("-pool")
    return {
        (topic, docno): pool
        for topic, docno, pool in entries.values_list("topic__code", "docno", "pool__name")
    }
