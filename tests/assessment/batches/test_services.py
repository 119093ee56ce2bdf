"""Batches and who gets which topic: each rule and each refusal."""

import pytest
from django.db import IntegrityError, transaction

from accounts.models import User
from assessment.assignments import errors as assignment_errors
from assessment.assignments import services as assignment_services
from assessment.batches import errors as batch_errors
from assessment.batches import services as batch_services
from assessment.models import Batch, TopicAssignment
from assessment.tasks import services as task_services
from pooling.models import Pool
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool, make_team
from tracks.models import Assessor, Topic

pytestmark = pytest.mark.django_db


def test_batch_starts_as_a_draft_without_topics(scene: Scene) -> None:
    organizer = make_organizer()

    batch = batch_services.create(
        pool=scene.pool, name="Round 1", kind="training", minutes_allotted=30, by=organizer
    )

    batch.refresh_from_db()
    assert (batch.status, batch.kind, batch.minutes_allotted, batch.created_by) == (
        "draft",
        "training",
        30,
        organizer,
    )
    assert not batch.topic_assignments.exists()


def test_batch_needs_a_pool_that_is_ready(scene: Scene) -> None:
    building = make_pool(scene.track, {}, status=Pool.Status.BUILDING)

    with pytest.raises(batch_errors.PoolNotReady, match="is not ready"):
        batch_services.create(pool=building, name="Round 1", by=None)


def test_two_batches_of_a_pool_cannot_share_a_name(scene: Scene) -> None:
    with pytest.raises(batch_errors.BatchNameTaken):
        batch_services.create(pool=scene.pool, name=scene.batch.name, by=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        Batch.objects.create(pool=scene.pool, name=scene.batch.name)


def test_batch_is_renamed_but_not_to_a_name_that_is_taken(scene: Scene) -> None:
    other = make_batch(make_pool(scene.track, {scene.first: 1}), {}, is_open=False, name="Other pool's")
    beside = batch_services.create(pool=scene.pool, name="Beside", by=None)

    renamed = batch_services.edit(batch=scene.batch, name=other.name, minutes_allotted=5)

    assert (renamed.name, renamed.minutes_allotted) == (other.name, 5)
    with pytest.raises(batch_errors.BatchNameTaken):
        batch_services.edit(batch=scene.batch, name=beside.name, minutes_allotted=5)


def test_time_for_a_task_is_at_least_a_minute(scene: Scene) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Batch.objects.filter(pk=scene.batch.pk).update(minutes_allotted=0)


def test_batch_without_topics_cannot_be_opened(scene: Scene) -> None:
    batch = batch_services.create(pool=scene.pool, name="Empty", by=None)

    with pytest.raises(batch_errors.NoTopics):
        batch_services.open_for_judging(batch=batch)


def test_batch_whose_topics_were_all_withdrawn_cannot_be_opened(scene: Scene) -> None:
    batch = make_batch(scene.pool, {scene.bob: [scene.first]}, is_open=False)
    assignment_services.withdraw(batch=batch, assessor=scene.bob, topic=scene.first)

    with pytest.raises(batch_errors.NoTopics):
        batch_services.open_for_judging(batch=batch)


def test_batch_opens_closes_and_opens_again(scene: Scene) -> None:
    closed = batch_services.close(batch=scene.batch)
    assert (closed.status, closed.closed_at is not None) == ("closed", True)

    opened = batch_services.open_for_judging(batch=scene.batch)

    assert (opened.status, opened.closed_at) == ("open", None)


def test_open_batch_is_not_opened_nor_a_closed_one_closed(scene: Scene) -> None:
    with pytest.raises(batch_errors.WrongState, match="is open; it cannot be opened"):
        batch_services.open_for_judging(batch=scene.batch)
    batch_services.close(batch=scene.batch)
    with pytest.raises(batch_errors.WrongState, match="is closed; it cannot be closed"):
        batch_services.close(batch=scene.batch)


def test_only_an_assessor_of_the_track_gets_a_topic(scene: Scene) -> None:
    stranger = make_user()

    with pytest.raises(assignment_errors.NotAnAssessor):
        assignment_services.assign(batch=scene.batch, assessor=stranger, topics=[scene.first])


def test_an_assessor_who_may_not_log_in_gets_no_topic(scene: Scene) -> None:
    gone = make_assessor(scene.track, is_active=False)

    with pytest.raises(assignment_errors.NotAnAssessor):
        assignment_services.assign(batch=scene.batch, assessor=gone, topics=[scene.first])


def test_a_member_of_a_team_of_the_track_gets_no_topic(scene: Scene) -> None:
    team = make_team(scene.track, scene.bob)

    with pytest.raises(assignment_errors.IsInATeam, match=team.name):
        assignment_services.assign(batch=scene.batch, assessor=scene.bob, topics=[scene.first])


def test_a_topic_without_entries_in_the_pool_is_refused_and_none_is_given(scene: Scene) -> None:
    batch = batch_services.create(pool=scene.pool, name="Two", by=None)
    unpooled = make_topic(scene.track, "A.9")

    with pytest.raises(assignment_errors.TopicNotPooled, match=r"A\.9"):
        assignment_services.assign(batch=batch, assessor=scene.bob, topics=[scene.first, unpooled])

    assert not batch.topic_assignments.exists()


def test_main_batch_gives_a_topic_to_one_assessor(scene: Scene) -> None:
    with pytest.raises(assignment_errors.TopicIsGiven, match="ada"):
        assignment_services.assign(batch=scene.batch, assessor=scene.bob, topics=[scene.first])
    with pytest.raises(assignment_errors.TopicIsGiven, match="ada"):
        assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[scene.first])
    with pytest.raises(IntegrityError), transaction.atomic():
        TopicAssignment.objects.create(batch=scene.batch, topic=scene.first, assessor=scene.bob, seat=1)


