"""A campaign on two machines, each with its own folder, that share a database, a Redis and an S3-compatible service.

Every process is killed once, while it works or between two requests, and the campaign goes on with the others.
"""

import http.client
import json
import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from accounts.models import User
from assessment.models import Batch, Judgment
from corpus.models import Collection, Comment, Document
from jobs.models import Job, UnclaimedFile
from participation.models import Team
from pooling.models import Pool, PoolEntry, Run
from scoring.models import Leaderboard, Qrels
from tests.fixtures import Factory, Running, wait_until
from tests.helpers import s3
from tests.helpers.api import make_token
from tests.helpers.dumps import answer, dump, question, row
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_batch
from tests.helpers.qrels_pages import digest_in
from tests.test_killed_workers import held
from tracks.models import Track

pytestmark = pytest.mark.django_db(transaction=True)

N_ANSWERS = 6
KILL_SECONDS = int(
    os.environ.get("KILL_SECONDS", "0")
)  # `KILL_SECONDS=150 pytest tests/test_several_machines.py -s`
KILLED_EVERY = 10  # seconds
POSTS = dump("posts", question(1), *(answer(100 + n, 1) for n in range(N_ANSWERS))).encode()
COMMENTS = dump("comments", *(row(Id=n, PostId=100 + n, Text="Why?", Score=0) for n in range(3))).encode()
RUN = "".join(f"A.1\t{100 + n}\t{n + 1}\t{-n}\tours\n" for n in range(N_ANSWERS)).encode()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[s3.Service]:
    running = s3.start(tmp_path / "objects")
    yield running
    running.stop()


@dataclass
class Web:
    """The web server of one machine."""

    running: Running
    port: int

    def ask(self, user: User, path: str, form: dict[str, object] | None = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        client = Client()
        client.force_login(user)
        session, token = client.cookies[settings.SESSION_COOKIE_NAME].value, "t" * 32
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session}; csrftoken={token}"}
        if form is None:
            connection.request("GET", path, headers=headers)
        else:
            body = encode_multipart(BOUNDARY, form | {"csrfmiddlewaretoken": token})
            connection.request("POST", path, body, headers | {"Content-Type": MULTIPART_CONTENT})
        response = connection.getresponse()
        response.text = response.read().decode()  # type: ignore[attr-defined]
        connection.close()
        return response

    def get(self, user: User, path: str) -> str:
        response = self.ask(user, path)
        assert response.status == 200, (path, response.status)
        return str(response.text)  # type: ignore[attr-defined]

    def post(self, user: User, path: str, **form: object) -> str:
        """Send a form that leads to another page; its address."""
        response = self.ask(user, path, form)
        assert response.status == 302, (path, response.status, response.text)  # type: ignore[attr-defined]
        return response.headers["Location"]


@dataclass
class Machines:
    """Starts web servers and workers, each on one of the machines `a` and `b`."""

    environment: dict[str, str]
    folder: Path
    worker_of: Factory
    fork: Factory

    def on(self, machine: str) -> dict[str, str]:
        return {**self.environment, "ASSAY_VAR": str(self.folder / machine), "ASSAY_HOST": machine}

    def worker(self, machine: str) -> Running:
        return self.worker_of(**self.on(machine))

    def web(self, machine: str, port: int = 0) -> Web:
        """Start a web server, on a free port or on that of one that is dead."""
        if not port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
        command = ["-m", "gunicorn", "-c", "server/gunicorn.py", "--bind", f"127.0.0.1:{port}"]
        command += ["--workers", "1", "config.wsgi"]
        log = self.folder / f"web-{machine}-{port}.log"
        return Web(self.fork(command, log, **self.on(machine)), port)

    def wait_for(self, web: Web) -> None:
        def answers() -> bool:
            assert web.running.process.poll() is None, web.running.output()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", web.port)) == 0

        wait_until(answers, reason="the web server answers")


