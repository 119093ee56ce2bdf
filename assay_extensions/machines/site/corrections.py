"""Correct grades of a machine in a topic: judgments are appended that replace the current ones, which are kept."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import QuerySet

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assay.protocols.questions import asked
from assay.protocols.schema import Grade, JudgingRules, NonAnswer
from assessment.batches.services import lock_for_managing
from assessment.errors import AnswerRefused
from assessment.judgments.answers import check_answers, check_choice, questions_of
from assessment.models import Batch, Judgment
from tracks.models import Machine, Topic
from web.pages import counted

SOURCE = "correction"  # of judgments that an organizer gave in place of a machine's
SHOWN = 20  # wrong lines, and units
Choice = Grade | NonAnswer


class WrongLines(Refused):
    """Lines of a file, or items of a request, cannot be used. `lines` has a message for each."""

    title = "Nothing was corrected"

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = list(lines[:SHOWN])
        if len(lines) > SHOWN:
            self.lines.append(f"and {len(lines) - SHOWN:,} more")
        super().__init__(" ".join(self.lines), code="wrong-lines")


@dataclass(frozen=True)
class Change:
    """A current judgment with the choice and the answers to questions that replace its own."""

    judgment: Judgment
    choice: Choice
    answers: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """The judgments of a topic that change, and how many already have their choice."""

    topic: Topic
    changes: list[Change]
    n_same: int

    @property
    def key(self) -> str:
        """A text that differs for other changes: a judgment that is made meanwhile has a larger number."""
        return f"{len(self.changes)}-{max((change.judgment.pk for change in self.changes), default=0)}"

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """The number of judgments of each choice that get another one, most first."""
        pairs = Counter((change.judgment.choice, change.choice.key) for change in self.changes)
        return [(before, after, n) for (before, after), n in pairs.most_common()]

    @property
    def shown(self) -> list[Change]:
        return self.changes[:SHOWN]

    @property
    def n_more(self) -> int:
        return len(self.changes[SHOWN:])


def topics_of(machine: Machine, batch: Batch) -> list[Topic]:
    """The topics in which a machine has judgments that count in a batch."""
    judged = _current(machine, batch).values("topic")
    return list(Topic.objects.filter(pk__in=judged))


def n_corrected(machine: Machine) -> int:
    """The number of its judgments that count and that an organizer gave."""
    own = Judgment.objects.filter(assessor=machine.assessor.user_id, track=machine.assessor.track_id)
    return own.filter(is_current=True, source=SOURCE).count()


def _current(machine: Machine, batch: Batch, **wanted: Any) -> QuerySet[Judgment]:
    own = Judgment.objects.filter(**wanted, batch=batch, assessor=machine.assessor.user_id, is_current=True)
    return own.order_by("task__entry__position", "docno")


def plan_rule(
    *, machine: Machine, batch: Batch, topic: Topic, before: str, after: Choice, reason: str
) -> Plan:
    """Let each judgment of a topic with a choice get another one."""
    judgments = _current(machine, batch, topic=topic, choice=before)
    return _plan(
        batch, topic, [(judgment, after, judgment.docno) for judgment in _with_units(judgments)], reason
    )


def plan_lines(*, machine: Machine, batch: Batch, topic: Topic, text: str, reason: str) -> Plan:
    """Read lines `topic docno grade`, or those of qrels, for a topic.

    Raises:
        WrongLines: Lines have other columns or another topic, or name what the machine did not judge or no grade.
    """
    rows: list[tuple[str, str, str]] = []
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells or line.startswith("#"):
            continue
        if len(cells) not in {3, 4}:
            columns = counted(len(cells), "column")
            wrong.append(
                f"line {number}: expected 3 columns (topic docno grade) or 4 as in qrels, got {columns}."
            )
        elif cells[0] != topic.code:
            wrong.append(f"line {number}: the topic is {cells[0][:80]}; use {topic.code}, as you chose.")
        else:
            rows.append((f"line {number}", cells[-2], cells[-1]))
    return _plan_rows(machine, batch, topic, rows, wrong, reason)


def plan_grades(
    *, machine: Machine, batch: Batch, topic: Topic, grades: Iterable[Mapping[str, str]], reason: str
) -> Plan:
    """Let documents of a topic, each with `docno` and `choice`, get other choices.

    Raises:
        WrongLines: Some name what the machine did not judge, or no choice of the protocol.
    """
    rows = [(f"grades.{n}", row["docno"], row["choice"]) for n, row in enumerate(grades)]
    return _plan_rows(machine, batch, topic, rows, [], reason)


def _plan_rows(
    machine: Machine,
    batch: Batch,
    topic: Topic,
    rows: Sequence[tuple[str, str, str]],
    wrong: list[str],
    reason: str,
) -> Plan:
    rules = batch.pool.protocol.parsed.judging
    choices: dict[str, Choice] = {str(grade.value): grade for grade in rules.grades}
    choices.update((choice.key, choice) for choice in rules.choices)
    judgments = _with_units(_current(machine, batch, topic=topic, docno__in={row[1] for row in rows}))
    known = {judgment.docno: judgment for judgment in judgments}
    first: dict[str, str] = {}
    wanted: list[tuple[Judgment, Choice, str]] = []
    for place, docno, word in rows:
        if docno not in known:
            wrong.append(
                f"{place}: {machine} has no judgment of {docno[:80]} in topic {topic} of this batch."
            )
        elif first.setdefault(docno, place) != place:
            wrong.append(f"{place}: {docno[:80]} is in {first[docno]} already.")
        elif word not in choices:
            wrong.append(f"{place}: “{word[:80]}” is not a grade of this protocol; use {', '.join(choices)}.")
        else:
            wanted.append((known[docno], choices[word], place))
    if wrong:
        raise WrongLines(wrong)
    return _plan(batch, topic, wanted, reason)


def _with_units(judgments: QuerySet[Judgment]) -> list[Judgment]:
    return list(judgments.select_related("task__entry__topic", "task__entry__document"))


def _plan(batch: Batch, topic: Topic, wanted: Sequence[tuple[Judgment, Choice, str]], reason: str) -> Plan:
    rules = batch.pool.protocol.parsed.judging
    changes, wrong = [], []
    for judgment, choice, place in wanted:
        if judgment.choice == choice.key:
            continue
        try:
            check_choice(rules, choice=choice.key, comment=reason)
            changes.append(Change(judgment, choice, _answers(rules, judgment, choice)))
        except AnswerRefused as refusal:
            wrong.append(f"{place}: {refusal.message}")
    if wrong:
        raise WrongLines(wrong)
    return Plan(topic, changes, len(wanted) - len(changes))


def _answers(rules: JudgingRules, judgment: Judgment, choice: Choice) -> Mapping[str, Any]:
    """The answers of a judgment to the questions that are asked after another choice."""
    if not rules.questions and not judgment.answers:
        return {}
    questions = questions_of(judgment.task, rules, [judgment.docno])[judgment.docno]
    after = {
        question.key for question in asked(rules, questions, choice=choice.key, answers=judgment.answers)
    }
    of_questions = {question.key for question in rules.questions}
    kept = {key: value for key, value in judgment.answers.items() if key in after or key not in of_questions}
    return check_answers(rules, questions, choice=choice.key, answers=kept)


def check_open(batch: Batch) -> None:
    """Refuse to correct judgments of a batch that is not open, as assessors cannot change theirs."""
    if batch.status != Batch.Status.OPEN:
        raise Refused(
            f"The batch “{batch}” is {batch.get_status_display()}. Open it again to correct its grades.",
            code="batch-not-open",
            title="This batch is not open",
        )


@transaction.atomic
def correct(*, machine: Machine, batch: Batch, plan: Plan, reason: str, by: User) -> list[Judgment]:
    """Append the judgments of a plan. What they replace is kept, and no longer counts.

    Raises:
        Refused: The batch is not open, nothing changes, or a judgment was replaced since the plan was made.
    """
    check_open(lock_for_managing(batch.pk))
    if not plan.changes:
        raise Refused("Nothing changes: these judgments have the grades already.", code="nothing-changes")
    replaced = Judgment.objects.filter(
        pk__in=[change.judgment.pk for change in plan.changes], is_current=True
    )
    if replaced.update(is_current=False) != len(plan.changes):
        raise Refused("The machine judged again meanwhile. Read the preview again.", code="judged-meanwhile")
    new = Judgment.objects.bulk_create(
        _replacing(change, reason, batch.pool.track.guidelines_id) for change in plan.changes
    )
    audit.record(
        action="machine-grades.corrected",
        subject=machine,
        track=machine.assessor.track,
        details={
            "batch": batch.name,
            "topic": plan.topic.code,
            "reason": reason,
            "corrected": {f"{before} to {after}": n for before, after, n in plan.counts},
        },
        by=by,
    )
    return new


def _replacing(change: Change, reason: str, guidelines: int | None) -> Judgment:
    before, choice = change.judgment, change.choice
    copied = ("task_id", "batch_id", "track_id", "topic_id", "docno", "left", "assessor_id", "order")
    return Judgment(
        **{name: getattr(before, name) for name in copied},
        choice=choice.key,
        grade=choice.value if isinstance(choice, Grade) else None,
        comment=reason,
        answers=dict(change.answers),
        guidelines_id=guidelines,
        request_id=uuid4(),
        replaces=before,
        source=SOURCE,
    )
