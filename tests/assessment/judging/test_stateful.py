"""No unit gets more judges than asked for, and none is forgotten, whatever assessors and organizers do in turn.

`ASSAY_EXAMPLES` in the environment multiplies the number of examples.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, ClassVar
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from accounts.models import User
from assay.errors import Refused
from assessment.batches import services as batch_services
from assessment.checks import services as check_services
from assessment.judging import services as task_services
from assessment.judging.selectors import DeskBatch, desk_batch
from assessment.judgments import services as judgment_services
from assessment.judgments.disagreements import MAIN_ROUND, Difference, round_of
from assessment.models import Batch, BatchEntry, Check, GoldUnit, Judgment, Task, TopicAssignment
from assessment.planning import services as assignment_services
from assessment.rounds import services as adjudication_services
from pooling.models import PoolEntry
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import make_batch, make_pool
from tracks.models import Topic

N_PEOPLE = 3
EXAMPLES = 6 * int(os.environ.get("ASSAY_EXAMPLES", "1"))
STEPS = 30
# Hypothesis would switch rules off at random, and an error needs several of them: so one rule draws what is done.
WEIGHTS = {
    "take": 5,
    "judge": 4,
    "submit_a_page": 2,
    "move_a_topic": 5,
    "put_aside": 4,
    "undo": 2,
    "withdraw": 1,
    "assign": 1,
    "let_time_run_out": 1,
    "send_again": 1,
    "pause_or_go_on": 1,
    "adjudicate": 1,
    "change_the_checks": 2,
    "return_a_non_answer": 2,
}
ACTIONS = [action for action, weight in WEIGHTS.items() for _ in range(weight)]


@dataclass
class Scene:
    """A main batch with a topic of two entries and one of one entry, three assessors, and an organizer.

    The grades of its entries are known. With one judge, an assessor gets a check of the other's topic, which can become
    theirs; with two, who have all topics, of an entry that is not in the batch.
    """

    topics: list[Topic]
    people: list[User]
    organizer: User
    judges: int
    batch: Batch


def build_scene(protocol: str) -> Scene:
    track = make_track(protocol=protocol)
    topics = [make_topic(track, "A.1"), make_topic(track, "A.2")]
    people = [make_assessor(track) for _ in range(N_PEOPLE)]
    pool = make_pool(track, dict(zip(topics, (2, 1), strict=True)))
    judges = pool.protocol.parsed.judging.judges
    shared = [topics, topics] if judges > 1 else [[topic] for topic in topics]
    batch = make_batch(pool, dict(zip(people, shared, strict=False)))
    organizer = make_organizer()
    further = make_pool(track, {make_topic(track, "A.3"): judges - 1})
    for entry in PoolEntry.objects.filter(pool__in=(pool, further)):
        unit = {"track": track, "topic": entry.topic, "docno": entry.docno, "grade": 0}
        GoldUnit.objects.create(source=GoldUnit.Source.IMPORTED, created_by=organizer, **unit)
    check_services.configure(batch=batch, gold_percent=50, repeat_percent=50, repeat_after=1)
    return Scene(topics, people, organizer, judges, batch)


class JudgingRoom(RuleBasedStateMachine):
    """Everything that people do in a scene. Each example is rolled back.

    A page that was opened stays in `pages`: its assessor may submit it at any time. Most actions concern
    the topic of the last one, because errors need several that meet.
    """

    protocol = "arqmath-2020-task1"
    choices: ClassVar[list[str]] = ["high", "do-not-know", "low"]

    scene: ClassVar["Scene"]

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.batch, self.topics = self.scene.batch, self.scene.topics
        self.people, self.judges = list(self.scene.people), self.scene.judges
        self.is_open = True
        self.topic_in_turn = self.topics[0]  # the one of which the last page was opened or the holder changed
        self.pages: dict[int, Task] = {}  # by the id of the task
        self.sent: list[tuple[Task, str, UUID, Judgment]] = []  # what was submitted, and the answer
        self.adjudications: list[Batch] = []
        self.moved: set[tuple[Topic, User]] = (
            set()
        )  # topics whose new holders have begun none of their entries

    @rule(action=st.sampled_from(ACTIONS), data=st.data())
    def do(self, action: str, data: st.DataObject) -> None:
        self.draw: Callable[[Sequence[Any]], Any] = lambda choices: data.draw(st.sampled_from(choices))
        getattr(self, action)()

    def _try(self, service: Any, **arguments: Any) -> Any:
        """Call a service; a refusal is an answer. A savepoint keeps the transaction usable."""
        try:
            with transaction.atomic():
                return service(**arguments)
        except Refused:
            return None

    # -- what assessors do

    def take(self) -> Task | None:
        """The next task of somebody who has a topic."""
        if not (assignment := self._assignment()):
            return None
        if not self.is_open:
            given = self._try(task_services.accept_next, batch=self.batch, assessor=assignment.assessor)
            assert given is None, "a closed batch gives out no task"
            return None
        return self._take(assignment.assessor)

    def judge(self) -> None:
        """Judge. An assessor sees the same progress for a hidden check as for another task."""
        if task := self.take():
            before = self._desk(task)
            self._submit(task, self.draw(self.choices), uuid4())
            after = self._desk(task)
            if task.is_check or self._holds(task):
                assert (after.judged, after.total) == (before.judged + 1, before.total)

    def _desk(self, task: Task) -> DeskBatch:
        return desk_batch(self._batch(), task.assessor)

    def _take(self, person: User) -> Task | None:
        of_person = Task.objects.filter(batch=self.batch, assessor=person, status=Task.Status.ACCEPTED)
        opened = set(of_person.values_list("pk", flat=True))
        task = task_services.accept_next(batch=self.batch, assessor=person)
        if task is None:
            return None
        self.topic_in_turn = task.entry.topic
        if task.is_check:
            self._check_is_due(task)
        else:
            of_unit = Task.objects.filter(batch=self.batch, entry=task.entry_id, seat=task.seat)
            has_judge = of_unit.filter(status=Task.Status.SUBMITTED).exists()
            # The judgment on an open page replaces what an earlier holder of the topic still sent.
            assert task.pk in opened or not has_judge, "the unit has its judge"
            if (task.entry.topic, person) in self.moved and task.pk not in opened:
                assert task.entry_id == self._first_open(task), (
                    "the new holder begins at the first open entry"
                )
            self.moved.discard((task.entry.topic, person))
        self.pages[task.pk] = task
        return task

    def _first_open(self, task: Task) -> int:
        """The first entry of a task's topic that is left for its assessor, the task's own among them."""
        judged = Q(status=Task.Status.SUBMITTED, seat=task.seat)
        own = Q(assessor=task.assessor_id) & ~Q(status=Task.Status.EXPIRED)
        done = Task.objects.filter(judged | own, batch=self.batch, is_check=False).exclude(pk=task.pk)
        left = PoolEntry.objects.filter(pool=self.batch.pool_id, topic=task.entry.topic_id)
        return left.exclude(pk__in=done.values("entry")).earliest("position").pk

    def _check_is_due(self, task: Task) -> None:
        """A repeat follows the assessor's own judgment; a known grade is of a unit that the batch does not ask for."""
        own = Task.objects.filter(batch=self.batch, entry=task.entry_id, assessor=task.assessor_id)
        if task.check_of.kind == Check.Kind.REPEAT:
            assert own.filter(is_check=False, status=Task.Status.SUBMITTED).exists(), (
                "there is nothing to repeat"
            )
        elif task.pk not in self.pages:
            assert not own.exclude(pk=task.pk).exists(), "the assessor knows the unit"
            assert task.entry.pool_id != self.batch.pool_id or not self._holds(task), (
                "the assessor gets it anyway"
            )

    def submit_a_page(self) -> None:
        if self.pages:
            self._submit(self._page(), self.draw(self.choices), uuid4())

    def _page(self) -> Task:
        """A page that was opened, rather one that was not submitted."""
        return self.draw([*self.pages.values(), *self._waiting(), *self._waiting()])

    def _waiting(self) -> list[Task]:
        waiting = Task.objects.filter(pk__in=self.pages).exclude(status=Task.Status.SUBMITTED)
        return [self.pages[pk] for pk in waiting.order_by("pk").values_list("pk", flat=True)]

    def _submit(self, task: Task, choice: str, request_id: UUID) -> None:
        is_first = Task.objects.get(pk=task.pk).status != Task.Status.SUBMITTED
        holds = not self._holds(task, is_withdrawn=True) if task.is_check else self._holds(task)
        judgment = self._try_submit(task, choice, request_id)
        assert (judgment is not None) == (is_first or (self.is_open and holds))
        if judgment is not None:
            assert judgment.is_check == task.is_check
            assert task.is_check or judgment.is_current or not holds, "the judge of the unit has chosen"
            self.sent.append((task, choice, request_id, judgment))

    def _holds(self, task: Task, *, is_withdrawn: bool = False) -> bool:
        of_topic = TopicAssignment.objects.filter(batch=task.batch_id, topic=task.entry.topic_id)
        return of_topic.filter(assessor=task.assessor_id, is_withdrawn=is_withdrawn).exists()

    def _try_submit(self, task: Task, choice: str, request_id: UUID) -> Judgment | None:
        fresh = Task.objects.get(pk=task.pk)
        judgment: Judgment | None = self._try(
            judgment_services.submit, task=fresh, choice=choice, comment="Because.", request_id=request_id
        )
        return judgment

    def send_again(self) -> None:
        """The answer was lost on the way: the browser sends the same submission again."""
        if self.sent:
            task, choice, request_id, judgment = self.draw(self.sent)
            assert self._try_submit(task, choice, request_id) == judgment

    def put_aside(self) -> None:
        if waiting := self._waiting():
            service = self.draw([task_services.skip, task_services.give_back, task_services.extend])
            self._try(service, task=Task.objects.get(pk=self.draw(waiting).pk))

    def undo(self) -> None:
        if self.pages:
            service = self.draw([task_services.undo, task_services.undo_last])
            self._try(service, task=Task.objects.get(pk=self._page().pk))

    def let_time_run_out(self) -> None:
        Task.objects.filter(batch=self.batch).update(expires_at=timezone.now() - timedelta(minutes=1))
        task_services.expire()

    # -- what organizers do

    def move_a_topic(self) -> None:
        if assignment := self._assignment():
            self.topic_in_turn = assignment.topic
            moved = self._try(
                assignment_services.reassign,
                batch=self.batch,
                topic=assignment.topic,
                from_assessor=assignment.assessor,
                to_assessor=self.draw(self._next_holders(assignment)),
            )
            if moved is not None:
                self.moved.add((moved.topic, moved.assessor))
                self._nobody_has_a_page_of_a_topic_that_they_lost()

    def _nobody_has_a_page_of_a_topic_that_they_lost(self) -> None:
        opened = Task.objects.filter(batch=self.batch, status=Task.Status.ACCEPTED, is_check=False)
        seats = {
            "topic": OuterRef("entry__topic"),
            "assessor": OuterRef("assessor"),
            "seat": OuterRef("seat"),
        }
        held = TopicAssignment.objects.filter(batch=self.batch, is_withdrawn=False, **seats)
        assert not opened.exclude(Exists(held)).exists(), "a task of a topic that was moved is still open"

    def _next_holders(self, assignment: TopicAssignment) -> list[User]:
        """Those who may get a topic; those who know it from a hidden check are named three times."""
        others = [each for each in self.people if each != assignment.assessor]
        checks = Task.objects.filter(batch=self.batch, entry__topic=assignment.topic, is_check=True)
        know = set(checks.values_list("assessor", flat=True))
        return others + 2 * [each for each in others if each.pk in know]

    def withdraw(self) -> None:
        if assignment := self._assignment():
            assignment_services.withdraw(
                batch=self.batch, topic=assignment.topic, assessor=assignment.assessor
            )

    def assign(self) -> None:
        self._assign(self.draw(self.topics), self.draw(self.people))

    def _assign(self, topic: Topic, person: User) -> None:
        self._try(assignment_services.assign, batch=self.batch, topics=[topic], assessor=person)

    def _assignment(self) -> TopicAssignment | None:
        active = TopicAssignment.objects.filter(batch=self.batch, is_withdrawn=False)
        rows = list(active.select_related("topic", "assessor").order_by("topic", "seat"))
        in_turn = [row for row in rows if row.topic == self.topic_in_turn]
        return self.draw(rows + 2 * in_turn) if rows else None

    def pause_or_go_on(self) -> None:
        service = batch_services.close if self.is_open else batch_services.open_for_judging
        if self._try(service, batch=self.batch) is not None:
            self.is_open = not self.is_open

    def adjudicate(self, adjudicator: User | None = None) -> None:
        """Somebody will settle the units on which two judges disagree by now."""
        if self.judges == 1:
            return
        track = self.batch.pool.track
        batches = self._try(
            adjudication_services.create_adjudications,
            track=track,
            of_round=round_of(track, MAIN_ROUND),
            difference=Difference(),
            name=f"Adjudication {len(self.adjudications)}",
            adjudicators=[adjudicator or self.draw(self.people)],
            is_blind=False,
            by=self.scene.organizer,
        )
        self.adjudications += batches or []
        selected = BatchEntry.objects.filter(batch__in=self.adjudications).values(
            "entry__topic", "entry__docno"
        )
        chosen = (
            Judgment.objects.filter(batch=self.batch, is_current=True).order_by().values("topic", "docno")
        )
        differing = chosen.annotate(n=Count("choice", distinct=True)).filter(n__gt=1).values("topic", "docno")
        assert not differing.difference(selected).exists(), "a disagreement is not adjudicated"

    def return_a_non_answer(self) -> None:
        """A task that has one is the next one that its assessor gets, if they still have its topic."""
        current = Judgment.objects.filter(batch=self.batch, is_current=True, grade=None)
        if answers := list(current.select_related("task").order_by("pk")):
            self._try(task_services.return_non_answer, judgment=self.draw(answers), reason="Look again.")

    def change_the_checks(self) -> None:
        percent = self.draw([(50, 50), (50, 0), (0, 50), (0, 0)])
        shares = {"gold_percent": percent[0], "repeat_percent": percent[1]}
        check_services.configure(batch=self.batch, repeat_after=1, **shares)

    def _batch(self) -> Batch:
        return Batch.objects.select_related("pool__track").get(pk=self.batch.pk)

    # -- what always holds

    @invariant()
    def no_unit_has_more_judges_than_asked_for(self) -> None:
        current = Judgment.objects.filter(batch=self.batch, is_current=True).order_by()
        rows = current.values_list("topic", "docno", "task__seat").annotate(n=Count("pk"))
        assert all(n == 1 and seat <= self.judges for *_, seat, n in rows), list(rows)

    def teardown(self) -> None:
        try:
            self._finish()
        finally:
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)

    def _finish(self) -> None:
        """Assign what is free, open the batches, and judge the rest: then every unit has its judges."""
        self._fill_the_seats()
        if not self.is_open:
            self.pause_or_go_on()
        for person in self.people:
            while task := self._take(person):
                self._submit(task, self.choices[0], uuid4())
        self._everything_is_judged()
        for person in self.people:
            item = desk_batch(self._batch(), person)
            assert item.judged == item.total, "the assessor sees something left"
        assert not Check.objects.exclude(task__status=Task.Status.SUBMITTED).exists(), "a check is forgotten"
        for task in self._waiting():  # what was open all the time arrives last
            self._submit(task, self.choices[-1], uuid4())
        self._everything_is_judged()
        self.adjudicate(self.people[0])
        self._finish_adjudications()
        stored = set(Judgment.objects.values_list("pk", "choice"))
        assert {(judgment.pk, choice) for _, choice, _, judgment in self.sent} == stored, "a judgment is lost"

    def _everything_is_judged(self) -> None:
        self.no_unit_has_more_judges_than_asked_for()
        current = Judgment.objects.filter(batch=self.batch, is_current=True)
        assert current.count() == 3 * self.judges, "a unit is forgotten"

    def _fill_the_seats(self) -> None:
        """Two more assessors, who have judged nothing in another seat, take what nobody else can."""
        self.people += [make_assessor(self.batch.pool.track) for _ in range(2)]
        active = TopicAssignment.objects.filter(batch=self.batch, is_withdrawn=False)
        for topic in self.topics:
            for person in self.people:
                if active.filter(topic=topic).count() < self.judges:
                    self._assign(topic, person)

    def _finish_adjudications(self) -> None:
        """Each unit of an adjudication is judged once, in one adjudication."""
        selected: list[int] = []
        for batch in self.adjudications:
            selected += batch.selected.values_list("entry", flat=True)
            batch_services.open_for_judging(batch=batch)
            for person in self.people:
                while task := task_services.accept_next(batch=batch, assessor=person):
                    self.is_open = True
                    self._submit(task, self.choices[0], uuid4())
        assert len(selected) == len(set(selected))
        settled = Judgment.objects.filter(batch__in=self.adjudications, is_current=True)
        assert settled.count() == len(selected)


class TwoJudges(JudgingRoom):
    """The same with two judges of each unit."""

    protocol = "ntcir-10-math"
    choices: ClassVar[list[str]] = ["relevant", "relevant", "not-relevant"]


@pytest.mark.django_db
@pytest.mark.no_cover  # the tests of each service reach its lines; these look for orders that break a rule
@pytest.mark.parametrize("machine", [JudgingRoom, TwoJudges])
def test_every_unit_gets_its_judges(machine: type[JudgingRoom], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_services, "SystemRandom", lambda: Random(1))  # an example can be repeated
    room = type(machine.__name__, (machine,), {"scene": build_scene(machine.protocol)})

    run_state_machine_as_test(
        room, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None)
    )
