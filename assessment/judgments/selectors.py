"""Judgments that a user may read."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Coalesce, Left

from accounts.models import User
from assay.answers import CITATION, NUGGET
from assay.html.sanitize import beginning, plain
from assay.protocols.schema import JudgingRules
from assessment.batches.other_batches import judged_in_other_batches
from assessment.judgments.answers import Answered, answers_in_words, in_language
from assessment.models import MAIN_AND_DUAL, Batch, Judgment, Task, TopicAssignment
from corpus.models import Formula
from pooling.models import PoolMember
from tracks.models import Topic, Track

PAGE = 50
SNIPPET = 60  # letters
READ = 4_000  # characters of a document, which are enough for a snippet
# What looks to its assessor as if it counted: current judgments, and the latest answers to hidden checks.
COUNTED_FOR_ASSESSORS = Q(is_current=True) | Q(
    is_check=True, replaced_by=None, task__status=Task.Status.SUBMITTED
)


def last_number() -> int:
    """The number of the newest judgment, which grows by at least one with each; 0 if there is none. One index read."""
    return Judgment.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


class OwnJudgment(NamedTuple):
    """An assessor's judgment with the label of its choice and the answers to questions, in words.

    `snippet` is the beginning of the text of a document without a title.
    """

    judgment: Judgment
    label: str
    answers: list[Answered]
    snippet: str = ""


def own_judgment(judgment: Judgment, rules: JudgingRules, topic: Topic, *, text: str = "") -> OwnJudgment:
    answers = answers_in_words(rules, judgment.answers, topic)
    label = in_language(rules.label_of(judgment.choice, judgment.docno))
    return OwnJudgment(judgment, label, answers, beginning(plain(text), SNIPPET))


def latest_judgment(task: Task, rules: JudgingRules) -> OwnJudgment | None:
    """The assessor's latest judgment of a task."""
    latest = Judgment.objects.filter(task=task.pk).order_by("-pk").first()
    return own_judgment(latest, rules, task.entry.topic) if latest else None


def own_judgments(batch: Batch, user: User) -> QuerySet[Judgment]:
    """A user's judgments in a batch, newest first; of each document only the latest.

    While the assessor has a repeat of a unit that they have not submitted, their judgment of the unit is not shown.
    """
    own = Judgment.objects.filter(batch=batch, assessor=user)
    if batch.has_checks:
        repeats = Task.objects.filter(
            batch=batch, assessor=user, check_of__isnull=False, entry=OuterRef("task__entry")
        )
        own = own.exclude(Exists(repeats.exclude(status=Task.Status.SUBMITTED)), is_check=False)
    is_latest = ~Q(replaced_by__assessor=user)
    return own.filter(is_latest).select_related("topic", "task").order_by("-pk")


def with_words(judgments: QuerySet[Judgment], batch: Batch) -> QuerySet[Judgment]:
    """Judgments of a batch; of units of generated answers with `words`: the nugget, the sentence or two beginnings."""
    is_blind = batch.pool.protocol.parsed.judged.is_blind
    return judgments.annotate(words=F("task__entry__passage")) if is_blind else judgments


def own_topics(batch: Batch, user: User) -> QuerySet[Topic]:
    """The topics of a batch that a user has judged in, by code."""
    judged = Judgment.objects.filter(batch=batch, assessor=user).order_by().values("topic")
    return Topic.objects.filter(pk__in=judged)


@dataclass(frozen=True)
class OwnJudgmentsPage:
    """One page of an assessor's own judgments; `rows` is the page of the paginator."""

    batch: Batch
    rows: Page[Judgment]
    judgments: list[OwnJudgment]


def own_judgments_page(batch: Batch, user: User, wanted: Q, number: str | None) -> OwnJudgmentsPage:
    """One page of the `own_judgments` that are wanted, with the labels of the protocol, the documents' titles or the
    beginnings of their texts, and the LaTeX of formulas.
    """
    title = F("task__entry__document__title")
    text = Case(When(title="", then=Left("task__entry__document__body", READ)), default=Value(""))
    formula = Formula.objects.filter(collection=batch.pool.track.collection, code=OuterRef("docno"))
    latex = Coalesce(Subquery(formula.values("latex")[:1]), Value(""), output_field=TextField())
    wordy = with_words(own_judgments(batch, user), batch)
    own: QuerySet[Judgment] = wordy.annotate(title=title, latex=latex).annotate(text=text)
    rows = Paginator(own.filter(wanted), PAGE).get_page(number)
    rules = batch.pool.protocol.parsed.judging
    judgments = [
        own_judgment(judgment, rules, judgment.topic, text=vars(judgment)["text"]) for judgment in rows
    ]
    return OwnJudgmentsPage(batch, rows, judgments)


