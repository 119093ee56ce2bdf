"""Assign topics of a batch to assessors, withdraw them, and share them evenly."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, QuerySet

from accounts.models import User
from assessment.assignments.errors import (
    AlreadyJudgedTopic,
    GroupHasTopic,
    JudgedInOtherSeat,
    NoAssessorsChosen,
    NotAnAssessor,
    TeamMemberCannotJudge,
    TopicAlreadyAssigned,
    TopicNotAssigned,
    TopicNotPooled,
)
from assessment.batches.entries import entries_of
from assessment.batches.locks import lock_for_managing
from assessment.judgments.rules import judging_rules
from assessment.models import Batch, Judgment, Task, TopicAssignment
from pooling.models import Team
from tracks.models import Assessor, Topic


@transaction.atomic
def assign(*, batch: Batch, assessor: User, topics: Iterable[Topic]) -> list[TopicAssignment]:
    """Assign topics of a batch to an assessor: all of them, or none if one is refused.

    In a main batch, as many assessors judge a topic as the protocol states: one of each group, if it has groups. An
    assessor who takes over a withdrawn topic judges the rest of it. In batches of other kinds, each assessor judges
    all entries of the topic.

    Raises
    ------
    NotAnAssessor, TeamMemberCannotJudge, TopicNotPooled, TopicAlreadyAssigned, AlreadyJudgedTopic, GroupHasTopic,
    JudgedInOtherSeat
    """
    locked = lock_for_managing(batch.pk)
    check_may_judge(batch=locked, assessor=assessor)
    return [_assign(locked, assessor, topic) for topic in topics]


@transaction.atomic
def withdraw(*, batch: Batch, assessor: User, topic: Topic) -> TopicAssignment:
    """Take a topic back from an assessor. Their judgments stay, and later submissions for it are kept too.

    Raises
    ------
    TopicNotAssigned
    """
    return _withdraw(lock_for_managing(batch.pk), assessor, topic)


@transaction.atomic
def reassign(*, batch: Batch, topic: Topic, from_assessor: User, to_assessor: User) -> TopicAssignment:
    """Move a topic from one assessor to another, who judges what the first has not judged.

    Raises
    ------
    NotAnAssessor, TeamMemberCannotJudge, TopicNotAssigned, TopicAlreadyAssigned, AlreadyJudgedTopic, GroupHasTopic,
    JudgedInOtherSeat
    """
    locked = lock_for_managing(batch.pk)
    check_may_judge(batch=locked, assessor=to_assessor)
    seat = _withdraw(locked, from_assessor, topic).seat
    return _assign(locked, to_assessor, topic, seat=seat)


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a change of assignments: a topic is assigned to an assessor, or withdrawn from them."""

    topic: Topic
    assessor: User
    is_withdrawn: bool


@transaction.atomic
def change(*, batch: Batch, changes: Collection[Change]) -> None:
    """Withdraw and assign topics: all of it, or nothing if one change is refused.

    A topic that is withdrawn from one assessor and assigned to another is moved: it keeps its seat, as in `reassign`.

    Raises
    ------
    NotAnAssessor, TeamMemberCannotJudge, TopicNotPooled, TopicNotAssigned, TopicAlreadyAssigned, AlreadyJudgedTopic,
    GroupHasTopic
    """
    locked = lock_for_managing(batch.pk)
    withdrawn = [each for each in changes if each.is_withdrawn]
    assigned = [each for each in changes if not each.is_withdrawn]
    free_seats: dict[int, list[int]] = {}
    for each in withdrawn:
        seat = _withdraw(locked, each.assessor, each.topic).seat
        free_seats.setdefault(each.topic.pk, []).append(seat)
    for each in assigned:
        check_may_judge(batch=locked, assessor=each.assessor)
        seats = free_seats.get(each.topic.pk, [])
        _assign(locked, each.assessor, each.topic, seat=seats.pop(0) if seats else None)


def check_change(*, batch: Batch, changes: Collection[Change]) -> None:
    """Refuse what `change` would refuse, and change nothing."""
    with transaction.atomic():
        change(batch=batch, changes=changes)
        transaction.set_rollback(True)


@transaction.atomic
def share(*, batch: Batch, assessors: Sequence[User]) -> list[TopicAssignment]:
    """Share a pool's topics evenly among assessors by number of entries. In a training batch each gets all topics.

    Assigned topics stay with their assessors and count toward their load. A topic that none of the assessors may
    judge stays unassigned.

    Raises
    ------
    NoAssessorsChosen, NotAnAssessor, TeamMemberCannotJudge
    """
    locked = lock_for_managing(batch.pk)
    if not assessors:
        raise NoAssessorsChosen
    for assessor in assessors:
        check_may_judge(batch=locked, assessor=assessor)
    seats = {
        Batch.Kind.TRAINING.value: len(assessors),
        Batch.Kind.MAIN.value: judging_rules(locked.pool.protocol).judges,
    }
    return _share_out(locked, assessors, seats.get(locked.kind, 1))


def _share_out(batch: Batch, assessors: Sequence[User], seats: int) -> list[TopicAssignment]:
    """Assign the largest topic first, each to the assessors with the fewest entries at that point."""
    sizes = _sizes(batch)
    pairs = set(_active(batch).values_list("topic_id", "assessor_id"))
    load = {
        user.pk: sum(sizes.get(topic, 0) for topic, holder in pairs if holder == user.pk)
        for user in assessors
    }
    topics = Topic.objects.filter(pk__in=sizes).order_by("code")
    assigned = []
    for topic in sorted(topics, key=lambda topic: -sizes[topic.pk]):
        missing = seats - sum(topic_id == topic.pk for topic_id, _ in pairs)
        able = [
            user
            for user in assessors
            if (topic.pk, user.pk) not in pairs and _may_judge_topic(batch, user, topic)
        ]
        for user in sorted(able, key=lambda user: load[user.pk]):
            if missing > 0 and not _group_with_topic(batch, user, topic):
                with suppress(JudgedInOtherSeat):  # somebody else can
                    assigned.append(_assign(batch, user, topic))
                    load[user.pk] += sizes[topic.pk]
                    missing -= 1
    return assigned