@pytest.fixture
def machines(
    process_environment: dict[str, str], service: s3.Service, worker: Factory, fork: Factory, tmp_path: Path
) -> Machines:
    shared = process_environment | service.environment | {"SECRET_KEY": settings.SECRET_KEY}
    for machine in ("a", "b"):
        (tmp_path / machine / "static").mkdir(parents=True)
    shared |= {"DEBUG": "true"}  # so that pages need no collected static files
    return Machines(shared, tmp_path, worker, fork)


def kill_while_writing(table: str, worker: Running, ask: Callable[[], str]) -> str:
    """Ask for a job, and kill its worker just before it writes a table."""
    with held(table) as is_waited_for:
        address = ask()
        wait_until(is_waited_for, reason=lambda: f"{table} is written; {worker.output()}")
        worker.kill()
    return address


def is_done(job: Job) -> bool:
    job.refresh_from_db()
    assert job.state != Job.State.FAILED, job.error
    return job.state == Job.State.DONE


def upload(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def last_number(address: str) -> int:
    return int(re.findall(r"\d+", address)[-1])


def finish(address: str) -> None:
    """Wait for the job of an import page."""
    job = Job.objects.get(pk=last_number(address))
    wait_until(lambda: is_done(job), reason=f"{job.title} is done")


@pytest.mark.nightly
def test_campaign_survives_the_death_of_each_process(
    machines: Machines, service: s3.Service, beat: Factory
) -> None:
    web_a, web_b, worker_a = machines.web("a"), machines.web("b"), machines.worker("a")
    beat(**machines.on("b"))
    machines.wait_for(web_a)
    machines.wait_for(web_b)
    olga = make_organizer("olga")

    # import: the worker of machine a is killed, that of machine b reads the same upload
    finish(web_a.post(olga, "/imports/new/", slug="math", upload=upload("Posts.xml", POSTS)))
    collection = Collection.objects.get()
    address = kill_while_writing(
        "corpus_comment",
        worker_a,
        lambda: web_a.post(
            olga, "/imports/new/", collection=collection.pk, upload=upload("Comments.xml", COMMENTS)
        ),
    )
    worker_b = machines.worker("b")
    finish(address)
    assert (Document.objects.count(), Comment.objects.count()) == (N_ANSWERS + 1, 3)
    assert service.names() == [], "uploads are deleted after their import"
    assert "Finished" in web_b.get(olga, address)

    # runs: sent to machine a, whose web server is killed; machine b reads them
    track, pat, ada = make_campaign(collection)
    run_page = web_a.post(
        pat,
        f"{track.get_absolute_url()}runs/submit/",
        team=Team.objects.get().pk,
        kind="primary",
        made="automatic",
        uses="both",
        file=upload("ours.tsv", RUN),
    )
    web_a.running.kill()
    assert web_b.get(pat, f"{run_page}file/") == RUN.decode()

    # pool: the worker of machine b is killed, and machine a is back
    address = kill_while_writing(
        "pooling_poolentry",
        worker_b,
        lambda: web_b.post(olga, f"{track.get_absolute_url()}pools/new/", **pool_form(track)),
    )
    machines.worker("a")
    pool = Pool.objects.get(pk=last_number(address))
    assert pool.job is not None
    wait_until(lambda: is_done(pool.job), reason="the pool is built")
    assert pool.job.losses == 1
    web_a = machines.web("a")
    machines.wait_for(web_a)

    # judging: each answer on the other machine
    pool.refresh_from_db()
    batch = make_batch(pool, {ada: list(track.topics.all())})
    judge_on((web_a, web_b), batch, ada)
    assert Judgment.objects.count() == N_ANSWERS

    # qrels and leaderboard
    freezing = f"{track.get_absolute_url()}qrels/freeze/"
    digest = digest_in(web_a.get(olga, freezing))
    web_b.post(olga, freezing, pool=pool.pk, name="version 1", digest=digest)
    board_page = web_a.post(olga, f"/qrels/{Qrels.objects.get().pk}/score/")
    board = Leaderboard.objects.get(pk=last_number(board_page))
    wait_until(lambda: is_done(board.job), reason="the run is scored")  # type: ignore[arg-type]
    scores = web_a.get(olga, f"{board_page}topics.tsv")
    assert "ours\tA.1" in scores
    assert web_b.get(olga, f"{board_page}topics.tsv") == scores

    # every file is in the service, and none is left over
    run = Run.objects.get()
    assert service.names() == sorted([str(run.columns), str(run.original)])
    assert not UnclaimedFile.objects.exists()
    for machine in ("a", "b"):
        assert not (machines.folder / machine / "files").exists()


def make_campaign(collection: Collection) -> tuple[Track, User, User]:
    """An open track with a topic, a team with a member, and an assessor."""
    track = make_track("answers", collection=collection)
    make_topic(track, "A.1")
    member = make_user("pat")
    Team.objects.create(track=track, name="Ours").members.set([member])
    return track, member, make_assessor(track, "ada")


def pool_form(track: Track) -> dict[str, object]:
    depths = track.protocol.parsed.runs.depths
    return {"name": "main", "seed": 7, "order": "random"} | {f"depth_{kind}": n for kind, n in depths.items()}


def judge_on(webs: tuple[Web, Web], batch: Batch, assessor: User) -> None:
    address = webs[0].post(assessor, f"/judge/batches/{batch.pk}/next/")
    n = 0
    while "/tasks/" in address:
        n += 1
        webs[n % 2].get(assessor, address)
        address = webs[(n + 1) % 2].post(assessor, address, choice="high", request_id=str(uuid4()))


@dataclass
class Clients:
    """Four assessors, a team member and an organizer, who repeat a request until it is answered, at either server.

    What was acknowledged: the choice of each task, the content of each run, and the pools.
    """

    ports: list[int]
    track: Track
    is_over: threading.Event = field(default_factory=threading.Event)
    answered: Counter[int] = field(default_factory=Counter)  # by status
    n_cut: int = 0
    judged: dict[int, str] = field(default_factory=dict)
    runs: dict[int, bytes] = field(default_factory=dict)
    pools: list[int] = field(default_factory=list)

    def post(self, token: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Any:
        """The answer to a request, which is repeated with the same `Idempotency-Key`; None without content."""
        key = {"Idempotency-Key": str(uuid4())}
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type} | key
        for n in count():
            answer = self._try(self.ports[n % 2], f"/api/v1/{path}", body, headers)
            if answer is not None:
                status, content = answer
                assert status < 400, content
                return json.loads(content) if content else None
            time.sleep(0.1)
        raise AssertionError

    def _try(self, port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes] | None:
        """The status and the content; None if the connection was cut, or the server asks to come again."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self.n_cut += 1
            return None
        finally:
            connection.close()
        self.answered[response.status] += 1
        again = response.status >= 500 or "Retry-After" in response.headers
        return None if again else (response.status, content)

    def judge(self, token: str, batch: Batch) -> None:
        while not self.is_over.is_set() and (task := self.post(token, f"batches/{batch.pk}/next/")):
            choice = ("high", "medium", "low")[task["id"] % 3]
            body = json.dumps({"choice": choice, "seconds": 1, "request_id": str(uuid4())}).encode()
            self.post(token, f"tasks/{task['id']}/judgments/", body)
            self.judged[task["id"]] = choice

    def submit(self, token: str) -> None:
        for n in range(N_TEAMS):
            if self.is_over.is_set():
                return
            lines = (f"A.{t}\t{k}\t{k}\t{-k}\trun{n}\n" for t in range(1, 5) for k in range(1, 101))
            content = "".join(lines).encode()
            path = f"tracks/{self.track.slug}/runs/?team=Team{n}&kind=primary&uses=both"
            run = self.post(token, path, content, "application/octet-stream")
            self.runs[run["id"]] = content

    def build(self, token: str) -> None:
        while not self.is_over.is_set():
            if not self.runs:
                time.sleep(0.1)
                continue
            body = json.dumps({"name": f"pool {len(self.pools)}", "seed": 7}).encode()
            self.pools.append(self.post(token, f"tracks/{self.track.slug}/pools/", body)["id"])
            time.sleep(8)


N_BIG, N_TEAMS = 1000, 1000


@pytest.mark.skipif(not KILL_SECONDS, reason="it takes minutes: set KILL_SECONDS")
def test_what_was_acknowledged_is_stored_while_a_web_and_a_worker_die_every_ten_seconds(
    machines: Machines, service: s3.Service, beat: Factory
) -> None:
    machines.environment["API_REQUESTS_PER_MINUTE"] = "1000000"
    webs = [machines.web("a"), machines.web("b")]
    workers = [machines.worker("a"), machines.worker("b")]
    beat(**machines.on("b"))
    for web in webs:
        machines.wait_for(web)
    olga = make_organizer("olga")
    track, batches = _big_campaign(olga)
    clients, organizer = Clients([web.port for web in webs], track), make_token(olga)
    threads = [
        *(threading.Thread(target=clients.judge, args=each) for each in batches),
        threading.Thread(target=clients.submit, args=(organizer,)),
        threading.Thread(target=clients.build, args=(organizer,)),
    ]

    for thread in threads:
        thread.start()
    for n in range(KILL_SECONDS // KILLED_EVERY):
        time.sleep(KILLED_EVERY)
        which, machine = n % 2, "ab"[n % 2]
        webs[which].running.kill()
        workers[which].kill()
        webs[which], workers[which] = machines.web(machine, webs[which].port), machines.worker(machine)
    clients.is_over.set()
    for thread in threads:
        thread.join()
    is_unfinished = Job.objects.filter(state__in=Job.UNFINISHED)
    wait_until(lambda: not is_unfinished.exists(), seconds=240, reason="the jobs are done")

    n_losses = sum(Job.objects.values_list("losses", flat=True))
    print(  # noqa: T201
        f"{KILL_SECONDS} s: {len(clients.judged)} judgments, {len(clients.runs)} runs, {len(clients.pools)} pools; "
        f"{clients.n_cut} cut connections, {dict(clients.answered)}, {n_losses} workers lost in jobs"
    )
    assert [status for status in clients.answered if status >= 500] == []
    assert dict(Judgment.objects.values_list("task_id", "choice")) == clients.judged
    assert Judgment.objects.count() == len(clients.judged), "none twice"
    assert {run.pk: _read(service, run) for run in Run.objects.all()} == clients.runs
    assert set(Job.objects.values_list("state", flat=True)) == {Job.State.DONE}
    ready = set(Pool.objects.filter(status=Pool.Status.READY, job__isnull=False).values_list("pk", flat=True))
    assert ready == set(clients.pools)
    files = {str(name) for run in Run.objects.all() for name in (run.original, run.columns)}
    unclaimed = set(UnclaimedFile.objects.values_list("name", flat=True))
    assert files <= set(service.names()) <= files | unclaimed


def _read(service: s3.Service, run: Run) -> bytes:
    return bytes(service.client.get_object(Bucket=s3.BUCKET, Key=str(run.original))["Body"].read())


def _big_campaign(olga: User) -> tuple[Track, list[tuple[str, Batch]]]:
    """A track with many teams, a pool of four topics, and for each of four assessors a token and a batch."""
    track = make_track("answers")
    assert track.collection is not None
    parent = make_document(track.collection, "100000")
    for n in range(1, N_BIG + 1):
        make_answer(parent, str(n))
    topics = [make_topic(track, f"A.{n}") for n in range(1, 5)]
    Team.objects.bulk_create(Team(track=track, name=f"Team{n}") for n in range(N_TEAMS))
    facts = {"protocol": track.protocol, "protocol_digest": track.protocol.digest, "sha256": "f" * 64}
    pool = Pool.objects.create(
        track=track, name="judged", seed=7, status=Pool.Status.READY, created_by=olga, **facts
    )
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topic, docno=str(n), position=n)
        for topic in topics
        for n in range(1, N_BIG + 1)
    )
    batches = []
    for n, topic in enumerate(topics):
        assessor = make_assessor(track, f"assessor{n}")
        batches.append((make_token(assessor), make_batch(pool, {assessor: [topic]})))
    return track, batches
