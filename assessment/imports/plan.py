"""Compares a file of judgments with a track: what is new, what is there already, and what cannot come in.

A judgment is there already if its batch has one of the same document by the same assessor with the same choice, comment
and time. If the batch has another one, the two are in conflict: either nothing can come in, or the one that is here is
kept and the others come in. In a main batch, a unit never gets more judges than its batch asks for: the assessors of a
file without seats share the seats in the order in which they appear.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.rows import JudgmentRow
from assay.protocols.questions import WrongAnswer, check_answers, questions_for
from assay.protocols.schema import Grade, NonAnswer
from assessment.imports.campaign import BatchKey, Campaign, PlannedJudgment
from assessment.imports.seats import Seats
from assessment.imports.staging import Staged, TopicRows
from assessment.models import Batch, JudgmentImport
from pooling.models import Pool

COMPLAINTS_KEPT = 200
UNNAMED = "the file names no assessor: choose one for all of its judgments"
Meaning = TypeVar("Meaning")
WORDS = {
    "pool": "unknown pool",
    "batch": "batch of another kind",
    "topic": "unknown topic",
    "document": "document that is not in the pool",
    "assessor": "unknown assessor",
    "answer": "unknown grade or choice",
    "side": "document on the left that is not of the pair",
    "conflict": "in conflict with a judgment that is here",
    "repeated": "in conflict with another line of the file",
    "judges": "more judges than the batch asks for",
}


class LineComplaint(NamedTuple):
    """A reason why a line of the file cannot be imported; `kind` is one of `WORDS`."""

    line: int
    kind: str
    message: str


class Unusable(Exception):
    """A row that cannot be imported."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


Report = Callable[[int, str], None]  # with the number of judgments that are done, and the step


def silent(_done: int, _step: str) -> None:
    """Report nothing."""


@dataclass
class ImportPlan:
    """The effect of an import and its errors, counted over the parts of the file.

    `report` is called with the number of rows while they are compared, then while they are stored.
    """

    report: Report = silent
    n_compared: int = 0
    n_stored: int = 0
    n_new: int = 0
    n_equal: int = 0
    keeps_stored: bool = (
        False  # where the file is in conflict with a judgment that is here, instead of complaining
    )
    n_kept: int = 0
    batches: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # new ones: batch, kind, pool
    complaints: list[LineComplaint] = field(default_factory=list)  # the first lines only
    n_by_kind: Counter[str] = field(default_factory=Counter)
    unknown_answers: set[str] = field(default_factory=set)
    n_without_guidelines: int = 0

    def complain(self, line: int, kind: str, message: str) -> None:
        self.n_by_kind[kind] += 1
        self.complaints.append(LineComplaint(line, kind, message))
        if len(self.complaints) >= 2 * COMPLAINTS_KEPT:
            self.complaints = sorted(self.complaints)[:COMPLAINTS_KEPT]

    def conflict(self, line: int, message: str) -> None:
        if self.keeps_stored:
            self.n_kept += 1
        else:
            self.complain(line, "conflict", message)

    def attempt(self, row: JudgmentRow, resolve: Callable[[JudgmentRow], Meaning]) -> Meaning | None:
        """Call a function with a row; None, with a complaint, if it cannot use the row."""
        try:
            return resolve(row)
        except Unusable as unusable:
            self.complain(row.line, unusable.kind, str(unusable))
            if unusable.kind == "answer":
                self.unknown_answers.add(answer_of(row))
            return None


def plan_part(
    plan: ImportPlan, source: JudgmentImport, part: TopicRows, campaign: Campaign, *, is_numbered: bool
) -> list[PlannedJudgment]:
    """The judgments to store from a part of the file, in its order. It only reads, and adds to the plan."""
    planned = list(_resolved(source, part, campaign, plan))
    if is_numbered:
        _chain_by_number(planned, plan)
    else:
        # Let revisions replace what they revise, in the order of time, or of the file
        last: dict[tuple[object, ...], PlannedJudgment] = {}
        for judgment in sorted(
            planned,
            key=lambda judgment: (
                judgment.row.judged_at is not None,
                judgment.row.judged_at or judgment.row.line,
            ),
        ):
            before = last.get(judgment.key)
            if before is not None:
                before.is_current, judgment.replaces = False, before
            last[judgment.key] = judgment
    batches = [
        batch for key in {judgment.batch for judgment in planned} if (batch := existing_batch(key, campaign))
    ]
    planned = list(_not_stored(planned, campaign, batches, plan))
    while orphans := _without_what_they_replace(planned):
        for judgment in orphans.values():
            plan.conflict(judgment.row.line, "it replaces a judgment of the file that is in conflict")
        planned = [judgment for judgment in planned if id(judgment) not in orphans]
    seats = Seats(campaign, batches, {judgment.topic for judgment in planned})
    for judgment, message in seats.give(planned):
        plan.complain(judgment.row.line, "judges", message)
    plan.n_new += len(planned)
    plan.batches.update(
        (judgment.batch.name, judgment.batch.kind, judgment.pool.name) for judgment in planned
    )
    return planned


