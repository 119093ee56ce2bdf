"""What organizers read of batches: who has what, how far they are, what they chose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Aggregate, Count, F, FloatField, Max, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from assay.protocols.schema import Grade, JudgingRules
from assessment.judgments.elsewhere import COUNTING, settled_entries
from assessment.judgments.rules import judging_rules, label_of
from assessment.models import Batch, Judgment, Task, TopicAssignment
from pooling.models import PoolEntry
from tracks.models import Topic, Track


class Median(Aggregate):
    """The middle value, as PostgreSQL computes it."""

    name = "Median"
    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


@dataclass
class Share:
    """What one assessor has of one topic of a batch."""

    given: TopicAssignment
    judged: int = 0
    total: int = 0
    median_seconds: float | None = None
    last_at: datetime | None = None


@dataclass
class BatchProgress:
    """A batch as organizers watch it."""

    batch: Batch
    shares: list[Share] = field(default_factory=list)
    n_open: int = 0
    n_overdue: int = 0
    median_seconds: float | None = None

    @property
    def judged(self) -> int:
        return sum(share.judged for share in self.shares)

    @property
    def total(self) -> int:
        return sum(share.total for share in self.shares)

    @property
    def assessors(self) -> list[User]:
        held = [share.given for share in self.shares if not share.given.is_withdrawn]
        return sorted({given.assessor for given in held}, key=lambda user: user.username)

    @property
    def n_topics(self) -> int:
        return len({share.given.topic_id for share in self.shares if not share.given.is_withdrawn})


def batches_for_organizer() -> QuerySet[Batch]:
    """Every batch, with its pool, protocol and track."""
    return Batch.objects.select_related("pool__track", "pool__protocol", "created_by")


def track_progress(track: Track) -> list[BatchProgress]:
    """Every batch of a track with its progress, newest first, in a known number of queries."""
    return _progress_of(batches_for_organizer().filter(pool__track=track))


def _progress_of(batches: QuerySet[Batch]) -> list[BatchProgress]:
    """Progress of some batches; the number of queries does not depend on how many they are."""
    found = {batch.pk: BatchProgress(batch) for batch in batches}
    judgments = Judgment.objects.filter(batch__in=found, is_current=True).order_by()
    measured = {
        "n": Count("task", distinct=True),
        "median": Median("seconds"),
        "last": Max("created_at"),
    }
    by_share = {
        (row["batch"], row["topic"], row["assessor"]): row
        for row in judgments.values("batch", "topic", "assessor").annotate(**measured)
    }
    sizes = _sizes(found)
    given = TopicAssignment.objects.filter(batch__in=found).select_related("assessor", "topic")
    for one in given.order_by("topic__code", "seat", "is_withdrawn", "assessor__username"):
        row = by_share.get((one.batch_id, one.topic_id, one.assessor_id))
        share = _share(one, row)
        found[one.batch_id].shares.append(share)
    elsewhere = _judged_elsewhere(found)
    for whole in found.values():
        _set_totals(whole, sizes, elsewhere)
    for batch_id, median in judgments.values_list("batch").annotate(median=Median("seconds")):
        found[batch_id].median_seconds = median
    _count_open(found)
    return list(found.values())


def _share(given: TopicAssignment, row: Mapping[str, Any] | None) -> Share:
    if row is None:
        return Share(given)
    return Share(given, judged=row["n"], median_seconds=row["median"], last_at=row["last"])


def _sizes(found: dict[int, BatchProgress]) -> dict[tuple[int, int], int]:
    """Entries by pool and topic."""
    pools = {progress.batch.pool_id for progress in found.values()}
    entries = PoolEntry.objects.filter(pool__in=pools).order_by()
    rows = entries.values_list("pool", "topic").annotate(n=Count("pk"))
    return {(pool, topic): n for pool, topic, n in rows}


def _judged_elsewhere(found: dict[int, BatchProgress]) -> dict[int, int]:
    """Entries that other batches have settled, by topic given; in tracks with one batch there are none."""
    tracks = Batch.objects.filter(kind__in=COUNTING).order_by().values("pool__track")
    shared = tracks.annotate(n=Count("pk")).filter(n__gt=1).values("pool__track")
    given = TopicAssignment.objects.filter(batch__in=found, batch__kind__in=COUNTING, is_withdrawn=False)
    wanted = list(given.filter(batch__pool__track__in=shared).values_list("pk", flat=True))
    return {pk: len(entries) for pk, entries in settled_entries(wanted).items()} if wanted else {}


def _set_totals(whole: BatchProgress, sizes: dict[tuple[int, int], int], elsewhere: dict[int, int]) -> None:
    """What each has to judge: of a topic that changed hands, the first keeps what they did, the next gets the rest."""
    done_before: dict[tuple[int, int], int] = {}
    for share in whole.shares:
        if share.given.is_withdrawn:
            key = (share.given.topic_id, share.given.seat)
            share.total = share.judged
            done_before[key] = done_before.get(key, 0) + share.judged
    for share in whole.shares:
        if not share.given.is_withdrawn:
            before = done_before.get((share.given.topic_id, share.given.seat), 0)
            before += elsewhere.get(share.given.pk, 0)
            share.total = sizes.get((whole.batch.pool_id, share.given.topic_id), 0) - before


def _count_open(found: dict[int, BatchProgress]) -> None:
    tasks = Task.objects.filter(batch__in=found).exclude(status=Task.Status.SUBMITTED).order_by()
    overdue = Q(status=Task.Status.EXPIRED) | Q(expires_at__lte=timezone.now())
    counts = tasks.values_list("batch").annotate(
        n_open=Count("pk", filter=~overdue), n_overdue=Count("pk", filter=overdue)
    )
    for batch_id, n_open, n_overdue in counts:
        found[batch_id].n_open, found[batch_id].n_overdue = n_open, n_overdue


class ByAssessor(NamedTuple):
    """One assessor's work in a batch."""

    assessor: User
    n_topics: int
    judged: int
    total: int
    median_seconds: float | None
    last_at: datetime | None


