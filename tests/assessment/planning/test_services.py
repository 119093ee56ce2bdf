"""Assigning topics: each rule and each refusal; also when assessors are removed or change their group."""

import re

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from assay.errors import Refused
from assessment.batches import progress
from assessment.batches import services as batch_services
from assessment.models import Batch, Judgment, Task, TopicAssignment
from assessment.planning import services as assignment_services
from assessment.planning.rules import Change
from pooling.models import Pool
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool, make_team
from tracks.assessors import services as assessor_services
from tracks.assessors.services import add
from tracks.models import Assessor, Topic

pytestmark = pytest.mark.django_db


def test_only_an_assessor_of_the_track_gets_a_topic(scene: Scene) -> None:
    stranger = make_user()

    with pytest.raises(Refused, match="is not an assessor of"):
        assignment_services.assign(batch=scene.batch, assessor=stranger, topics=[scene.first])


def test_an_inactive_assessor_gets_no_topic(scene: Scene) -> None:
    gone = make_assessor(scene.track, is_active=False)

    with pytest.raises(Refused, match="is not an assessor of"):
        assignment_services.assign(batch=scene.batch, assessor=gone, topics=[scene.first])


def test_a_member_of_a_team_of_the_track_gets_no_topic(scene: Scene) -> None:
    team = make_team(scene.track, scene.bob)

    with pytest.raises(Refused, match=team.name):
        assignment_services.assign(batch=scene.batch, assessor=scene.bob, topics=[scene.first])


def test_a_topic_without_entries_in_the_pool_is_refused_and_none_is_assigned(scene: Scene) -> None:
    batch = batch_services.create(pool=scene.pool, name="Two", by=None)
    unpooled = make_topic(scene.track, "A.9")

    with pytest.raises(Refused, match=r"A\.9"):
        assignment_services.assign(batch=batch, assessor=scene.bob, topics=[scene.first, unpooled])

    assert not batch.topic_assignments.exists()


def test_main_batch_assigns_a_topic_to_one_assessor(scene: Scene) -> None:
    with pytest.raises(Refused, match="already assigned to ada"):
        assignment_services.assign(batch=scene.batch, assessor=scene.bob, topics=[scene.first])
    with pytest.raises(Refused, match="already assigned to ada"):
        assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[scene.first])
    with pytest.raises(IntegrityError), transaction.atomic():
        TopicAssignment.objects.create(batch=scene.batch, topic=scene.first, assessor=scene.bob, seat=1)


def test_training_batch_assigns_a_topic_to_every_assessor(scene: Scene) -> None:
    batch = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")

    assert len(judge_all(batch, scene.ada)) == len(judge_all(batch, scene.bob)) == 3


def test_dual_batch_assigns_a_topic_to_another_assessor_than_the_first(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    batch = batch_services.create(pool=scene.pool, name="Dual", kind="dual", by=None)

    with pytest.raises(Refused, match="in second judgments another assessor must judge it"):
        assignment_services.assign(batch=batch, assessor=scene.ada, topics=[scene.first])

    [assignment] = assignment_services.assign(batch=batch, assessor=scene.bob, topics=[scene.first])
    assert assignment.assessor == scene.bob


def test_assessor_who_takes_over_a_topic_judges_only_the_rest(scene: Scene) -> None:
    judged = judge(accept(scene.batch, scene.ada))

    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)
    assignment_services.assign(batch=scene.batch, assessor=scene.bob, topics=[scene.first])

    rest = judge_all(scene.batch, scene.bob)
    assert len(rest) == 2
    assert judged.docno not in {judgment.docno for judgment in rest}
    judged.refresh_from_db()
    assert judged.is_current


def test_topic_is_reassigned_in_one_step(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))

    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )

    assert len(judge_all(scene.batch, scene.bob)) == 2
    assert {judgment.topic for judgment in judge_all(scene.batch, scene.ada)} == {scene.second}


