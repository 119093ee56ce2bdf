"""50 assessors judge 5,000 units at once, while web and worker processes are killed: nothing is lost or judged twice.

    python benchmarks/judging_under_failure.py [--units 5000] [--assessors 50] [--every 5] [--imported 4000]

Assessors judge through gunicorn without think time; some skip, return and extend tasks, and hidden checks are mixed
into their tasks. Meanwhile an organizer reassigns topics, pauses the batch, and imports one file of judgments after
another in jobs; tasks expire; and every few seconds a process is killed with SIGKILL: a web process, all of them at
once, the Celery worker while it runs a job, or Celery beat. An assessor whose connection breaks sends the same
submission again, as the judging page does; after many server errors for the same request, it gives up.

The script ends with an error unless each unit has exactly one judgment that counts, no answer to a hidden check counts,
each acknowledged judgment is stored once, as sent, and each file was imported as a whole. It also ends with an error if
an assessor gave up, or if --limit minutes have passed.

Each process runs the files of this working tree: do not change them meanwhile.
"""

import argparse
import contextlib
import html
import http.client
import os
import random
import re
import sys
import tempfile
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.failing_site import Site  # noqa: E402
from benchmarks.judging_speed import make_batch, wait_for  # noqa: E402
from benchmarks.judging_speed import prepare as prepare_site  # noqa: E402
from server import embedded, paths  # noqa: E402

FIELD = re.compile(r'name="(csrfmiddlewaretoken|request_id|shown|proof)" value="([^"]*)"')
CHOICES = ("high", "medium", "low", "not-relevant")
ASIDE = 0.04  # share of tasks that are put aside first
SERVER_ERRORS = 20  # for one request; a killed process causes broken connections, and few of these
CHECKS = {"gold_percent": 5, "repeat_percent": 5, "repeat_after": 10}
GOLD_PER_TOPIC = 2
PAUSE_EVERY = 20  # seconds; one pause of the batch
COMMENT = "Imported with a long comment. " * 40  # so that the file is large enough for a job
HEARTBEAT = {"JOB_HEARTBEAT_SECONDS": "3", "JOB_LOST_AFTER_SECONDS": "12"}  # a lost job is soon taken up