def test_training_batch_gives_a_topic_to_everybody(scene: Scene) -> None:
    batch = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")

    assert len(judge_all(batch, scene.ada)) == len(judge_all(batch, scene.bob)) == 3


def test_dual_batch_gives_a_topic_to_another_than_who_judged_it(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    batch = batch_services.create(pool=scene.pool, name="Dual", kind="dual", by=None)

    with pytest.raises(assignment_errors.JudgedBefore):
        assignment_services.assign(batch=batch, assessor=scene.ada, topics=[scene.first])

    [given] = assignment_services.assign(batch=batch, assessor=scene.bob, topics=[scene.first])
    assert given.assessor == scene.bob


def test_withdrawn_topic_goes_to_another_who_judges_only_what_is_left(scene: Scene) -> None:
    judged = judge(accept(scene.batch, scene.ada))

    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)
    assignment_services.assign(batch=scene.batch, assessor=scene.bob, topics=[scene.first])

    rest = judge_all(scene.batch, scene.bob)
    assert len(rest) == 2
    assert judged.docno not in {judgment.docno for judgment in rest}
    judged.refresh_from_db()
    assert judged.is_current


def test_topic_is_passed_on_in_one_step(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))

    assignment_services.reassign(batch=scene.batch, topic=scene.first, giver=scene.ada, taker=scene.bob)

    assert len(judge_all(scene.batch, scene.bob)) == 2
    assert {judgment.topic for judgment in judge_all(scene.batch, scene.ada)} == {scene.second}


def test_topic_passed_on_in_a_training_batch_keeps_its_seat(scene: Scene) -> None:
    carl = make_assessor(scene.track, "carl")
    batch = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")
    judge(accept(batch, scene.ada))

    assignment_services.reassign(batch=batch, topic=scene.first, giver=scene.ada, taker=carl)

    assert (len(judge_all(batch, carl)), len(judge_all(batch, scene.bob))) == (2, 3)


def test_topic_comes_back_to_who_had_it_without_what_they_judged(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[scene.first])

    assert len(judge_all(scene.batch, scene.ada)) == 5
    assert (
        TopicAssignment.objects.filter(batch=scene.batch, assessor=scene.ada, topic=scene.first).count() == 1
    )


def test_topic_does_not_come_back_while_another_has_it(scene: Scene) -> None:
    assignment_services.reassign(batch=scene.batch, topic=scene.first, giver=scene.ada, taker=scene.bob)

    with pytest.raises(assignment_errors.TopicIsGiven, match="bob"):
        assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[scene.first])


def test_topic_is_not_withdrawn_from_who_has_it_not(scene: Scene) -> None:
    with pytest.raises(assignment_errors.TopicNotWith):
        assignment_services.withdraw(batch=scene.batch, assessor=scene.bob, topic=scene.first)