def existing_batch(key: BatchKey, campaign: Campaign) -> Batch | None:
    """The batch of the track, if it is there."""
    return campaign.batches.get((key.pool_id, key.name))


def _resolved(
    source: JudgmentImport, part: TopicRows, campaign: Campaign, plan: ImportPlan
) -> Iterable[PlannedJudgment]:
    """The rows whose words all mean something; everything that is wrong with the others becomes a complaint."""
    topics = {campaign.topics[row.topic] for row in part.rows if row.topic in campaign.topics}
    campaign.read_units(topics, part.rows)
    words: Mapping[str, str] = source.mapping.get("assessors", {})
    for pk, row in zip(part.ids, part.rows, strict=True):
        plan.n_compared += 1
        plan.report(plan.n_compared, "comparing")
        before = sum(plan.n_by_kind.values())
        place = plan.attempt(row, lambda row: _place(source, row, campaign))
        assessor = campaign.assessors.get(words.get(row.assessor, row.assessor))
        if assessor is None:
            is_named = row.assessor != source.name
            message = f"the track has no assessor {row.assessor}" if is_named else UNNAMED
            plan.complain(row.line, "assessor", message)
        choice = plan.attempt(row, lambda row: _choice(source, row, campaign))
        plan.attempt(row, lambda row: _check_left(row, campaign))
        if place is not None and assessor is not None:
            is_machine, batch = assessor in campaign.machines, place[1]
            if is_machine != (batch.kind == Batch.Kind.MACHINE):
                kind = "machine" if is_machine else "person"
                message = f"{row.assessor} is a {kind}, and the batch “{batch.name}” is of kind {batch.kind}"
                plan.complain(row.line, "assessor", message)
        if place is None or assessor is None or choice is None or sum(plan.n_by_kind.values()) > before:
            continue
        guidelines = None if row.guidelines is None else campaign.guidelines.get(row.guidelines)
        plan.n_without_guidelines += row.guidelines is not None and guidelines is None
        is_current = row.is_current and not row.is_check
        yield PlannedJudgment(
            pk,
            row,
            *place,
            assessor,
            choice,
            is_current=is_current,
            guidelines=guidelines,
            seat=row.seat or 0,
        )


def _place(source: JudgmentImport, row: JudgmentRow, campaign: Campaign) -> tuple[Pool, BatchKey, int, int]:
    """Pool, batch, topic and entry."""
    pool, batch = batch_of(source, row, campaign)
    topic = campaign.topics.get(row.topic)
    if topic is None:
        raise Unusable("topic", f"the track has no topic {row.topic}")
    entry = campaign.units(pool).entry_of(topic, row.docno, row.unit)
    if entry is None:
        raise Unusable("document", f"the pool “{pool}” has no unit {row.docno} for topic {row.topic}")
    return pool, batch, topic, entry


def batch_of(source: JudgmentImport, row: JudgmentRow, campaign: Campaign) -> tuple[Pool, BatchKey]:
    pools = list(campaign.pools.values())
    pool = next((pool for pool in pools if pool.pk == source.pool_id), None) or campaign.pools.get(row.pool)
    if pool is None and not row.pool and len(pools) == 1:
        pool = pools[0]
    if pool is None:
        problem = f"the track has no pool “{row.pool}”" if row.pool else "the line names no pool"
        raise Unusable("pool", f"{problem}; choose one for all judgments")
    key = BatchKey(pool.pk, row.batch or source.batch, row.kind or source.kind)
    if key.kind not in Batch.Kind.values:
        raise Unusable("batch", f"{key.kind!r} is not a kind of batch; use {', '.join(Batch.Kind.values)}")
    batch = existing_batch(key, campaign)
    if batch is not None and batch.kind != key.kind:
        raise Unusable("batch", f"the batch “{key.name}” is a {batch.kind} batch here, not {key.kind}")
    if len(key.name) > 100:
        raise Unusable("batch", "the name of a batch has at most 100 characters")
    return pool, key


def _choice(source: JudgmentImport, row: JudgmentRow, campaign: Campaign) -> Grade | NonAnswer:
    rules = campaign.rules
    words: Mapping[str, str] = source.mapping.get("answers", {})
    choice = rules.choice(words.get(answer_of(row), ""))
    try:
        choice = choice or choice_of(row, rules)
        if row.answers:
            subtopics, lengths = campaign.subtopics.get(row.topic), campaign.lengths_of(row)
            questions = questions_for(rules, subtopics=subtopics, lengths=lengths)
            check_answers(rules, questions, choice=choice.key, answers=row.answers, needs_all=False)
    except (ValueError, WrongAnswer) as error:
        raise Unusable("answer", str(error)) from None
    return choice


