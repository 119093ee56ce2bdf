"""Two ordeals of a site: killed processes while 50 people judge, and 30 teams that submit in the last minute."""

import contextlib
import hashlib
import html
import http.client
import json
import os
import random
import re
import statistics
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from maintenance.benchmarks.harness import (
    Site,
    analyze,
    case,
    database,
    figure,
    make_pool,
    make_track,
    percentile,
    session_cookie,
)
from maintenance.benchmarks.judging import make_batch

PROCESSES = ("web", "worker", "beat")
TIMEOUT = 110.0


def request(
    site: Site, method: str, path: str, body: bytes | str | None = None, **headers: str
) -> tuple[int, bytes, Any]:
    """The status, content and headers of an answer; an OSError if the connection breaks."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=TIMEOUT)
    try:
        connection.request(
            method, path, body, {key.replace("_", "-"): value for key, value in headers.items()}
        )
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


# -- judging under failure

FIELD = re.compile(r'name="(csrfmiddlewaretoken|request_id|shown|proof)" value="([^"]*)"')
SERVER_ERRORS = 20  # for one request; a killed process causes broken connections, and few of these
COMMENT = "Imported with a long comment. " * 40  # so that the file is large enough for a job
HEARTBEAT = {"JOB_HEARTBEAT_SECONDS": "3", "JOB_LOST_AFTER_SECONDS": "12"}  # a lost job is soon taken up


@dataclass
class Log:
    """The observations of all assessors: acknowledged choices by request id, and counts."""

    n_units: int
    end: float  # by time.monotonic()
    acknowledged: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    is_judged: threading.Event = field(default_factory=threading.Event)  # every unit
    is_over: threading.Event = field(default_factory=threading.Event)
    lost_jobs: set[tuple[int, int]] = field(
        default_factory=set
    )  # id and attempt of those whose worker was killed

    def ticks(self, seconds: float) -> Iterator[None]:
        while not self.is_over.wait(seconds):
            yield


class GivenUp(Exception):
    """The site does not answer a request, or the time is over."""


@case
def judging_under_failure(
    *,
    units: int = 5_000,
    assessors: int = 50,
    every: float = 5,
    imported: int = 4_000,
    limit: float = 30,
    seed: int = 1,
) -> None:
    """Let 50 assessors judge 5,000 units while web and worker processes are killed: nothing is lost or judged twice.

    Assessors judge through gunicorn without think time; some skip, return and extend tasks, and hidden checks are mixed
    into their tasks. Meanwhile an organizer reassigns topics, pauses the batch, and imports one file of judgments after
    another; tasks expire; and every few seconds a process is killed with SIGKILL: a web process, all of them at once,
    the Celery worker while it runs a job, or Celery beat. An assessor whose connection breaks sends the same submission
    again, as the judging page does; after many server errors for the same request, it gives up.

    It fails unless each unit has exactly one judgment that counts, no answer to a hidden check counts, each
    acknowledged judgment is stored once, as sent, and each file was imported as a whole; or if an assessor gave up, or
    if --limit minutes have passed.
    """
    with database(redis=True, settings=HEARTBEAT), Site(*PROCESSES) as site:
        batch = make_batch(units, assessors, "<p>" + "A short answer. " * 60 + "</p>")
        hide_checks(batch)
        log = Log(units, time.monotonic() + 60 * limit)
        start = time.perf_counter()
        judge_all(site, batch, log, assessors, every, imported, random.Random(seed))
        report(batch, log, imported, time.perf_counter() - start)


def hide_checks(batch: Any) -> None:
    """Mix repeats and units with known grades, which are in a pool of their own, into the tasks of a batch."""
    from assessment.checks import services
    from assessment.models import GoldUnit

    track = batch.pool.track
    pool, entries = make_pool(track, 2 * track.topics.count())
    GoldUnit.objects.bulk_create(
        GoldUnit(
            track=track,
            topic=entry.topic,
            docno=entry.docno,
            grade=2,
            source="imported",
            created_by=pool.created_by,
        )
        for entry in entries
    )
    services.configure(batch=batch, gold_percent=5, repeat_percent=5, repeat_after=10)


class Assessor:
    """A browser of one assessor: it sends a request again until it is answered."""

    def __init__(self, username: str, batch: int, site: Site, log: Log, seed: int) -> None:
        self.batch, self.site, self.log = batch, site, log
        self.rng = random.Random(seed)
        self.cookies = dict([session_cookie(username).split("=", 1)])

    def work(self) -> None:
        """Judge until every unit is judged and nothing is left; without topics, wait for some."""
        try:
            while (path := self.next()) is not None or not self.log.is_judged.wait(1):
                while path is not None and "/tasks/" in path:
                    path = self.judge(path)
        except GivenUp as reason:
            self.log.failures.append(str(reason))

    def next(self) -> str | None:
        """The address of the next task; None if everything is judged, or the topic went to somebody else."""
        _, page, _ = self.send("GET", "/judge/")
        token = dict(FIELD.findall(page)).get("csrfmiddlewaretoken", "")
        status, _, location = self.send(
            "POST", f"/judge/batches/{self.batch}/next/", {"csrfmiddlewaretoken": token}
        )
        if status != 302:
            self.log.counts[f"no task, answer {status}"] += 1
        return location if status == 302 and "/tasks/" in location else None

    def judge(self, path: str) -> str | None:
        status, page, location = self.send("GET", path)
        if status != 200:
            return location or None
        fields = {name: html.unescape(value) for name, value in FIELD.findall(page)}
        if self.rng.random() < 0.04:
            action = self.rng.choice(("skip", "return", "extend"))
            token = {"csrfmiddlewaretoken": fields["csrfmiddlewaretoken"]}
            self.send("POST", f"{path.rstrip('/')}/{action}/", token)
            self.log.counts[action] += 1
            return None
        choice = self.rng.choice(("high", "medium", "low", "not-relevant"))
        entered = {**fields, "choice": choice, "comment": "", "seconds": "1"}
        status, _, location = self.send("POST", path, entered)
        if status == 302:
            self.log.acknowledged[fields["request_id"]] = choice
            return location
        self.log.counts[f"judgment refused, answer {status}"] += 1
        return None

    def send(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        body = urllib.parse.urlencode(form) if form else None
        n_errors = 0
        while n_errors < SERVER_ERRORS:
            if time.monotonic() > self.log.end:
                raise GivenUp("the time is over")
            cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            headers = {"Cookie": cookies, "Content_Type": "application/x-www-form-urlencoded"}
            try:
                status, content, received = request(self.site, method, path, body, **headers)
            except OSError:
                self.log.counts["broken connections"] += 1
                time.sleep(0.2)
                continue
            for header in received.get_all("Set-Cookie") or ():
                name, _, value = header.partition(";")[0].partition("=")
                self.cookies[name] = value
            if status < 500:
                return status, content.decode(), received.get("Location", "")
            n_errors += 1
            self.log.counts[f"answer {status}, sent again"] += 1
            time.sleep(0.2)
        raise GivenUp(f"{method} {path}: {n_errors} server errors, the last one {status}")


def judge_all(
    site: Site, batch: Any, log: Log, n_people: int, every: float, imported: int, rng: random.Random
) -> None:
    """Let everybody judge until nobody gets a task, with kills, reassignment and expiry in between."""
    helpers = [
        _thread(log, kill, site, log, every, rng),
        _thread(log, organize, batch, log, rng),
        _thread(log, _import, batch, log, imported),
    ]
    people = [Assessor(f"worker{n + 1:02d}", batch.pk, site, log, n) for n in range(n_people)]
    threads = [threading.Thread(target=person.work) for person in people]
    for thread in (*helpers, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    log.is_over.set()
    for helper in helpers:
        helper.join()
    for person in people:  # what came back or changed hands after somebody had finished
        person.work()


def _thread(log: Log, work: Callable[..., None], *arguments: Any) -> threading.Thread:
    """A thread whose error ends the judging."""
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


def running_jobs() -> set[tuple[int, int]]:
    from jobs.models import Job

    return set(Job.objects.filter(state=Job.State.RUNNING).values_list("pk", "attempt"))


def kill(site: Site, log: Log, every: float, rng: random.Random) -> None:
    """Kill mostly one web process of several; sometimes all of them with their parent, the worker in a job, or beat."""
    for _ in log.ticks(every):
        victim = rng.choice(["one web process"] * 4 + ["web"] * 2 + ["worker"] * 3 + ["beat"])
        if victim == "one web process":
            log.counts["killed: one web process"] += site.kill_child(rng)
        else:
            job = wait_for_job(log, rng) if victim == "worker" else None
            is_running = job in running_jobs()
            site.restart(victim)
            if job and is_running:
                log.lost_jobs.add(job)
            log.counts[f"killed: {victim}{' with a running job' if is_running else ''}"] += 1
        site.wait()  # a busy machine takes long to start it again


def wait_for_job(log: Log, rng: random.Random) -> tuple[int, int] | None:
    """Wait until a worker has run a job for a moment; None after some seconds."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        for job in running_jobs() - log.lost_jobs:
            time.sleep(1.5 * rng.random())
            return job
        time.sleep(0.05)
    return None


