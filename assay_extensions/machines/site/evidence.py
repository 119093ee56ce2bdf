"""Evidence of machine judgments: stored with them, read by organizers, exported and erased on request."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal

from django.db import transaction
from django.db.models import Count, Func, IntegerField, Q, QuerySet, Sum

from accounts.audit import services as audit
from accounts.models import User
from assay_extensions.machines.model.evidence import Evidence
from assay_extensions.machines.site.models import ReplyEvidence
from assessment.models import Judgment
from tracks.models import Machine, Topic

SENT = tuple(field.name for field in fields(Evidence))


class OctetLength(Func):
    function = "octet_length"
    output_field = IntegerField()


def store(machine: Machine, rows: Sequence[tuple[int, Judgment | None, Evidence]]) -> None:
    """Store the evidence of judgments and skips, by task."""
    ReplyEvidence.objects.bulk_create(
        ReplyEvidence(machine=machine, task_id=task, judgment=judgment, **evidence.as_json())
        for task, judgment, evidence in rows
    )


def evidence_of(machine: Machine) -> QuerySet[ReplyEvidence]:
    """The evidence of a machine, oldest first, with its units."""
    return (
        ReplyEvidence.objects.filter(machine=machine)
        .select_related("task__entry__topic", "task__batch", "judgment")
        .order_by("pk")
    )


def found(machine: Machine, *, topic: str = "", status: str = "", q: str = "") -> QuerySet[ReplyEvidence]:
    """The evidence of a machine about a topic, with a status of its reply, and with words in it."""
    rows = evidence_of(machine)
    if topic:
        rows = rows.filter(task__entry__topic__code=topic)
    if status:
        rows = rows.filter(parse_status=status)
    return rows.filter(reply__icontains=q) if q else rows


def neighbors(rows: QuerySet[ReplyEvidence], pk: int) -> tuple[int | None, int | None]:
    """The ids of the rows before and after a row."""
    ids = rows.values_list("pk", flat=True)
    return ids.filter(pk__lt=pk).order_by("-pk").first(), ids.filter(pk__gt=pk).order_by("pk").first()


def topics_of(machine: Machine) -> list[str]:
    """The codes of the topics that a machine has evidence about."""
    topics = Topic.objects.filter(
        pool_entries__tasks__in=ReplyEvidence.objects.filter(machine=machine).values("task")
    )
    return list(topics.distinct().values_list("code", flat=True))


@dataclass(frozen=True)
class Weight:
    """The amount of evidence of a machine: rows, bytes of replies, tokens, and the cost in each currency.

    Rows that do not report their tokens count as `n_without_tokens` only.
    """

    n: int
    n_without_tokens: int
    n_bytes: int
    tokens_in: int
    tokens_out: int
    costs: list[tuple[Decimal, str]]


def weight_of(machine: Machine) -> Weight:
    rows = ReplyEvidence.objects.filter(machine=machine).order_by()
    total = rows.aggregate(
        n=Count("pk"),
        n_without_tokens=Count("pk", filter=Q(tokens_in=None) | Q(tokens_out=None)),
        n_bytes=Sum(OctetLength("reply"), default=0),
        tokens_in=Sum("tokens_in", default=0),
        tokens_out=Sum("tokens_out", default=0),
    )
    costs = rows.exclude(cost=None).values_list("currency").annotate(total=Sum("cost")).order_by("currency")
    return Weight(**total, costs=[(cost.normalize(), currency) for currency, cost in costs])


@transaction.atomic
def note_export(*, machine: Machine) -> None:
    """Record in the audit log that the evidence was downloaded."""
    audit.record(action="machine-evidence.exported", subject=machine, track=machine.assessor.track)


def lines_of(machine: Machine) -> Iterator[str]:
    """JSON Lines: batch, topic, docno, choice, and the evidence as it was sent."""
    for row in evidence_of(machine).iterator(chunk_size=500):
        sent = {name: getattr(row, name) for name in SENT}
        sent["cost"] = row.shown_cost or None
        unit = {
            "batch": row.task.batch.name,
            "topic": row.task.entry.topic.code,
            "docno": row.task.entry.docno,
            "judgment": row.judgment_id,
            "choice": row.judgment.choice if row.judgment else None,
        }
        yield json.dumps(unit | sent, ensure_ascii=False) + "\n"


@transaction.atomic
def erase(*, machine: Machine, by: User) -> int:
    """Delete the evidence of a machine. Its judgments stay."""
    n, _ = ReplyEvidence.objects.filter(machine=machine).delete()
    details = {"rows": n}
    audit.record(
        action="machine-evidence.erased",
        subject=machine,
        track=machine.assessor.track,
        details=details,
        by=by,
    )
    return n
