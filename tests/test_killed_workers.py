"""A worker that is killed in the middle leaves no partial result, and another worker takes over its job.

A lock makes sure that it is the middle: the test locks a table that the worker must write, waits until the database
reports that the worker's statement is waiting for it, and kills the worker in its transaction.
"""

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from celery import current_app
from django.db import connection

from assay.formats.declaration import Declaration
from assay.formats.qrels.reader import parse_qrels
from corpus.imports.recognition import sources_of
from corpus.imports.services import start_import
from corpus.models import Collection, Comment, Document
from jobs import stopping
from jobs.models import Job
from participation.models import Team
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Evaluation, Leaderboard, Qrels, QrelsEntry, Score
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.assessment.conftest import build_scene
from tests.fixtures import Factory, wait_until
from tests.helpers.factories import make_collection, make_organizer, make_topic, make_track
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.judging import accept, judge
from tracks.models import Track

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def held(table: str) -> Iterator[Callable[[], bool]]:
    """Lock a table against writing. The function that it yields says whether a statement is waiting for the lock."""
    other = psycopg2.connect(**connection.get_connection_params() | {"cursor_factory": None})
    try:
        with other.cursor() as cursor:
            cursor.execute(f'LOCK TABLE "{table}" IN SHARE MODE')

            def is_waited_for() -> bool:
                cursor.execute(
                    "SELECT 1 FROM pg_locks WHERE relation = %s::regclass AND NOT granted", [f'"{table}"']
                )
                return cursor.fetchone() is not None

            yield is_waited_for
    finally:
        other.close()


def kill_while_writing(worker: Factory, beat: Factory, ask: Callable[[], Any], *tables: str) -> Any:
    """Request a job with `ask`, and return its result. For each table, kill a worker just before it writes the table.

    Beat relaunches the job each time, for the next worker. The last table that a transaction writes is the one to
    name: what the worker has written before is in the same transaction.
    """
    result = None
    beat()
    for table in tables:
        with held(table) as is_waited_for:
            result = result or ask()
            running = worker()
            wait_until(is_waited_for, reason=f"the worker is about to write {table}")
            running.kill()
    return result


def assert_taken_up(job: Job, *, losses: int) -> None:
    job.refresh_from_db()
    assert (job.state, job.losses, job.attempt) == (Job.State.DONE, losses, losses + 1), job.error


def is_done(job: Job) -> bool:
    job.refresh_from_db()
    assert job.state != Job.State.FAILED, job.error
    return job.state == Job.State.DONE


def posts(n: int) -> str:
    row = '<row Id="{0}" PostTypeId="1" Title="Title {0}" Body="&lt;p&gt;Body {0}&lt;/p&gt;" Score="1"/>'
    return "<posts>\n" + "\n".join(row.format(n + 1) for n in range(n)) + "\n</posts>\n"


def comments(n: int) -> str:
    row = '<row Id="{0}" PostId="{0}" Text="Remark {0}" Score="0"/>'
    return "<comments>\n" + "\n".join(row.format(n + 1) for n in range(n)) + "\n</comments>\n"


def test_import_goes_on_where_the_killed_worker_had_committed(
    worker: Factory, beat: Factory, tmp_path: Path
) -> None:
    (tmp_path / "Posts.xml").write_text(posts(300))
    (tmp_path / "Comments.xml").write_text(comments(300))
    collection = make_collection(status=Collection.Status.EMPTY)

    def ask() -> Job:
        files = sources_of([tmp_path / "Posts.xml", tmp_path / "Comments.xml"])
        return start_import(collection=collection, sources=files, by=make_organizer())

    job = kill_while_writing(worker, beat, ask, "corpus_comment")
    collection.refresh_from_db()
    assert collection.status == Collection.Status.IMPORTING, "readers see nothing of it"
    assert (Document.objects.count(), Comment.objects.count()) == (300, 0)

    worker()
    wait_until(lambda: is_done(job), reason="the import is taken up and done")
    collection.refresh_from_db()
    assert_taken_up(job, losses=1)
    assert collection.status == Collection.Status.READY
    assert (Document.objects.count(), Comment.objects.count()) == (300, 300)


def test_worker_that_is_stopped_hands_its_job_back_at_the_next_step(
    worker: Factory, beat: Factory, tmp_path: Path
) -> None:
    (tmp_path / "Posts.xml").write_text(posts(300))
    collection = make_collection(status=Collection.Status.EMPTY)
    beat()

    with held("corpus_document") as is_waited_for:
        job = start_import(
            collection=collection, sources=sources_of([tmp_path / "Posts.xml"]), by=make_organizer()
        )
        running = worker()
        wait_until(is_waited_for, reason="the worker is about to store the posts")
        os.kill(running.process.pid, signal.SIGTERM)  # the first process only, as Docker does
        time.sleep(stopping.HAND_BACK_SECONDS + 0.5)  # a job that ends by then is not handed back
    wait_until(lambda: running.process.poll() is not None, reason=running.output)
    job.refresh_from_db()
    state, n_stored = (job.state, job.attempt), Document.objects.count()
    worker()
    wait_until(lambda: is_done(job), reason="another worker goes on")

    assert state == ("queued", 1)
    assert n_stored > 0, "what is stored is not repeated"
    assert Document.objects.count() == 300
    job.refresh_from_db()
    assert (job.attempt, job.losses) == (2, 0), "that is no loss"


