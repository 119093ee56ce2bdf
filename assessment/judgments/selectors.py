"""Judgments that a person may read."""

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import Q, QuerySet

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.judgments.rules import label_of
from assessment.models import Batch, Judgment, Task


class OwnJudgment(NamedTuple):
    """An assessor's latest judgment of a task."""

    judgment: Judgment
    label: str


def _previous(task: Task, rules: JudgingRules) -> OwnJudgment | None:
    """What the assessor last submitted for the task."""
    judgment = task.judgments.order_by("pk").last()
    return None if judgment is None else OwnJudgment(judgment, label_of(rules, judgment.choice))


def own_judgments(batch: Batch, user: User) -> QuerySet[Judgment]:
    """What a person judged in a batch, the last first, each task once and as it now stands for them."""
    own = Judgment.objects.filter(batch=batch, assessor=user)
    later = ~Q(replaced_by__assessor=user)
    return own.filter(later).select_related("topic", "task").order_by("-pk")


def for_export(judgments: QuerySet[Judgment]) -> Iterable[Judgment]:
    """Judgments with what an export says of each, read in chunks, in the order in which they were made."""
    related = judgments.select_related("batch", "track", "topic", "assessor").order_by("pk")
    return related.iterator(chunk_size=2000)