def test_refused_passing_on_leaves_the_topic_where_it_was(scene: Scene) -> None:
    with pytest.raises(assignment_errors.NotAnAssessor):
        assignment_services.reassign(batch=scene.batch, topic=scene.first, giver=scene.ada, taker=make_user())

    assert accept(scene.batch, scene.ada).entry.topic == scene.first


def test_topics_are_shared_by_number_of_entries(scene: Scene) -> None:
    topics = [make_topic(scene.track, f"B.{n}") for n in range(1, 6)]
    pool = make_pool(scene.track, dict(zip(topics, [6, 3, 3, 2, 2], strict=True)))
    batch = batch_services.create(pool=pool, name="Shared", by=None)

    assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])

    batch_services.open_for_judging(batch=batch)
    assert (len(judge_all(batch, scene.ada)), len(judge_all(batch, scene.bob))) == (8, 8)


def test_sharing_leaves_what_is_given_and_counts_it(scene: Scene) -> None:
    topics = [make_topic(scene.track, f"B.{n}") for n in range(1, 4)]
    pool = make_pool(scene.track, dict(zip(topics, [4, 2, 2], strict=True)))
    batch = make_batch(pool, {scene.ada: topics[:1]}, is_open=False)

    given = assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])

    assert {one.assessor for one in given} == {scene.bob}
    assert len(given) == 2


def test_sharing_a_training_batch_gives_all_to_all_once(scene: Scene) -> None:
    batch = batch_services.create(pool=scene.pool, name="Training", kind="training", by=None)

    assert len(assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])) == 4
    assert assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob]) == []


def test_sharing_a_dual_batch_gives_each_topic_to_who_has_not_judged_it(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    batch = batch_services.create(pool=scene.pool, name="Dual", kind="dual", by=None)

    given = {
        one.topic: one.assessor
        for one in assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])
    }

    assert given == {scene.first: scene.bob, scene.second: scene.ada}


def test_sharing_needs_assessors_who_may_judge(scene: Scene) -> None:
    make_team(scene.track, scene.bob)

    with pytest.raises(assignment_errors.NobodyToShareWith):
        assignment_services.share(batch=scene.batch, assessors=[])
    with pytest.raises(assignment_errors.IsInATeam):
        assignment_services.share(batch=scene.batch, assessors=[scene.ada, scene.bob])


def test_who_is_no_assessor_any_more_gets_no_task(scene: Scene) -> None:
    Assessor.objects.filter(user=scene.ada).delete()

    with pytest.raises(assignment_errors.NotAnAssessor):
        task_services.accept_next(batch=scene.batch, assessor=scene.ada)


def groups_scene() -> tuple[Pool, list[Topic], dict[str, User]]:
    """A pool of two topics whose protocol has each judged by a graduate and an undergraduate."""
    track = make_track(protocol="ntcir-12-wikipedia")
    topics = [make_topic(track, "1"), make_topic(track, "2")]
    people = {name: make_assessor(track, name) for name in ("grace", "guy", "una")}
    Assessor.objects.filter(user__in=[people["grace"], people["guy"]]).update(group="graduate")
    Assessor.objects.filter(user=people["una"]).update(group="undergraduate")
    return make_pool(track, {topics[0]: 2, topics[1]: 1}), topics, people


def test_two_of_one_group_never_judge_a_topic_where_one_of_each_is_wanted() -> None:
    pool, (first, _), people = groups_scene()
    batch = make_batch(pool, {people["grace"]: [first]}, is_open=False)

    with pytest.raises(assignment_errors.GroupHasTopic, match="another graduate assessor than guy"):
        assignment_services.assign(batch=batch, assessor=people["guy"], topics=[first])

    assignment_services.assign(batch=batch, assessor=people["una"], topics=[first])
    assignment_services.reassign(batch=batch, topic=first, giver=people["grace"], taker=people["guy"])
    held = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False)
    assert set(held.values_list("assessor__username", flat=True)) == {"guy", "una"}


def test_topics_are_shared_out_to_one_of_each_group() -> None:
    pool, topics, people = groups_scene()
    batch = make_batch(pool, {}, is_open=False)

    assignment_services.share(batch=batch, assessors=list(people.values()))

    held = TopicAssignment.objects.filter(batch=batch).values_list("topic", "assessor__username")
    assert sorted(name for topic, name in held if topic == topics[0].pk) == ["grace", "una"]
    assert sorted(name for topic, name in held if topic == topics[1].pk) == ["guy", "una"]
