"""Judgments that a user may read."""

from dataclasses import dataclass
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.judgments.follow_ups import Answered, in_words
from assessment.judgments.rules import judging_rules, label_of
from assessment.models import Batch, Judgment, Task
from tracks.models import Track

PAGE = 50


class OwnJudgment(NamedTuple):
    """An assessor's judgment with the label of its choice and the answers to follow-up questions, in words."""

    judgment: Judgment
    label: str
    answers: list[Answered]


def own_judgment(judgment: Judgment, rules: JudgingRules) -> OwnJudgment:
    answers = in_words(rules, judgment.follow_ups)
    return OwnJudgment(judgment, label_of(rules, judgment.choice), answers)


def latest_judgment(task: Task, rules: JudgingRules) -> OwnJudgment | None:
    """The assessor's latest judgment of a task."""
    judgment = task.judgments.order_by("pk").last()
    return None if judgment is None else own_judgment(judgment, rules)


def own_judgments(batch: Batch, user: User) -> QuerySet[Judgment]:
    """A user's judgments in a batch, newest first; of each document only the latest."""
    own = Judgment.objects.filter(batch=batch, assessor=user)
    is_latest = ~Q(replaced_by__assessor=user)
    return own.filter(is_latest).select_related("topic", "task").order_by("-pk")


@dataclass(frozen=True)
class OwnJudgmentsPage:
    """One page of an assessor's own judgments; `rows` is the page of the paginator."""

    batch: Batch
    rows: Page[Judgment]
    judgments: list[OwnJudgment]


def own_judgments_page(batch: Batch, user: User, number: str | None) -> OwnJudgmentsPage:
    """One page of `own_judgments`, with the labels of the protocol."""
    rows = Paginator(own_judgments(batch, user), PAGE).get_page(number)
    rules = judging_rules(batch.pool.protocol)
    judgments = [own_judgment(judgment, rules) for judgment in rows]
    return OwnJudgmentsPage(batch, rows, judgments)


def judgments_of_track(track: Track) -> QuerySet[Judgment]:
    """Every judgment of a track, of all batches, also those that were replaced."""
    return Judgment.objects.filter(track=track)


class JudgmentCounts(NamedTuple):
    """How many judgments of a track there are, and how many of them count for which reason."""

    total: int
    current: int
    non_answers: int
    imported: int


def judgment_counts(track: Track) -> JudgmentCounts:
    """Counts of a track's judgments. One query."""
    is_current = Q(is_current=True)
    counts = judgments_of_track(track).aggregate(
        total=Count("pk"),
        current=Count("pk", filter=is_current),
        non_answers=Count("pk", filter=is_current & Q(grade__isnull=True)),
    )
    return JudgmentCounts(**counts, imported=0)


@dataclass(frozen=True)
class ExportPage:
    """What a track's export would contain."""

    track: Track
    counts: JudgmentCounts
    tab: str = "judging"


def export_page(track: Track) -> ExportPage:
    return ExportPage(track, judgment_counts(track))