@dataclass
class Log:
    """What all assessors together saw: acknowledged choices by request id, and counts."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    is_judged: threading.Event = field(default_factory=threading.Event)  # every unit
    lock: threading.Lock = field(default_factory=threading.Lock)
    end: float = float("inf")  # by time.monotonic()

    def add(self, name: str, n: int = 1) -> None:
        with self.lock:
            self.counts[name] += n


class GivenUp(Exception):
    """The site does not answer a request, or the time is over."""


def main() -> None:
    arguments = read_arguments()
    with tempfile.TemporaryDirectory(prefix="assay-failure-") as folder, contextlib.ExitStack() as stack:
        var = Path(folder)
        var.chmod(0o711)
        for server in (embedded.Postgres(var / "postgres"), embedded.Redis(var / "redis")):
            server.start()
            stack.callback(server.stop)
        os.environ |= {"REDIS_URL": paths.broker_url(var)} | HEARTBEAT
        prepare_site(var)
        batch = make_batch(arguments.units, arguments.assessors, 1_000)
        hide_checks(batch)
        site = Site()
        stack.callback(site.stop)
        site.start()
        log = Log(end=time.monotonic() + 60 * arguments.limit)
        start = time.perf_counter()
        judge_all(arguments, batch, site, log)
        report(arguments, batch, site, log, time.perf_counter() - start)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--units", type=int, default=5_000)
    parser.add_argument("--assessors", type=int, default=50)
    parser.add_argument("--every", type=float, default=5, help="seconds between kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--imported", type=int, default=4_000, help="judgments of each imported file")
    parser.add_argument("--limit", type=float, default=30, help="minutes after which the judging ends")
    return parser.parse_args()


def hide_checks(batch_id: int) -> None:
    """Mix repeats and units with known grades, which are in a pool of their own, into the tasks of a batch."""
    from assessment.checks import services
    from assessment.models import Batch, GoldUnit

    batch = Batch.objects.select_related("pool__track").get(pk=batch_id)
    track, by = batch.pool.track, batch.pool.created_by
    topics = list(track.topics.order_by("pk"))
    entries = add_pool(batch.pool, topics, GOLD_PER_TOPIC * len(topics))
    GoldUnit.objects.bulk_create(
        GoldUnit(track=track, topic=entry.topic, docno=entry.docno, grade=2, source="imported", created_by=by)
        for entry in entries
    )
    services.configure(batch=batch, **CHECKS)


def add_pool(like: Any, topics: list[Any], n: int) -> list[Any]:
    """A further pool of a track with n short documents; returns its entries."""
    from corpus.models import Document
    from pooling.models import Pool, PoolEntry

    fields = {
        "track": like.track,
        "protocol": like.protocol,
        "protocol_digest": like.protocol_digest,
        "seed": 1,
    }
    pool = Pool.objects.create(
        name=uuid4().hex[:8], sha256=uuid4().hex, status="ready", created_by=like.created_by, **fields
    )
    collection = like.track.collection
    docnos = [f"{pool.pk}-{i}" for i in range(n)]
    documents = Document.objects.bulk_create(
        [
            Document(collection=collection, docno=each, thread=each, kind="answer", body="<p>Short.</p>")
            for each in docnos
        ],
        batch_size=2_000,
    )
    entries = [
        PoolEntry(
            pool=pool,
            topic=topics[i % len(topics)],
            docno=each.docno,
            document=each,
            position=i // len(topics),
        )
        for i, each in enumerate(documents)
    ]
    return PoolEntry.objects.bulk_create(entries, batch_size=2_000)


class Assessor:
    """A browser of one assessor: it sends a request again until it is answered."""

    def __init__(self, username: str, batch: int, site: Site, log: Log, seed: int) -> None:
        self.batch, self.site, self.log = batch, site, log
        self.rng = random.Random(seed)
        self.cookies = {"sessionid": _session_of(username)}

    def work(self) -> None:
        """Judge until every unit is judged and nothing is left; without topics, wait for some."""
        try:
            while (path := self._next()) is not None or not self.log.is_judged.wait(1):
                while path is not None and "/tasks/" in path:
                    path = self._judge(path)
        except GivenUp as reason:
            with self.log.lock:
                self.log.failures.append(str(reason))

    def _next(self) -> str | None:
        """The address of the next task; None if everything is judged, or the topic went to somebody else."""
        _, page, _ = self._send("GET", "/judge/")
        token = dict(FIELD.findall(page)).get("csrfmiddlewaretoken", "")
        address = f"/judge/batches/{self.batch}/next/"
        status, _, location = self._send("POST", address, {"csrfmiddlewaretoken": token})
        if status != 302:
            self.log.add(f"no task, answer {status}")
        return location if status == 302 and "/tasks/" in location else None

    def _judge(self, path: str) -> str | None:
        status, page, location = self._send("GET", path)
        if status != 200:
            return location or None
        fields = {name: html.unescape(value) for name, value in FIELD.findall(page)}
        if self.rng.random() < ASIDE:
            action = self.rng.choice(("skip", "return", "extend"))
            token = {"csrfmiddlewaretoken": fields["csrfmiddlewaretoken"]}
            self._send("POST", f"{path.rstrip('/')}/{action}/", token)
            self.log.add(action)
            return None
        choice = self.rng.choice(CHOICES)
        status, _, location = self._send(
            "POST", path, {**fields, "choice": choice, "comment": "", "seconds": "1"}
        )
        if status == 302:
            with self.log.lock:
                self.log.acknowledged[fields["request_id"]] = choice
            return location
        self.log.add(f"judgment refused, answer {status}")
        return None

    def _send(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        body = urllib.parse.urlencode(form) if form else None
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
        n_errors = 0
        while n_errors < SERVER_ERRORS:
            if time.monotonic() > self.log.end:
                raise GivenUp("the time is over")
            connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=120)
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                text = response.read().decode()
            except (OSError, http.client.HTTPException):
                self.log.add("broken connections")
                time.sleep(0.2)
                continue
            finally:
                connection.close()
            for header in response.headers.get_all("Set-Cookie") or ():
                name, _, value = header.partition(";")[0].partition("=")
                self.cookies[name] = value
            if response.status < 500:
                return response.status, text, response.headers.get("Location", "")
            n_errors += 1
            self.log.add(f"answer {response.status}, sent again")
            time.sleep(0.2)
        raise GivenUp(f"{method} {path}: {n_errors} server errors, the last one {response.status}")


def _session_of(username: str) -> str:
    from django.db import connection
    from django.test import Client

    from accounts.models import User

    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(username=username))
    connection.close()
    return client.cookies["sessionid"].value


def judge_all(arguments: argparse.Namespace, batch: int, site: Site, log: Log) -> None:
    """Let everybody judge until nobody gets a task, with kills, reassignment and expiry in between."""
    stopped = threading.Event()
    helpers = [
        _thread(log, _kill, arguments, site, stopped),
        _thread(log, _organize, arguments, batch, log, stopped),
        _thread(log, _import, arguments, batch, log, stopped),
    ]
    for helper in helpers:
        helper.start()
    names = [f"worker{n + 1:02d}" for n in range(arguments.assessors)]
    people = [Assessor(name, batch, site, log, n) for n, name in enumerate(names)]
    threads = [threading.Thread(target=person.work) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stopped.set()
    for helper in helpers:
        helper.join()
    for person in people:  # what came back or changed hands after somebody had finished
        person.work()


def _thread(log: Log, work: Callable[..., None], *arguments: Any) -> threading.Thread:
    """A thread whose error ends the run."""
    from django.db import connection

    def guarded() -> None:
        is_done = False
        try:
            work(*arguments)
            is_done = True
        finally:
            connection.close()
            if not is_done:
                log.end = 0
                log.failures.insert(0, f"{work.__name__} ended with the error above")

    return threading.Thread(target=guarded)


def _ticks(stopped: threading.Event, seconds: float) -> Iterator[None]:
    while not stopped.wait(seconds):
        yield


def _kill(arguments: argparse.Namespace, site: Site, stopped: threading.Event) -> None:
    rng = random.Random(arguments.seed)
    for _ in _ticks(stopped, arguments.every):
        site.kill(rng)
        wait_for(f"http://127.0.0.1:{site.port}/health/")  # a busy machine takes long to start it again


def _organize(arguments: argparse.Namespace, batch_id: int, log: Log, stopped: threading.Event) -> None:
    """Move topics, let some open tasks run out, and pause the batch now and then, until everything is judged."""
    from assessment.batches import services
    from assessment.models import Batch, Judgment

    rng = random.Random(arguments.seed)
    batch = Batch.objects.get(pk=batch_id)
    for n, _ in enumerate(_ticks(stopped, 1), 1):
        _move_topic(batch, log, rng)
        _expire_tasks(batch, log)
        if n % PAUSE_EVERY == 0:
            services.close(batch=batch)
            stopped.wait(1)
            services.open_for_judging(batch=batch)
            log.add("pauses of the batch")
        current = Judgment.objects.filter(batch=batch, is_current=True).order_by()
        if current.values("topic", "docno").distinct().count() == arguments.units:
            log.is_judged.set()


def _move_topic(batch: Any, log: Log, rng: random.Random) -> None:
    """Move a topic to anybody else."""
    from accounts.models import User
    from assay.errors import Refused
    from assessment.assignments import services
    from assessment.models import TopicAssignment

    active = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False).order_by("pk")
    given = rng.choice(list(active.select_related("assessor", "topic")))
    people = User.objects.filter(username__startswith="worker").exclude(pk=given.assessor_id)
    to = rng.choice(list(people.order_by("pk")))
    with contextlib.suppress(Refused):
        services.reassign(batch=batch, topic=given.topic, from_assessor=given.assessor, to_assessor=to)
        log.add("reassigned topics")


def _expire_tasks(batch: Any, log: Log) -> None:
    from datetime import timedelta

    from django.utils import timezone

    from assessment.models import Task
    from assessment.tasks import services

    accepted = Task.objects.filter(batch=batch, status=Task.Status.ACCEPTED).values("pk")[:2]
    Task.objects.filter(pk__in=accepted).update(expires_at=timezone.now() - timedelta(minutes=1))
    log.add("expired tasks", services.expire())


def _import(arguments: argparse.Namespace, batch_id: int, log: Log, stopped: threading.Event) -> None:
    """Import one file of judgments after another into the track. A job that lost its workers is started again."""
    from django.core.files.base import ContentFile

    from assessment.imports import services
    from assessment.models import Batch

    batch = Batch.objects.select_related("pool__track", "pool__protocol").get(pk=batch_id)
    entries = add_pool(batch.pool, list(batch.pool.track.topics.order_by("pk")), arguments.imported)
    lines = [f"{entry.topic.code},{entry.docno},worker01,high,{COMMENT}\n" for entry in entries]
    content = "".join(["topic,docno,assessor,choice,comment\n", *lines]).encode()
    while not stopped.is_set():
        source = services.start(
            track=batch.pool.track,
            upload=ContentFile(content, name="judgments.csv"),
            pool=entries[0].pool,
            batch=f"Imported {log.counts['imports begun']}",
            kind=Batch.Kind.TRAINING,
            by=batch.pool.created_by,
        )
        log.add("imports begun")
        if _await_job(source, log, stopped):
            services.request_import(source=source)
            _await_job(source, log, stopped)


def _await_job(source: Any, log: Log, stopped: threading.Event) -> bool:
    """Wait until the job of an import is done; False if the judging has ended before."""
    from jobs import services
    from jobs.models import Job

    while not stopped.wait(0.5):
        source.refresh_from_db()
        if source.job.state == Job.State.DONE:
            return True
        if source.job.state == Job.State.FAILED:
            log.add("jobs started again")
            services.retry(job=source.job)
    return False


def report(arguments: argparse.Namespace, batch: int, site: Site, log: Log, seconds: float) -> None:
    """Print what happened, and compare the database with what was acknowledged."""
    from django.db.models import Count

    from assessment.models import Judgment

    stored = {
        str(request): choice
        for request, choice in Judgment.objects.filter(batch=batch).values_list("request_id", "choice")
    }
    current = Judgment.objects.filter(batch=batch, is_current=True).order_by()
    per_unit = Counter(
        current.values_list("topic", "docno").annotate(n=Count("pk")).values_list("n", flat=True)
    )
    lost = [request for request, choice in log.acknowledged.items() if stored.get(request) != choice]
    print(f"{arguments.assessors} assessors, {arguments.units:,} units, {seconds:.0f} s")
    print(f"killed: {dict(site.kills)}")
    print(f"seen by assessors and the organizer: {dict(sorted(log.counts.items()))}")
    print(
        f"judgments stored {len(stored):,}, acknowledged {len(log.acknowledged):,}, lost {len(lost)}; "
        f"units by number of judgments that count: {dict(per_unit)}"
    )
    problems = [*checks_problems(batch), *import_problems(arguments.imported)]
    if log.failures:
        print(f"{len(log.failures)} gave up; the first: {log.failures[0]}")
    for problem in problems:
        print(problem)
    if log.failures or lost or problems or per_unit != Counter({1: arguments.units}):
        raise SystemExit("FAILED")
    print("every unit has exactly one judgment that counts, and no acknowledged judgment is lost")


def checks_problems(batch: int) -> list[str]:
    """Print the number of answers to hidden checks; returns what is wrong with them."""
    from django.db.models import Count

    from assessment.models import Check, Judgment, Task

    answers = Judgment.objects.filter(batch=batch, is_check=True)
    kinds = Counter(answers.values_list("task__check_of__kind", flat=True))
    waiting = Check.objects.filter(batch=batch).exclude(task__status=Task.Status.SUBMITTED).count()
    print(
        f"answers to hidden checks {answers.count():,}: {dict(kinds)} (None: of a topic that was withdrawn later); "
        f"{waiting:,} checks not answered"
    )
    n_counting = answers.filter(is_current=True).count()
    twice = answers.filter(replaced_by=None).values("task").annotate(n=Count("pk")).filter(n__gt=1).count()
    problems = [f"{n_counting} answers to checks count"] if n_counting else []
    return problems + ([f"{twice} checks have two answers"] if twice else [])


def import_problems(n_lines: int) -> list[str]:
    """Print the number of imported files; returns those that were not imported as a whole."""
    from assessment.models import JudgmentImport
    from jobs.models import Job

    sources = list(JudgmentImport.objects.order_by("pk"))
    sizes = [(source, source.judgments.count()) for source in sources]
    losses = sum(Job.objects.values_list("losses", flat=True))
    n_whole = sum(n == n_lines for _, n in sizes)
    print(
        f"files imported as a whole {n_whole}, not imported {len(sizes) - n_whole}; workers lost by jobs {losses}"
    )
    return [
        f"{source.name} {source.pk}: {n} of {n_lines} judgments, recorded {source.n_imported}"
        for source, n in sizes
        if n not in (0, n_lines) or n != source.n_imported
    ]


if __name__ == "__main__":
    main()