def organize(batch: Any, log: Log, rng: random.Random) -> None:
    """Move topics, let some open tasks run out, and pause the batch now and then, until everything is judged."""
    from django.utils import timezone

    from assessment.batches import services
    from assessment.judging import services as task_services
    from assessment.models import Judgment, Task

    current = Judgment.objects.filter(batch=batch, is_current=True).order_by()
    for n, _ in enumerate(log.ticks(1), 1):
        move_topic(batch, log, rng)
        accepted = Task.objects.filter(batch=batch, status=Task.Status.ACCEPTED).values("pk")[:2]
        Task.objects.filter(pk__in=accepted).update(expires_at=timezone.now() - timedelta(minutes=1))
        log.counts["expired tasks"] += task_services.expire()
        if n % 20 == 0:
            services.close(batch=batch)
            log.is_over.wait(1)
            services.open_for_judging(batch=batch)
            log.counts["pauses of the batch"] += 1
        if current.values("topic", "docno").distinct().count() == log.n_units:
            log.is_judged.set()


def move_topic(batch: Any, log: Log, rng: random.Random) -> None:
    from accounts.models import User
    from assay.errors import Refused
    from assessment.models import TopicAssignment
    from assessment.planning import services

    active = TopicAssignment.objects.filter(batch=batch, is_withdrawn=False).order_by("pk")
    given = rng.choice(list(active.select_related("assessor", "topic")))
    people = User.objects.filter(username__startswith="worker").exclude(pk=given.assessor_id)
    to = rng.choice(list(people.order_by("pk")))
    with contextlib.suppress(Refused):
        services.reassign(batch=batch, topic=given.topic, from_assessor=given.assessor, to_assessor=to)
        log.counts["reassigned topics"] += 1


