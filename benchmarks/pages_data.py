"""Rows for `pages_speed.py`: a track with many runs, a pool, judgments, qrels and many leaderboards.

Runs, judgments and the copies of the leaderboard are stored in bulk. The pool, the frozen qrels, the leaderboard and
its analyses are made by the services.
"""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone

from accounts.models import User
from assay.formats.qrels.reader import parse_qrels
from assay.formats.reports import Report
from assay.formats.runs import columns
from assay.protocols.loader import load_protocol, shipped_text
from assessment.assignments import services as assignment_services
from assessment.batches import services as batch_services
from assessment.models import Batch, Judgment, Task, TopicAssignment
from corpus.models import Collection, Document
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, PoolEntry, Run, Team
from pooling.pools import services as pool_services
from scoring.analyses import services as analysis_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from tracks.models import Assessor, StoredProtocol, Topic, Track

PROTOCOL = "arqmath-2020-task1"
CORE = 300  # documents of a topic that runs have in common
LINES = 1000
CHUNK = 5_000


@dataclass
class Campaign:
    """What the pages need to know: people of each role, and some rows."""

    people: dict[str, User | None]
    track: Track
    board: Leaderboard
    pool: Pool


def make_campaign(*, n_runs: int, n_topics: int, n_boards: int, n_full: int, depth: int) -> Campaign:
    """A campaign with that many runs, topics and leaderboards; `n_full` of these have values by topic."""
    jobs.nudge = lambda job_id: None  # jobs run here, without a worker
    rng = np.random.default_rng(1)
    organizer = User.objects.create(username="olga", is_staff=True, is_superuser=True)
    track = _track(n_topics)
    _other_tracks(track, 60)
    teams = _teams(track, max(2, n_runs // 4))
    _runs(track, teams, organizer, n_runs, rng)
    assessors = [User.objects.create(username=f"assessor{n:02}") for n in range(10)]
    Assessor.objects.bulk_create(Assessor(track=track, user=user) for user in assessors)
    pool = pool_services.request(
        track=track, name="Pool", seed=1, depth={"primary": depth, "alternate": depth}, by=organizer
    )
    _run(pool.job)
    pool.refresh_from_db()
    _judge(pool, assessors, rng)
    _drafts(pool, 30)
    qrels = qrels_services.freeze_judgments(pool=pool, by=organizer)
    _more_qrels(track, organizer, 20)
    board = leaderboard_services.request(qrels=qrels, by=organizer)
    _run(board.job)
    board = leaderboard_services.release(
        leaderboard=board, level="public", by=organizer, reason="A benchmark."
    )
    _copies(board, n_boards - 1, n_full)
    _jobs(track, organizer, 300)
    _vacuum()
    return find_campaign()


def find_campaign() -> Campaign:
    """The campaign that another process made."""
    names = {"participant": "member00", "assessor": "assessor00", "organizer": "olga"}
    people = {role: User.objects.get(username=name) for role, name in names.items()}
    track = Track.objects.get(slug="big")
    return Campaign(
        {"visitor": None, **people}, track, track.leaderboards.earliest("pk"), track.pools.earliest("pk")
    )


def analyze(campaign: Campaign, kind: str) -> Job:
    """Run an analysis of the leaderboard, and return its job."""
    by = campaign.people["organizer"]
    assert by is not None
    analysis = analysis_services.request(leaderboard=campaign.board, kind=kind, by=by)
    return _run(analysis.job)


def _run(job: Job | None) -> Job:
    assert job is not None
    jobs.run(job.pk)
    job.refresh_from_db()
    if job.state != Job.State.DONE:
        raise SystemExit(f"{job.title}: {job.error}")
    return job


def _track(n_topics: int) -> Track:
    protocol = StoredProtocol.objects.create(
        slug=PROTOCOL, title=PROTOCOL, text=shipped_text(PROTOCOL), digest=load_protocol(PROTOCOL).digest
    )
    collection = Collection.objects.create(slug="posts", name="Posts", status="ready")
    Document.objects.bulk_create(
        (
            Document(
                collection=collection,
                docno=str(docno),
                thread=str(docno),
                kind="answer",
                body=f"<p>{'An answer with many words. ' * 20}</p>",
            )
            for topic in range(n_topics)
            for docno in _core(topic)
        ),
        batch_size=CHUNK,
    )
    track = Track.objects.create(
        slug="big", name="A big track", protocol=protocol, collection=collection, status="open"
    )
    labels = ["low", "medium", "high"]
    Topic.objects.bulk_create(
        Topic(
            track=track,
            code=f"A.{n + 1}",
            title=f"Topic {n + 1}",
            body="<p>A question with some words.</p>",
            labels={"difficulty": labels[n % 3]},
        )
        for n in range(n_topics)
    )
    return track


def _other_tracks(track: Track, n: int) -> None:
    Track.objects.bulk_create(
        Track(
            slug=f"other-{number}",
            name=f"Other {number}",
            protocol=track.protocol,
            collection=track.collection,
            status="open",
        )
        for number in range(n)
    )


def _teams(track: Track, n: int) -> list[Team]:
    teams = Team.objects.bulk_create(Team(track=track, name=f"Team {number:02}") for number in range(n))
    for number, team in enumerate(teams):
        team.members.add(User.objects.create(username=f"member{number:02}"))
    return teams


def _core(topic: int) -> range:
    return range(1 + topic * CORE, 1 + (topic + 1) * CORE)


def _is_relevant(docno: int) -> bool:
    return docno % 7 == 0


def _runs(track: Track, teams: list[Team], by: User, n: int, rng: np.random.Generator) -> None:
    codes = sorted(track.topics.values_list("code", flat=True))
    report = Report(
        name="run.tsv", size=1, sha256="0" * 64, n_lines=LINES * len(codes), n_topics=len(codes)
    ).as_json()
    for number in range(n):
        run = Run(
            track=track,
            team=teams[number % len(teams)],
            tag=f"run-{number:03}",
            kind="alternate" if number % 3 else "primary",
            file_name="run.tsv",
            sha256=f"{number:064x}",
            n_lines=LINES * len(codes),
            n_topics=len(codes),
            report=report,
            submitted_by=by,
        )
        run.original.save("run.tsv", ContentFile(b"A.1\t1\t1\t1.0\trun\n"), save=False)
        data = columns.save(_columns(codes, rng, quality=number / n))
        run.columns.save("run.npz", ContentFile(data), save=False)
        run.save()


def _columns(codes: list[str], rng: np.random.Generator, quality: float) -> columns.RunColumns:
    """A run that ranks relevant documents higher the better it is."""
    docnos = []
    for code in codes:
        core = np.array(_core(int(code.removeprefix("A.")) - 1))
        scores = rng.normal(size=CORE) + (0.5 + 2 * quality) * (core % 7 == 0)
        others = rng.choice(10_000_000, LINES - CORE, replace=False) + 1_000_000
        docnos.append(np.concatenate((core[np.argsort(-scores)], others)))
    return columns.RunColumns(
        topics=np.array(codes),
        topic_index=np.repeat(np.arange(len(codes), dtype=np.int32), LINES),
        docno=np.concatenate(docnos).astype("S"),
        rank=np.tile(np.arange(1, LINES + 1, dtype=np.int32), len(codes)),
        score=np.tile(np.arange(LINES, 0, -1, dtype=np.float64), len(codes)),
    )


def _judge(pool: Pool, assessors: list[User], rng: np.random.Generator) -> None:
    """Everything is judged but the last topic of each assessor."""
    batch = batch_services.create(pool=pool, name="Main", by=pool.created_by)
    topics = list(Topic.objects.filter(pool_entries__pool=pool).distinct())
    for number, assessor in enumerate(assessors):
        own = topics[number :: len(assessors)]
        assignment_services.assign(batch=batch, assessor=assessor, topics=own)
    batch = batch_services.open_for_judging(batch=batch)
    by_topic = dict(TopicAssignment.objects.filter(batch=batch).values_list("topic_id", "assessor_id"))
    left = {topic.pk for topic in topics[-len(assessors) :]}
    entries = [entry for entry in PoolEntry.objects.filter(pool=pool) if entry.topic_id not in left]
    _bulk_judgments(batch, entries, by_topic, rng)


def _bulk_judgments(
    batch: Batch, entries: list[PoolEntry], by_topic: dict[int, int], rng: np.random.Generator
) -> None:
    now = timezone.now()
    tasks = Task.objects.bulk_create(
        (
            Task(
                batch=batch,
                entry=entry,
                assessor_id=by_topic[entry.topic_id],
                order="random",
                status=Task.Status.SUBMITTED,
                accepted_at=now,
                expires_at=now + timedelta(hours=2),
                submitted_at=now,
            )
            for entry in entries
        ),
        batch_size=CHUNK,
    )
    seconds = rng.integers(5, 120, len(entries)).tolist()
    Judgment.objects.bulk_create(
        (
            Judgment(
                task=task,
                batch=batch,
                track_id=batch.pool.track_id,
                topic_id=entry.topic_id,
                docno=entry.docno,
                assessor_id=task.assessor_id,
                choice="high" if _is_relevant(int(entry.docno)) else "irrelevant",
                grade=3 if _is_relevant(int(entry.docno)) else 0,
                order="random",
                request_id=uuid4(),
                seconds=seconds[n],
            )
            for n, (task, entry) in enumerate(zip(tasks, entries, strict=True))
        ),
        batch_size=CHUNK,
    )


def _drafts(pool: Pool, n: int) -> None:
    for number in range(n):
        batch_services.create(pool=pool, name=f"Draft {number}", kind="dual", by=pool.created_by)


def _more_qrels(track: Track, by: User, n: int) -> None:
    for number in range(n):
        text = "".join(f"A.1 0 {docno} {(docno + number) % 3}\n" for docno in _core(0)[: 20 + number])
        qrels_services.import_file(
            track=track, columns=parse_qrels(text.encode()), file_name="qrels.txt", by=by
        )


def _jobs(track: Track, by: User, n: int) -> None:
    Job.objects.bulk_create(
        Job(
            kind="tests.work",
            title=f"Work {number}",
            state=Job.State.DONE,
            created_by=by,
            subject=str(track),
            subject_path=track.get_absolute_url().lstrip("/"),
            finished_at=timezone.now(),
        )
        for number in range(n)
    )


def _vacuum() -> None:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


# -- copies of the leaderboard, by SQL, so that they work with the tables of other versions


def _copies(board: Leaderboard, n: int, n_full: int) -> None:
    qrels = list(Qrels.objects.filter(track=board.track).order_by("pk").values_list("pk", flat=True))
    for number in range(n):
        release = "hidden" if number % 2 else "public"
        _copy(board.pk, qrels[number % len(qrels)], release, is_full=number < n_full - 1)


def _copy(board_id: int, qrels_id: int, release: str, *, is_full: bool) -> None:
    with connection.cursor() as cursor:
        changed = {"qrels_id": qrels_id, "release": release, "job_id": None}
        changed |= {"released_at": None, "released_by_id": None} if release == "hidden" else {}
        (copy,) = _insert(cursor, "scoring_leaderboard", changed, f"id = {board_id}")
        cursor.execute("SELECT id FROM scoring_evaluation WHERE leaderboard_id = %s ORDER BY id", [board_id])
        old = [pk for (pk,) in cursor.fetchall()]
        new = _insert(cursor, "scoring_evaluation", {"leaderboard_id": copy}, f"leaderboard_id = {board_id}")
        of = dict(zip(old, new, strict=True))
        cursor.execute("SELECT statistics FROM scoring_leaderboard WHERE id = %s", [copy])
        order = json.loads(cursor.fetchone()[0])["evaluations"]
        cursor.execute(
            "UPDATE scoring_leaderboard SET statistics = jsonb_set(statistics, '{evaluations}', %s) WHERE id = %s",
            [json.dumps([of[pk] for pk in order]), copy],
        )
        if "scoring_measurestatistics" in connection.introspection.table_names(cursor):
            _insert(
                cursor,
                "scoring_measurestatistics",
                {"leaderboard_id": copy},
                f"leaderboard_id = {board_id}",
            )
        cursor.execute(
            "INSERT INTO scoring_score (evaluation_id, topic, measure, value) "
            "SELECT n.new, topic, measure, value FROM scoring_score s "
            "JOIN unnest(%s::bigint[], %s::bigint[]) AS n (old, new) ON s.evaluation_id = n.old "
            "WHERE %s OR topic = 'all'",
            [old, new, is_full],
        )


def _insert(cursor: Any, table: str, changed: dict[str, Any], condition: str) -> list[int]:
    """Copy rows with some columns changed, and return the new ids in the order of the old ones."""
    names = [column.name for column in connection.introspection.get_table_description(cursor, table)]
    names.remove("id")
    values = ["%s" if name in changed else name for name in names]
    given = [changed[name] for name in names if name in changed]
    cursor.execute(
        f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table} "
        f"WHERE {condition} ORDER BY id RETURNING id",
        given,
    )
    return [pk for (pk,) in cursor.fetchall()]


def size_of_tables() -> str:
    """The size of the database, for the head of the report."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_size_pretty(pg_database_size(current_database()))")
        return str(cursor.fetchone()[0])
