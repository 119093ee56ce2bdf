"""Judges and evidence of machines in archives of tracks: as records of the archive, and as rows again."""

import json
from collections.abc import Iterable, Iterator, Mapping

from accounts.models import User
from assay.archive.records import as_line
from assay.structure import structured
from assay.tables import plain
from assay_extensions.machines.archive import (
    CARDS,
    JUDGES,
    PROBES,
    REPLIES,
    JudgeRow,
    ProbesReport,
    ProbesRow,
    ReplyRow,
    judges_in,
    probes_in,
    replies_in,
)
from assay_extensions.machines.model.evidence import Evidence
from assay_extensions.machines.site.cards import JudgeCard, card_of
from assay_extensions.machines.site.evidence import SENT
from assay_extensions.machines.site.judges import checked as check_record
from assay_extensions.machines.site.models import JudgeRecord, ProbeReport, ReplyEvidence
from assessment.models import Judgment
from publishing.archives.loading import AT_ONCE, Loading
from publishing.archives.records import checked, moment_of, record_of, row_of, save, text_of
from publishing.models import Archive
from tracks.models import Machine, Track


def gather(archive: Archive, names: Mapping[int, str]) -> Iterator[tuple[str, Iterable[str]]]:
    judges = JudgeRecord.objects.filter(machine__assessor__track=archive.track).order_by("pk")
    yield (
        JUDGES,
        (
            as_line(record_of(JudgeRow, judge, assessor=names[judge.machine.assessor.user_id]))
            for judge in judges.select_related("machine__assessor")
        ),
    )
    yield REPLIES, _replies(archive.track, names)
    machines = Machine.objects.filter(assessor__track=archive.track).order_by("name", "version")
    reports = ProbeReport.objects.filter(machine__in=machines).select_related("machine__assessor")
    yield (
        PROBES,
        (
            as_line(
                ProbesRow(
                    assessor=names[row.machine.assessor.user_id],
                    report=structured(ProbesReport, row.report),
                    created_at=text_of(row.created_at),
                )
            )
            for row in reports.order_by("machine__name", "machine__version")
        ),
    )
    yield (
        CARDS,
        (_card(card_of(machine), names) for machine in machines.select_related("assessor__track__protocol")),
    )


def _card(card: JudgeCard, names: Mapping[int, str]) -> str:
    """The part of a card that follows from judgments. The other facts of its card are in the other files."""
    facts = {name: getattr(card, name) for name in ("tested_on", "agreement", "by_grade")}
    named = {"assessor": names[card.machine.assessor.user_id], **{name: plain(facts[name]) for name in facts}}
    return json.dumps(named, ensure_ascii=False) + "\n"


def _replies(track: Track, names: Mapping[int, str]) -> Iterator[str]:
    ids = Judgment.objects.filter(track=track).order_by("pk").values_list("pk", flat=True)
    numbers = {pk: number for number, pk in enumerate(ids.iterator(), 1)}  # as in `judgments.jsonl`
    replies = ReplyEvidence.objects.filter(machine__assessor__track=track).order_by("pk")
    related = ("task__entry__topic", "task__batch__pool", "machine__assessor")
    for row in replies.select_related(*related).iterator(chunk_size=AT_ONCE):
        sent = {name: getattr(row, name) for name in SENT} | {"cost": row.shown_cost or None}
        yield as_line(
            ReplyRow(
                assessor=names[row.machine.assessor.user_id],
                pool=row.task.batch.pool.name,
                topic=row.task.entry.topic.code,
                docno=row.task.entry.docno,
                judgment=None if row.judgment_id is None else numbers[row.judgment_id],
                created_at=text_of(row.created_at),
                evidence=Evidence(**sent),
            )
        )


def load(loading: Loading) -> None:
    """Store the judges, and the evidence of judgments. Skipped tasks are not in archives, so theirs is left out.

    Raises Refused: a value cannot be stored.
    """
    machines = {
        machine.assessor.user_id: machine
        for machine in Machine.objects.filter(assessor__track=loading.track).select_related("assessor")
    }
    users = dict(User.objects.filter(pk__in=machines).values_list("username", "pk"))
    by_name = {name: machines[users[user]] for name, user in loading.assessors.items() if user in users}
    for record in judges_in(loading.contents):
        check_record(record.record)
        judge = row_of(JudgeRecord, record, machine=by_name[record.assessor], created_by=loading.by)
        save(checked(judge, JUDGES))
    for probes in probes_in(loading.contents):
        report, machine = plain(probes.report), by_name[probes.assessor]
        save(
            checked(
                row_of(ProbeReport, probes, machine=machine, report=report, created_by=loading.by), PROBES
            )
        )
    tasks = dict(
        Judgment.objects.filter(track=loading.track, assessor__in=machines).values_list("pk", "task")
    )
    rows: list[ReplyEvidence] = []
    for reply in replies_in(loading.contents):
        if reply.judgment is not None:
            judgment = loading.judgments[reply.judgment]
            row = row_of(
                ReplyEvidence,
                reply.evidence,
                probabilities=reply.evidence.as_json()["probabilities"],
                machine=by_name[reply.assessor],
                judgment_id=judgment,
                task_id=tasks[judgment],
                created_at=moment_of(reply.created_at),
            )
            rows.append(checked(row, REPLIES))
    ReplyEvidence.objects.bulk_create(rows, batch_size=AT_ONCE)