def _import(batch: Any, log: Log, n_lines: int) -> None:
    """Import one file of judgments after another into the track. A job that lost its workers is started again."""
    from django.core.files.base import ContentFile

    from assessment.imports import services
    from assessment.models import Batch

    pool, entries = make_pool(batch.pool.track, n_lines)
    lines = [f"{entry.topic.code},{entry.docno},worker01,high,{COMMENT}\n" for entry in entries]
    content = "".join(["topic,docno,assessor,choice,comment\n", *lines]).encode()
    while not log.is_over.is_set():
        source = services.start(
            track=batch.pool.track,
            upload=ContentFile(content, name="judgments.csv"),
            pool=pool,
            batch=f"Imported {log.counts['imports begun']}",
            kind=Batch.Kind.TRAINING,
            by=pool.created_by,
        )
        log.counts["imports begun"] += 1
        if await_job(source, log):
            services.request_import(source=source)
            await_job(source, log)


def await_job(source: Any, log: Log) -> bool:
    """Wait until the job of an import is done; False if the judging has ended before."""
    from jobs import services
    from jobs.models import Job

    for _ in log.ticks(0.5):
        source.refresh_from_db()
        if source.job is None or source.job.state == Job.State.DONE:  # a small file needs no job
            return True
        if source.job.state == Job.State.FAILED:
            log.counts["jobs started again"] += 1
            services.retry(job=source.job)
    return False


