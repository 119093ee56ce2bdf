"""Share the discussion of a training round, and note its outcome."""

from typing import Any

from django.db import transaction

from accounts.models import User
from assessment.batches.locks import lock_for_managing
from assessment.discussions.errors import NotJudged, NotTraining, UnknownGrade
from assessment.discussions.selectors import judgments_of_unit
from assessment.judgments.rules import judging_rules
from assessment.models import Batch, DiscussionNote
from audit import services as audit


@transaction.atomic
def share(*, batch: Batch, discussion: str) -> Batch:
    """Set who sees the discussion of a training round: organizers only, or its assessors once it is closed.

    Raises
    ------
    NotTraining
    """
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

    Raises
    ------
    NotTraining, NotJudged, UnknownGrade
    """
    locked = _lock(batch)
    judgment = judgments_of_unit(locked, topic, docno).first()
    if judgment is None:
        raise NotJudged(docno)
    grades = list(judging_rules(locked.pool.protocol).grades)
    if grade is not None and grade not in {each.value for each in grades}:
        raise UnknownGrade(grade, grades)
    unit: dict[str, Any] = {"batch": locked, "topic": judgment.topic, "docno": docno}
    if grade is None and not text.strip():
        DiscussionNote.objects.filter(**unit).delete()
        return None
    values = {"grade": grade, "text": text.strip(), "written_by": by}
    return DiscussionNote.objects.update_or_create(**unit, defaults=values)[0]


def _lock(batch: Batch) -> Batch:
    locked = lock_for_managing(batch.pk)
    if locked.kind != Batch.Kind.TRAINING:
        raise NotTraining(locked)
    return locked
