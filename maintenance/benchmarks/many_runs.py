"""A campaign of many runs: the steps that a worker runs, the pages and downloads, and the memory that processes keep.

The runs are made here: each returns 1,000 of 2,000 documents of each topic, in an order of its own.
"""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from maintenance.benchmarks.harness import ROOT, Site, analyze, case, database, process_times, timed
from maintenance.benchmarks.real_size import STEP, organizer, perform

SLUG, RETURNED, DOCUMENTS, PEOPLE = "many-runs", 1_000, 2_000, 10


@case
def many_runs(var: Path, *, runs: int = 1_000, topics: int = 50, only: str = "", again: bool = False) -> None:
    """Measure a campaign with many runs and two judgments of each unit, step by step, and print a table.

    It is made in VAR by the first steps, as `real-size` does with a collection, and the options are the same. `pages`
    measures its pages.
    """
    steps: dict[str, Callable[[], str]] = {
        "runs": partial(submitted, runs, topics),
        "pool": pooled,
        "judgments": judged,
        "freeze": frozen,
        "leaderboard": scored,
        "pages": opened,
        "memory": remaining,
    }
    if step := os.environ.get(STEP):
        import django

        django.setup()
        print(steps[step](), flush=True)
        return
    with database(var=var.absolute(), settings={"DEBUG": "0", "REDIS_URL": "filesystem://"}):
        perform(var / "many_runs.jsonl", list(steps), only, again=again)


def track() -> Any:
    from tracks.models import Track

    return Track.objects.get(slug=SLUG)


