"""Which assessor judges which topic of a batch."""

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Count, QuerySet

from accounts.models import User
from assessment.assignments.errors import (
    GroupHasTopic,
    IsInATeam,
    JudgedBefore,
    NobodyToShareWith,
    NotAnAssessor,
    TopicIsGiven,
    TopicNotPooled,
    TopicNotWith,
)
from assessment.batches.locks import manage
from assessment.judgments.rules import judging_rules
from assessment.models import Batch, Judgment, Task, TopicAssignment
from pooling.models import PoolEntry, Team
from tracks.models import Assessor, Topic


@transaction.atomic
def assign(*, batch: Batch, assessor: User, topics: Iterable[Topic]) -> list[TopicAssignment]:
    """Give topics of a batch to an assessor: all of them, or none if one is refused.

    In a main batch each topic is judged by as many assessors as the protocol says, one of each group where it has
    groups, and who gets a withdrawn topic judges what is left of it; in the other kinds each assessor judges the whole
    topic.

    Raises
    ------
    NotAnAssessor, IsInATeam, TopicNotPooled, TopicIsGiven, JudgedBefore, GroupHasTopic
    """
    locked = manage(batch.pk)
    check_may_judge(batch=locked, assessor=assessor)
    return [_give(locked, assessor, topic) for topic in topics]


@transaction.atomic
def withdraw(*, batch: Batch, assessor: User, topic: Topic) -> TopicAssignment:
    """Take a topic back from an assessor. What they judged stays; what they still submit of it is kept.

    Raises
    ------
    TopicNotWith
    """
    return _withdraw(manage(batch.pk), assessor, topic)


@transaction.atomic
def reassign(*, batch: Batch, topic: Topic, giver: User, taker: User) -> TopicAssignment:
    """Pass a topic from one assessor to another, who judges what the first has not judged.

    Raises
    ------
    NotAnAssessor, IsInATeam, TopicNotWith, TopicIsGiven, JudgedBefore, GroupHasTopic
    """
    locked = manage(batch.pk)
    check_may_judge(batch=locked, assessor=taker)
    seat = _withdraw(locked, giver, topic).seat
    return _give(locked, taker, topic, seat=seat)


@transaction.atomic
def share(*, batch: Batch, assessors: Sequence[User]) -> list[TopicAssignment]:
    """Share a pool's topics evenly among assessors by number of entries; in a training batch everybody gets all.

    Topics that are given already stay where they are, and count for who has them. A topic that none of the
    assessors may judge is given to nobody.

    Raises
    ------
    NobodyToShareWith, NotAnAssessor, IsInATeam
    """
    locked = manage(batch.pk)
    if not assessors:
        raise NobodyToShareWith
    for assessor in assessors:
        check_may_judge(batch=locked, assessor=assessor)
    seats = {
        Batch.Kind.TRAINING.value: len(assessors),
        Batch.Kind.MAIN.value: judging_rules(locked.pool.protocol).judges,
    }
    return _share_out(locked, assessors, seats.get(locked.kind, 1))


def _share_out(batch: Batch, assessors: Sequence[User], seats: int) -> list[TopicAssignment]:
    """Largest topic first, each to those who have least to judge by then."""
    sizes = _sizes(batch)
    held = set(_held(batch).values_list("topic_id", "assessor_id"))
    load = {
        user.pk: sum(sizes.get(topic, 0) for topic, holder in held if holder == user.pk) for user in assessors
    }
    topics = Topic.objects.filter(pk__in=sizes).order_by("code")
    assigned = []
    for topic in sorted(topics, key=lambda topic: -sizes[topic.pk]):
        missing = seats - sum(topic_id == topic.pk for topic_id, _ in held)
        able = [
            user for user in assessors if (topic.pk, user.pk) not in held and _is_other(batch, user, topic)
        ]
        for user in sorted(able, key=lambda user: load[user.pk]):
            if missing > 0 and not _group_that_has(batch, user, topic):
                load[user.pk] += sizes[topic.pk]
                assigned.append(_give(batch, user, topic))
                missing -= 1
    return assigned


def check_may_judge(*, batch: Batch, assessor: User) -> None:
    """Refuse somebody who is not an assessor of the batch's track, or who is in a team of it.

    Raises
    ------
    NotAnAssessor, IsInATeam
    """
    track = batch.pool.track
    if not assessor.is_active or not Assessor.objects.filter(track=track, user=assessor).exists():
        raise NotAnAssessor(assessor, track)
    team = Team.objects.filter(track=track, members=assessor).first()
    if team is not None:
        raise IsInATeam(assessor, team)


