"""Share the discussion of a training round, and note its outcome."""

from typing import Any

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assessment.agreement.discussions import judgments_of_unit
from assessment.batches.services import lock_for_managing
from assessment.models import Batch, DiscussionNote


@transaction.atomic
def share(*, batch: Batch, discussion: str) -> Batch:
    """Set who sees the discussion of a training round: organizers only, or its assessors once it is closed."""
    locked = _lock(batch)
    locked.discussion = Batch.Discussion(discussion)
    locked.save(update_fields=["discussion"])
    details = {"who sees it": locked.get_discussion_display()}
    audit.record(action="discussion.shared", subject=locked, track=locked.pool.track, details=details)
    return locked


@transaction.atomic
def note(
    *, batch: Batch, topic: str, docno: str, grade: int | None = None, text: str = "", by: User
) -> DiscussionNote | None:
    """Store the agreed grade of a document and why, instead of an earlier note. Without both, the note is deleted.

    `topic` is a code.
    """
    locked = _lock(batch)
    judgment = judgments_of_unit(locked, topic, docno).first()
    if judgment is None:
        raise Refused(
            f"Nobody has judged {docno} in this round, so there is nothing to discuss.", code="not-judged"
        )
    grades = list(locked.pool.protocol.parsed.judging.grades)
    if grade is not None and grade not in {known_grade.value for known_grade in grades}:
        known = ", ".join(str(known_grade.value) for known_grade in grades)
        raise Refused(f"Grade {grade} is not in the protocol; use one of {known}.", code="unknown-grade")
    unit: dict[str, Any] = {"batch": locked, "topic": judgment.topic, "docno": docno}
    if grade is None and not text.strip():
        DiscussionNote.objects.filter(**unit).delete()
        return None
    values = {"grade": grade, "text": text.strip(), "written_by": by}
    return DiscussionNote.objects.update_or_create(**unit, defaults=values)[0]


def _lock(batch: Batch) -> Batch:
    locked = lock_for_managing(batch.pk)
    if locked.kind != Batch.Kind.TRAINING:
        raise Refused(
            f"“{locked}” is not a training round. Only training rounds are discussed.", code="not-training"
        )
    return locked