def submitted(n_runs: int, n_topics: int) -> str:
    from assay.formats.declaration import Declaration
    from assay.protocols.loader import parse_protocol, shipped_text
    from participation.models import Team
    from pooling.models import Run
    from pooling.runs import services as run_services
    from tracks.models import Organizer, StoredProtocol, Topic, Track
    from tracks.tracks import services as track_services

    text = shipped_text("trec-adhoc").replace('slug = "trec-adhoc"', f'slug = "{SLUG}"')
    text = text.replace("judges = 1", "judges = 2").replace('aggregate = "single"', 'aggregate = "maximum"')
    parsed = parse_protocol(text, name=f"{SLUG}.toml")
    fields = {"title": SLUG, "text": text, "digest": parsed.digest}
    protocol, _ = StoredProtocol.objects.get_or_create(slug=SLUG, defaults=fields)
    of_track, is_new = Track.objects.get_or_create(slug=SLUG, defaults={"name": SLUG, "protocol": protocol})
    if is_new:
        Organizer.objects.create(track=of_track, user=organizer())
        Topic.objects.bulk_create(
            Topic(track=of_track, code=f"T{n:03}", title=f"Topic {n}") for n in range(1, n_topics + 1)
        )
        of_track = track_services.open_for_runs(track=of_track)
    grades = np.random.default_rng(1).choice(3, (n_topics, DOCUMENTS), p=[0.9, 0.07, 0.03])
    tags = set(Run.objects.filter(track=of_track).values_list("tag", flat=True))
    for n in range(n_runs):
        tag = f"run{n:04}"
        if tag in tags:
            continue
        team, is_new = Team.objects.get_or_create(track=of_track, name=f"Team {n // 5:03}")
        if is_new:
            team.members.add(participant(n // 5))
        run_services.submit(
            track=of_track,
            team=team,
            by=organizer(),
            file=BytesIO(run_file(grades, n, tag).encode()),
            file_name=f"{tag}.txt",
            declared=Declaration(kind="primary", tag=tag),
        )
    return f"{n_runs:,} runs"


def participant(n: int) -> Any:
    from accounts.models import User

    return User.objects.get_or_create(username=f"participant{n}")[0]


def run_file(grades: Any, n: int, tag: str) -> str:
    """A run whose skill depends on its number; every third one has equal scores."""
    rng = np.random.default_rng([2, n])
    scores = rng.uniform(0.2, 2) * grades + rng.normal(size=grades.shape)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :RETURNED]
    best = np.take_along_axis(scores, order, axis=1)
    if n % 3 == 0:
        best = best.round(2)
    lines = []
    for topic, (documents, values) in enumerate(zip(order.tolist(), best.tolist(), strict=True), 1):
        lines += [
            f"T{topic:03} Q0 D{topic:03}-{document:04} {rank} {value} {tag}\n"
            for rank, (document, value) in enumerate(zip(documents, values, strict=True), 1)
        ]
    return "".join(lines)


def pooled() -> str:
    from jobs.console import follow
    from pooling.pools import services

    name = f"Pool {track().pools.count() + 1}"
    pool = services.request(track=track(), name=name, seed=1, depth={}, by=organizer())
    assert pool.job is not None
    follow(pool.job)
    pool.refresh_from_db()
    return f"{pool.statistics['n']:,} units, {pool.sha256[:8]}"


def judged() -> str:
    """Two judgments of each unit of the first pool, stored as rows."""
    from django.db import connection

    from accounts.models import User
    from assessment.batches import services as batch_services
    from assessment.models import Judgment
    from assessment.planning import services as assignment_services
    from pooling.models import Pool
    from tracks.models import Assessor

    pool = Pool.objects.filter(track=track(), status="ready").earliest("id")
    people = [User.objects.get_or_create(username=f"assessor{n}")[0] for n in range(PEOPLE)]
    for person in people:
        Assessor.objects.get_or_create(track=pool.track, user=person)
    batch = batch_services.create(pool=pool, name="Main", by=None)
    topics = list(pool.track.topics.order_by("pk"))
    for number, person in enumerate(people):
        own = [topic for n, topic in enumerate(topics) if number in {n % PEOPLE, (n + 1) % PEOPLE}]
        assignment_services.assign(batch=batch, assessor=person, topics=own)
    batch_services.open_for_judging(batch=batch)
    with connection.cursor() as cursor:
        cursor.execute(JUDGE, {"batch": batch.pk, "pool": pool.pk, "track": pool.track_id})
    analyze()
    return f"{Judgment.objects.filter(batch=batch).count():,} judgments"


JUDGE = """
WITH tasks AS (
    INSERT INTO assessment_task (batch_id, entry_id, assessor_id, seat, is_check, "order", status, accepted_at,
        expires_at, submitted_at, skip_reason)
    SELECT %(batch)s, entry.id, assigned.assessor_id, assigned.seat, false, 'random', 'submitted',
        now() - interval '1 minute', now() + interval '1 hour', now(), ''
    FROM pooling_poolentry entry JOIN assessment_topicassignment assigned ON assigned.topic_id = entry.topic_id
    WHERE entry.pool_id = %(pool)s AND assigned.batch_id = %(batch)s
        AND (entry.id + assigned.seat * 37) %% 1000 > 0
    RETURNING id, entry_id, assessor_id, seat
), graded AS (
    SELECT tasks.*, entry.topic_id, entry.docno,
        (get_byte(decode(md5(entry.docno), 'hex'), 0) > 200)::int
        + (get_byte(decode(md5(entry.docno), 'hex'), 1) > 200)::int AS truth,
        get_byte(decode(md5(entry.docno || tasks.seat), 'hex'), 2) AS noise
    FROM tasks JOIN pooling_poolentry entry ON entry.id = tasks.entry_id
), final AS (
    SELECT *, CASE WHEN noise < 30 THEN noise %% 3 ELSE truth END AS value FROM graded
)
INSERT INTO assessment_judgment (task_id, batch_id, track_id, topic_id, docno, assessor_id, choice, grade, comment,
    answers, "order", request_id, is_current, is_check, seconds, source, created_at)
SELECT id, %(batch)s, %(track)s, topic_id, docno, assessor_id,
    (ARRAY['not-relevant', 'relevant', 'highly-relevant'])[value + 1], value, '', '{}', 'random', gen_random_uuid(),
    true, false, noise, 'assay', now()
FROM final ORDER BY id
"""


PAGES = ("qrels/freeze/", "agreement/", "agreement/disagreements/", "board/", "judging/")


def opened() -> str:
    """Open the pages that are computed from all judgments, twice each, in this process."""
    from django.test import Client

    client, times = Client(SERVER_NAME="localhost"), []
    client.force_login(organizer())
    client.get("/")
    for page in PAGES:
        costs = [timed(partial(client.get, f"/tracks/{SLUG}/{page}")) for _ in range(2)]
        if any(cost.result.status_code != 200 for cost in costs):
            raise SystemExit(f"{page} fails")
        times.append(f"{page} {costs[0].cpu:.2f} s, again {costs[1].cpu:.2f} s")
    return "CPU of Assay: " + "; ".join(times)


def remaining() -> str:
    """The memory of each web and worker process after a pool, a leaderboard and two visits of each of these pages."""
    from django.conf import settings
    from django.test import Client

    from pooling.pools import services as pools
    from scoring.leaderboards import services as boards
    from scoring.models import Qrels

    client = Client(SERVER_NAME="localhost")
    client.force_login(organizer())
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    words = "celery -q -A config worker --concurrency 2 --loglevel ERROR --without-gossip --without-mingle"
    worker = subprocess.Popen([sys.executable, "-m", *words.split()], cwd=ROOT, start_new_session=True)
    try:
        with Site() as site:
            name = f"Pool {track().pools.count() + 1}"
            pool = pools.request(track=track(), name=name, seed=1, depth={}, by=organizer())
            board = boards.request(qrels=Qrels.objects.filter(track=track()).latest("id"), by=organizer())
            for page in PAGES * 2:
                request = urllib.request.Request(
                    f"{site.base}/tracks/{SLUG}/{page}", headers={"Cookie": cookie}
                )
                urllib.request.urlopen(request, timeout=600).read()
            while {row.job.state for row in (pool, board) if row.job} & {"queued", "running"}:
                time.sleep(1)
                for row in (pool, board):
                    row.refresh_from_db()
            time.sleep(5)  # in which processes are replaced
            groups = {site.process.pid: "web", worker.pid: "worker"}
            sizes = [
                (groups[group], resident(pid)) for pid, _, group, _, _ in process_times() if group in groups
            ]
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    return "; ".join(f"{name} {size:.0f} MB" for name, size in sorted(sizes))


def resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def frozen() -> str:
    from pooling.models import Pool
    from scoring.qrels import services

    pool = Pool.objects.filter(track=track(), status="ready").earliest("id")
    qrels = services.freeze_judgments(pool=pool, by=organizer())
    return f"{qrels.n_judged:,} units, {qrels.sha256[:8]}"


def scored() -> str:
    from jobs.console import follow
    from scoring.leaderboards import services
    from scoring.models import Qrels

    board = services.request(qrels=Qrels.objects.filter(track=track()).latest("id"), by=organizer(), seed=1)
    assert board.job is not None
    follow(board.job)
    return f"{board.evaluations.count():,} runs"
