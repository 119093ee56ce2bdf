"""The assignments of a batch with all that decides about them, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, Exists, OuterRef, Q

from assessment.batches.selectors import entries_of, sizes_by_topic
from assessment.models import Batch, Task, TopicAssignment
from assessment.planning.rules import Elsewhere, Holding, Judge, Plan
from participation.models import InvitationUse, Team
from pooling.models import PoolEntry
from tracks.models import Assessor, Topic, Track

# The kinds of other batches in which an assessor must not judge the same units, for each kind of batch.
COMPARED: dict[str, tuple[str, ...]] = {
    Batch.Kind.MAIN.value: (Batch.Kind.MAIN.value, Batch.Kind.DUAL.value),
    Batch.Kind.DUAL.value: (Batch.Kind.MAIN.value, Batch.Kind.DUAL.value, Batch.Kind.ADJUDICATION.value),
}


def plan_of(batch: Batch, topics: Collection[int] | None = None) -> Plan:
    """The plan of a batch, for some topics or for all. Its pool, track and protocol are loaded."""
    sizes = {topic: n for (_, topic), n in sizes_by_topic([batch], topics).items()}
    of_topics = {} if topics is None else {"entry__topic__in": topics}
    tasks = Task.objects.filter(batch=batch.pk, status=Task.Status.SUBMITTED, **of_topics).order_by()
    counts = tasks.values_list("entry__topic", "assessor", "seat").annotate(n=Count("pk"))
    judged = {(topic, assessor, seat): n for topic, assessor, seat, n in counts}
    assignments = TopicAssignment.objects.filter(batch=batch.pk)
    if topics is not None:
        assignments = assignments.filter(topic__in=topics)
    places: defaultdict[int, dict[int, Holding]] = defaultdict(dict)
    rows = assignments.order_by("seat", "pk").values_list("topic", "assessor", "seat", "is_withdrawn")
    for topic, assessor, seat, is_withdrawn in rows:
        places[topic][assessor] = Holding(seat, is_withdrawn, judged.get((topic, assessor, seat), 0))
    return Plan(
        batch=batch,
        rules=batch.pool.protocol.parsed.judging,
        topics=Topic.objects.in_bulk(list(sizes)),
        sizes=sizes,
        judges=judges_of(batch.pool.track, machines=batch.kind == Batch.Kind.MACHINE, batch=batch),
        places=dict(places),
        elsewhere=_elsewhere(batch, topics),
    )


def judges_of(track: Track, *, machines: bool = False, batch: Batch | None = None) -> dict[int, Judge]:
    """The active assessors of a track who are people, or its machines, by user; not those who were removed.

    Of those who judge by a link, only the ones of a link of the batch.
    """
    teams: dict[int, str] = dict(Team.objects.filter(track=track).values_list("members", "name"))
    rows = Assessor.objects.filter(
        track=track, ended_at=None, user__is_active=True, user__is_machine=machines
    )
    uses = InvitationUse.objects.filter(invitation__batch_link__batch=batch and batch.pk)
    rows = rows.filter(Q(user__guest_until=None) | Q(user__in=uses.values("user")))
    return {
        row.user_id: Judge(row.user, row.group, teams.get(row.user_id, ""))
        for row in rows.select_related("user")
    }


def _elsewhere(batch: Batch, topics: Collection[int] | None) -> dict[int, dict[int, list[Elsewhere]]]:
    """The seats of assessors in other batches of the track with the same protocol. One query."""
    kinds = COMPARED.get(batch.kind)
    if kinds is None:
        return {}
    others = TopicAssignment.objects.filter(
        batch__kind__in=kinds,
        batch__pool__track=batch.pool.track_id,
        batch__pool__protocol=batch.pool.protocol_id,
    ).exclude(batch=batch.pk)
    if topics is not None:
        others = others.filter(topic__in=topics)
    submitted = Task.objects.filter(
        batch=OuterRef("batch"),
        assessor=OuterRef("assessor"),
        entry__pool=OuterRef("batch__pool"),  # so that the index of its topics is used
        entry__topic=OuterRef("topic"),
        status=Task.Status.SUBMITTED,
    )
    own = entries_of(batch).filter(topic=OuterRef("topic"), docno=OuterRef("docno"))
    shared = PoolEntry.objects.filter(pool=OuterRef("batch__pool"), topic=OuterRef("topic"))
    others = others.annotate(has_judged=Exists(submitted), shares_units=Exists(shared.filter(Exists(own))))
    others = others.filter(Q(is_withdrawn=False) | Q(has_judged=True)).order_by("pk")
    fields = ("topic", "assessor", "batch__name", "batch__kind", "seat", "has_judged", "shares_units")
    elsewhere: defaultdict[int, dict[int, list[Elsewhere]]] = defaultdict(dict)
    for topic, assessor, *seat in others.values_list(*fields):
        elsewhere[topic].setdefault(assessor, []).append(Elsewhere(*seat))
    return dict(elsewhere)