def test_topic_reassigned_in_a_training_batch_keeps_its_seat(scene: Scene) -> None:
    carl = make_assessor(scene.track, "carl")
    batch = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")
    judge(accept(batch, scene.ada))

    assignment_services.reassign(batch=batch, topic=scene.first, from_assessor=scene.ada, to_assessor=carl)

    assert (len(judge_all(batch, carl)), len(judge_all(batch, scene.bob))) == (2, 3)


def test_topic_assigned_again_comes_without_the_judged_entries(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[scene.first])

    assert len(judge_all(scene.batch, scene.ada)) == 5
    assert (
        TopicAssignment.objects.filter(batch=scene.batch, assessor=scene.ada, topic=scene.first).count() == 1
    )


def test_topic_is_not_assigned_again_while_another_assessor_has_it(scene: Scene) -> None:
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )

    with pytest.raises(Refused, match="already assigned to bob"):
        assignment_services.assign(batch=scene.batch, assessor=scene.ada, topics=[scene.first])


def test_only_an_assigned_topic_is_withdrawn(scene: Scene) -> None:
    with pytest.raises(Refused, match="is not assigned to"):
        assignment_services.withdraw(batch=scene.batch, assessor=scene.bob, topic=scene.first)


def test_refused_reassignment_changes_nothing(scene: Scene) -> None:
    with pytest.raises(Refused, match="is not an assessor of"):
        assignment_services.reassign(
            batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=make_user()
        )

    assert accept(scene.batch, scene.ada).entry.topic == scene.first


def test_topics_are_shared_by_number_of_entries(scene: Scene) -> None:
    topics = [make_topic(scene.track, f"B.{n}") for n in range(1, 6)]
    pool = make_pool(scene.track, dict(zip(topics, [6, 3, 3, 2, 2], strict=True)))
    batch = batch_services.create(pool=pool, name="Shared", by=None)

    assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])

    batch_services.open_for_judging(batch=batch)
    assert (len(judge_all(batch, scene.ada)), len(judge_all(batch, scene.bob))) == (8, 8)


def test_sharing_keeps_and_counts_assigned_topics(scene: Scene) -> None:
    topics = [make_topic(scene.track, f"B.{n}") for n in range(1, 4)]
    pool = make_pool(scene.track, dict(zip(topics, [4, 2, 2], strict=True)))
    batch = make_batch(pool, {scene.ada: topics[:1]}, is_open=False)

    assigned = assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])

    assert [assignment.assessor for assignment in assigned] == [scene.bob] * 2


def test_sharing_a_training_batch_assigns_all_topics_to_all_assessors_once(scene: Scene) -> None:
    batch = batch_services.create(pool=scene.pool, name="Training", kind="training", by=None)

    assert len(assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])) == 4
    assert assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob]) == []


def test_sharing_a_dual_batch_assigns_each_topic_to_an_assessor_who_does_not_judge_it(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    batch = batch_services.create(pool=scene.pool, name="Dual", kind="dual", by=None)

    assigned = assignment_services.share(batch=batch, assessors=[scene.ada, scene.bob])

    assert {assignment.topic: assignment.assessor for assignment in assigned} == {
        scene.first: scene.bob,
        scene.second: scene.bob,
    }


def test_sharing_needs_assessors_who_may_judge(scene: Scene) -> None:
    make_team(scene.track, scene.bob)

    with pytest.raises(Refused, match="Choose at least one assessor"):
        assignment_services.share(batch=scene.batch, assessors=[])
    with pytest.raises(Refused, match="cannot judge for it"):
        assignment_services.share(batch=scene.batch, assessors=[scene.ada, scene.bob])


def groups_scene() -> tuple[Pool, list[Topic], dict[str, User]]:
    """A pool of two topics; by its protocol a graduate and an undergraduate judge each topic."""
    track = make_track(protocol="ntcir-12-wikipedia")
    topics = [make_topic(track, "1"), make_topic(track, "2")]
    people = {name: make_assessor(track, name) for name in ("grace", "guy", "una")}
    Assessor.objects.filter(user__in=[people["grace"], people["guy"]]).update(group="graduate")
    Assessor.objects.filter(user=people["una"]).update(group="undergraduate")
    return make_pool(track, {topics[0]: 2, topics[1]: 1}), topics, people


def test_two_assessors_of_one_group_never_judge_a_topic_that_needs_one_of_each() -> None:
    pool, (first, _), people = groups_scene()
    batch = make_batch(pool, {people["grace"]: [first]}, is_open=False)

    with pytest.raises(Refused, match="another graduate assessor than guy"):
        assignment_services.assign(batch=batch, assessor=people["guy"], topics=[first])

    assignment_services.assign(batch=batch, assessor=people["una"], topics=[first])
    assignment_services.reassign(
        batch=batch, topic=first, from_assessor=people["grace"], to_assessor=people["guy"]
    )
    active = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False)
    assert set(active.values_list("assessor__username", flat=True)) == {"guy", "una"}