def current_judgments(track: Track, *kinds: str) -> QuerySet[Judgment]:
    """The current judgments in batches of some kinds, made with the track's protocol, oldest first."""
    of_kinds = Judgment.objects.filter(track=track, is_current=True, batch__kind__in=kinds)
    return of_kinds.filter(batch__pool__protocol=track.protocol_id).order_by("pk")


ABOUT = {"nuggets": NUGGET, "citations": CITATION}  # how the ids of the judged units of answers begin


def judgments_of_track(track: Track, *, has_machines: bool = False, about: str = "") -> QuerySet[Judgment]:
    """Every judgment of a track by people, also those that were replaced; with those of machines if asked for.

    `about` is a key of `ABOUT`: only the judgments of nuggets, or of citations.
    """
    judgments = Judgment.objects.filter(track=track, docno__startswith=ABOUT.get(about, ""))
    return judgments if has_machines else judgments.exclude(batch__kind=Batch.Kind.MACHINE)


def judgment_counts(track: Track) -> dict[str, int]:
    """Counts of a track's judgments, for the preview of an export. One query."""
    is_current = Q(is_current=True)
    return judgments_of_track(track).aggregate(
        total=Count("pk"),
        current=Count("pk", filter=is_current),
        non_answers=Count("pk", filter=is_current & Q(grade__isnull=True)),
        imported=Count("from_import"),
    )


class EarlierJudgment(NamedTuple):
    """A judgment that an adjudicator sees, without the name of its assessor."""

    label: str
    grade: int | None
    comment: str
    answers: list[Answered]


def earlier_judgments(
    task: Task, docnos: Collection[str], rules: JudgingRules
) -> dict[str, list[EarlierJudgment]]:
    """The current main and second judgments of some documents of a task, oldest first, in the words of its page.

    Empty for a blind adjudication, and for tasks of other batches.
    """
    batch = task.batch
    if batch.kind != Batch.Kind.ADJUDICATION or batch.is_blind:
        return {}
    current = Judgment.objects.filter(topic=task.entry.topic_id, docno__in=docnos, is_current=True)
    current = current.filter(batch__kind__in=MAIN_AND_DUAL, batch__pool__protocol=batch.pool.protocol_id)
    earlier: defaultdict[str, list[EarlierJudgment]] = defaultdict(list)
    for judgment in current.order_by("pk"):
        shown = EarlierJudgment(
            in_language(rules.label_of(judgment.choice, judgment.docno)),
            None if rules.judged.has_votes else judgment.grade,
            judgment.comment,
            answers_in_words(rules, judgment.answers, task.entry.topic),
        )
        earlier[judgment.docno].append(shown)
    return dict(earlier)


def is_withdrawn_check(task: Task) -> bool:
    """True if the topic of a check was withdrawn from its assessor. Nobody withdraws a topic that they never had."""
    withdrawn = TopicAssignment.objects.filter(
        batch=task.batch_id, assessor=task.assessor_id, topic=task.entry.topic_id, is_withdrawn=True
    )
    return withdrawn.exists()


def members_of(task: Task) -> QuerySet[PoolMember]:
    """The shown members of a task's unit, in order."""
    return PoolMember.objects.filter(entry=task.entry_id, position__gt=0).order_by("position")


def members_to_judge(task: Task) -> list[PoolMember]:
    """The members that the assessor judges: those that other batches have not judged.

    The assessor can still change what they have judged in this task.
    """
    members = list(members_of(task).select_related("document__collection"))
    if task.is_check:
        # For a repeat, keep the members that the assessor has judged before; for a unit with known grades, all
        before = Judgment.objects.filter(
            task__batch=task.batch_id,
            task__entry=task.entry_id,
            task__assessor=task.assessor_id,
            is_check=False,
        )
        judged = set(before.values_list("docno", flat=True))
        return [member for member in members if member.docno in judged] or members
    docnos = [member.docno for member in members]
    own = set(Judgment.objects.filter(task=task.pk, docno__in=docnos).values_list("docno", flat=True))
    settled = judged_in_other_batches(task, docnos) - own
    return [member for member in members if member.docno not in settled]