def _held(batch: Batch) -> QuerySet[TopicAssignment]:
    return TopicAssignment.objects.filter(batch=batch, is_withdrawn=False)


def _sizes(batch: Batch) -> dict[int, int]:
    """Number of entries by topic of the batch's pool."""
    entries = PoolEntry.objects.filter(pool=batch.pool_id).order_by()
    return dict(entries.values_list("topic").annotate(n=Count("pk")))


def _is_other(batch: Batch, assessor: User, topic: Topic) -> bool:
    """Whether a dual batch may give the topic to the assessor: they have not judged it on this pool before."""
    if batch.kind != Batch.Kind.DUAL:
        return True
    judged = Judgment.objects.filter(assessor=assessor, topic=topic, batch__pool=batch.pool_id)
    return not judged.exclude(batch=batch).exists()


def _group_that_has(batch: Batch, assessor: User, topic: Topic) -> str:
    """The assessor's group, if another of it has the topic already and the protocol wants one of each; else empty."""
    if batch.kind != Batch.Kind.MAIN or not judging_rules(batch.pool.protocol).groups:
        return ""
    of_track = Assessor.objects.filter(track=batch.pool.track_id)
    group = of_track.values_list("group", flat=True).get(user=assessor)
    holders = _held(batch).filter(topic=topic).exclude(assessor=assessor).values("assessor")
    return group if group and of_track.filter(group=group, user__in=holders).exists() else ""


def _give(batch: Batch, assessor: User, topic: Topic, *, seat: int | None = None) -> TopicAssignment:
    if not PoolEntry.objects.filter(pool=batch.pool_id, topic=topic).exists():
        raise TopicNotPooled(topic, batch)
    if not _is_other(batch, assessor, topic):
        raise JudgedBefore(topic, assessor)
    if group := _group_that_has(batch, assessor, topic):
        raise GroupHasTopic(topic, assessor, group)
    all_of_topic = list(TopicAssignment.objects.filter(batch=batch, topic=topic).select_related("assessor"))
    own = next((given for given in all_of_topic if given.assessor_id == assessor.pk), None)
    if own is not None:
        return _give_back(batch, own, all_of_topic, seat)
    seat = seat or _free_seat(batch, topic, all_of_topic)
    return TopicAssignment.objects.create(batch=batch, topic=topic, assessor=assessor, seat=seat)


def _give_back(
    batch: Batch, own: TopicAssignment, all_of_topic: list[TopicAssignment], seat: int | None
) -> TopicAssignment:
    """Return a withdrawn topic to who had it: to their own seat if it is free, so that nothing is judged twice."""
    holders = [given for given in all_of_topic if not given.is_withdrawn]
    if own in holders:
        raise TopicIsGiven(own.topic, str(own.assessor))
    wanted = seat or own.seat
    if any(given.seat == wanted for given in holders):
        wanted = _free_seat(batch, own.topic, all_of_topic)
    own.seat, own.is_withdrawn, own.cursor = wanted, False, 0
    own.save(update_fields=["seat", "is_withdrawn", "cursor"])
    return own


def _free_seat(batch: Batch, topic: Topic, all_of_topic: list[TopicAssignment]) -> int:
    """A seat for somebody new: in a main batch the first without a holder, otherwise one that was never used."""
    if batch.kind != Batch.Kind.MAIN:
        return max((given.seat for given in all_of_topic), default=0) + 1
    holders = [given for given in all_of_topic if not given.is_withdrawn]
    taken = {given.seat for given in holders}
    for seat in range(1, judging_rules(batch.pool.protocol).judges + 1):
        if seat not in taken:
            return seat
    raise TopicIsGiven(topic, " and ".join(str(given.assessor) for given in holders))


def _withdraw(batch: Batch, assessor: User, topic: Topic) -> TopicAssignment:
    given = _held(batch).filter(assessor=assessor, topic=topic).first()
    if given is None:
        raise TopicNotWith(topic, assessor)
    tasks = Task.objects.filter(batch=batch, assessor=assessor, status=Task.Status.ACCEPTED)
    tasks.filter(entry__topic=topic).update(status=Task.Status.EXPIRED)
    given.is_withdrawn = True
    given.save(update_fields=["is_withdrawn"])
    return given