def check_may_judge(*, batch: Batch, assessor: User) -> None:
    """Refuse a user who is not an assessor of the batch's track, or who is in one of its teams.

    Raises
    ------
    NotAnAssessor, TeamMemberCannotJudge
    """
    track = batch.pool.track
    if not assessor.is_active or not Assessor.objects.filter(track=track, user=assessor).exists():
        raise NotAnAssessor(assessor, track)
    team = Team.objects.filter(track=track, members=assessor).first()
    if team is not None:
        raise TeamMemberCannotJudge(assessor, team)


def _active(batch: Batch) -> QuerySet[TopicAssignment]:
    return TopicAssignment.objects.filter(batch=batch, is_withdrawn=False)


def _sizes(batch: Batch) -> dict[int, int]:
    """The number of entries of each topic that the batch judges."""
    entries = entries_of(batch).order_by()
    return dict(entries.values_list("topic").annotate(n=Count("pk")))


def _may_judge_topic(batch: Batch, assessor: User, topic: Topic) -> bool:
    """Whether the assessor may judge the topic: in a dual batch, only if they have not judged it in this pool."""
    if batch.kind != Batch.Kind.DUAL:
        return True
    judged = Judgment.objects.filter(assessor=assessor, topic=topic, batch__pool=batch.pool_id)
    return not judged.exclude(batch=batch).exists()


def _group_with_topic(batch: Batch, assessor: User, topic: Topic) -> str:
    """The assessor's group, if another assessor of it has the topic and the protocol requires one of each; else ''."""
    if batch.kind != Batch.Kind.MAIN or not judging_rules(batch.pool.protocol).groups:
        return ""
    of_track = Assessor.objects.filter(track=batch.pool.track_id)
    group = of_track.values_list("group", flat=True).get(user=assessor)
    holders = _active(batch).filter(topic=topic).exclude(assessor=assessor).values("assessor")
    return group if group and of_track.filter(group=group, user__in=holders).exists() else ""


def _assign(batch: Batch, assessor: User, topic: Topic, *, seat: int | None = None) -> TopicAssignment:
    if not entries_of(batch).filter(topic=topic).exists():
        raise TopicNotPooled(topic, batch)
    if not _may_judge_topic(batch, assessor, topic):
        raise AlreadyJudgedTopic(topic, assessor)
    if group := _group_with_topic(batch, assessor, topic):
        raise GroupHasTopic(topic, assessor, group)
    assignments = list(TopicAssignment.objects.filter(batch=batch, topic=topic).select_related("assessor"))
    own = next((each for each in assignments if each.assessor_id == assessor.pk), None)
    if own is not None:
        return _restore(batch, own, assignments, seat)
    seat = seat or _free_seat(batch, topic, assignments)
    return TopicAssignment.objects.create(batch=batch, topic=topic, assessor=assessor, seat=seat)


def _restore(
    batch: Batch, own: TopicAssignment, assignments: list[TopicAssignment], seat: int | None
) -> TopicAssignment:
    """Assign a withdrawn topic again: in the former seat if it is free, so that nothing is judged twice."""
    active = [each for each in assignments if not each.is_withdrawn]
    if own in active:
        raise TopicAlreadyAssigned(own.topic, str(own.assessor))
    wanted = seat or own.seat
    if any(each.seat == wanted for each in active):
        wanted = _free_seat(batch, own.topic, assignments)
    if wanted != own.seat and _has_judged(batch, own):
        raise JudgedInOtherSeat(own.topic, own.assessor)
    own.seat, own.is_withdrawn, own.cursor = wanted, False, 0
    own.save(update_fields=["seat", "is_withdrawn", "cursor"])
    return own


def _has_judged(batch: Batch, own: TopicAssignment) -> bool:
    """Whether the assessor has a main judgment of the topic in the seat, so that they cannot be another judge of it."""
    tasks = Task.objects.filter(
        batch=batch, assessor=own.assessor_id, entry__topic=own.topic_id, seat=own.seat
    )
    return batch.kind == Batch.Kind.MAIN and tasks.filter(status=Task.Status.SUBMITTED).exists()


def _free_seat(batch: Batch, topic: Topic, assignments: list[TopicAssignment]) -> int:
    """A seat for a new assessor: in a main batch the first free one, in others one that was never used."""
    if batch.kind != Batch.Kind.MAIN:
        return max((each.seat for each in assignments), default=0) + 1
    active = [each for each in assignments if not each.is_withdrawn]
    taken = {each.seat for each in active}
    for seat in range(1, judging_rules(batch.pool.protocol).judges + 1):
        if seat not in taken:
            return seat
    raise TopicAlreadyAssigned(topic, " and ".join(str(each.assessor) for each in active))


def _withdraw(batch: Batch, assessor: User, topic: Topic) -> TopicAssignment:
    assignment = _active(batch).filter(assessor=assessor, topic=topic).first()
    if assignment is None:
        raise TopicNotAssigned(topic, assessor)
    tasks = Task.objects.filter(batch=batch, assessor=assessor, status=Task.Status.ACCEPTED)
    tasks.filter(entry__topic=topic).update(status=Task.Status.EXPIRED)
    assignment.is_withdrawn = True
    assignment.save(update_fields=["is_withdrawn"])
    return assignment
