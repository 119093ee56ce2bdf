"""The order of judging: the pool sets it, each judgment records it, and move to front follows the judgments."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from assessment.judging import services as task_services
from assessment.models import Batch, Judgment, Task
from assessment.planning import services as assignment_services
from participation.models import Team
from pooling.models import Contribution, Pool, PoolRun, Run
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge, make_batch, make_pool

pytestmark = pytest.mark.django_db


def make_run(team: Team, tag: str) -> Run:
    return Run.objects.create(
        track=team.track,
        team=team,
        tag=tag,
        kind="primary",
        sha256=tag,
        n_lines=1,
        n_topics=1,
        submitted_by=make_organizer(),
    )


def moving_pool(scene: Scene, *, n: int = 4) -> tuple[Pool, list[str], list[str]]:
    """A pool judged by move to front, to which two runs contributed n units each in turn; and the docnos of each."""
    pool = make_pool(scene.track, {scene.first: 2 * n})
    team = Team.objects.create(track=scene.track, name="Team")
    runs = [make_run(team, "good"), make_run(team, "bad")]
    brought: list[list[str]] = [[], []]
    for i, entry in enumerate(pool.entries.order_by("position")):
        Contribution.objects.create(entry=entry, run=runs[i % 2], rank=1 + i // 2)
        brought[i % 2].append(entry.docno)
    PoolRun.objects.bulk_create(PoolRun(pool=pool, run=run, sha256=run.sha256, depth=n) for run in runs)
    pool.order = Pool.Order.MOVE_TO_FRONT
    pool.statistics = {"runs": [{"run": run.pk} for run in runs]}
    pool.save()
    return pool, *brought


def judge_as(batch: Batch, user: User, relevant: list[str]) -> list[str]:
    """Judge everything: `relevant` docnos high, others not relevant. Returns the docnos in the order of judging."""
    order = []
    while task := task_services.accept_next(batch=batch, assessor=user):
        order.append(task.entry.docno)
        judge(task, "high" if task.entry.docno in relevant else "not-relevant")
    return order


def test_task_and_judgment_record_the_order(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    judgment = judge(task)

    assert (task.order, judgment.order) == ("random", "random")


def test_recorded_order_is_the_one_at_the_time_of_the_task(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    Pool.objects.filter(pk=scene.pool.pk).update(order="by-run-votes")

    assert judge(task).order == "random"
    assert judge(accept(scene.batch, scene.ada)).order == "by-run-votes"


def test_run_that_finds_relevant_units_stays_in_front(scene: Scene) -> None:
    pool, good, bad = moving_pool(scene)
    batch = make_batch(pool, {scene.bob: [scene.first]})

    order = judge_as(batch, scene.bob, relevant=good)

    assert sorted(order) == sorted(good + bad)
    before_the_good_run = order.index(good[0])
    assert before_the_good_run <= 1, "the other run comes first once at most"
    assert order[before_the_good_run:][:4] == good
    assert [docno for docno in order if docno in bad] == bad, "the units of a run follow its ranks"
    assert set(Judgment.objects.filter(batch=batch).values_list("order", flat=True)) == {"move-to-front"}


def test_runs_take_turns_if_nothing_is_relevant(scene: Scene) -> None:
    pool, good, bad = moving_pool(scene)
    batch = make_batch(pool, {scene.bob: [scene.first]})

    order = judge_as(batch, scene.bob, relevant=[])

    pairs = [set(order[i : i + 2]) for i in range(0, 8, 2)]
    assert pairs == [set(pair) for pair in zip(good, bad, strict=True)]


def test_units_of_a_disqualified_run_come_last(scene: Scene) -> None:
    pool, good, bad = moving_pool(scene)
    batch = make_batch(pool, {scene.bob: [scene.first]})
    started = [accept(batch, scene.bob)]
    judge(started[0], "high")
    Run.objects.filter(tag="good").update(status=Run.Status.DISQUALIFIED)

    order = judge_as(batch, scene.bob, relevant=good)

    first = started[0].entry.docno
    assert order == [docno for docno in [*bad, *good] if docno != first]


def test_judgments_of_another_pool_count_too(scene: Scene) -> None:
    pool, good, bad = moving_pool(scene)
    first = make_batch(pool, {scene.bob: [scene.first]})
    for _ in range(2):
        task = accept(first, scene.bob)
        judge(task, "high" if task.entry.docno in good else "not-relevant")
    assignment_services.withdraw(batch=first, assessor=scene.bob, topic=scene.first)
    judged = set(Judgment.objects.filter(batch=first).values_list("docno", flat=True))

    order = judge_as(make_batch(pool, {scene.ada: [scene.first]}), scene.ada, relevant=good)

    assert order == [docno for docno in good + bad if docno not in judged]


def test_expired_task_is_given_out_again(scene: Scene) -> None:
    pool, _, _ = moving_pool(scene)
    batch = make_batch(pool, {scene.bob: [scene.first]})
    task = accept(batch, scene.bob)
    Task.objects.filter(pk=task.pk).update(status="expired")

    assert len(judge_as(batch, scene.bob, relevant=[])) == 8


def test_next_task_takes_as_many_queries_late_as_early(scene: Scene) -> None:
    pool, good, _ = moving_pool(scene, n=12)
    batch = make_batch(pool, {scene.bob: [scene.first]})
    judge(accept(batch, scene.bob))
    counts = []
    for _ in range(20):
        with CaptureQueriesContext(connection) as queries:
            task = accept(batch, scene.bob)
        judge(task, "high" if task.entry.docno in good else "low")
        counts.append(len(queries))

    assert len(set(counts)) == 1
    assert counts[0] <= 16
