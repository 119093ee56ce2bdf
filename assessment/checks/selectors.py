"""Units with known grades, and which hidden checks the assessors of a batch have. For organizers only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Exists, F, OuterRef, Q, Value, When

from assay.formats.qrels.reader import QrelsColumns
from assay.protocols.questions import Answers
from assessment.batches.selectors import entries_of
from assessment.judgments.answers import Answered, answers_in_words
from assessment.models import (
    MAIN_AND_DUAL,
    Batch,
    Check,
    DiscussionNote,
    GoldUnit,
    Judgment,
    Task,
    TopicAssignment,
)
from pooling.models import Pool, PoolEntry, PoolMember
from tracks.models import Topic, Track, natural_order

PAGE = 50
PLANNED = ("assessor__username", "gold", "n_gold", "repeats", "n_repeats")


class GoldEntries(NamedTuple):
    """Entries for hidden checks of an assessor: of the topics that they have in the batch, and of other topics."""

    own: list[int]
    others: list[int]


def gold_entries(batch: Batch, assessor_id: int) -> GoldEntries:
    """Entries with a known grade that can be a hidden check of an assessor in a batch, one for each unit.

    Without those that the batch asks the assessor to judge anyway, that the assessor has judged in a main or dual
    batch, or that were a check of theirs before.
    """
    pool = batch.pool
    gold = GoldUnit.objects.filter(track=pool.track_id)
    is_known = Exists(gold.filter(topic=OuterRef("topic"), docno=OuterRef("docno")))
    if pool.protocol.parsed.judged.has_members:
        docnos = gold.filter(topic=OuterRef("entry__topic")).values("docno")
        members = PoolMember.objects.filter(entry=OuterRef("pk"), position__gt=0, docno__in=docnos)
        is_known = Exists(members)
    entries = PoolEntry.objects.filter(is_known, pool__track=pool.track_id, pool__protocol=pool.protocol_id)
    in_pool = Case(When(pool=pool, then=Value(0)), default=Value(1))
    rows = entries.order_by(in_pool, "pk").values_list("pk", "topic", "docno")
    by_unit: dict[tuple[int, str], int] = {}
    for pk, topic, docno in rows:
        by_unit.setdefault((topic, docno), pk)
    # The units that an assessor judges in a batch, has judged in a main batch or in second judgments, or had as a check
    active = TopicAssignment.objects.filter(batch=batch, assessor=assessor_id, is_withdrawn=False)
    asked = entries_of(batch).filter(topic__in=active.values("topic"))
    judged = Task.objects.filter(assessor=assessor_id, batch__kind__in=MAIN_AND_DUAL)
    checked = Check.objects.filter(assessor=assessor_id)
    known = {
        *asked.values_list("topic", "docno"),
        *judged.values_list("entry__topic", "entry__docno"),
        *checked.values_list("entry__topic", "entry__docno"),
    }
    topics = set(active.values_list("topic", flat=True))
    unknown = [(unit[0] in topics, pk) for unit, pk in by_unit.items() if unit not in known]
    return GoldEntries([pk for is_own, pk in unknown if is_own], [pk for is_own, pk in unknown if not is_own])


def agreed_notes(track: Track) -> list[DiscussionNote]:
    """The agreed grades of closed training rounds; of each unit the latest."""
    notes = DiscussionNote.objects.filter(
        batch__pool__track=track, batch__status=Batch.Status.CLOSED, grade__isnull=False
    )
    latest = notes.order_by("topic__code", "docno", "-batch").distinct("topic__code", "docno")
    return list(latest.select_related("topic", "batch"))


class KnownUnit(NamedTuple):
    """A unit with its known answers to questions, in words."""

    unit: GoldUnit
    answers: list[Answered]


@dataclass(frozen=True)
class GoldPage:
    """The known grades of a track, and the agreed grades that are not among them; `units` has those of `rows`."""

    track: Track
    rows: Page[GoldUnit]
    units: list[KnownUnit]
    agreed: list[DiscussionNote]


def gold_page(track: Track, number: str | None) -> GoldPage:
    """One page of the known grades, and all agreed grades of closed training rounds that could be added."""
    units = GoldUnit.objects.filter(track=track).select_related("topic", "created_by")
    known = {(topic, docno): grade for topic, docno, grade in units.values_list("topic", "docno", "grade")}
    agreed = [note for note in agreed_notes(track) if known.get((note.topic_id, note.docno)) != note.grade]
    rows = Paginator(units.order_by("topic", natural_order("docno"), "docno"), PAGE).get_page(number)
    rules = track.protocol.parsed.judging
    shown = [KnownUnit(unit, answers_in_words(rules, unit.answers, unit.topic)) for unit in rows]
    return GoldPage(track, rows, shown, agreed)


def pooled_units(track: Track) -> set[tuple[str, str]]:
    """Topic code and docno of everything that can be judged in the track's pools."""
    ready = Q(pool__track=track, pool__status=Pool.Status.READY)
    entries = PoolEntry.objects.filter(ready).values_list("topic__code", "docno")
    members = PoolMember.objects.filter(
        entry__pool__track=track, entry__pool__status=Pool.Status.READY, position__gt=0
    ).values_list("entry__topic__code", "docno")
    return {*entries, *members}


