"""Plan hidden checks, and keep the units with known grades.

A check is planned for an assessor when the batch opens, when their topics change, and when its settings change. It is
planned before it is due, so that the number of tasks an assessor sees does not grow when they get one.
Decision: ADR 25.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random, SystemRandom
from types import MappingProxyType
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assay.formats.qrels.reader import QrelsColumns
from assay.protocols.questions import Answers
from assessment.batches.other_batches import settled_entries
from assessment.batches.selectors import entries_of
from assessment.batches.services import follows_work, lock_for_managing
from assessment.checks.selectors import agreed_notes, gold_entries
from assessment.models import MAIN_AND_DUAL, Batch, Check, DiscussionNote, GoldUnit, Task, TopicAssignment
from tracks.models import Topic, Track

NO_ANSWERS: Mapping[tuple[str, str], Answers] = MappingProxyType({})


def n_checks(percent: int, n_units: int) -> int:
    """The number of checks for some units, rounded.

    >>> n_checks(10, 24), n_checks(10, 25), n_checks(0, 25)
    (2, 3, 0)
    """
    return (percent * n_units + 50) // 100


def places(n: int, n_tasks: int, rng: Random) -> list[int]:
    """After how many of the coming tasks each of `n` checks is due: one in each of `n` equal stretches, at random.

    The first task is a check only if there are no others.

    >>> places(2, 2, Random(1)), places(0, 9, Random(1)), places(1, 1, Random(1))
    ([1, 1], [], [0])
    """
    least = int(n_tasks > 1)
    stretches = [(i * n_tasks // n, (i + 1) * n_tasks // n) for i in range(n)]
    return [max(least, rng.randrange(start, max(end, start + 1))) for start, end in stretches]


def gaps(n: int, least: int, rng: Random) -> list[int]:
    """After how many further tasks each of `n` units is repeated: from `least` to half as many more, at random.

    >>> gaps(1, 1, Random(1))
    [1]
    """
    return [least + rng.randrange(least // 2 + 1) for _ in range(n)]


@transaction.atomic
def configure(*, batch: Batch, gold_percent: int, repeat_percent: int, repeat_after: int) -> Batch:
    """Set how many checks are mixed into the tasks of each assessor. In an open batch, the rest is planned again."""
    locked = lock_for_managing(batch.pk)
    if locked.kind not in MAIN_AND_DUAL:
        kind = locked.get_kind_display()
        raise Refused(
            f"“{locked}” is a batch of {kind}. Hidden checks are for main batches and second judgments.",
            code="no-checks-in-kind",
        )
    if gold_percent and not GoldUnit.objects.filter(track=locked.pool.track_id).exists():
        raise Refused(
            "The track has no units with known grades. Add some first, from a training round or from a file.",
            code="no-gold",
        )
    locked.gold_percent, locked.repeat_percent = gold_percent, repeat_percent
    locked.repeat_after = repeat_after
    locked.has_checks = locked.has_checks or bool(gold_percent or repeat_percent)
    locked.save(update_fields=["gold_percent", "repeat_percent", "repeat_after", "has_checks"])
    details = {"gold percent": gold_percent, "repeat percent": repeat_percent, "repeat after": repeat_after}
    audit.record(action="checks.set", subject=locked, track=locked.pool.track, details=details)
    plan(batch=locked)
    return locked


@follows_work
@transaction.atomic
def plan(
    *, batch: Batch, assessors: Collection[int] | None = None, lost: Iterable[tuple[int, int]] = ()
) -> None:
    """Plan the checks of assessors of an open batch, by id, or of all. The caller holds the lock of the batch.

    What is planned and not given out yet is replaced. Repeats of the topics that are `lost` (topic and assessor, by id)
    are forgotten, unless they are judged.
    """
    unanswered = Q(task=None) | ~Q(task__status=Task.Status.SUBMITTED)
    repeats = Check.objects.filter(unanswered, batch=batch, kind=Check.Kind.REPEAT)
    for topic, assessor in lost if batch.has_checks else ():
        repeats.filter(assessor=assessor, entry__topic=topic).delete()
    if not batch.has_checks or batch.status != Batch.Status.OPEN:
        return
    active = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False)
    planned = Check.objects.filter(batch=batch, task=None)
    if assessors is not None:
        active, planned = active.filter(assessor__in=assessors), planned.filter(assessor__in=assessors)
    planned.delete()
    by_assessor: dict[int, list[TopicAssignment]] = {}
    for assignment in active:
        by_assessor.setdefault(assignment.assessor_id, []).append(assignment)
    rng = SystemRandom()
    for assessor_id, assignments in by_assessor.items():
        _plan(batch, assessor_id, assignments, rng)


class _Work(NamedTuple):
    """The work of an assessor in a batch, and the entries that are left, in the order of the queue."""

    n_judged: int
    n_submitted: int
    left: list[int]


def _plan(batch: Batch, assessor_id: int, assignments: Sequence[TopicAssignment], rng: Random) -> None:
    work = _work(batch, assessor_id, assignments)
    n_units = work.n_judged + len(work.left)
    given = list(
        Check.objects.filter(batch=batch, assessor=assessor_id).values_list("kind", "entry").order_by("pk")
    )
    n_given = Counter(kind for kind, _ in given)
    used = {entry for _, entry in given}
    gold = gold_entries(batch, assessor_id)
    n_gold = max(0, n_checks(batch.gold_percent, n_units) - n_given[Check.Kind.GOLD])
    n_repeats = max(0, n_checks(batch.repeat_percent, n_units) - n_given[Check.Kind.REPEAT])
    early = [pk for pk in work.left[: max(0, len(work.left) - batch.repeat_after)] if pk not in used]
    # Entries for checks: of the assessor's own topics as far as there are any, because other topics
    # can be noticed
    own = rng.sample(gold.own, min(n_gold, len(gold.own)))
    chosen_gold = own + rng.sample(gold.others, min(n_gold - len(own), len(gold.others)))
    rng.shuffle(chosen_gold)
    repeated = rng.sample(early, min(n_repeats, len(early)))
    n_tasks = len(work.left) + len(chosen_gold) + len(repeated)
    places_of_gold = [work.n_submitted + place for place in places(len(chosen_gold), n_tasks, rng)]
    rows = [(Check.Kind.GOLD, *row) for row in zip(chosen_gold, places_of_gold, strict=True)]
    gaps_of_repeats = gaps(len(repeated), batch.repeat_after, rng)
    rows += [(Check.Kind.REPEAT, *row) for row in zip(repeated, gaps_of_repeats, strict=True)]
    Check.objects.bulk_create(
        Check(batch=batch, assessor_id=assessor_id, kind=kind, entry_id=entry, after=after)
        for kind, entry, after in rows
    )


def _work(batch: Batch, assessor_id: int, assignments: Sequence[TopicAssignment]) -> _Work:
    seats = {assignment.topic_id: assignment.seat for assignment in assignments}
    settled = (
        settled_entries([assignment.pk for assignment in assignments]) if batch.kind in MAIN_AND_DUAL else {}
    )
    closed = {entry for entries in settled.values() for entry in entries}
    submitted = Task.objects.filter(batch=batch, status=Task.Status.SUBMITTED)
    own = submitted.filter(assessor=assessor_id)
    for topic, seat, entry in submitted.filter(entry__topic__in=seats, is_check=False).values_list(
        "entry__topic", "seat", "entry"
    ):
        if seats[topic] == seat:
            closed.add(entry)
    entries = entries_of(batch).filter(topic__in=seats).order_by("topic__code", "position")
    left = [pk for pk in entries.values_list("pk", flat=True) if pk not in closed]
    n_judged = own.filter(is_check=False, entry__topic__in=seats).count()
    return _Work(n_judged, own.count(), left)


@transaction.atomic
def add_agreed(*, track: Track, notes: Iterable[DiscussionNote], by: User) -> int:
    """Take agreed grades of closed training rounds as known grades; returns their number."""
    chosen = {note.pk for note in notes}
    units = [
        (note.topic, note.docno, note.grade)
        for note in agreed_notes(track)
        if note.pk in chosen and note.grade is not None
    ]
    if not units:
        raise Refused(
            "Choose at least one unit with an agreed grade from a closed training round.",
            code="nothing-agreed",
        )
    return _store(track, units, GoldUnit.Source.TRAINING, "grades.agreed", by)


@transaction.atomic
def import_gold(
    *, track: Track, columns: QrelsColumns, by: User, answers: Mapping[tuple[str, str], Answers] = NO_ANSWERS
) -> int:
    """Take the grades of a file as known grades; returns their number. The form has checked topics and documents.

    `answers` are those to questions that are known too, by topic and docno.
    """
    topics = {topic.code: topic for topic in track.topics.all()}
    of_rows = [topics[code] for code in columns.topics[columns.topic_index].tolist()]
    docnos = [docno.decode() for docno in columns.docno.tolist()]
    units = list(zip(of_rows, docnos, columns.grade.tolist(), strict=True))
    return _store(track, units, GoldUnit.Source.IMPORTED, "known-grades.imported", by, answers)


def _store(
    track: Track,
    units: Sequence[tuple[Topic, str, int]],
    source: str,
    action: str,
    by: User,
    answers: Mapping[tuple[str, str], Answers] = NO_ANSWERS,
) -> int:
    """Store known grades by topic and docno, which replace earlier ones of the same units; returns their number."""
    rows = [
        GoldUnit(
            track=track,
            topic=topic,
            docno=docno,
            grade=grade,
            answers=answers.get((topic.code, docno), {}),
            source=source,
            created_by=by,
        )
        for topic, docno, grade in units
    ]
    GoldUnit.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["track", "topic", "docno"],
        update_fields=["grade", "answers", "source", "created_by"],
    )
    audit.record(action=action, track=track, details={"units": len(rows)}, by=by)
    return len(rows)


@transaction.atomic
def remove_gold(*, track: Track, ids: Collection[int]) -> int:
    """Forget known grades, by id; returns their number. Answers are kept, but not compared with them any more.

    What is planned with these units and not given out yet is forgotten too.
    """
    units = list(GoldUnit.objects.filter(track=track, pk__in=ids))
    planned = Check.objects.filter(batch__pool__track=track, kind=Check.Kind.GOLD, task=None)
    for unit in units:
        of_unit = Q(entry__docno=unit.docno) | Q(entry__members__docno=unit.docno)
        pks = planned.filter(of_unit, entry__topic=unit.topic).values("pk")
        Check.objects.filter(pk__in=list(pks.values_list("pk", flat=True))).delete()
    GoldUnit.objects.filter(pk__in=[unit.pk for unit in units]).delete()
    audit.record(action="known-grades.removed", track=track, details={"units": len(units)})
    return len(units)
