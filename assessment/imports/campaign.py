"""The things in a track that the rows of a file can refer to: pools, units, batches, assessors and stored judgments."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from assay.formats.judgments.rows import JudgmentRow
from assay.formats.topics.subtopics import labels_of
from assay.html.sanitize import plain
from assay.protocols.schema import Grade, NonAnswer
from assessment.models import Batch, Judgment, Task, TopicAssignment
from pooling.models import Pool, PoolEntry, PoolMember
from tracks.models import Assessor, Machine, Row, Topic, Track

CHUNK = 5_000


class StoredJudgment(NamedTuple):
    """A judgment that the track has."""

    pk: int
    choice: str
    comment: str
    judged_at: datetime
    is_current: bool
    is_replaced: bool


@dataclass
class PoolUnits:
    """The entries of a pool by topic and docno, and the entries of the members that are judged instead."""

    entries: dict[tuple[int, str], int]
    members: dict[tuple[int, str], int] = field(default_factory=dict)
    with_members: set[int] = field(default_factory=set)

    def entry_of(self, topic: int, docno: str, unit: str) -> int | None:
        """The entry that a judgment of a document is about; None if the pool has none."""
        entry = self.members.get((topic, docno))
        if entry is None:
            entry = self.entries.get((topic, docno))
            entry = None if entry in self.with_members else entry
        return entry if not unit or entry == self.entries.get((topic, unit)) else None

    @classmethod
    def read(cls, pool: Pool, topics: Collection[int]) -> "PoolUnits":
        entries = PoolEntry.objects.filter(pool=pool, topic__in=topics).values_list("topic_id", "docno", "pk")
        units = cls({(topic, docno): pk for topic, docno, pk in entries.iterator(chunk_size=CHUNK)})
        members = PoolMember.objects.filter(entry__pool=pool, entry__topic__in=topics, position__gt=0)
        rows = members.order_by().values_list("entry__topic_id", "docno", "entry_id")
        for topic, docno, entry in rows.iterator(chunk_size=CHUNK):
            units.members[topic, docno] = entry
            units.with_members.add(entry)
        return units


class Campaign:
    """A track as an import sees it. PoolUnits, judgments, tasks and assignments are read for some topics at a time."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.rules = track.protocol.parsed.judging
        pools = Pool.objects.filter(track=track, status=Pool.Status.READY, protocol=track.protocol_id)
        self.pools = {pool.name: pool for pool in pools.defer("statistics").order_by("pk")}
        topics = list(Topic.objects.filter(track=track).values_list("code", "pk", "subtopics"))
        self.topics: dict[str, int] = {code: pk for code, pk, _ in topics}
        self.subtopics = {code: labels_of(subtopics) for code, _, subtopics in topics}
        members = Assessor.objects.filter(track=track).values_list("user__username", "user_id")
        self.assessors: dict[str, int] = dict(members)
        self.machines = set(
            Machine.objects.filter(assessor__track=track).values_list("assessor__user", flat=True)
        )
        groups = Assessor.objects.filter(track=track).exclude(group="").values_list("user_id", "group")
        self.groups: dict[int, str] = dict(groups)
        batches = Batch.objects.filter(pool__track=track).order_by("pk")
        self.batches = {(batch.pool_id, batch.name): batch for batch in batches}
        versions = track.guidelines_versions.values_list("number", "pk")
        self.guidelines: dict[int, int] = dict(versions)
        self._units: dict[int, PoolUnits] = {}
        self._topics: set[int] = set()
        self._lengths: dict[tuple[str, str], dict[str, int]] = {}

    def judges_in(self, key: "BatchKey") -> int:
        """The number of people who judge a unit of a main batch, which may not exist yet."""
        batch = self.batches.get((key.pool_id, key.name))
        return (batch and batch.judges) or self.rules.judges

    def read_units(self, topics: set[int], rows: Iterable[JudgmentRow] = ()) -> None:
        """Have the units of these topics from now on, and the lengths of the texts of which rows mark parts."""
        self._topics, self._units, self._lengths = topics, {}, {}
        spans = {question.key for question in self.rules.questions if question.kind == "span"}
        docnos = {row.docno for row in rows if spans & row.answers.keys()}
        if not docnos:
            return
        if self.rules.form is not None:
            fields = Row.objects.filter(topic__in=topics, docno__in=docnos)
            for topic, docno, values in fields.values_list("topic__code", "docno", "fields"):
                self._lengths[topic, docno] = {name: len(text) for name, text in values.items()}
            return
        units = PoolEntry.objects.filter(topic__in=topics, docno__in=docnos, document__isnull=False)
        texts = units.values_list("topic__code", "docno", "document__body")
        for topic, docno, body in texts.iterator(chunk_size=CHUNK):
            if (topic, docno) not in self._lengths:
                self._lengths[topic, docno] = {"": len(plain(body))}

    def lengths_of(self, row: JudgmentRow) -> dict[str, int] | None:
        """The lengths of the texts that a row can mark; None if they are not here, as of a collection without texts."""
        return self._lengths.get((row.topic, row.docno))

    def units(self, pool: Pool) -> PoolUnits:
        if pool.pk not in self._units:
            self._units[pool.pk] = PoolUnits.read(pool, self._topics)
        return self._units[pool.pk]

    def stored(
        self, batches: Collection[Batch], topics: Collection[int]
    ) -> dict[tuple[int, int, str, int, bool], list[StoredJudgment]]:
        """The judgments of topics by batch, topic, docno, assessor and whether they are checks, oldest first."""
        judgments = Judgment.objects.filter(batch__in=batches, topic__in=topics).order_by("pk")
        fields = ("batch_id", "topic_id", "docno", "assessor_id", "is_check")
        values = ("pk", "choice", "comment", "created_at", "is_current", "replaced_by")
        of_key: dict[tuple[int, int, str, int, bool], list[StoredJudgment]] = {}
        for row in judgments.values_list(*fields, *values).iterator(chunk_size=CHUNK):
            pk, choice, comment, judged_at, is_current, replaced_by = row[5:]
            judgment = StoredJudgment(pk, choice, comment, judged_at, is_current, replaced_by is not None)
            of_key.setdefault(row[:5], []).append(judgment)
        return of_key

    def judged(self, topics: Iterable[int]) -> set[tuple[int, int, str, int, int]]:
        """The batch, topic, docno, seat and assessor of every current judgment of some topics."""
        judgments = Judgment.objects.filter(topic__in=list(topics), is_current=True)
        rows = judgments.values_list("batch_id", "topic_id", "docno", "task__seat", "assessor_id").order_by()
        return set(rows.iterator(chunk_size=CHUNK))

    def assignments(self, batches: Collection[Batch], topics: Collection[int]) -> list[TopicAssignment]:
        return list(TopicAssignment.objects.filter(batch__in=batches, topic__in=topics).order_by("pk"))

    def tasks(
        self, batches: Collection[Batch], topics: Collection[int]
    ) -> dict[tuple[int, int, int, bool], Task]:
        """The tasks of topics in batches by batch, entry and assessor, and whether they are hidden checks."""
        tasks = Task.objects.filter(batch__in=batches, entry__topic__in=topics)
        return {(task.batch_id, task.entry_id, task.assessor_id, task.is_check): task for task in tasks}


@dataclass(frozen=True, slots=True)
class BatchKey:
    """A batch, which may not exist yet."""

    pool_id: int
    name: str
    kind: str


@dataclass(slots=True)
class PlannedJudgment:
    """A judgment to import, and the id that it gets.

    `seat` is 0 until it is known; `stored` is the equal judgment that the track has.
    """

    pk: int
    row: JudgmentRow
    pool: Pool
    batch: BatchKey
    topic: int
    entry: int
    assessor: int
    choice: Grade | NonAnswer
    is_current: bool
    guidelines: int | None = None
    seat: int = 0
    replaces: "PlannedJudgment | None" = None
    stored: StoredJudgment | None = None

    @property
    def key(self) -> tuple[BatchKey, int, str, int, bool]:
        """Of an assessor's judgments of a document in a batch."""
        return self.batch, self.topic, self.row.docno, self.assessor, self.row.is_check

    def equals(self, stored: StoredJudgment) -> bool:
        """True if the choice, the comment and, if the file has it, the time are those of a stored judgment."""
        time = self.row.judged_at
        return (stored.choice, stored.comment) == (self.choice.key, self.row.comment.strip()) and (
            time is None or stored.judged_at.replace(microsecond=0) == time.replace(microsecond=0)
        )
