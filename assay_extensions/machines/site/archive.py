"""Judges and evidence of machines in archives of tracks: as records of the archive, and as rows again."""

from collections.abc import Iterable, Iterator, Mapping

from django.core.exceptions import ValidationError

from accounts.models import User
from assay.archive.records import as_line
from assay.protocols.questions import UNSTORABLE
from assay_extensions.machines.archive import JUDGES, REPLIES, JudgeRow, ReplyRow, judges_in, replies_in
from assay_extensions.machines.model.evidence import Evidence
from assay_extensions.machines.site.evidence import SENT
from assay_extensions.machines.site.judges import checked
from assay_extensions.machines.site.models import JudgeRecord, ReplyEvidence
from assessment.models import Judgment
from publishing.archives.loading import AT_ONCE, Loading
from publishing.archives.records import Row, moment_of, record_of, row_of, save, text_of
from publishing.errors import load_refused
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
        checked(record.record)
        judge = row_of(JudgeRecord, record, machine=by_name[record.assessor], created_by=loading.by)
        save(_storable(judge, JUDGES))
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
            rows.append(_storable(row, REPLIES))
    ReplyEvidence.objects.bulk_create(rows, batch_size=AT_ONCE)


def _storable(row: Row, name: str) -> Row:
    """Refuse a row of somebody else's archive that the database would."""
    related = [field.name for field in row._meta.concrete_fields if field.is_relation]
    try:
        row.clean_fields(exclude=related)
    except ValidationError as error:
        raise load_refused(f"{name}: {'; '.join(error.messages)}") from None
    values = [getattr(row, field.name) for field in row._meta.concrete_fields if field.name not in related]
    if any(UNSTORABLE.search(text) for text in _texts(values)):
        raise load_refused(f"{name}: a text has a character that cannot be stored.")
    return row


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