def test_topics_are_shared_among_one_assessor_of_each_group() -> None:
    pool, topics, people = groups_scene()
    batch = make_batch(pool, {}, is_open=False)

    assignment_services.share(batch=batch, assessors=list(people.values()))

    pairs = TopicAssignment.objects.filter(batch=batch).values_list("topic", "assessor__username")
    assert sorted(name for topic, name in pairs if topic == topics[0].pk) == ["grace", "una"]
    assert sorted(name for topic, name in pairs if topic == topics[1].pk) == ["guy", "una"]


def test_assessor_without_group_judges_no_topic_that_needs_one_of_each() -> None:
    pool, (first, _), people = groups_scene()
    nina = make_assessor(pool.track, "nina")
    batch = make_batch(pool, {}, is_open=False)

    with pytest.raises(Refused, match="nina is in no group"):
        assignment_services.assign(batch=batch, assessor=nina, topics=[first])

    assert assignment_services.share(batch=batch, assessors=[nina]) == []
    training = make_batch(pool, {nina: [first]}, kind="training")
    assert training.topic_assignments.count() == 1
    assert people


def test_part_of_one_group_is_not_finished_by_another() -> None:
    pool, (first, _), people = groups_scene()
    batch = make_batch(pool, {people["grace"]: [first], people["una"]: [first]})
    judge(accept(batch, people["grace"]), "relevant")
    for name in ("grace", "una"):
        assignment_services.withdraw(batch=batch, assessor=people[name], topic=first)
    uma = make_assessor(pool.track, "uma")
    Assessor.objects.filter(user=uma).update(group="undergraduate")

    [of_uma] = assignment_services.assign(batch=batch, assessor=uma, topics=[first])
    [of_guy] = assignment_services.assign(batch=batch, assessor=people["guy"], topics=[first])

    assert (of_uma.seat, of_guy.seat) == (2, 1)
    assert len(judge_all(batch, people["guy"], "relevant")) == 1


def test_two_moves_of_one_topic_keep_the_seat_of_each_group() -> None:
    pool, (first, _), people = groups_scene()
    batch = make_batch(pool, {people["grace"]: [first], people["una"]: [first]})
    uma = make_assessor(pool.track, "uma")
    Assessor.objects.filter(user=uma).update(group="undergraduate")

    def row(user: User, *, is_withdrawn: bool) -> Change:
        return Change(first, user, is_withdrawn=is_withdrawn)

    lost = [row(people[name], is_withdrawn=True) for name in ("grace", "una")]
    got = [row(user, is_withdrawn=False) for user in (uma, people["guy"])]
    assignment_services.change(batch=batch, changes=[*lost, *got])

    active = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False)
    assert set(active.values_list("assessor__username", "seat")) == {("guy", 1), ("uma", 2)}