def unknown_units(track: Track, columns: QrelsColumns) -> list[tuple[str, str, str]]:
    """Check the rows of a file of known grades; returns topic, docno and complaint of each wrong one."""
    codes = set(Topic.objects.filter(track=track).values_list("code", flat=True))
    units, about_pairs = pooled_units(track), track.protocol.parsed.judging.preference_grades
    values = {grade.value for grade in about_pairs}
    accepted = ", ".join(f"{grade.value} ({grade.key})" for grade in about_pairs)
    wrong = []
    topics, docnos = columns.topics[columns.topic_index].tolist(), columns.docno.tolist()
    for code, name, grade in zip(topics, docnos, columns.grade.tolist(), strict=True):
        docno = name.decode()
        if code not in codes:
            wrong.append((code, docno, f"topic {code} is not in the track"))
        elif (code, docno) not in units:
            wrong.append((code, docno, f"document {docno} is in no pool of topic {code}"))
        elif values and grade not in values:
            wrong.append((code, docno, f"grade {grade} is no choice about a pair; use {accepted}"))
    return wrong


class PlannedChecks(NamedTuple):
    """The checks of an assessor of a batch: how many are judged, of how many."""

    assessor: str
    gold: int = 0
    n_gold: int = 0
    repeats: int = 0
    n_repeats: int = 0


@dataclass(frozen=True)
class ChecksPage:
    """The settings of a batch, and what is planned for each of its assessors."""

    track: Track
    batch: Batch
    rows: Sequence[PlannedChecks]
    n_gold_units: int


def checks_page(batch: Batch) -> ChecksPage:
    """Read what the settings mean for each assessor with topics."""
    names = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False).order_by("assessor__username")
    is_gold, is_done = Q(kind=Check.Kind.GOLD), Q(task__status=Task.Status.SUBMITTED)
    rows = Check.objects.filter(batch=batch).order_by().values("assessor__username")
    rows = rows.annotate(
        gold=Count("pk", filter=is_gold & is_done),
        n_gold=Count("pk", filter=is_gold),
        repeats=Count("pk", filter=~is_gold & is_done),
        n_repeats=Count("pk", filter=~is_gold),
    )
    planned = [PlannedChecks(*row) for row in rows.values_list(*PLANNED)]
    counts = {row.assessor: row for row in planned}
    people = dict.fromkeys([*names.values_list("assessor__username", flat=True), *counts])
    return ChecksPage(
        track=batch.pool.track,
        batch=batch,
        rows=[counts.get(name, PlannedChecks(name)) for name in people],
        n_gold_units=GoldUnit.objects.filter(track=batch.pool.track_id).count(),
    )


class CheckAnswer(NamedTuple):
    """An answer to a check: the grade and choice, and those that it is compared with.

    `expected` is the known grade, or the grade of the assessor's own earlier judgment; None is a non-answer. Answers to
    questions are compared with the expected ones.
    """

    assessor: str
    choice: str
    grade: int | None
    expected_choice: str
    expected: int | None
    answers: Answers
    expected_answers: Answers

    @property
    def is_equal(self) -> bool:
        """True if both have the same grade, or the same non-answer."""
        return self.choice == self.expected_choice if self.grade is None else self.grade == self.expected


def gold_answers(track: Track) -> list[CheckAnswer]:
    """The latest answers of each assessor to units with known grades, oldest first: hidden checks, and current
    judgments of these units in main batches and second judgments."""
    known = {
        (topic, docno): (grade, answers)
        for topic, docno, grade, answers in GoldUnit.objects.filter(track=track).values_list(
            "topic", "docno", "grade", "answers"
        )
    }
    if not known:
        return []
    hidden = Q(is_check=True, replaced_by=None, task__check_of__kind=Check.Kind.GOLD)
    hidden &= Q(task__status=Task.Status.SUBMITTED)
    own = Q(is_current=True, batch__kind__in=MAIN_AND_DUAL)
    units = GoldUnit.objects.filter(track=track, topic=OuterRef("topic"), docno=OuterRef("docno"))
    rows = Judgment.objects.filter(hidden | own, Exists(units), track=track).order_by("pk")
    fields = ("topic", "docno", "assessor__username", "choice", "grade", "answers")
    return [
        CheckAnswer(
            name,
            choice,
            grade,
            expected_choice="",
            expected=known[topic, docno][0],
            answers=answers,
            expected_answers=known[topic, docno][1],
        )
        for topic, docno, name, choice, grade, answers in rows.values_list(*fields)
    ]


def repeat_answers(track: Track) -> list[CheckAnswer]:
    """The latest answers to repeats, oldest first, each with the assessor's latest judgment before it."""
    repeats = Judgment.objects.filter(
        track=track,
        is_check=True,
        replaced_by=None,
        task__check_of__kind=Check.Kind.REPEAT,
        task__status=Task.Status.SUBMITTED,
    )
    fields = ("pk", "batch", "assessor", "topic", "docno", "assessor__username", "choice", "grade", "answers")
    rows = list(repeats.order_by("pk").values_list(*fields))
    first = Judgment.objects.filter(
        track=track,
        is_check=False,
        task__batch__checks__kind=Check.Kind.REPEAT,
        task__batch__checks__entry=F("task__entry"),
        task__batch__checks__assessor=F("assessor"),
    )
    earlier: dict[tuple[int, int, int, str], list[tuple[int, str, int | None, Answers]]] = {}
    for pk, batch, assessor, topic, docno, _, *given in first.order_by("pk").values_list(*fields):
        earlier.setdefault((batch, assessor, topic, docno), []).append((pk, *given))
    answers = []
    for pk, batch, assessor, topic, docno, name, choice, grade, given in rows:
        before = [row for row in earlier.get((batch, assessor, topic, docno), []) if row[0] < pk]
        if before:
            _, old_choice, old_grade, old_given = before[-1]
            answers.append(CheckAnswer(name, choice, grade, old_choice, old_grade, given, old_given))
    return answers
