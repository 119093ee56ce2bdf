"""Guidelines next to a task, and the training judgments from which worked examples are picked."""

from collections import defaultdict
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from accounts.models import User
from assessment.judging.page import choices_of
from assessment.judgments.answers import ShownChoice, in_language
from assessment.judgments.selectors import current_judgments
from assessment.models import Batch, Judgment
from pooling.pools.entries import ShownDocument, shown_documents
from tracks.guidelines.selectors import html_of, last_read_before
from tracks.models import GuidelinesVersion, StoredProtocol, Track

PAGE = 20


@dataclass(frozen=True)
class GuidelinesPage:
    """The guidelines in force of a batch's track, and the meaning of each choice with the user's keys."""

    batch: Batch
    track: Track
    protocol: StoredProtocol
    version: GuidelinesVersion | None
    html: SafeString
    last_read: int | None
    choices: list[ShownChoice]


def guidelines_page(batch: Batch, user: User) -> GuidelinesPage:
    """Two queries; none if the track has no guidelines and its pool and protocol are loaded."""
    track = batch.pool.track
    version = track.guidelines
    return GuidelinesPage(
        batch=batch,
        track=track,
        protocol=batch.pool.protocol,
        version=version,
        html=html_of(version),
        last_read=None if version is None else last_read_before(version, user),
        choices=choices_of(batch.pool.protocol, user),
    )


def training_judgments(track: Track) -> QuerySet[Judgment]:
    """The current judgments of a track's training rounds that were made with its protocol."""
    return current_judgments(track, Batch.Kind.TRAINING)


@dataclass(frozen=True)
class TrainingVote:
    """An assessor's choice for a training unit."""

    assessor: str
    choice: str
    label: str
    comment: str


@dataclass(frozen=True)
class TrainingUnit:
    """A document that was judged in training; `choice` is that of most assessors, the first of them in a tie."""

    topic: str
    docno: str
    votes: list[TrainingVote]

    @property
    def choice(self) -> str:
        chosen = [vote.choice for vote in self.votes]
        return max(chosen, key=chosen.count)

    @property
    def comment(self) -> str:
        """The first comment of an assessor who made that choice."""
        return next((vote.comment for vote in self.votes if vote.choice == self.choice and vote.comment), "")


@dataclass(frozen=True)
class ExamplesPage:
    """Judged training units that can become worked examples."""

    track: Track
    rows: Page[tuple[str, str]]
    units: list[TrainingUnit]
    documents: dict[str, ShownDocument]
    topics: list[str]
    topic: str
    choices: list[tuple[str, str]]


def examples_page(track: Track, topic: str, number: str | None) -> ExamplesPage:
    """The training units of a topic, or of all; five queries, however many there are."""
    judgments = training_judgments(track).order_by("topic", "docno")
    topics = list(
        track.topics.filter(pk__in=judgments.order_by().values("topic")).values_list("code", flat=True)
    )
    of_topic = judgments.filter(topic__code=topic) if topic in topics else judgments
    rows = Paginator(of_topic.values_list("topic__code", "docno").distinct(), PAGE).get_page(number)
    rules = track.protocol.parsed.judging
    return ExamplesPage(
        track=track,
        rows=rows,
        units=_units(track, list(rows)),
        documents=shown_documents(track.collection, [docno for _, docno in rows]),
        topics=topics,
        topic=topic if topic in topics else "",
        choices=[(choice.key, choice.label) for choice in rules.choices],
    )


def _units(track: Track, keys: list[tuple[str, str]]) -> list[TrainingUnit]:
    rules = track.protocol.parsed.judging
    votes: defaultdict[tuple[str, str], list[TrainingVote]] = defaultdict(list)
    judgments = training_judgments(track).filter(
        topic__code__in={topic for topic, _ in keys}, docno__in={docno for _, docno in keys}
    )
    rows = judgments.order_by("pk").values_list(
        "topic__code", "docno", "assessor__username", "choice", "comment"
    )
    for topic, docno, assessor, choice, comment in rows:
        votes[topic, docno].append(
            TrainingVote(assessor, choice, in_language(rules.label_of(choice, docno)), comment)
        )
    return [TrainingUnit(topic, docno, votes[topic, docno]) for topic, docno in keys]
