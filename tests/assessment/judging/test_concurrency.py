"""Several windows and assessors at once, on real connections: no duplicates, no loss, no deadlock."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from assay.errors import Refused
from assessment import errors
from assessment.batches import services as batch_services
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Judgment, Task
from assessment.planning import services as assignment_services
from tests.assessment.conftest import Scene, build_scene
from tests.helpers.factories import make_assessor, make_topic, make_track
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run calls in threads that start together, each on its own connection. A refusal is a result."""
    barrier = threading.Barrier(len(calls), timeout=120)

    def run(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return call()
        except errors.Refused as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@pytest.fixture
def live_scene(transactional_db: None) -> Scene:
    return build_scene()


def test_windows_that_accept_at_once_hold_one_task(live_scene: Scene) -> None:
    scene = live_scene

    tasks = at_once([lambda: task_services.accept_next(batch=scene.batch, assessor=scene.ada)] * 6)

    assert len({task.pk for task in tasks}) == 1
    assert Task.objects.count() == 1


def test_one_submission_sent_many_times_at_once_is_stored_once(live_scene: Scene) -> None:
    task, request_id = accept(live_scene.batch, live_scene.ada), uuid4()

    stored = at_once([lambda: judgment_services.submit(task=task, choice="high", request_id=request_id)] * 6)

    assert len({judgment.pk for judgment in stored}) == 1
    assert Judgment.objects.count() == 1


def test_one_request_id_for_two_tasks_at_once_is_stored_for_one(live_scene: Scene) -> None:
    scene, request_id = live_scene, uuid4()
    batch = make_batch(scene.pool, {scene.bob: [scene.first]}, kind="training")
    tasks = [accept(scene.batch, scene.ada), accept(batch, scene.bob)]

    results = at_once(
        [
            lambda task=task: judgment_services.submit(task=task, choice="low", request_id=request_id)
            for task in tasks
        ]
    )

    assert sorted(getattr(result, "code", "stored") for result in results) == ["request-reused", "stored"]
    assert Judgment.objects.count() == 1


def test_two_windows_with_different_choices_make_one_judgment_and_one_refusal(live_scene: Scene) -> None:
    task = accept(live_scene.batch, live_scene.ada)

    results = at_once(
        [
            lambda choice=choice: judgment_services.submit(
                task=task, choice=choice, request_id=uuid4(), shown=0
            )
            for choice in ("high", "low")
        ]
    )

    assert sorted(type(result).__name__ for result in results) == ["JudgedElsewhere", "Judgment"]
    assert Judgment.objects.count() == 1


def test_revisions_at_once_form_one_chain(live_scene: Scene) -> None:
    task = accept(live_scene.batch, live_scene.ada)

    at_once(
        [
            lambda choice=choice: judgment_services.submit(task=task, choice=choice, request_id=uuid4())
            for choice in ("high", "medium", "low", "not-relevant")
        ]
    )

    assert Judgment.objects.count() == 4
    current = Judgment.objects.get(is_current=True)
    chain = [current]
    while chain[-1].replaces is not None:
        chain.append(chain[-1].replaces)
    assert len(chain) == 4


def test_presses_of_undo_at_once_undo_one_judgment_and_lose_no_submission(live_scene: Scene) -> None:
    scene = live_scene
    first, second = (judge(accept(scene.batch, scene.ada)) for _ in range(2))
    opened = accept(scene.batch, scene.ada)

    at_once([lambda: task_services.undo_last(task=Task.objects.get(pk=opened.pk))] * 6)
    current = list(Judgment.objects.filter(is_current=True))
    undone = Task.objects.get(status=Task.Status.ACCEPTED)
    at_once(
        [lambda: task_services.undo_last(task=Task.objects.get(pk=undone.pk))] * 3
        + [lambda: judgment_services.submit(task=undone, choice="low", request_id=uuid4(), shown=0)]
    )

    assert (current, undone) == ([first], second.task)
    assert undone.judgments.filter(is_current=True).get().choice == "low"
    assert Task.objects.filter(status=Task.Status.ACCEPTED).count() <= 1


def test_first_submission_is_kept_whether_it_comes_before_or_after_the_close(live_scene: Scene) -> None:
    for _ in range(5):
        scene = build_scene_again(live_scene)
        task = accept(scene.batch, scene.ada)

        _, judgment = at_once(
            [
                lambda batch=scene.batch: batch_services.close(batch=batch),
                lambda task=task: judgment_services.submit(task=task, choice="high", request_id=uuid4()),
            ]
        )

        assert judgment.is_current


def build_scene_again(scene: Scene) -> Scene:
    """The same assessors with another batch of another pool."""
    pool = make_pool(scene.track, {scene.first: 2})
    batch = make_batch(pool, {scene.ada: [scene.first]})
    return Scene(scene.track, scene.first, scene.second, pool, batch, scene.ada, scene.bob)


def test_revision_and_close_at_once_leave_one_current_judgment(live_scene: Scene) -> None:
    task = accept(live_scene.batch, live_scene.ada)
    first = judgment_services.submit(task=task, choice="low", request_id=uuid4())

    _, result = at_once(
        [
            lambda: batch_services.close(batch=live_scene.batch),
            lambda: judgment_services.submit(task=task, choice="high", request_id=uuid4()),
        ]
    )

    current = Judgment.objects.get(is_current=True)
    assert current == (first if isinstance(result, Refused) else result)


def test_late_submission_and_one_of_the_next_assessor_at_once_leave_one_current_judgment(
    live_scene: Scene,
) -> None:
    scene = live_scene
    late = accept(scene.batch, scene.ada)
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    task = accept(scene.batch, scene.bob)

    at_once(
        [
            lambda task=task: judgment_services.submit(task=task, choice="high", request_id=uuid4())
            for task in (late, task)
        ]
    )

    assert Judgment.objects.count() == 2
    assert Judgment.objects.get(is_current=True).assessor == scene.bob


def test_submitting_and_expiring_at_once_keeps_the_judgment(live_scene: Scene) -> None:
    task = accept(live_scene.batch, live_scene.ada)
    Task.objects.update(expires_at=task.accepted_at)

    at_once(
        [
            lambda: judgment_services.submit(task=task, choice="high", request_id=uuid4()),
            task_services.expire,
            lambda: task_services.accept_next(batch=live_scene.batch, assessor=live_scene.ada),
        ]
    )

    task.refresh_from_db()
    assert task.status == Task.Status.SUBMITTED
    assert Judgment.objects.count() == 1


def test_many_assessors_judge_everything_once_while_the_organizer_reassigns_topics(
    transactional_db: None,
) -> None:
    track = make_track()
    topics = [make_topic(track, f"A.{n}") for n in range(4)]
    people = [make_assessor(track, f"assessor-{n}") for n in range(4)]
    pool = make_pool(track, dict.fromkeys(topics, 8))
    batch = make_batch(pool, {person: [topic] for person, topic in zip(people, topics, strict=True)})

    def manage() -> None:
        for n, topic in enumerate(topics):
            assignment_services.reassign(
                batch=batch, topic=topic, from_assessor=people[n], to_assessor=people[(n + 1) % 4]
            )
            task_services.expire()
        batch_services.close(batch=batch)
        batch_services.open_for_judging(batch=batch)

    def work(person: Any) -> None:
        for _ in range(3):
            with suppress(Refused):
                judge_all(batch, person)

    at_once([manage, *[lambda person=person: work(person) for person in people * 2]])
    for person in people:
        judge_all(batch, person)

    current = Judgment.objects.filter(is_current=True).values_list("topic", "docno")
    assert len(set(current)) == len(current) == 32
