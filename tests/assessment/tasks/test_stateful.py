"""No unit gets more judges than asked for, and none is forgotten, whatever assessors and organizers do in turn."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from assay.errors import Refused
from assessment.assignments import services as assignment_services
from assessment.batches import services as batch_services
from assessment.judgments.rules import judging_rules
from assessment.models import Batch, Judgment, Task, TopicAssignment
from assessment.tasks import services as task_services
from tests.helpers.factories import make_assessor, make_topic, make_track
from tests.helpers.judging import judge, make_batch, make_pool


class JudgingRoom(RuleBasedStateMachine):
    """A main batch of two topics with two entries each, and three assessors. Each example is rolled back."""

    protocol = "arqmath-2020-task1"
    choice = "high"

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        track = make_track(protocol=self.protocol)
        self.topics = [make_topic(track, "A.1"), make_topic(track, "A.2")]
        self.people = [make_assessor(track) for _ in range(3)]
        pool = make_pool(track, dict.fromkeys(self.topics, 2))
        self.judges = judging_rules(pool.protocol).judges
        holders = dict.fromkeys(self.people[: self.judges], self.topics)
        self.batch = make_batch(pool, holders)
        self.pages: list[Task] = []  # every page that was ever opened, and may still be submitted

    def _try(self, service: Any, **arguments: Any) -> Any:
        """Call a service; a refusal is an answer. A savepoint keeps the transaction usable."""
        try:
            with transaction.atomic():
                return service(**arguments)
        except Refused:
            return None

    def _is_open(self) -> bool:
        self.batch.refresh_from_db()
        return self.batch.status == Batch.Status.OPEN

    @rule(data=st.data())
    def take_a_task(self, data: st.DataObject) -> None:
        task = self._take(data)
        if task is not None:
            self.pages.append(task)

    def _take(self, data: st.DataObject) -> Task | None:
        """The next task of somebody who has a topic."""
        assignment = self._active(data)
        person = self.people[0] if assignment is None else assignment.assessor
        task: Task | None = self._try(task_services.accept_next, batch=self.batch, assessor=person)
        return task

    @rule(data=st.data())
    def take_a_task_and_submit_it(self, data: st.DataObject) -> None:
        task = self._take(data)
        if task is not None:
            self._try(judge, task=task, choice=self.choice)

    @precondition(lambda self: self.pages)
    @rule(data=st.data())
    def submit_a_page(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(self.pages))
        self._try(judge, task=Task.objects.get(pk=task.pk), choice=self.choice)

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), service=st.sampled_from(["skip", "give_back", "extend", "undo", "undo_last"]))
    def put_a_page_aside(self, data: st.DataObject, service: str) -> None:
        task = data.draw(st.sampled_from(self.pages))
        self._try(getattr(task_services, service), task=Task.objects.get(pk=task.pk))

    @rule()
    def time_runs_out(self) -> None:
        Task.objects.filter(batch=self.batch).update(expires_at=timezone.now() - timedelta(minutes=1))
        task_services.expire()

    @rule(data=st.data(), action=st.sampled_from(["reassign", "reassign", "withdraw", "assign", "pause"]))
    def organize(self, data: st.DataObject, action: str) -> None:
        assignment = self._active(data)
        person = data.draw(st.sampled_from(self.people))
        if action == "pause":
            service = batch_services.close if self._is_open() else batch_services.open_for_judging
            self._try(service, batch=self.batch)
        elif action == "assign" or assignment is None:
            topics = [data.draw(st.sampled_from(self.topics))]
            self._try(assignment_services.assign, batch=self.batch, topics=topics, assessor=person)
        elif action == "withdraw":
            assignment_services.withdraw(
                batch=self.batch, topic=assignment.topic, assessor=assignment.assessor
            )
        else:
            self._try(
                assignment_services.reassign,
                batch=self.batch,
                topic=assignment.topic,
                from_assessor=assignment.assessor,
                to_assessor=person,
            )

    def _active(self, data: st.DataObject) -> TopicAssignment | None:
        active = TopicAssignment.objects.filter(batch=self.batch, is_withdrawn=False)
        rows = list(active.select_related("topic", "assessor").order_by("pk"))
        return data.draw(st.sampled_from(rows)) if rows else None

    @invariant()
    def no_assessor_holds_two_tasks(self) -> None:
        held = Task.objects.filter(batch=self.batch, status=Task.Status.ACCEPTED)
        assert not held.values("assessor").annotate(n=Count("pk")).filter(n__gt=1).exists()

    @invariant()
    def no_unit_has_more_judges_than_asked_for(self) -> None:
        current = Judgment.objects.filter(batch=self.batch, is_current=True).order_by()
        rows = current.values("topic", "docno").annotate(n=Count("pk")).filter(n__gt=self.judges)
        assert not rows.exists()

    def teardown(self) -> None:
        try:
            self._finish()
        finally:
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)

    def _finish(self) -> None:
        """Assign what is free, open the batch, and judge the rest: then every unit has its judges."""
        spare = [
            make_assessor(self.batch.pool.track) for _ in range(2)
        ]  # who have judged nothing in another seat
        self.people += spare
        for topic in self.topics:
            for person in self.people:
                active = TopicAssignment.objects.filter(batch=self.batch, topic=topic, is_withdrawn=False)
                if active.count() < self.judges:
                    self._try(assignment_services.assign, batch=self.batch, topics=[topic], assessor=person)
        if not self._is_open():
            batch_services.open_for_judging(batch=self.batch)
        for person in self.people:
            while task := task_services.accept_next(batch=self.batch, assessor=person):
                judge(task, self.choice)
        current = Judgment.objects.filter(batch=self.batch, is_current=True).order_by()
        counts = current.values_list("topic", "docno").annotate(n=Count("pk"))
        assert sorted(n for *_, n in counts) == [self.judges] * 4
        assert len(set(current.values_list("topic", "docno", "task__seat"))) == 4 * self.judges


class TwoJudges(JudgingRoom):
    """The same with two judges of each unit."""

    protocol = "ntcir-10-math"
    choice = "relevant"


@pytest.mark.django_db
@pytest.mark.parametrize("machine", [JudgingRoom, TwoJudges])
def test_every_unit_gets_its_judges(machine: type[JudgingRoom]) -> None:
    run_state_machine_as_test(
        machine, settings=settings(max_examples=25, stateful_step_count=30, deadline=None)
    )
