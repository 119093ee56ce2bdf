"""TREC RAG 2025 as a track: a machine judged the pool, and people judged units that tests name."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from uuid import uuid4

from django.utils import timezone

from accounts.models import User
from assay.protocols.loader import parse_protocol, shipped_text
from assay_extensions.estimates.tests.conftest import RUNS, rows_of
from assessment.models import Batch, Judgment, Task
from corpus.models import Document
from pooling.models import Pool, PoolEntry
from pooling.runs import services as run_services
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import make_batch, make_machine, make_team
from tests.helpers.remembered import remembered
from tracks.models import Machine, StoredProtocol, Track

GRADES = ("not-relevant", "relevant", "highly-relevant", "very", "perfect")
MORE = """[[judging.grade]]
key = "perfect"
value = 4
label = "Perfect"
definition = "Nothing is missing."

[[judging.grade]]
key = "very"
value = 3
label = "Very relevant"
definition = "Little is missing."

[[judging.grade]]
key = "highly-relevant\""""
Unit = tuple[str, str]


def choice_of(grade: int | None) -> str:
    return "do-not-know" if grade is None else GRADES[grade]


@dataclass
class RagTrack:
    """`people` and `machine_grades` have all grades of the data; `sample` has its units with their probabilities."""

    track: Track
    pool: Pool
    machine: Machine
    organizer: User
    ada: User
    entries: dict[Unit, int]
    machine_grades: dict[Unit, int]
    people: dict[Unit, int]
    sample: dict[Unit, float]

    def judge(
        self, batch: Batch, assessor: User, grades: Mapping[Unit, int | None], *, seat: int = 1
    ) -> None:
        """Store judgments of units as the tasks of an assessor, all at once. None is a non-answer."""
        now = timezone.now()
        of = {"batch": batch, "assessor": assessor, "order": Pool.Order.RANDOM}
        tasks = Task.objects.bulk_create(
            Task(
                entry_id=self.entries[unit], status=Task.Status.SUBMITTED, accepted_at=now, expires_at=now,
                submitted_at=now, seat=seat, **of,
            )
            for unit in grades
        )  # fmt: skip
        topics = {topic.code: topic for topic in self.track.topics.all()}
        Judgment.objects.bulk_create(
            Judgment(
                task=task, track=self.track, topic=topics[unit[0]], docno=unit[1], choice=choice_of(grade),
                grade=grade, request_id=uuid4(), seconds=60, **of,
            )
            for task, (unit, grade) in zip(tasks, grades.items(), strict=True)
        )  # fmt: skip

    def people_judge(self, units: Collection[Unit]) -> Batch:
        """Let Ada judge units in a batch."""
        batch = make_batch(self.pool, {self.ada: list(self.track.topics.all())})
        self.judge(batch, self.ada, {unit: self.people[unit] for unit in units})
        return batch


@remembered
def build_rag_track(data: Path) -> RagTrack:
    text = shipped_text("trec-adhoc").replace('[[judging.grade]]\nkey = "highly-relevant"', MORE, 1)
    text = text.replace('slug = "trec-adhoc"', 'slug = "rag-like"')
    text = re.sub(
        "measures = .*\nrelevant_from = 1", 'measures = ["nDCG@10", "P(rel=2)@20"]\nrelevant_from = 2', text
    )
    parsed = parse_protocol(text, name="rag-like.toml")
    protocol = StoredProtocol.objects.create(
        slug=parsed.slug, title=parsed.title, text=text, digest=parsed.digest
    )
    track = make_track("rag")
    Track.objects.filter(pk=track.pk).update(protocol=protocol)
    track.protocol = protocol
    rows = rows_of(data)
    assert track.collection is not None
    Document.objects.bulk_create(
        Document(
            collection=track.collection,
            docno=docno,
            thread=docno,
            kind="document",
            body="<p>words</p>" * (n % 9 + 1),
        )
        for n, docno in enumerate(sorted({row["docno"] for row in rows}))
    )
    topics = {code: make_topic(track, code) for code in dict.fromkeys(row["topic"] for row in rows)}
    organizer, ada = make_organizer("olga"), make_assessor(track, "ada")
    pool = Pool.objects.create(
        track=track, name="Pool 1", protocol=protocol, protocol_digest=protocol.digest, seed=1,
        status=Pool.Status.READY, created_by=organizer,
    )  # fmt: skip
    stored = PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topics[row["topic"]], docno=row["docno"], position=n)
        for n, row in enumerate(rows)
    )
    team = make_team(track)
    for name in RUNS:
        lines = [
            f"{row['topic']} Q0 {row['docno']} {row[name]} -{row[name]} {name}\n" for row in rows if row[name]
        ]
        run_services.submit(
            track=track, team=team, by=organizer, file=BytesIO("".join(lines).encode()), file_name=f"{name}.txt",
            declared=run_services.Declaration(kind="primary"),
        )  # fmt: skip
    machine = make_machine(track, organizer)
    units = [(row["topic"], row["docno"]) for row in rows]
    rag = RagTrack(
        track, pool, machine, organizer, ada,
        {unit: entry.pk for unit, entry in zip(units, stored, strict=True)},
        {unit: int(row["machine"]) for unit, row in zip(units, rows, strict=True)},
        {unit: int(row["people"]) for unit, row in zip(units, rows, strict=True)},
        {unit: float(row["probability"]) for unit, row in zip(units, rows, strict=True) if row["probability"]},
    )  # fmt: skip
    batch = make_batch(pool, {machine.assessor.user: list(topics.values())}, kind=Batch.Kind.MACHINE)
    rag.judge(batch, machine.assessor.user, rag.machine_grades)
    return rag