def report(batch: Any, log: Log, n_lines: int, seconds: float) -> None:
    """Print what happened, and compare the database with what was acknowledged."""
    from django.db.models import Count

    from assessment.models import Check, Judgment, JudgmentImport, Task

    stored = {
        str(key): value
        for key, value in Judgment.objects.filter(batch=batch).values_list("request_id", "choice")
    }
    current = Judgment.objects.filter(batch=batch, is_current=True).order_by()
    per_unit = Counter(
        current.values_list("topic", "docno").annotate(n=Count("pk")).values_list("n", flat=True)
    )
    lost = [key for key, choice in log.acknowledged.items() if stored.get(key) != choice]
    answers = Judgment.objects.filter(batch=batch, is_check=True)
    waiting = Check.objects.filter(batch=batch).exclude(task__status=Task.Status.SUBMITTED).count()
    twice = answers.filter(replaced_by=None).values("task").annotate(n=Count("pk")).filter(n__gt=1).count()
    sizes = [(source, source.judgments.count()) for source in JudgmentImport.objects.order_by("pk")]
    partial = [str(source.pk) for source, n in sizes if n not in (0, n_lines) or n != source.n_imported]
    figure("time until every unit was judged", seconds, note=f"{log.n_units:,} units")
    print(f"seen by assessors and the organizer: {dict(sorted(log.counts.items()))}")
    print(
        f"judgments stored {len(stored):,}, acknowledged {len(log.acknowledged):,}; answers to checks {len(answers)}"
    )
    print(f"checks not answered {waiting}; files imported as a whole {sum(n == n_lines for _, n in sizes)}")
    problems = {
        f"{len(log.failures)} gave up; the first: {''.join(log.failures[:1])}": log.failures,
        f"lost acknowledged judgments: {len(lost)}": lost,
        f"units by number of judgments that count: {dict(per_unit)}": per_unit != Counter({1: log.n_units}),
        "answers to checks count": answers.filter(is_current=True).exists(),
        f"checks with two answers: {twice}": twice,
        f"imports in parts: {', '.join(partial)}": partial,
    }
    for text, is_problem in problems.items():
        if is_problem:
            print(text)
    if any(problems.values()):
        raise SystemExit("FAILED")
    print("every unit has exactly one judgment that counts, and no acknowledged judgment is lost")


# -- the last minute before a deadline

TOPICS, RANKS, DOCUMENTS = 98, 1000, 60_000
LATE = 3  # teams that come too late


class Answer(NamedTuple):
    """An answer to a team: the time at which it began to send and that of the answer, by the clock of this process."""

    team: int
    began: float
    ended: float
    status: int
    content: dict[str, Any]