def _check_left(row: JudgmentRow, campaign: Campaign) -> None:
    """The document on the left is one of the pair, or not given."""
    documents = campaign.rules.judged.documents(row.docno)
    if row.left and (row.left not in documents or len(documents) == 1):
        accepted = (
            f"use {' or '.join(documents)}, or leave it empty"
            if len(documents) > 1
            else "leave it empty: only pairs have sides"
        )
        raise Unusable("side", f"{row.left} cannot be on the left of {row.docno}; {accepted}")


def answer_of(row: JudgmentRow) -> str:
    """The answer as the file has it."""
    return row.choice or ("" if row.grade is None else str(row.grade))


def _chain_by_number(planned: list[PlannedJudgment], plan: ImportPlan) -> None:
    """Let revisions replace what they revise, as the file says."""
    of_number = {judgment.row.number: judgment for judgment in planned if judgment.row.number is not None}
    current: dict[tuple[object, ...], PlannedJudgment] = {}
    for judgment in planned:
        row = judgment.row
        if row.replaces is not None:
            before = judgment.replaces = of_number.get(row.replaces)
            if before is None or before.key[:3] != judgment.key[:3] or before.is_current:
                message = (
                    f"it replaces judgment {row.replaces}, which is not a replaced judgment of the document"
                )
                plan.complain(row.line, "repeated", message)
        if judgment.is_current:
            other = current.setdefault(judgment.key, judgment)
            if other is not judgment:
                message = (
                    f"line {other.row.line} has another current judgment of the document by {row.assessor}"
                )
                plan.complain(row.line, "repeated", message)


def _not_stored(
    planned: list[PlannedJudgment], campaign: Campaign, batches: list[Batch], plan: ImportPlan
) -> Iterable[PlannedJudgment]:
    """The judgments of documents that their assessor has not judged in the batch."""
    pks = {(batch.pool_id, batch.name): batch.pk for batch in batches}
    stored = campaign.stored(batches, {judgment.topic for judgment in planned})
    for judgment in planned:
        row, before = judgment.row, judgment.replaces
        pk = pks.get((judgment.batch.pool_id, judgment.batch.name))
        here = [] if pk is None else stored.get((pk, *judgment.key[1:]), [])
        same = next((stored_judgment for stored_judgment in here if judgment.equals(stored_judgment)), None)
        if here and same is None:
            latest = here[-1]
            chosen = f"{row.topic} {row.docno}: {row.assessor} chose {latest.choice} here"
            message = f"{chosen}, and {judgment.choice.key} in the file"
            if latest.choice == judgment.choice.key:
                message = f"{chosen} too, with another comment or time"
            plan.conflict(row.line, message)
        elif here:
            judgment.stored = same
            plan.n_equal += 1
        elif before is not None and before.stored and before.stored.is_replaced:
            plan.conflict(row.line, "it replaces a judgment that has been replaced here already")
        else:
            yield judgment


def _without_what_they_replace(planned: list[PlannedJudgment]) -> dict[int, PlannedJudgment]:
    """The judgments, by `id`, that replace one that is neither stored nor planned."""
    here = {id(judgment) for judgment in planned}
    return {
        id(judgment): judgment
        for judgment in planned
        if (before := judgment.replaces) is not None and not before.stored and id(before) not in here
    }


def report_of(plan: ImportPlan, staged: Staged, source: JudgmentImport, campaign: Campaign) -> dict[str, Any]:
    """A plan as plain values, for the page."""
    words: Mapping[str, str] = source.mapping.get("assessors", {})
    return {
        "rows": staged.n_rows,
        "new": plan.n_new,
        "equal": plan.n_equal,
        "kept": plan.n_kept,
        "conflicts": plan.n_by_kind["conflict"],
        "n_complaints": sum(plan.n_by_kind.values()),
        "by_kind": [[WORDS[kind], plan.n_by_kind[kind]] for kind in WORDS if plan.n_by_kind[kind]],
        "complaints": [
            [complaint.line, complaint.message] for complaint in sorted(plan.complaints)[:COMPLAINTS_KEPT]
        ],
        "batches": [[*key, n] for key, n in sorted(plan.batches.items())],
        "assessors": [
            [name, here if (here := words.get(name, name)) in campaign.assessors else "", n]
            for name, n in sorted(staged.assessors.items())
        ],
        "answers": sorted(plan.unknown_answers | set(source.mapping.get("answers", {}))),
        "n_without_guidelines": plan.n_without_guidelines,
    }
