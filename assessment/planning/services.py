"""Assign topics of a batch to assessors, withdraw them, and share them evenly."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assessment.batches.progress import track_progress
from assessment.batches.services import (
    create,
    lock_for_managing,
    open_for_judging,
    return_tasks,
    work_changed,
)
from assessment.models import Batch, Task, TopicAssignment
from assessment.planning import proposals
from assessment.planning.rules import Change, Holding, Plan
from assessment.planning.selectors import plan_of
from tracks.assessors import services as assessor_services
from tracks.models import Topic, Track
from tracks.tracks import services as track_services

Key = tuple[int, int]  # topic, assessor


@transaction.atomic
def assign(*, batch: Batch, assessor: User, topics: Iterable[Topic]) -> list[TopicAssignment]:
    """Assign topics of a batch to an assessor: all of them, or none if one is refused.

    In a main batch, as many assessors judge a topic as the protocol states: one of each group, if it has groups. An
    assessor who takes over a withdrawn topic judges the rest of it. In batches of other kinds, each assessor judges
    all entries of the topic.
    """
    return _change(batch, [Change(topic, assessor, is_withdrawn=False) for topic in topics])


@transaction.atomic
def withdraw(*, batch: Batch, assessor: User, topic: Topic) -> TopicAssignment:
    """Take a topic back from an assessor. Their judgments stay, and later submissions for it are kept too."""
    return _change(batch, [Change(topic, assessor, is_withdrawn=True)])[0]


@transaction.atomic
def reassign(*, batch: Batch, topic: Topic, from_assessor: User, to_assessor: User) -> TopicAssignment:
    """Move a topic from one assessor to another, who judges what the first has not judged."""
    moved = [Change(topic, from_assessor, is_withdrawn=True), Change(topic, to_assessor, is_withdrawn=False)]
    return _change(batch, moved)[-1]


@transaction.atomic
def change(*, batch: Batch, changes: Collection[Change], seen: str = "", is_open: bool = False) -> None:
    """Withdraw and assign topics: all of it, or nothing if one change is refused. Then open the batch, if asked to.

    A topic that is withdrawn from one assessor and assigned to another is moved: it keeps its seat, as in `reassign`.
    `seen` is the digest of the plan for which the changes were made.
    """
    plan = _locked_plan(batch)
    if seen and seen != plan.digest:
        raise Refused(
            "Somebody changed the assignments of this batch after you had seen the preview. Nothing was changed now. "
            "Look at the plan, and try again.",
            code="plan-changed",
            title="The plan has changed",
        )
    _apply(plan, changes)
    if is_open:
        open_for_judging(batch=batch)


@transaction.atomic
def share(*, batch: Batch, assessors: Sequence[User], shares: str = "") -> list[TopicAssignment]:
    """Share a pool's topics evenly among assessors by number of entries. In a training batch each gets all topics.

    With `shares`, by percent or number: see `proposals.parts_of`.

    Assigned topics stay with their assessors and count toward their load. A topic that none of the assessors may
    judge stays unassigned.
    """
    plan = _locked_plan(batch)
    if not assessors:
        raise Refused("Choose at least one assessor.", code="no-assessors-chosen", field="assessors")
    for assessor in assessors:
        plan.check_person(assessor)
    loads = {
        user.pk: sum(plan.sizes.get(topic, 0) for topic in plan.places if user.pk in plan.holders(topic))
        for user in assessors
    }
    parts = proposals.parts_of(shares, plan, assessors)
    return _apply(plan, proposals.changes_to_share(plan, assessors, loads, parts))


@transaction.atomic
def create_and_open(*, by: User, assessors: Sequence[User], **fields: Any) -> Batch:
    """Create a batch from the arguments of `batches.services.create`, share its topics evenly, and open it.

    A batch that is open to join has no assessors yet.
    """
    batch = create(by=by, **fields)
    if not batch.is_shared:
        share(batch=batch, assessors=assessors)
    return open_for_judging(batch=batch)


@transaction.atomic
def join(*, batch: Batch, assessor: User) -> None:
    """Let an assessor judge in a batch that is open to join: they share all its topics that they may judge.

    Raises:
        Refused: The batch is not open, or not open to join; or nothing of it is left for the assessor.
    """
    plan = _locked_plan(batch)
    if not plan.batch.is_shared or plan.batch.status != Batch.Status.OPEN:
        message = gettext("The batch “{batch}” is not open to join.").format(batch=batch)
        raise Refused(message, code="not-open-to-join")
    plan.check_person(assessor)
    if any(assessor.pk in plan.holders(topic) for topic in plan.topics):
        return
    changes = proposals.changes_to_share(plan, [assessor], {}) if plan.has_left else []
    if not changes:
        raise Refused(
            gettext("Nothing of the batch “{batch}” is left to judge for {assessor}.").format(
                batch=batch, assessor=assessor
            ),
            code="nothing-left",
            title=gettext_noop("Nothing is left"),
        )
    _apply(plan, changes)


@assessor_services.at_end
def withdraw_all(*, track: Track, user: User) -> bool:
    """Take back all topics of the track that an assessor has not judged completely; whether they ever had one."""
    for progress in track_progress(track):
        unfinished = [
            held.assignment
            for held in progress.shares
            if held.assignment.assessor_id == user.pk
            and not held.assignment.is_withdrawn
            and held.judged < held.total
        ]
        if unfinished:
            _change(
                progress.batch,
                [Change(assignment.topic, user, is_withdrawn=True) for assignment in unfinished],
            )
    return TopicAssignment.objects.filter(batch__pool__track=track, assessor=user).exists()


@assessor_services.checks_groups
def check_groups(*, track: Track, groups: Mapping[User, str]) -> None:
    """Refuse other groups of assessors if the assessors of a topic would no longer be of different groups."""
    main = Batch.objects.filter(pool__track=track, kind=Batch.Kind.MAIN).select_related(
        "pool__protocol", "pool__track"
    )
    batches = [batch for batch in main.defer("pool__statistics") if batch.pool.protocol.parsed.judging.groups]
    for user, group in groups.items():
        held = TopicAssignment.objects.filter(batch__in=batches, assessor=user)
        topics = set(held.values_list("topic", flat=True))
        plans = [plan_of(batch, topics) for batch in batches] if topics else []
        mixed = set()
        for plan in plans:
            judges = {
                pk: replace(judge, group=groups.get(judge.user, judge.group))
                for pk, judge in plan.judges.items()
            }
            mixed |= replace(plan, judges=judges).mixed_topics() - plan.mixed_topics()
        if mixed:
            codes = sorted(mixed)
            article = "an" if group[:1] in "aeiou" else "a"
            become = f"{article} {group} assessor" if group else "an assessor without group"
            raise Refused(
                f"{user} cannot become {become}: the protocol requires one assessor of each group for a topic, and "
                f"that would no longer be so in {', '.join(codes[:5])}{'…' if len(codes) > 5 else ''}. "
                "Withdraw what is not judged yet from one of the assessors first.",
                code="group-in-use",
            )


def _change(batch: Batch, changes: Collection[Change]) -> list[TopicAssignment]:
    return _apply(_locked_plan(batch, {planned_change.topic.pk for planned_change in changes}), changes)


def _locked_plan(batch: Batch, topics: Collection[int] | None = None) -> Plan:
    """The plan of a batch; until the transaction ends, nobody else changes assignments or groups in its track."""
    track_services.lock(batch.pool.track_id)
    return plan_of(lock_for_managing(batch.pk), topics)


def _apply(plan: Plan, changes: Iterable[Change]) -> list[TopicAssignment]:
    """Change the plan, and store what is different; returns the assignments of the changes, in their order."""
    before = plan.copy()
    changes = list(changes)
    plan.apply(changes)
    _store(before, plan)
    assignments = TopicAssignment.objects.filter(batch=plan.batch).select_related("topic", "assessor")
    concerned = assignments.filter(topic__in={planned_change.topic.pk for planned_change in changes})
    rows = {(row.topic_id, row.assessor_id): row for row in concerned}
    return [rows[planned_change.topic.pk, planned_change.assessor.pk] for planned_change in changes]


def _store(before: Plan, after: Plan) -> None:
    """Store the places that differ. First all of these are withdrawn, so that no seat is taken twice meanwhile.

    Unfinished tasks of an assessor who loses a topic are returned.
    """
    was = before.all_places
    changed = {key: place for key, place in after.all_places.items() if was.get(key) != place}
    assignments = TopicAssignment.objects.filter(batch=after.batch)
    of_topics = assignments.filter(topic__in={topic for topic, _ in changed})
    rows = {(row.topic_id, row.assessor_id): row for row in of_topics}
    assignments.filter(pk__in=[rows[key].pk for key in changed if key in rows]).update(is_withdrawn=True)
    lost = [key for key, place in changed.items() if place.is_withdrawn]
    topics_lost: dict[int, list[int]] = {}
    for topic, assessor in lost:
        topics_lost.setdefault(assessor, []).append(topic)
    unfinished = Task.objects.filter(batch=after.batch, status__in=Task.UNFINISHED)
    for assessor, topics in topics_lost.items():
        return_tasks(unfinished.filter(assessor=assessor, entry__topic__in=topics))
    active = {key: place for key, place in changed.items() if not place.is_withdrawn}
    for key, place in active.items():
        if key in rows:
            assignments.filter(pk=rows[key].pk).update(seat=place.seat, is_withdrawn=False, cursor=0)
    TopicAssignment.objects.bulk_create(
        TopicAssignment(
            batch=after.batch,
            topic_id=topic,
            assessor_id=assessor,
            seat=place.seat,
            is_shared=after.batch.is_shared,
        )
        for (topic, assessor), place in active.items()
        if (topic, assessor) not in rows
    )
    _record(after, changed)
    work_changed(batch=after.batch, assessors={assessor for _, assessor in changed}, lost=lost)


def _record(plan: Plan, changed: Mapping[Key, Holding]) -> None:
    """One event for all places that changed together."""
    if not changed:
        return
    codes = dict(Topic.objects.filter(pk__in={topic for topic, _ in changed}).values_list("pk", "code"))
    names = dict(User.objects.filter(pk__in={user for _, user in changed}).values_list("pk", "username"))
    details: dict[str, list[str]] = {}
    for (topic, user), place in sorted(changed.items(), key=lambda item: codes[item[0][0]]):
        verb = "withdrawn from" if place.is_withdrawn else "assigned to"
        details.setdefault(f"{verb} {names[user]}", []).append(codes[topic])
    audit.record(
        action="topics.assigned",
        subject=plan.batch,
        track=plan.batch.pool.track,
        details=dict(sorted(details.items())),
    )
