"""What other batches have judged already: nobody judges a document of a topic twice, unless a batch is there for that.

The judgments of a main batch stand for all main batches of the track, whatever pools these are made from; a dual batch
shows nobody what they have judged themselves. Training and adjudication judge what they are given. Only judgments
by the same protocol count, because only they can be frozen together.
"""

from typing import TypeAlias

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import Combinable

from assessment.models import Batch, Judgment
from pooling.models import Pool, PoolMember

Value: TypeAlias = int | OuterRef

# Kinds of batch whose judgments count in a batch of a kind.
COUNTING: dict[str, tuple[str, ...]] = {
    Batch.Kind.MAIN.value: (Batch.Kind.MAIN.value,),
    Batch.Kind.DUAL.value: (Batch.Kind.MAIN.value, Batch.Kind.DUAL.value),
}


def counting_batches(batch: Batch) -> QuerySet[Batch]:
    """The other batches whose judgments may count in this one."""
    pool = Pool.objects.filter(pk=batch.pool_id)
    others = Batch.objects.filter(kind__in=COUNTING.get(batch.kind, ())).exclude(pk=batch.pk)
    return others.filter(pool__track__in=pool.values("track"), pool__protocol__in=pool.values("protocol"))


def judged_elsewhere(kind: str, *, batch: Value, seat: Value, assessor: Value) -> QuerySet[Judgment]:
    """Judgments of other batches that count in one of a kind: from the same seat, or by the same person."""
    judgments = Judgment.objects.filter(batch__kind__in=COUNTING[kind], is_current=True).exclude(batch=batch)
    own = Q(assessor=assessor)
    return judgments.filter(own if kind == Batch.Kind.DUAL else own | Q(assignment__seat=seat))


def settled_elsewhere(
    kind: str, *, batch: Value, seat: Value, assessor: Value, has_members: bool = True
) -> Combinable | Q:
    """For a query of entries: whether nothing of the entry is left to judge in the batch, thanks to others.

    An entry with members is settled when all that are shown are judged. The values are literal, or refer from where
    the entries' query is a subquery; `has_members=False` says that no entry has members, which is quicker to ask.
    """
    judged = judged_elsewhere(kind, batch=batch, seat=seat, assessor=assessor).filter(
        topic=OuterRef("topic"), docno=OuterRef("docno"), batch__pool__protocol=OuterRef("pool__protocol")
    )
    if not has_members:
        return Exists(judged)
    of_member = judged_elsewhere(
        kind, batch=_further(batch), seat=_further(seat), assessor=_further(assessor)
    ).filter(
        topic=OuterRef("entry__topic"),
        docno=OuterRef("docno"),
        batch__pool__protocol=OuterRef("entry__pool__protocol"),
    )
    shown = PoolMember.objects.filter(entry=OuterRef("pk"), position__gt=0)
    return Exists(judged) | (Exists(shown) & ~Exists(shown.filter(~Exists(of_member))))


def _further(value: Value) -> Value:
    """The same value as it is named from one subquery deeper."""
    return OuterRef(value) if isinstance(value, OuterRef) else value