def track_with_runs() -> Track:
    track = make_track(collection=None)
    organizer = make_organizer("runs")
    team = Team.objects.create(track=track, name="Abacus")
    for code in ("A.1", "A.2"):
        make_topic(track, code)
    for n in range(3):
        lines = [
            f"{code}\t{100 * n + rank}\t{rank}\t{-rank}\trun{n}"
            for code in ("A.1", "A.2")
            for rank in range(1, 81)
        ]
        run_services.submit(
            track=track,
            team=team,
            by=organizer,
            file=io.BytesIO("\n".join(lines).encode()),
            file_name=f"run{n}.tsv",
            declared=Declaration(kind="primary"),
        )
    return track


def test_pool_is_built_completely_by_the_next_worker(worker: Factory, beat: Factory) -> None:
    scene = build_formula_scene()
    scene.submit("abacus", [4 * i for i in range(12)] + [1, 5])
    scene.submit("base", [3, 2, 0], team=1)

    def ask() -> Pool:
        return pool_services.request(track=scene.track, name="main", seed=7, depth={}, by=scene.organizer)

    pool = kill_while_writing(worker, beat, ask, "pooling_membercontribution")
    pool.refresh_from_db()
    assert pool.status == Pool.Status.BUILDING
    assert (PoolEntry.objects.count(), Contribution.objects.count()) == (0, 0)
    assert (PoolMember.objects.count(), MemberContribution.objects.count()) == (0, 0)

    worker()
    assert pool.job is not None
    wait_until(lambda: is_done(pool.job), reason="the pool is taken up and built")
    pool.refresh_from_db()
    assert_taken_up(pool.job, losses=1)
    assert pool.status == Pool.Status.READY
    assert PoolEntry.objects.filter(pool=pool).count() == pool.statistics["n"] == 2 * 4
    assert PoolMember.objects.count() == pool.statistics["members"]["n"]
    undisturbed = pool_services.request(track=scene.track, name="again", seed=7, depth={}, by=scene.organizer)
    wait_until(lambda: is_done(undisturbed.job), reason="the second pool is built")
    undisturbed.refresh_from_db()
    assert pool.sha256 == undisturbed.sha256


def test_runs_are_scored_completely_by_the_next_worker(worker: Factory, beat: Factory) -> None:
    track = track_with_runs()
    organizer = make_organizer()
    judged = parse_qrels(b"A.1 0 1 3\nA.1 0 102 2\nA.2 0 203 1\n")
    qrels = qrels_services.import_file(track=track, columns=judged, file_name="qrels.txt", by=organizer)

    def ask() -> Leaderboard:
        return leaderboard_services.request(qrels=qrels, by=organizer)

    board = kill_while_writing(worker, beat, ask, "scoring_evaluation", "scoring_score")
    board.refresh_from_db()
    assert board.status == Leaderboard.Status.SCORING
    assert (Evaluation.objects.count(), Score.objects.count()) == (0, 0)

    worker()
    assert board.job is not None
    wait_until(lambda: is_done(board.job), reason="scoring is taken up and done")
    board.refresh_from_db()
    assert_taken_up(board.job, losses=2)
    assert board.status == Leaderboard.Status.READY
    assert board.evaluations.count() == 3
    assert Score.objects.count() == 3 * len(board.measures) * (len({"A.1", "A.2"}) + 1)


FREEZE = """
from accounts.models import User
from pooling.models import Pool
from scoring.qrels import services
services.freeze_judgments(pool=Pool.objects.get(), by=User.objects.filter(is_staff=True).first())
"""


def test_killed_freezing_stores_nothing_and_the_next_one_everything(fork: Factory, tmp_path: Path) -> None:
    scene = build_scene()
    for choice in ("high", "high", "medium", "low", "low", "not-relevant"):
        judge(accept(scene.batch, scene.ada), choice)
    command = ["manage.py", "shell", "--no-imports", "-c", FREEZE]

    with held("scoring_qrelsentry") as is_waited_for:
        freezing = fork(command, tmp_path / "freeze.log")
        wait_until(is_waited_for, reason=freezing.output)
        freezing.kill()
    wait_until(lambda: not is_in_use(), reason="PostgreSQL notices that the process is gone")

    assert (Qrels.objects.count(), QrelsEntry.objects.count()) == (0, 0)
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=make_organizer())
    assert qrels.version == 1
    assert qrels_tsv(qrels).count(b"\n") == QrelsEntry.objects.count() == 6


def is_in_use() -> bool:
    """Return whether another client of this database is in a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND xact_start IS NOT NULL"
        )
        return cursor.fetchone() is not None


@pytest.mark.skipif(sys.platform != "linux", reason="reads the children of a process")
def test_process_that_needed_much_memory_is_replaced(worker: Factory) -> None:
    running = worker(PROCESS_MAX_MB="1")
    pid = running.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children")
    before = children.read_text()

    current_app.send_task("jobs.tasks.relaunch_lost_jobs")

    wait_until(lambda: children.read_text() not in {before, ""}, reason="another process does the work")
    assert running.process.poll() is None
