"""Teams, pools, batches and judgments for tests of judging."""

from io import BytesIO
from itertools import count
from typing import Any
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from accounts.models import User
from assessment.batches import services as batch_services
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Judgment, JudgmentImport, ProjectImport, Task
from assessment.planning import services as assignment_services
from assessment.planning.rules import Change
from participation.announcements import services as announcement_services
from participation.models import Announcement, Team, TeamDocument
from pooling.models import Pool, PoolEntry
from publishing.documents import services as document_services
from tests.helpers.factories import make_answer, make_document, make_organizer
from tracks.assessors import machines as machine_services
from tracks.models import Machine, Topic, Track

_number = count(1)


def make_team(track: Track, *members: User) -> Team:
    team = Team.objects.create(track=track, name=f"Team {next(_number)}")
    team.members.set(members)
    return team


def make_pool(track: Track, topics: dict[Topic, int], *, status: str = Pool.Status.READY) -> Pool:
    """A pool with the given number of answers for each topic. Docnos and positions have different orders."""
    pool = Pool.objects.create(
        track=track,
        name=f"Pool {next(_number)}",
        protocol=track.protocol,
        protocol_digest=track.protocol.digest,
        seed=1,
        status=status,
        created_by=make_organizer(),
    )
    for topic, n in topics.items():
        add_entries(pool, topic, n)
    return pool


def add_entries(pool: Pool, topic: Topic, n: int, *, start: int = 0) -> list[PoolEntry]:
    """Add answers, each in its own thread, to a pool at positions from `start`."""
    entries = []
    for position in range(start, start + n):
        collection = pool.track.collection
        assert collection is not None
        question = make_document(collection, f"{next(_number)}900")
        answer = make_answer(question, f"{next(_number)}100")
        entry = PoolEntry(pool=pool, topic=topic, docno=answer.docno, document=answer, position=position)
        entries.append(entry)
    return PoolEntry.objects.bulk_create(entries)


def make_batch(
    pool: Pool, assignments: dict[User, list[Topic]], *, is_open: bool = True, **fields: str | int
) -> Batch:
    """A batch with assigned topics, open unless `is_open` is false."""
    name = str(fields.pop("name", f"Batch {next(_number)}"))
    batch = batch_services.create(pool=pool, name=name, by=None, **fields)  # type: ignore[arg-type]
    changes = [
        Change(topic, assessor, is_withdrawn=False)
        for assessor, topics in assignments.items()
        for topic in topics
    ]
    if changes:
        assignment_services.change(batch=batch, changes=changes)
    return batch_services.open_for_judging(batch=batch) if is_open else batch


def make_team_document(team: Team, by: User, **fields: Any) -> TeamDocument:
    """A PDF of a team, which is not public."""
    fields = {"title": "Notes", "word": "", "is_public": False, "file": BytesIO(b"%PDF-1.7")} | fields
    return document_services.upload(team=team, file_name="notes.pdf", by=by, **fields)


def make_announcement(track: Track, by: User, **fields: Any) -> Announcement:
    """An announcement for everyone, which is not sent by e-mail."""
    fields = {"title": "Topics", "text": "They are *out*.", "audiences": ["everyone"]} | fields
    site = "https://assay.example"
    return announcement_services.publish(track=track, by=by, site=site, **({"is_mailed": False} | fields))


def make_project_import(by: User) -> ProjectImport:
    file = default_storage.save(f"projects/{next(_number)}", ContentFile(b"no zip file"))
    return ProjectImport.objects.create(name="turkle.zip", file=file, size=11, sha256="0", created_by=by)


def make_import(track: Track, by: User) -> JudgmentImport:
    """A file of judgments that was checked: its assessor is unknown."""
    number = next(_number)
    report = {
        "rows": 1, "new": 0, "equal": 0, "n_complaints": 1, "by_kind": [["unknown assessor", 1]], "batches": [],
        "complaints": [[2, "the track has no assessor zoe"]], "assessors": [["zoe", "", 1]], "answers": [],
    }  # fmt: skip
    name = default_storage.save(f"judgments/{number}", ContentFile(b"topic,docno,assessor,grade\n"))
    fields = {"name": f"judgments-{number}.csv", "file": name, "size": 27, "sha256": "0" * 64}
    return JudgmentImport.objects.create(
        track=track, batch="Imported", report=report, created_by=by, **fields
    )


def make_machine(track: Track, owner: User, *, name: str = "Llama judge", version: str = "3.1") -> Machine:
    return machine_services.add(track=track, name=name, version=version, owner=owner, by=owner)


def accept(batch: Batch, assessor: User) -> Task:
    """The assessor's next task; fails if there is none."""
    task = task_services.accept_next(batch=batch, assessor=assessor)
    assert task is not None
    return task


def judge(task: Task, choice: str = "high", comment: str = "", seconds: int | None = None) -> Judgment:
    """Submit a judgment with a new request id."""
    return judgment_services.submit(
        task=task, choice=choice, comment=comment, request_id=uuid4(), seconds=seconds
    )


def judge_all(batch: Batch, assessor: User, choice: str = "high") -> list[Judgment]:
    """Judge all remaining entries of the assessor."""
    judgments = []
    while task := task_services.accept_next(batch=batch, assessor=assessor):
        judgments.append(judge(task, choice))
    return judgments
