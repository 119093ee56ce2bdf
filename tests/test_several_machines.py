"""A campaign on two machines, each with its own folder, that share a database, a Redis and an S3-compatible service.

Every process is killed once, while it works or between two requests, and the campaign goes on with the others.
"""

import http.client
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
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
from pooling.models import Pool, Run
from scoring.models import Leaderboard, Qrels
from tests.conftest import Factory, Running, start_process, wait_until
from tests.helpers import s3
from tests.helpers.dumps import answer, dump, question, row
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tests.helpers.judging import make_batch
from tests.helpers.qrels_pages import digest_in
from tests.test_killed_workers import held
from tracks.models import Track

pytestmark = pytest.mark.django_db(transaction=True)

N_ANSWERS = 6
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
    webs: list[Web] = field(default_factory=list)

    def on(self, machine: str) -> dict[str, str]:
        return {**self.environment, "ASSAY_VAR": str(self.folder / machine), "ASSAY_HOST": machine}

    def worker(self, machine: str) -> Running:
        return self.worker_of(**self.on(machine))

    def web(self, machine: str) -> Web:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = ["-m", "gunicorn", "-c", "server/gunicorn.py", "--bind", f"127.0.0.1:{port}", "config.wsgi"]
        environment = self.on(machine) | {"WEB_CONCURRENCY": "1"}
        log = self.folder / f"web-{machine}-{port}.log"
        self.webs.append(Web(start_process(command, environment, log), port))
        return self.webs[-1]

    def wait_for(self, web: Web) -> None:
        def answers() -> bool:
            assert web.running.process.poll() is None, web.running.output()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", web.port)) == 0

        wait_until(answers, reason="the web server answers")


@pytest.fixture
def machines(
    process_environment: dict[str, str], service: s3.Service, worker: Factory, tmp_path: Path
) -> Iterator[Machines]:
    shared = process_environment | service.environment | {"SECRET_KEY": settings.SECRET_KEY}
    for machine in ("a", "b"):
        (tmp_path / machine / "static").mkdir(parents=True)
    shared |= {"DEBUG": "true"}  # so that pages need no collected static files
    started = Machines(shared, tmp_path, worker)
    yield started
    for web in started.webs:
        web.running.stop()


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
