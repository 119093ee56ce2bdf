"""The discussion of a training round: everyone's grade and comment for each unit, side by side.

Organizers see it at any time. The assessors of the round see it when an organizer shares it and the round is closed:
while they still judge, they would see the grades of others.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from accounts.models import User
from assay.tables import natural
from assessment.batches.selectors import batches_for
from assessment.judgments.answers import Answered, answers_in_words, in_language
from assessment.judgments.disagreements import Round, judgments_of, round_label, training_number
from assessment.models import Batch, DiscussionNote, Judgment
from pooling.pools.entries import ShownDocument, shown_documents
from tracks.assessors.selectors import names_of_assessors
from tracks.models import Track

PAGE = 25
SALT = "assessment.discussions"


def discussions_for(user: User) -> QuerySet[Batch]:
    """The training rounds whose discussion a user may see: those of tracks overseen, and their own that are shared."""
    rounds = batches_for(user).filter(kind=Batch.Kind.TRAINING)
    is_shared = Q(status=Batch.Status.CLOSED) & ~Q(discussion=Batch.Discussion.HIDDEN)
    return rounds.filter(is_shared | Q(pool__track__in=[*user.roles]))


class Reply(NamedTuple):
    """The answer of an assessor for a unit; `task` is the id of the task.

    `answers` are those to questions in words, and `given` by the keys of the questions.
    """

    label: str
    grade: int | None
    comment: str
    task: int
    answers: list[Answered]
    given: dict[str, Any]


class ShownAssessor(NamedTuple):
    """An assessor of the page, by the name that the reader sees."""

    name: str
    is_reader: bool


class DiscussionAnswer(NamedTuple):
    """The answer of a shown assessor; None if they have not judged the unit."""

    column: ShownAssessor
    reply: Reply | None


class AgreedGrade(NamedTuple):
    """A grade that can be agreed on, with its label for the unit."""

    value: int
    label: str


class DiscussedUnit(NamedTuple):
    """A unit with an answer for each column, its note, and the grades that it can have. `entry` is its pool entry."""

    topic: str
    docno: str
    entry: int
    answers: list[DiscussionAnswer]
    note: DiscussionNote | None
    grades: list[AgreedGrade]

    @property
    def replies(self) -> list[Reply]:
        """The answers that there are."""
        return [answer.reply for answer in self.answers if answer.reply is not None]

    @property
    def own_task(self) -> int | None:
        """The task of the reader, if they judged the unit."""
        own = [answer.reply.task for answer in self.answers if answer.reply and answer.column.is_reader]
        return own[0] if own else None

    @property
    def steps(self) -> int:
        """The distance of the lowest grade from the highest."""
        grades = [reply.grade for reply in self.replies if reply.grade is not None]
        return max(grades) - min(grades) if grades else 0

    @property
    def n_choices(self) -> int:
        return len({reply.label for reply in self.replies})


@dataclass(frozen=True)
class DiscussionPage:
    """One page of a discussion; the units with the largest differences are first."""

    track: Track
    batch: Batch
    current: Round
    columns: list[ShownAssessor]
    rows: Page[DiscussedUnit]
    documents: dict[str, ShownDocument]
    n_agreed: int
    n_differing: int
    is_organizer: bool
    names: dict[str, str]  # of assessors, by username


def discussion_page(batch: Batch, reader: User, *, number: str | None) -> DiscussionPage:
    """One page of the discussion, in a fixed number of queries."""
    track = batch.pool.track
    current = round_of_batch(batch)
    columns, units = discussed_units(batch, current, reader)
    rows = Paginator(units, PAGE).get_page(number)
    return DiscussionPage(
        track=track,
        batch=batch,
        current=current,
        columns=columns,
        rows=rows,
        documents=shown_documents(track.collection, [unit.docno for unit in rows]),
        n_agreed=sum(unit.note is not None and unit.note.grade is not None for unit in units),
        n_differing=sum(unit.n_choices > 1 for unit in units),
        is_organizer=reader.oversees(track.pk),
        names=names_of_assessors(track),
    )


def round_of_batch(batch: Batch) -> Round:
    """The round of a training batch."""
    number = training_number(batch)
    return Round(f"batch-{batch.pk}", round_label(number, batch.name), batch.pk)


def discussed_units(
    batch: Batch, of_round: Round, reader: User
) -> tuple[list[ShownAssessor], list[DiscussedUnit]]:
    """The assessors of a round, and its judged units, by how far the answers differ."""
    rules = batch.pool.protocol.parsed.judging
    fields = (
        "topic__code", "docno", "task__entry", "assessor__username", "choice", "grade", "comment", "task", "answers",
    )  # fmt: skip
    judgments = judgments_of(batch.pool.track, of_round).values_list(*fields)
    answers: dict[tuple[str, str, int], dict[str, Reply]] = {}
    topics = {topic.code: topic for topic in batch.pool.track.topics.all()} if rules.questions else {}
    for code, docno, entry, name, choice, grade, comment, task, given in judgments:
        in_words = answers_in_words(rules, given, topics[code]) if given else []
        reply = Reply(in_language(rules.label_of(choice, docno)), grade, comment, task, in_words, given)
        answers.setdefault((code, docno, entry), {})[name] = reply
    shown = _shown_assessors(batch, {name for of_unit in answers.values() for name in of_unit}, reader)
    notes = {(note.topic.code, note.docno): note for note in batch.notes.select_related("topic")}
    units = [
        DiscussedUnit(
            *unit,
            [DiscussionAnswer(column, of_unit.get(name)) for name, column in shown.items()],
            notes.get(unit[:2]),
            [AgreedGrade(grade.value, rules.label_of(grade.key, unit[1])) for grade in rules.grades],
        )
        for unit, of_unit in answers.items()
    ]
    units.sort(key=lambda unit: (-unit.steps, -unit.n_choices, natural(unit.topic), natural(unit.docno)))
    return list(shown.values()), units


def _shown_assessors(batch: Batch, names: set[str], reader: User) -> dict[str, ShownAssessor]:
    """The assessors by name: in alphabetical order, or mixed if the reader sees letters instead of names."""
    if reader.oversees(batch.pool.track_id) or batch.discussion == Batch.Discussion.NAMED:
        return {name: ShownAssessor(name, name == reader.username) for name in sorted(names)}
    mixed = sorted(names, key=lambda name: salted_hmac(SALT, f"{batch.pk} {name}").hexdigest())
    return {
        name: ShownAssessor(gettext("Assessor {letter}").format(letter=letters(n)), name == reader.username)
        for n, name in enumerate(mixed)
    }


def letters(n: int) -> str:
    """A, B, …, Z, AA, AB, … from 0.

    >>> letters(0), letters(25), letters(26)
    ('A', 'Z', 'AA')
    """
    first = letters(n // 26 - 1) if n >= 26 else ""
    return first + chr(ord("A") + n % 26)


def judgments_of_unit(batch: Batch, topic: str, docno: str) -> QuerySet[Judgment]:
    """The current judgments of a document in a batch."""
    return batch.judgments.filter(topic__code=topic, docno=docno, is_current=True)
