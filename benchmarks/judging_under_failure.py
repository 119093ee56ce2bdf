"""50 assessors judge 5,000 units at once, while web and worker processes are killed: nothing is lost or judged twice.

    python benchmarks/judging_under_failure.py [--units 5000] [--assessors 50] [--every 5]

Assessors judge through gunicorn without think time; some skip, return and extend tasks. Meanwhile an organizer
reassigns topics, tasks expire, and a web or worker process is killed with SIGKILL every few seconds, sometimes all web
processes at once. An assessor whose connection breaks sends the same submission again, as the judging page does; after
many server errors for the same request, it gives up. The script ends with an error unless each unit has exactly one
judgment that counts, and each acknowledged judgment is stored once, as sent. It also ends with an error if an assessor
gave up, or if --limit minutes have passed.
"""

import argparse
import contextlib
import html
import http.client
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.judging_speed import make_batch, wait_for  # noqa: E402
from benchmarks.judging_speed import prepare as prepare_site  # noqa: E402
from server import embedded, paths  # noqa: E402

FIELD = re.compile(r'name="(csrfmiddlewaretoken|request_id|shown|proof)" value="([^"]*)"')
CHOICES = ("high", "medium", "low", "not-relevant")
ASIDE = 0.04  # share of tasks that are put aside first
SERVER_ERRORS = 20  # for one request; a killed process causes broken connections, and few of these


@dataclass
class Log:
    """What all assessors together saw: acknowledged choices by request id, and counts."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
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
        os.environ["REDIS_URL"] = paths.broker_url(var)
        prepare_site(var)
        batch = make_batch(arguments.units, arguments.assessors, 1_000)
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
    parser.add_argument("--limit", type=float, default=30, help="minutes after which the judging ends")
    return parser.parse_args()


class Site:
    """gunicorn, a Celery worker and Celery beat. A killed one is started again."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        bind = f"127.0.0.1:{self.port}"
        # fmt: off
        self.commands = {
            "web": ["gunicorn", "-c", "server/gunicorn.py", "-b", bind, "config.wsgi"],
            "worker": ["celery", "-A", "config", "worker", "--concurrency", "1", "--loglevel", "ERROR"],
            "beat": ["celery", "-A", "config", "beat", "--loglevel", "ERROR"],
        }
        # fmt: on
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kills: Counter[str] = Counter()

    def start(self) -> None:
        for name in self.commands:
            self._start(name)
        wait_for(f"http://127.0.0.1:{self.port}/health/")

    def _start(self, name: str) -> None:
        quiet = subprocess.DEVNULL
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", *self.commands[name]],
            cwd=ROOT,
            start_new_session=True,
            stdout=quiet,
            stderr=quiet,
        )

    def kill(self, rng: random.Random) -> None:
        """Mostly one web process of several; sometimes all of them with their parent, or the worker."""
        victim = rng.choice(["one web process", "one web process", "one web process", "all of web", "worker"])
        self.kills[victim] += 1
        if victim == "one web process":
            children = _children(self.processes["web"].pid)
            if children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(children), signal.SIGKILL)
            return
        name = "web" if victim == "all of web" else "worker"
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()
        self._start(name)

    def stop(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _children(parent: int) -> list[int]:
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(number) for number in text.split()]


class Assessor:
    """A browser of one assessor: it sends a request again until it is answered."""

    def __init__(self, username: str, batch: int, site: Site, log: Log, seed: int) -> None:
        self.batch, self.site, self.log = batch, site, log
        self.rng = random.Random(seed)
        self.cookies = {"sessionid": _session_of(username)}

    def work(self) -> None:
        try:
            while (path := self._next()) is not None:
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
        self.log.add(f"answer {status}")
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
        threading.Thread(target=_kill, args=(arguments, site, stopped)),
        threading.Thread(target=_organize, args=(arguments, batch, log, stopped)),
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


def _ticks(stopped: threading.Event, seconds: float) -> Iterator[None]:
    while not stopped.wait(seconds):
        yield


def _kill(arguments: argparse.Namespace, site: Site, stopped: threading.Event) -> None:
    rng = random.Random(arguments.seed)
    for _ in _ticks(stopped, arguments.every):
        site.kill(rng)
        wait_for(f"http://127.0.0.1:{site.port}/health/")  # a busy machine takes long to start it again


def _organize(arguments: argparse.Namespace, batch_id: int, log: Log, stopped: threading.Event) -> None:
    """Move a topic to somebody else, and let some open tasks run out."""
    from datetime import timedelta

    from django.db import connection
    from django.utils import timezone

    from assay.errors import Refused
    from assessment.assignments import services
    from assessment.models import Batch, Task, TopicAssignment
    from assessment.tasks import services as task_services

    rng = random.Random(arguments.seed)
    batch = Batch.objects.get(pk=batch_id)
    for _ in _ticks(stopped, 1):
        active = list(
            TopicAssignment.objects.filter(batch=batch, is_withdrawn=False).select_related(
                "assessor", "topic"
            )
        )
        given, other = rng.sample(active, 2)
        with contextlib.suppress(Refused):
            services.reassign(
                batch=batch, topic=given.topic, from_assessor=given.assessor, to_assessor=other.assessor
            )
            log.add("reassigned topics")
        open_tasks = Task.objects.filter(batch=batch, status=Task.Status.ACCEPTED).values("pk")[:2]
        Task.objects.filter(pk__in=open_tasks).update(expires_at=timezone.now() - timedelta(minutes=1))
        log.add("expired tasks", task_services.expire())
    connection.close()


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
    if log.failures:
        print(f"{len(log.failures)} assessors gave up; the first: {log.failures[0]}")
    if log.failures or lost or per_unit != Counter({1: arguments.units}):
        raise SystemExit("FAILED")
    print("every unit has exactly one judgment that counts, and no acknowledged judgment is lost")


if __name__ == "__main__":
    main()
