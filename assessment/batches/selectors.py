"""Batches, and which entries of its pool a batch judges."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType

from django.db.models import Count, Q, QuerySet
from django.http import Http404

from accounts.models import IS_PERSON, User
from assessment.models import Batch, BatchEntry, TopicAssignment
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track
from web.statements import Prepared


def batches_for_organizer() -> QuerySet[Batch]:
    """Every batch, with its pool, protocol and track."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol", "created_by")
    return batches.defer("pool__statistics")


_BATCH = Prepared(
    lambda batch: batches_for_organizer().select_related("pool__track__collection").filter(pk=batch)
)


def batch_or_404(batch_id: int) -> Batch:
    """A batch, for somebody whose role in its track was checked.

    Raises:
        Http404: There is no such batch.
    """
    batch = _BATCH.first(batch=batch_id)
    if batch is None:
        raise Http404("No batch matches.")
    if batch.pool.protocol_id == batch.pool.track.protocol_id:
        batch.pool.track.protocol = batch.pool.protocol
    return batch


def batches_for(user: User) -> QuerySet[Batch]:
    """The batches that a user may see: those of tracks overseen, and those in which they judge, without drafts."""
    if not (overseen := [*user.roles]):
        return batches_of(user)
    own = TopicAssignment.objects.filter(assessor=user).exclude(batch__status=Batch.Status.DRAFT)
    return batches_for_organizer().filter(Q(pool__track__in=overseen) | Q(pk__in=own.values("batch")))


def batches_of(user: User) -> QuerySet[Batch]:
    """The batches in which a user judges or has judged, without drafts."""
    assigned = TopicAssignment.objects.filter(assessor=user).values("batch")
    batches = Batch.objects.exclude(status=Batch.Status.DRAFT).filter(pk__in=assigned)
    return batches.select_related("pool__track", "pool__protocol").defer("pool__statistics")


def batches_to_join(user: User) -> QuerySet[Batch]:
    """The open batches that an assessor may join and has not joined, newest first."""
    open_ones = batches_for_organizer().filter(is_shared=True, status=Batch.Status.OPEN)
    tracks = user.assessor_of.filter(ended_at=None, user__is_active=True, user__is_machine=False)
    joined = TopicAssignment.objects.filter(assessor=user).values("batch")
    return open_ones.filter(pool__track__in=tracks.values("track")).exclude(pk__in=joined)


def pools_to_plan() -> QuerySet[Pool]:
    """The pools that are ready, newest first."""
    ready = Pool.objects.filter(status=Pool.Status.READY)
    return ready.select_related("track__protocol", "track__collection", "protocol").defer("statistics")


def assessors_of(track: Track) -> QuerySet[User]:
    """The active assessors of a track who are people."""
    of_track = User.objects.filter(assessor_of__track=track, assessor_of__ended_at=None)
    return of_track.filter(is_active=True, **IS_PERSON).order_by("username")


def entries_of(batch: Batch) -> QuerySet[PoolEntry]:
    """The entries that a batch judges: the selected ones, or all of its pool."""
    entries = PoolEntry.objects.filter(pool=batch.pool_id)
    return entries.filter(selected_in__batch=batch) if batch.is_selective else entries


def pool_sizes(pool: Pool) -> Mapping[int, int]:
    """The number of entries of a pool by topic. Each process counts a pool once, by its digest."""
    return _pool_sizes(pool.pk, pool.sha256) if pool.sha256 else _pool_sizes.__wrapped__(pool.pk, "")


@lru_cache(maxsize=256)
def _pool_sizes(pool_id: int, _sha256: str) -> Mapping[int, int]:
    sizes = PoolEntry.objects.filter(pool=pool_id).order_by().values_list("topic").annotate(n=Count("pk"))
    return MappingProxyType(dict(sizes))


def sizes_by_topic(
    batches: Collection[Batch], topics: Collection[int] | None = None
) -> dict[tuple[int, int], int]:
    """The number of entries that batches judge, by batch and topic, in two queries; of some topics or of all."""
    pools = {batch.pool_id for batch in batches if not batch.is_selective}
    of_topics = {} if topics is None else {"topic__in": topics}
    entries = PoolEntry.objects.filter(pool__in=pools, **of_topics)
    pooled = entries.order_by().values_list("pool", "topic").annotate(n=Count("pk"))
    sizes = {
        (batch.pk, topic): n
        for pool, topic, n in pooled
        for batch in batches
        if not batch.is_selective and batch.pool_id == pool
    }
    selected = BatchEntry.objects.filter(batch__in=[batch.pk for batch in batches if batch.is_selective])
    rows = selected.values_list("batch", "entry__topic").annotate(n=Count("pk")).order_by()
    return sizes | {(batch, topic): n for batch, topic, n in rows}


def pooled_topics(batch: Batch) -> QuerySet[Topic]:
    """The topics that have entries to judge in the batch."""
    return Topic.objects.filter(pk__in=entries_of(batch).values("topic"))