class ChoiceCount(NamedTuple):
    label: str
    is_grade: bool
    n: int


def batch_page(batch: Batch) -> dict[str, Any]:
    """A batch for organizers: progress by assessor and topic, how often each choice was taken, what needs a look."""
    [whole] = _progress_of(batches_for_organizer().filter(pk=batch.pk))
    rules = judging_rules(batch.pool.protocol)
    return {
        "batch": batch,
        "track": batch.pool.track,
        "tab": "judging",
        "progress": whole,
        "by_assessor": _by_assessor(whole),
        "unassigned": _unassigned(whole),
        "choice_counts": _choice_counts(batch, rules),
        "remarks": _remarks(batch, rules),
        "n_late": _late(batch).count(),
        "n_beside": batch.judgments.filter(is_current=False, replaced_by=None).count(),
    }


def _by_assessor(whole: BatchProgress) -> list[ByAssessor]:
    medians = dict(
        Judgment.objects.filter(batch=whole.batch, is_current=True)
        .order_by()
        .values_list("assessor")
        .annotate(median=Median("seconds"))
    )
    rows: dict[int, list[Share]] = {}
    for share in whole.shares:
        rows.setdefault(share.given.assessor_id, []).append(share)
    return [
        ByAssessor(
            assessor=shares[0].given.assessor,
            n_topics=sum(not share.given.is_withdrawn for share in shares),
            judged=sum(share.judged for share in shares),
            total=sum(share.total for share in shares),
            median_seconds=medians.get(assessor_id),
            last_at=max((share.last_at for share in shares if share.last_at), default=None),
        )
        for assessor_id, shares in sorted(rows.items(), key=lambda row: row[1][0].given.assessor.username)
    ]


def _unassigned(whole: BatchProgress) -> QuerySet[Topic]:
    """Topics of the pool that nobody has in this batch."""
    held = [share.given.topic_id for share in whole.shares if not share.given.is_withdrawn]
    pooled = PoolEntry.objects.filter(pool=whole.batch.pool_id).values("topic")
    return Topic.objects.filter(pk__in=pooled).exclude(pk__in=held)


def _choice_counts(batch: Batch, rules: JudgingRules) -> list[ChoiceCount]:
    current = batch.judgments.filter(is_current=True).order_by()
    counts = dict(current.values_list("choice").annotate(n=Count("pk")))
    return [ChoiceCount(one.label, isinstance(one, Grade), counts.get(one.key, 0)) for one in rules.choices]


class Remark(NamedTuple):
    judgment: Judgment
    label: str


def _remarks(batch: Batch, rules: JudgingRules) -> list[Remark]:
    """The last judgments that say something: non-answers, and whatever has a comment."""
    said = batch.judgments.filter(Q(grade=None) | ~Q(comment=""), is_current=True)
    last = said.select_related("topic", "assessor").order_by("-pk")[:50]
    return [Remark(judgment, label_of(rules, judgment.choice)) for judgment in last]


def _late(batch: Batch) -> QuerySet[Judgment]:
    """What was submitted after the batch closed, of tasks taken before."""
    if batch.closed_at is None:
        return Judgment.objects.none()
    return batch.judgments.filter(created_at__gt=F("batch__closed_at"))


def assessors_of(track: Track) -> QuerySet[User]:
    """The people who may judge for a track."""
    return User.objects.filter(assessor_of__track=track, is_active=True).order_by("username")


def pooled_topics(batch: Batch) -> QuerySet[Topic]:
    """The topics of which the batch's pool has entries."""
    return Topic.objects.filter(pk__in=PoolEntry.objects.filter(pool=batch.pool_id).values("topic"))
