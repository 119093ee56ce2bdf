"""Tasks: their order, one open task at a time, and no loss when the time runs out."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Model
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from assay.errors import Refused
from assessment.batches import services as batch_services
from assessment.judging import queue
from assessment.judging import services as task_services
from assessment.models import Judgment, Task, TopicAssignment
from assessment.planning import services as assignment_services
from assessment.tasks import expire
from pooling.models import PoolEntry
from tests.assessment.conftest import Scene, build_scene
from tests.helpers.factories import make_assessor, make_topic, make_track
from tests.helpers.judging import accept, add_entries, judge, judge_all, make_batch, make_pool
from tracks.models import Assessor

pytestmark = pytest.mark.django_db


def make_overdue(task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_entries_come_by_topic_and_position(scene: Scene) -> None:
    judged = judge_all(scene.batch, scene.ada)

    order = PoolEntry.objects.filter(pool=scene.pool).order_by("topic__code", "position")
    assert [judgment.docno for judgment in judged] == [entry.docno for entry in order]


def test_topics_come_in_the_natural_order_of_their_codes(db: None) -> None:
    track = make_track()
    ada = make_assessor(track)
    topics = [make_topic(track, code) for code in ("A.10", "a.1", "A.2")]
    batch = make_batch(make_pool(track, dict.fromkeys(topics, 1)), {ada: topics})

    assert [judgment.topic.code for judgment in judge_all(batch, ada)] == ["A.2", "A.10", "a.1"]


def test_an_open_task_is_resumed(scene: Scene) -> None:
    first = accept(scene.batch, scene.ada)

    assert accept(scene.batch, scene.ada) == first
    assert Task.objects.count() == 1


def test_the_database_enforces_one_open_task_of_a_batch_and_assessor(scene: Scene) -> None:
    first = accept(scene.batch, scene.ada)
    other = PoolEntry.objects.filter(pool=scene.pool).exclude(pk=first.entry_id)[0]

    with pytest.raises(IntegrityError), transaction.atomic():
        Task.objects.create(
            batch=scene.batch,
            entry=other,
            assessor=scene.ada,
            accepted_at=first.accepted_at,
            expires_at=first.expires_at,
        )


def test_task_has_the_time_that_the_batch_allots(scene: Scene) -> None:
    batch_services.edit(batch=scene.batch, name="Quick", minutes_allotted=7, judges=None, is_shared=False)

    task = accept(scene.batch, scene.ada)

    assert task.expires_at - task.accepted_at == timedelta(minutes=7)


def test_there_is_no_next_task_when_everything_is_judged(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)

    assert task_services.accept_next(batch=scene.batch, assessor=scene.ada) is None


def test_an_assessor_without_topics_has_no_task(scene: Scene) -> None:
    assert task_services.accept_next(batch=scene.batch, assessor=scene.bob) is None


def test_only_an_open_batch_gives_out_tasks(scene: Scene) -> None:
    draft = make_batch(scene.pool, {scene.bob: [scene.first]}, is_open=False)
    batch_services.close(batch=scene.batch)

    for batch, assessor in ((draft, scene.bob), (scene.batch, scene.ada)):
        with pytest.raises(Refused, match="You can take tasks only while it is open"):
            task_services.accept_next(batch=batch, assessor=assessor)


def test_former_assessor_gets_no_task(scene: Scene) -> None:
    Assessor.objects.filter(user=scene.ada).delete()

    with pytest.raises(Refused, match="is not an assessor of"):
        task_services.accept_next(batch=scene.batch, assessor=scene.ada)


def test_overdue_task_returns_to_its_place_in_the_queue(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    make_overdue(task)

    assert task_services.expire() == 1

    task.refresh_from_db()
    assert task.status == Task.Status.EXPIRED
    again = accept(scene.batch, scene.ada)
    assert again == task
    assert again.status == Task.Status.ACCEPTED
    assert again.expires_at > timezone.now()


def test_only_overdue_open_tasks_expire(scene: Scene) -> None:
    submitted = accept(scene.batch, scene.ada)
    judge(submitted)
    make_overdue(submitted)
    accept(scene.batch, scene.ada)

    assert task_services.expire() == 0


def test_overdue_task_gets_new_time_when_resumed(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    make_overdue(task)

    again = accept(scene.batch, scene.ada)

    assert again == task
    assert again.expires_at > timezone.now()


def test_celery_task_expires_overdue_tasks(scene: Scene) -> None:
    make_overdue(accept(scene.batch, scene.ada))

    expire()
    expire()

    assert Task.objects.get().status == Task.Status.EXPIRED


def test_more_overdue_tasks_than_one_chunk_expire(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assessment.judging.services.EXPIRED_AT_ONCE", 1)
    other = make_batch(scene.pool, {scene.bob: [scene.first]}, kind="training")
    make_overdue(accept(scene.batch, scene.ada))
    make_overdue(accept(other, scene.bob))

    assert task_services.expire() == 2


def test_withdrawn_topic_leaves_the_queue(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    task.refresh_from_db()
    assert task.status == Task.Status.EXPIRED
    assert accept(scene.batch, scene.ada).entry.topic == scene.second


def test_entries_added_to_a_finished_topic_are_found(scene: Scene) -> None:
    judge_all(scene.batch, scene.ada)

    [added] = add_entries(scene.pool, scene.first, 1, start=3)

    assert accept(scene.batch, scene.ada).entry == added


def test_entries_moved_before_the_cursor_are_found(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    entries = list(PoolEntry.objects.filter(pool=scene.pool, topic=scene.first).order_by("position"))
    for entry, position in zip(entries, (12, 11, 10), strict=True):
        PoolEntry.objects.filter(pk=entry.pk).update(position=position)
    PoolEntry.objects.filter(pk=entries[1].pk).update(position=0)

    assert len(judge_all(scene.batch, scene.ada)) == 5


class TestOrderIsOnlyAnOrder(TestCase):
    """Judgments do not depend on positions: a judgment is for the entry that was shown, whatever the order."""

    @settings(max_examples=8, deadline=None)
    @given(data=st.data())
    def test_shuffling_positions_never_changes_what_a_judgment_is_for(self, data: st.DataObject) -> None:
        scene = build_scene()
        shown = {}
        entries = list(PoolEntry.objects.filter(pool=scene.pool).order_by("pk"))

        while task := task_services.accept_next(batch=scene.batch, assessor=scene.ada):
            shown[(task.entry.topic_id, task.entry.docno)] = data.draw(st.sampled_from(["high", "low"]))
            positions = data.draw(st.permutations(range(len(entries))))
            PoolEntry.objects.filter(pool=scene.pool).update(position=1000 + F("id"))
            for entry, position in zip(entries, positions, strict=True):
                entry.position = position
            PoolEntry.objects.bulk_update(entries, ["position"])
            judge(task, shown[(task.entry.topic_id, task.entry.docno)])

        current = Judgment.objects.filter(is_current=True)
        stored = {(judgment.topic_id, judgment.docno): judgment.choice for judgment in current}
        assert stored == shown
        assert set(stored) == {(entry.topic_id, entry.docno) for entry in entries}


def queries_to_accept(n_entries: int) -> int:
    track = make_track()
    topic, ada = make_topic(track), make_assessor(track)
    batch = make_batch(make_pool(track, {topic: n_entries}), {ada: [topic]})
    judge(accept(batch, ada))
    with CaptureQueriesContext(connection) as queries:
        accept(batch, ada)
    return len(queries)


def test_accepting_takes_the_same_queries_in_a_large_pool(db: None) -> None:
    assert queries_to_accept(3) == queries_to_accept(60) <= 12


def rows_read() -> tuple[int, int]:
    """The number of pool entries that this transaction has read so far, by scan and by index."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'pooling_poolentry'"
        )
        scanned, fetched = cursor.fetchone()
    return scanned, fetched


