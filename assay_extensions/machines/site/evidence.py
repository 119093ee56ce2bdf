"""Evidence of machine judgments: stored with them, read by organizers, exported and erased on request."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Length

from accounts.audit import services as audit
from accounts.models import User
from assay_extensions.machines.evidence import Evidence
from assay_extensions.machines.site.models import ReplyEvidence
from assessment.models import Judgment
from tracks.models import Machine

SENT = (
    "prompt_sha256 reply parser parse_status probabilities model tokens_in tokens_out cost currency milliseconds "
    "attempts is_cached round"
).split()


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


@dataclass(frozen=True)
class Weight:
    """How much evidence a machine has: rows, bytes of replies, tokens, and the cost in each currency."""

    n: int
    characters: int
    tokens_in: int
    tokens_out: int
    costs: list[tuple[Decimal, str]]


def weight_of(machine: Machine) -> Weight:
    rows = ReplyEvidence.objects.filter(machine=machine).order_by()
    total = rows.aggregate(
        n=Count("pk"),
        characters=Sum(Length("reply"), default=0),
        tokens_in=Sum("tokens_in", default=0),
        tokens_out=Sum("tokens_out", default=0),
    )
    costs = rows.exclude(cost=None).values_list("currency").annotate(total=Sum("cost")).order_by("currency")
    return Weight(**total, costs=[(cost.normalize(), currency) for currency, cost in costs])


def export(machine: Machine) -> Iterator[str]:
    """JSON Lines: batch, topic, docno, choice, and the evidence as it was sent. The audit log keeps the request."""
    track = machine.assessor.track
    audit.record(action="machine-evidence.exported", subject=machine, track=track)
    for row in evidence_of(machine).iterator(chunk_size=500):
        sent = {name: getattr(row, name) for name in SENT}
        sent["cost"] = None if row.cost is None else f"{row.cost.normalize():f}"
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