def test_group_changes_only_while_the_topics_keep_one_assessor_of_each() -> None:
    pool, (first, _), people = groups_scene()
    make_batch(pool, {people["grace"]: [first], people["una"]: [first]})
    track = pool.track

    for group, become in (("undergraduate", "an undergraduate assessor"), ("", "an assessor without group")):
        with pytest.raises(Refused, match=f"grace cannot become {become}.*in 1"):
            assessor_services.set_groups(track=track, groups={people["grace"]: group})
    assessor_services.set_groups(track=track, groups={people["guy"]: "undergraduate"})
    swapped = {people["grace"]: "undergraduate", people["una"]: "graduate"}
    assessor_services.set_groups(track=track, groups=swapped)

    groups = dict(Assessor.objects.filter(track=track).values_list("user__username", "group"))
    assert groups == {"grace": "undergraduate", "guy": "undergraduate", "una": "graduate"}


@pytest.fixture
def two_seats(db: None) -> tuple[Batch, Topic, User, User, User]:
    """Two judges per document. Ada judged one of two in seat 1, Cy has it now; Bob has seat 2."""
    track = make_track(protocol="ntcir-10-math")
    topic = make_topic(track, "A.1")
    ada, bob, cy = (make_assessor(track, name) for name in ("ada", "bob", "cy"))
    batch = make_batch(make_pool(track, {topic: 2}), {ada: [topic], bob: [topic]})
    judge(accept(batch, ada), "relevant")
    assignment_services.reassign(batch=batch, topic=topic, from_assessor=ada, to_assessor=cy)
    return batch, topic, ada, bob, cy


def test_nobody_becomes_the_second_judge_of_what_they_judged_first(
    two_seats: tuple[Batch, Topic, User, User, User],
) -> None:
    batch, topic, ada, bob, _ = two_seats
    assignment_services.withdraw(batch=batch, topic=topic, assessor=bob)

    with pytest.raises(Refused, match="has judged a part of topic"):
        assignment_services.assign(batch=batch, topics=[topic], assessor=ada)

    assert assignment_services.share(batch=batch, assessors=[ada]) == []


def test_topic_comes_back_to_an_assessor_from_the_one_in_their_seat(
    two_seats: tuple[Batch, Topic, User, User, User],
) -> None:
    batch, topic, ada, bob, cy = two_seats

    assignment_services.reassign(batch=batch, topic=topic, from_assessor=cy, to_assessor=ada)
    judge_all(batch, ada, "relevant")
    judge_all(batch, bob, "relevant")

    assert batch.judgments.filter(is_current=True).count() == 4


def test_page_from_a_former_seat_is_submitted_in_the_present_one(
    two_seats: tuple[Batch, Topic, User, User, User],
) -> None:
    batch, topic, _, bob, cy = two_seats
    page = accept(batch, cy)
    assignment_services.withdraw(batch=batch, topic=topic, assessor=bob)
    eve = make_assessor(batch.pool.track, "eve")
    assignment_services.reassign(batch=batch, topic=topic, from_assessor=cy, to_assessor=eve)
    assignment_services.assign(batch=batch, topics=[topic], assessor=cy)

    judge(Task.objects.get(pk=page.pk), "relevant")
    for assessor in (cy, eve):
        judge_all(batch, assessor, "relevant")

    current = batch.judgments.filter(is_current=True)
    assert sorted(current.values_list("docno", "task__seat")) == sorted(
        (entry.docno, seat) for entry in batch.pool.entries.all() for seat in (1, 2)
    )


@pytest.fixture
def organizer(client: Client, db: None) -> Client:
    client.force_login(make_organizer("olga"))
    return client


def remove(organizer: Client, scene: Scene, user: User) -> str:
    address = f"/tracks/{scene.track.slug}/people/{user.pk}/remove/"
    return organizer.post(address, follow=True).content.decode()


