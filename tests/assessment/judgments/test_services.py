"""Submitted judgments are stored once, by topic and docno, and never lost, duplicated or silently changed."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from assay.errors import Refused
from assessment import errors
from assessment.batches import services as batch_services
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Judgment, Task
from assessment.planning import services as assignment_services
from tests.assessment.conftest import Scene
from tests.helpers.database import guarded
from tests.helpers.judging import accept, judge, make_batch

pytestmark = pytest.mark.django_db


def test_judgment_stores_topic_docno_grade_and_time(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    judgment = judgment_services.submit(
        task=task, choice="high", comment=" clear ", request_id=uuid4(), seconds=42
    )

    judgment.refresh_from_db()
    assert (judgment.topic, judgment.docno, judgment.assessor) == (
        task.entry.topic,
        task.entry.docno,
        scene.ada,
    )
    assert (judgment.batch, judgment.track) == (scene.batch, scene.track)
    assert (judgment.choice, judgment.grade, judgment.comment, judgment.seconds) == ("high", 3, "clear", 42)
    assert judgment.is_current
    task.refresh_from_db()
    assert (task.status, task.submitted_at) == (Task.Status.SUBMITTED, judgment.created_at)


@pytest.mark.parametrize(("choice", "grade"), [("high", 3), ("medium", 2), ("low", 1), ("not-relevant", 0)])
def test_grade_is_the_protocols(scene: Scene, choice: str, grade: int) -> None:
    assert judge(accept(scene.batch, scene.ada), choice).grade == grade


@pytest.mark.parametrize("choice", ["system-failure", "do-not-know"])
def test_non_answer_has_no_grade_and_needs_a_comment(scene: Scene, choice: str) -> None:
    task = accept(scene.batch, scene.ada)

    with pytest.raises(errors.AnswerRefused, match="needs a comment that says why"):
        judge(task, choice, " \n ")

    assert judge(task, choice, "formulas are broken").grade is None


def test_refusal_of_an_unknown_choice_lists_the_choices(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    with pytest.raises(
        errors.AnswerRefused, match="use high, medium, low, not-relevant, system-failure, do-not-know"
    ):
        judge(task, "7")

    assert not Judgment.objects.exists()


def test_repeated_submission_is_stored_once_and_gets_the_same_answer(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    request_id = uuid4()

    first = judgment_services.submit(task=task, choice="low", request_id=request_id)
    second = judgment_services.submit(task=task, choice="low", request_id=request_id)

    assert first == second
    assert Judgment.objects.count() == 1


def test_repeated_submission_gets_the_same_answer_after_the_batch_closed(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    request_id = uuid4()
    first = judgment_services.submit(task=task, choice="low", request_id=request_id)
    batch_services.close(batch=scene.batch)

    assert judgment_services.submit(task=task, choice="low", request_id=request_id) == first


def test_old_submission_sent_again_does_not_undo_a_revision(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    request_id = uuid4()
    judgment_services.submit(task=task, choice="low", request_id=request_id)
    revision = judge(task, "high")

    judgment_services.submit(task=task, choice="low", request_id=request_id)

    assert Judgment.objects.get(is_current=True) == revision


def test_a_request_id_is_refused_for_another_choice(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    request_id = uuid4()
    judgment_services.submit(task=task, choice="low", request_id=request_id)

    with pytest.raises(Refused, match="already submitted another judgment"):
        judgment_services.submit(task=task, choice="high", request_id=request_id)

    assert Judgment.objects.get().choice == "low"


def test_a_request_id_is_refused_for_another_task(scene: Scene) -> None:
    first = accept(scene.batch, scene.ada)
    sent = judge(first)

    with pytest.raises(Refused, match="already submitted another judgment"):
        judgment_services.submit(
            task=accept(scene.batch, scene.ada), choice="high", request_id=sent.request_id
        )


def test_revision_keeps_what_it_replaces(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    first = judge(task, "low")
    submitted_at = Task.objects.get(pk=task.pk).submitted_at

    second = judge(task, "high")

    first.refresh_from_db()
    task.refresh_from_db()
    assert (first.choice, first.is_current) == ("low", False)
    assert (second.replaces, second.is_current) == (first, True)
    assert task.submitted_at == submitted_at


def test_revision_of_a_judgment_that_was_not_shown_is_refused(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    current = judge(task, "low")

    with pytest.raises(errors.JudgedElsewhere, match="You judged this “Low” in another window") as refused:
        judgment_services.submit(task=task, choice="high", request_id=uuid4(), shown=0)

    assert refused.value.judgment == current
    shown = judgment_services.submit(task=task, choice="high", request_id=uuid4(), shown=current.pk)
    assert shown.replaces == current


def test_submission_after_the_tasks_time_is_kept(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    Task.objects.update(expires_at=timezone.now() - timedelta(hours=5))
    task_services.expire()

    assert judge(task).is_current
    task.refresh_from_db()
    assert task.status == Task.Status.SUBMITTED


def test_submission_after_the_topic_was_withdrawn_is_kept(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    assert judge(task).is_current


def test_late_submission_counts_until_the_next_assessor_judges_the_document(scene: Scene) -> None:
    late = accept(scene.batch, scene.ada)
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    task = accept(scene.batch, scene.bob)
    assert task.entry == late.entry

    hers = judge(late, "low")
    his = judge(task, "high")

    assert Judgment.objects.get(is_current=True) == his
    assert his.replaces == hers


def test_late_submission_after_the_next_assessors_judgment_is_kept_but_does_not_count(scene: Scene) -> None:
    late = accept(scene.batch, scene.ada)
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    his = judge(accept(scene.batch, scene.bob), "high")

    hers = judge(late, "low")

    assert (hers.is_current, hers.replaces) == (False, None)
    assert Judgment.objects.get(is_current=True) == his


def test_judgment_of_a_withdrawn_topic_is_not_revised(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    first = judge(task, "low")
    assignment_services.withdraw(batch=scene.batch, assessor=scene.ada, topic=scene.first)

    with pytest.raises(Refused, match="no longer assigned to you"):
        judge(task, "high")

    assert Judgment.objects.get() == first


def test_closed_batch_keeps_the_first_submission_of_a_task_taken_before(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    closed = batch_services.close(batch=scene.batch)

    late = judge(task)

    assert late.is_current
    assert closed.closed_at is not None
    assert late.created_at > closed.closed_at


def test_closed_batch_refuses_a_revision(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    first = judge(task, "low")
    batch_services.close(batch=scene.batch)

    with pytest.raises(Refused, match="your judgment did not change"):
        judge(task, "high")

    assert Judgment.objects.get() == first


def test_each_assessor_of_a_training_batch_has_their_own_judgment(scene: Scene) -> None:
    batch = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")

    judge(accept(batch, scene.ada), "low")
    judge(accept(batch, scene.bob), "high")

    assert Judgment.objects.filter(is_current=True).count() == 2


def test_the_database_refuses_to_delete_a_judgment(scene: Scene) -> None:
    judgment = judge(accept(scene.batch, scene.ada))

    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
        judgment.delete()
    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
        Judgment.objects.all().delete()


@pytest.mark.parametrize(
    "change",
    [{"grade": 1}, {"choice": "low"}, {"comment": "x"}, {"docno": "9"}, {"seconds": 1}, {"is_current": True}],
)
def test_the_database_refuses_to_change_a_judgment(scene: Scene, change: dict[str, object]) -> None:
    judge(accept(scene.batch, scene.ada))

    with pytest.raises(IntegrityError, match="a change is a new judgment"), transaction.atomic():
        Judgment.objects.update(**change)


def test_two_current_judgments_of_one_task_cannot_be_stored(scene: Scene) -> None:
    judgment = judge(accept(scene.batch, scene.ada))
    judgment.pk, judgment.request_id = None, uuid4()

    with pytest.raises(IntegrityError, match="judgment_current_unique"), transaction.atomic():
        judgment.save()


@pytest.mark.parametrize(
    "statement", ["TRUNCATE assessment_judgment CASCADE", "TRUNCATE pooling_pool CASCADE"]
)
def test_tables_of_judgments_cannot_be_emptied(scene: Scene, statement: str) -> None:
    judge(accept(scene.batch, scene.ada))

    with pytest.raises(IntegrityError, match="kept"), transaction.atomic(), guarded() as cursor:
        cursor.execute(statement)

    assert Judgment.objects.count() == 1


def test_people_topics_and_batches_with_judgments_cannot_be_deleted(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))

    for kept in (scene.ada, scene.first, scene.batch, scene.pool, scene.track):
        with pytest.raises(models.ProtectedError):
            kept.delete()