def copy_rows(model: type[Model], source: str, condition: str = "true", **values: str) -> None:
    """Copy the only row of a table in the database, once for each row of a source, with other values."""
    table = model._meta.db_table
    names = [field.column for field in model._meta.concrete_fields if field.column not in {"id", *values}]
    kept = ", ".join(f'row."{name}"' for name in names)
    columns = ", ".join(f'"{name}"' for name in [*names, *values])
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({columns}) "
            f"SELECT {kept}, {', '.join(values.values())} FROM {table} AS row, {source} WHERE {condition}"
        )


def test_accepting_reads_only_the_next_entries(db: None) -> None:
    track = make_track()
    topic, ada = make_topic(track), make_assessor(track)
    pool = make_pool(track, {topic: 1})
    batch = make_batch(pool, {ada: [topic]})
    judge(accept(batch, ada))
    copy_rows(PoolEntry, "generate_series(1, 20000) AS n", docno="'d' || n", position="n")
    copy_rows(Task, "pooling_poolentry AS entry", "entry.position BETWEEN 1 AND 10000", entry_id="entry.id")
    TopicAssignment.objects.filter(batch=batch).update(cursor=10_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE pooling_poolentry, assessment_task, assessment_topicassignment")
    for _ in range(10):  # after some executions, PostgreSQL may keep one plan for all values
        queue.following(batch, ada.pk)
    before = rows_read()

    task = accept(batch, ada)

    after = rows_read()
    assert task.entry.position == 10_001
    assert after[0] == before[0]
    assert after[1] - before[1] < 20