def test_removed_assessor_loses_open_topics_and_keeps_judgments(scene: Scene, organizer: Client) -> None:
    for _ in range(3):
        judge(accept(scene.batch, scene.ada), "high")
    done = Judgment.objects.filter(assessor=scene.ada).values_list("topic__code", flat=True)[0]
    browser = Client()
    browser.force_login(scene.ada)

    page = remove(organizer, scene, scene.ada)
    again = remove(organizer, scene, scene.ada)

    held = TopicAssignment.objects.filter(assessor=scene.ada, is_withdrawn=False)
    assert f"ada no longer judges for {scene.track}. Their judgments stay." in page
    assert "is not a person who judges for" in again
    assert [each.topic.code for each in held] == [done], "what is judged completely stays theirs"
    assert Judgment.objects.filter(assessor=scene.ada, is_current=True).count() == 3
    assert Assessor.objects.get(user=scene.ada).ended_at is not None
    assert browser.get(f"/tracks/{scene.track.slug}/judging/").status_code == 403
    assert browser.get(f"/tracks/{scene.track.slug}/guidelines/").status_code == 404
    assert Event.objects.filter(action="assessor.removed").count() == 1
    add(track=scene.track, user=scene.ada)
    assert browser.get(f"/tracks/{scene.track.slug}/judging/").status_code == 200


def test_pages_count_the_units_that_nobody_has_after_a_removal(
    scene: Scene, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As left to judge, with their time; the task that was taken back is not overdue."""
    monkeypatch.setattr(progress, "LEAST_TIMED", 1)
    judge(accept(scene.batch, scene.ada), "high", seconds=3600)
    accept(scene.batch, scene.ada)

    remove(organizer, scene, scene.ada)

    plan, batch, board = (
        " ".join(re.sub("<[^>]*>", " ", organizer.get(address).content.decode()).split())
        for address in (
            reverse("assessment:plan", args=[scene.batch.pk]),
            scene.batch.get_absolute_url(),
            reverse("assessment:board", args=[scene.track.slug]),
        )
    )
    assert "To judge 5 units Judged 1 units Work left 5.0 h" in plan
    assert "Work left 5.0 h" in batch
    assert "Tasks open 0 0 overdue" in batch
    assert "About 5.0 h of work left" in board


def test_assessor_reads_that_judgments_of_topics_taken_back_are_kept(scene: Scene, organizer: Client) -> None:
    for _ in range(4):
        judge(accept(scene.batch, scene.ada), "high")
    browser = Client()
    browser.force_login(scene.ada)
    address = reverse("assessment:done", args=[scene.batch.pk])
    before = browser.get(address).content.decode()

    remove(organizer, scene, scene.ada)
    after = " ".join(browser.get(address).content.decode().split())

    assert "that you no longer have" not in before
    assert "You have judged all your units of this batch: 3 units of 1 topic." in after
    assert "Your judgments of 1 unit of topics that you no longer have are kept too." in after


def test_somebody_without_topics_leaves_no_trace(scene: Scene, organizer: Client) -> None:
    remove(organizer, scene, scene.bob)

    assert not Assessor.objects.filter(user=scene.bob).exists()


def test_groups_of_all_assessors_are_saved_together_or_not_at_all(organizer: Client, db: None) -> None:
    track = make_track("ntcir", protocol="ntcir-12-wikipedia")
    first, second, *_ = track.protocol.parsed.judging.groups
    people = [make_assessor(track, name) for name in ("ada", "bob", "eve")]
    ada, bob, _ = (f"group-{user.pk}" for user in people)

    organizer.post("/tracks/ntcir/people/groups/", {ada: first, bob: second})
    swapped = organizer.post("/tracks/ntcir/people/groups/", {ada: second, bob: first}, follow=True)
    organizer.post("/tracks/ntcir/people/groups/", {ada: "nobles", bob: second})

    groups = dict(Assessor.objects.values_list("user__username", "group"))
    assert "The groups of the assessors are saved." in swapped.content.decode()
    assert groups == {"ada": second, "bob": first, "eve": ""}
    assert Event.objects.filter(action="assessor.moved").count() == 4
