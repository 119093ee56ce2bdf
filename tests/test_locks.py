"""Locks: a session that changes rows, and another that reads them meanwhile, in a forced order.

Races that are left to chance pass without the lock. Each of these tests fails without it.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts import tokens
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Judgment, Task
from assessment.planning import services as assignment_services
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, Run
from pooling.pools import services as pool_services
from tests.assessment.conftest import build_scene
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.judging import accept, make_batch, make_pool
from tests.helpers.meeting import meet
from tests.helpers.runs import run_bytes
from tests.pooling.conftest import Scene
from tests.pooling.conftest import build_scene as pooling_scene
from tests.pooling.runs.test_changes import submit

pytestmark = pytest.mark.django_db(transaction=True)


def test_second_worker_does_not_claim_a_job_that_the_first_is_claiming() -> None:
    job = Job.objects.create(kind="tests.work", title="Work")

    first, second = meet(lambda: jobs._claim(job.pk), lambda: jobs._claim(job.pk))

    assert (first.attempt, second) == (1, None)


def test_job_that_ends_while_somebody_cancels_it_stays_done() -> None:
    job = Job.objects.create(kind="tests.work", title="Work", state=Job.State.RUNNING)
    end = lambda: Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)  # noqa: E731

    _, refusal = meet(end, lambda: jobs.cancel(job=job, by=make_organizer()))

    job.refresh_from_db()
    assert job.state == Job.State.DONE
    assert "Only an unfinished job can be canceled" in str(refusal)


def test_task_that_is_being_submitted_does_not_expire() -> None:
    scene = build_scene()
    task = accept(scene.batch, scene.ada)
    Task.objects.update(expires_at=task.accepted_at)
    submit_it = lambda: judgment_services.submit(task=task, choice="high", request_id=uuid4())  # noqa: E731

    _, n_expired = meet(submit_it, task_services.expire)

    task.refresh_from_db()
    assert (n_expired, task.status) == (0, Task.Status.SUBMITTED)


def test_two_windows_of_an_assessor_take_one_task() -> None:
    scene = build_scene()
    take = lambda: task_services.accept_next(batch=scene.batch, assessor=scene.ada)  # noqa: E731

    first, second = meet(take, take)

    assert first == second
    assert Task.objects.count() == 1


def test_two_assessors_who_take_a_task_of_a_shared_batch_get_two_units() -> None:
    track = make_track()
    ada, bob = make_assessor(track), make_assessor(track)
    batch = make_batch(make_pool(track, {make_topic(track): 3}), {}, is_shared=True)
    for assessor in (ada, bob):
        assignment_services.join(batch=batch, assessor=assessor)

    first, second = meet(*(lambda who=who: accept(batch, who) for who in (ada, bob)))

    assert first.entry_id != second.entry_id


def test_task_that_is_extended_while_it_is_submitted_stays_submitted() -> None:
    scene = build_scene()
    task = accept(scene.batch, scene.ada)
    submit_it = lambda: judgment_services.submit(task=task, choice="high", request_id=uuid4())  # noqa: E731

    _, refusal = meet(submit_it, lambda: task_services.extend(task=task))

    task.refresh_from_db()
    assert task.status == Task.Status.SUBMITTED
    assert "You have submitted this task already" in str(refusal)
    assert Judgment.objects.count() == 1


@pytest.fixture
def scene(transactional_db: None, tmp_path: Path, settings: Any) -> Scene:
    settings.MEDIA_ROOT = str(tmp_path)
    settings.JOB_HEARTBEAT_SECONDS = 3600
    return pooling_scene()


def _requested(scene: Scene) -> tuple[Pool, Run, jobs.Progress]:
    """A pool whose building was requested, one of its runs, and a job that holds its worker."""
    run = submit(scene, "mine", run_bytes(tag="mine", first=100))
    submit(scene, "other", run_bytes(tag="other", first=101), team=scene.theirs)
    pool = pool_services.request(track=scene.track, name="P", seed=1, depth={}, by=scene.organizer)
    job = Job.objects.create(kind="tests.work", title="Work", state=Job.State.RUNNING, attempt=1)
    return pool, run, jobs.Progress(job.pk, 1)


def test_run_that_is_disqualified_while_its_pool_is_stored_is_not_counted(scene: Scene) -> None:
    """The recount waits for the pool, and sees the statistics that it stored."""
    pool, run, progress = _requested(scene)
    assert pool.job is not None
    build = lambda: jobs.run(pool.job.pk)  # noqa: E731

    def disqualify_and_count() -> None:
        Run.objects.filter(pk=run.pk).update(status=Run.Status.DISQUALIFIED)
        pool_services.recount(progress, run_id=run.pk)

    meet(build, disqualify_and_count)

    pool.refresh_from_db()
    assert pool.recount["without"] == [run.pk]


def test_pool_that_is_stored_while_its_run_is_disqualified_does_not_count_the_run(scene: Scene) -> None:
    """The pool waits for the recount, which found no statistics yet, and counts again itself."""
    pool, run, progress = _requested(scene)
    assert pool.job is not None

    def disqualify_and_count() -> None:
        Run.objects.filter(pk=run.pk).update(status=Run.Status.DISQUALIFIED)
        pool_services.recount(progress, run_id=run.pk)

    meet(disqualify_and_count, lambda: jobs.run(pool.job.pk))

    pool.refresh_from_db()
    assert (pool.status, pool.recount["without"]) == (Pool.Status.READY, [run.pk])


def test_one_of_two_tokens_with_one_name_is_refused() -> None:
    user = make_user()
    fields: dict[str, Any] = {
        "name": "Laptop",
        "scopes": ["read"],
        "expires_at": timezone.now() + timedelta(days=1),
    }

    _, refusal = meet(lambda: tokens.create(user=user, **fields), lambda: tokens.create(user=user, **fields))

    assert "You already have a token named Laptop" in str(refusal)