@dataclass
class Pages:
    """The seconds of each page, by phase, and the failures."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"quiet": [], "uploads": []})
    failures: list[str] = field(default_factory=list)
    phase: str = "quiet"
    is_over: threading.Event = field(default_factory=threading.Event)


@case
def last_minute(
    *, teams: int = 30, seconds: float = 10, burst: float = 0.5, target: float = 1, seed: int = 1
) -> None:
    """Let 30 teams submit runs of 98,000 lines just before the deadline: nothing is lost, and pages answer in a second.

    The site is gunicorn, a Celery worker, Celery beat, PostgreSQL and Redis. Each team submits through the API, in the
    last seconds before the deadline; a share of them (--burst) at once, 0.5 to 1.5 seconds before it. Three more submit
    after it. Meanwhile a visitor, a member, an organizer and a program read pages, first without uploads.

    It fails unless every run that was sent before the deadline is accepted and not marked as late, every acknowledged
    run is stored with the bytes that were sent, those that are sent later are refused with the reason, no answer is a
    server error, and 95 of 100 pages answer within --target seconds. The load runs on the same machine: run it on a
    quiet one.
    """
    with database(redis=True), Site(*PROCESSES) as site:
        tokens = campaign(teams + LATE)
        runs = [_run(team) for team in range(teams + LATE)]
        pages, rng = Pages(), random.Random(seed)
        threads = [threading.Thread(target=read_pages, args=(site, pages, *r)) for r in readers(tokens[0])]
        for thread in threads:
            thread.start()
        time.sleep(8)
        deadline, before = time.time() + seconds + 0.5, range(teams)
        last = teams * (1 - burst)
        leads = [rng.uniform(1.5, seconds) if team < last else rng.uniform(0.5, 1.5) for team in before]
        moments = [deadline - lead for lead in leads] + [deadline + 0.5 + n for n in range(LATE)]
        answers = submit_all(site, tokens, runs, moments, deadline, pages)
        pages.is_over.set()
        for thread in threads:
            thread.join()
        judge_answers(answers, deadline, runs, pages, target)


def campaign(n_teams: int) -> list[str]:
    """An open track with a collection, topics and teams; returns a token for each team."""
    from django.db import connection
    from django.utils import timezone

    from accounts import tokens as token_services
    from accounts.models import User
    from participation.teams import services as team_services

    track = make_track("late", TOPICS)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO corpus_document (collection_id, docno, kind, thread, title, body, tags, accepted, author_code,"
            " author_name, language, source) SELECT %s, n::text, 'answer', n::text, '', '<p>An answer.</p>', '{}', '',"
            " '', '', '', '' FROM generate_series(1, %s) n",
            [track.collection_id, DOCUMENTS],
        )
    analyze()
    members = [User.objects.create(username=f"member{n:02}") for n in range(n_teams)]
    expires_at, tokens = timezone.now() + timedelta(days=1), []
    for n, member in enumerate(members):
        team_services.create(track=track, name=f"Team {n:02}", members=[member])
        token = token_services.create(
            user=member, name="late", scopes=["read", "runs"], expires_at=expires_at
        )
        tokens.append(token.text)
    return tokens


def readers(token: str) -> list[tuple[str, list[str], dict[str, str]]]:
    track = "/tracks/late/"
    member, organizer = ({"Cookie": session_cookie(name)} for name in ("member00", "olga"))
    return [
        ("visitor", ["/", track, f"{track}topics/"], {}),
        ("member", [f"{track}runs/", f"{track}runs/submit/", "/account/"], member),
        ("organizer", [track, f"{track}runs/", f"{track}people/"], organizer),
        ("program", [f"/api/v1{track}runs/", f"/api/v1{track}"], {"Authorization": f"Bearer {token}"}),
    ]


def _run(team: int) -> bytes:
    """A run of all topics, of documents that the collection has."""
    rng, lines = np.random.default_rng(team), []
    for topic in range(1, TOPICS + 1):
        documents = (rng.choice(DOCUMENTS, RANKS, replace=False) + 1).tolist()
        scores = (np.sort(rng.random(RANKS))[::-1] * 30).tolist()
        cells = enumerate(zip(documents, scores, strict=True), 1)
        lines += [
            f"A.{topic}\t{docno}\t{rank}\t{score:.6f}\tteam{team:02}\n" for rank, (docno, score) in cells
        ]
    return "".join(lines).encode()


def read_pages(site: Site, pages: Pages, name: str, addresses: list[str], headers: dict[str, str]) -> None:
    while not pages.is_over.is_set():
        for address in addresses:
            start, phase, status = time.perf_counter(), pages.phase, 0
            with contextlib.suppress(OSError):
                status, *_ = request(site, "GET", address, **headers)
            pages.seconds[phase].append(time.perf_counter() - start)
            if status not in {200, 302}:  # the runs of a member are on the page of their team
                pages.failures.append(f"{name} {address}: {status}")
            time.sleep(0.1)


def submit_all(
    site: Site, tokens: list[str], runs: list[bytes], moments: list[float], deadline: float, pages: Pages
) -> list[Answer]:
    from django.utils import timezone

    from tracks.models import Deadline, Track

    closes_at = timezone.now() + timedelta(seconds=deadline - time.time())
    Deadline.objects.create(track=Track.objects.get(slug="late"), kind="", closes_at=closes_at)
    answers: list[Answer] = []

    def submit(team: int) -> None:
        time.sleep(max(0.0, moments[team] - time.time()))
        headers = {"Authorization": f"Bearer {tokens[team]}", "Content_Type": "application/octet-stream"}
        began, status, content = time.time(), 0, {"detail": ""}
        try:
            status, body, _ = request(
                site, "POST", "/api/v1/tracks/late/runs/?kind=primary", runs[team], **headers
            )
            content = json.loads(body)
        except (OSError, ValueError) as error:
            content = {"detail": str(error)}
        answers.append(Answer(team, began, time.time(), status, content))

    threads = [threading.Thread(target=submit, args=[team]) for team in range(len(runs))]
    pages.phase = "uploads"
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(answers)


def judge_answers(
    answers: list[Answer], deadline: float, runs: list[bytes], pages: Pages, target: float
) -> None:
    early = [answer for answer in answers if answer.began < deadline]
    accepted = [answer for answer in early if answer.status == 201]
    late = [answer for answer in answers if answer.began >= deadline]
    refused = [answer for answer in late if answer.status == 409 and "closed" in answer.content["detail"]]
    waits, (quiet, during) = [answer.ended - answer.began for answer in early], pages.seconds.values()
    n_wrong = wrong_runs(accepted, runs)
    n_after = sum(answer.ended > deadline for answer in accepted)
    figure("runs sent before the deadline: accepted", len(accepted), f"of {len(early)}")
    figure("of these, acknowledged after the deadline", n_after, "runs")
    figure("runs sent after it: refused with the reason", len(refused), f"of {len(late)}")
    figure("acknowledged runs lost, changed or late", n_wrong, "runs")
    figure("answer to a team, median", statistics.median(waits), note=f"longest {max(waits):.2f} s")
    note = f"median {statistics.median(during):.3f} s, longest {max(during):.3f} s, {len(during)} pages"
    slow = percentile(during, 0.95)
    figure("page during uploads, 95th percentile", slow, "s", {"without": percentile(quiet, 0.95)}, note=note)
    for text in sorted(set(pages.failures)):
        print(f"not shown: {text}")
    for answer in early:
        if answer.status != 201:
            print(f"team {answer.team}: {answer.status} {answer.content.get('detail')}")
    is_complete = len(accepted) == len(early) and len(refused) == len(late)
    if not is_complete or n_wrong or pages.failures or slow > target or max(waits) > 60:
        raise SystemExit(f"FAILED; load of the machine {os.getloadavg()[0]:.1f}")


def wrong_runs(accepted: list[Answer], runs: list[bytes]) -> int:
    """Count acknowledged runs that are not stored as they were sent, and other runs that are stored."""
    from pooling.models import Run

    stored = {run.pk: run for run in Run.objects.filter(status=Run.Status.SUBMITTED)}
    wrong = len(stored.keys() ^ {answer.content["id"] for answer in accepted})
    for answer in accepted:
        run, sent = stored.get(answer.content["id"]), runs[answer.team]
        if run is None:
            continue
        with run.original.open("rb") as file:
            same = file.read() == sent and run.sha256 == hashlib.sha256(sent).hexdigest()
        wrong += not same or run.is_late or run.n_lines != TOPICS * RANKS or not run.columns.size
    return wrong
