"""Judging: judgments per second through gunicorn, and the time from a key to the next task in Chromium."""

import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from maintenance.benchmarks.harness import (
    SHARED,
    Site,
    analyze,
    case,
    database,
    figure,
    percentile,
)

PASSWORD = "worker-pass-1"
FORM = "application/x-www-form-urlencoded"  # as the page's script submits
PEOPLE = 8
# 15.5 kB, like the tasks of Turkle
LONG = "<p>" + "An answer with many words, all of which are to the point. " * 250 + "</p>"
SHORT = LONG[:1_000]
# Published for 2 cores, 2 gunicorn workers, 2,000 tasks of 15.5 kB, no think time: by database and number of assessors.
TURKLE = {1: {"Turkle on PostgreSQL": 5.3, "on SQLite": 30.9, "on MariaDB": 27.3}, 8: {"Turkle on PostgreSQL": 5.6, "on SQLite": 26.8, "on MariaDB": 40.7}}  # fmt: skip # noqa: E501


def make_batch(n: int, n_people: int = PEOPLE, body: str = LONG) -> Any:
    """An open batch of n documents in a track of its own; each assessor (`worker01` ...) has one topic."""
    from accounts.models import User
    from assay.protocols.loader import load_protocol, shipped_text
    from assessment.batches import services as batch_services
    from assessment.planning import services as assignment_services
    from corpus.models import Collection, Document
    from pooling.models import Pool, PoolEntry
    from tracks.models import Assessor, StoredProtocol, Topic, Track

    slug, name = "arqmath-2020-task1", f"load-{uuid4().hex[:8]}"
    fields = {"title": slug, "text": shipped_text(slug), "digest": load_protocol(slug).digest}
    protocol, _ = StoredProtocol.objects.get_or_create(slug=slug, defaults=fields)
    collection = Collection.objects.create(slug=name, name=name, status="ready")
    track = Track.objects.create(
        slug=name, name=name, protocol=protocol, collection=collection, status="open"
    )
    topics = Topic.objects.bulk_create(
        Topic(track=track, code=f"A.{number}", title=f"Topic {number}", body="<p>A question.</p>")
        for number in range(1, n_people + 1)
    )
    pool = Pool.objects.create(
        track=track,
        name="Pool",
        protocol=protocol,
        protocol_digest=protocol.digest,
        seed=1,
        sha256=uuid4().hex,  # as of a pool that a job built
        status="ready",
        created_by=User.objects.get_or_create(username="olga")[0],
    )
    docnos = [f"{pool.pk}-{i}" for i in range(n)]
    documents = (
        Document(docno=docno, thread=docno, collection=collection, kind="answer", body=body)
        for docno in docnos
    )
    PoolEntry.objects.bulk_create(
        (
            PoolEntry(
                pool=pool,
                topic=topics[i % n_people],
                docno=document.docno,
                document=document,
                position=i // n_people,
            )
            for i, document in enumerate(Document.objects.bulk_create(documents, batch_size=500))
        ),
        batch_size=2_000,
    )
    batch = batch_services.create(pool=pool, name="Load", by=None)
    for number, topic in enumerate(topics, 1):
        person, is_new = User.objects.get_or_create(username=f"worker{number:02d}")
        if is_new:
            person.set_password(PASSWORD)
            person.save()
        Assessor.objects.create(track=track, user=person)
        assignment_services.assign(batch=batch, assessor=person, topics=[topic])
    batch_services.open_for_judging(batch=batch)
    return batch


@case
def judging(
    *,
    load: str = str(SHARED / "bench" / "judging_load.py"),
    workers: tuple[int, ...] = (1, 8),
    seconds: float = 30,
    units: int = 4_000,
    sizes: tuple[int, ...] = (200, 4_000, 100_000),
    labs: tuple[str, ...] = (),
) -> None:
    """Count judgments per second through gunicorn, next to the published numbers of Turkle.

    Assessors judge without think time; a submission takes the next task in the same request. The load generator is not
    part of Assay. Then submissions in this process, in batches with several numbers of open tasks. Without --sizes or
    --workers, the other part alone is measured. The CPU time of the web processes changes least when the machine has
    other work. --labs pairs answers rows battles measures submissions of these labs, next to those of the largest of
    --sizes.
    """
    if workers and not Path(load).is_file():
        raise SystemExit(f"there is no load generator at {load}; name it with --load, or set ASSAY_SHARED")
    with database() as var:
        if workers:
            with Site() as site:
                for n in workers:
                    _load(site, Path(load), n, seconds, units, var / "load.json")
        shipped = [submit(n) for n in sizes]
        for lab in labs:
            submit_in_lab(lab, shipped[-1] if shipped else None)


def _load(site: Site, load: Path, n: int, seconds: float, units: int, report: Path) -> None:
    flow = f"{Path(__file__).with_name('judging_flow.py')}:Assay"
    # fmt: off
    words = [sys.executable, load, "--base", site.base, "--batch", make_batch(units, n).pk, "--workers", n,
             "--flow", flow, "--password", PASSWORD, "--json", report, "--seconds"]
    # fmt: on
    used = []
    for duration in (0, seconds):  # without judgments, the time of the logins
        before = site.cpu()
        command = [str(word) for word in (*words, duration)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        used.append(site.cpu() - before)
    measured = json.loads(report.read_text())
    cycle, accept = measured["ms"]["cycle"], measured["ms"]["submit"]
    note = f"errors {measured['errors'] or 'none'}"
    figure(f"{n} assessors", measured["per_second"], "judgments/s", TURKLE.get(n), note=note)
    figure(f"{n} assessors, submission, median", accept["p50"], "ms", note=f"p95 {accept['p95']:.0f} ms")
    figure(f"{n} assessors, cycle, median", cycle["p50"], "ms")
    figure(f"{n} assessors, cycle, 95th percentile", cycle["p95"], "ms")
    cpu = 1e3 * (used[1] - used[0]) / max(1, measured["judgments"])
    figure(f"{n} assessors, CPU of web per judgment", cpu, "ms", note="without the logins")


def submit(n: int) -> float:
    """Submit tasks in this process; each answer contains the next task. Return the judgments per second."""
    from accounts.models import User

    batch = make_batch(n, body=SHORT)
    person = User.objects.get(username="worker01")
    times, queries = _submissions(batch, person, {"choice": "high"}, min(200, n // PEOPLE) - 1)
    note = f"p95 {percentile(times, 0.95):.1f} ms, {queries} queries"
    figure(f"submission, one process, {n:,} open tasks", statistics.median(times), "ms", note=note)
    per_second = 1e3 * len(times) / sum(times)
    _submit_many(batch, person, {"one by one": per_second})
    return per_second


def _submit_many(batch: Any, person: Any, peers: dict[str, float]) -> None:
    """Judge all that is left of a person's topic through the API, in one request as far as it takes them."""
    from django.test import Client

    from assessment.judging.many import MOST
    from assessment.models import TopicAssignment
    from pooling.models import PoolEntry

    topic = TopicAssignment.objects.get(batch=batch, assessor=person).topic
    left = PoolEntry.objects.filter(pool=batch.pool, topic=topic).exclude(tasks__assessor=person)
    units = [{"topic": topic.code, "docno": docno} for docno in left.values_list("docno", flat=True)[:MOST]]
    if not units:
        return
    client = Client(SERVER_NAME="localhost")
    client.force_login(person)
    content = {"judgments": [unit | {"choice": "high"} for unit in units]}
    address = f"/api/v1/batches/{batch.pk}/submissions/"
    start = time.perf_counter()
    response = client.post(address, json.dumps(content), content_type="application/json")
    seconds = time.perf_counter() - start
    if response.status_code != 201:
        raise SystemExit(f"the judgments were refused: {response.json()['detail']}")
    figure(f"submissions, {len(units):,} in one request", len(units) / seconds, "judgments/s", peers)


def submit_in_lab(lab: str, shipped: float | None) -> None:
    """Submit tasks of a lab with other units, next to the judgments per second of the shipped protocol."""
    from accounts.models import User
    from maintenance.benchmarks.labs import ANSWERS, lab_batch

    person, _ = User.objects.get_or_create(username="worker01")
    times, queries = _submissions(lab_batch(lab, 200, person), person, ANSWERS[lab], 190)
    note = f"p95 {percentile(times, 0.95):.1f} ms, {queries} queries"
    peers = {"answer retrieval": shipped} if shipped else None
    figure(f"{lab}, one process", 1e3 * len(times) / sum(times), "judgments/s", peers, note=note)


def _submissions(batch: Any, person: Any, answer: dict[str, str], n: int) -> tuple[list[float], int]:
    """The milliseconds of each submission, and the queries of the last one."""
    from django.db import connection, reset_queries
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from assessment.judging import services as task_services

    client = Client(SERVER_NAME="localhost")
    analyze()
    client.force_login(person)
    task = task_services.accept_next(batch=batch, assessor=person)
    assert task is not None
    address, times = task.get_absolute_url(), []
    for _ in range(n):
        fields = answer | {"comment": "", "request_id": uuid4(), "seconds": "1", "shown": "0"}
        headers = {"HTTP_ACCEPT": "application/json", "HTTP_PREFER": "return=representation"}
        reset_queries()
        with CaptureQueriesContext(connection) as queries:
            start = time.perf_counter()
            response = client.post(address, urlencode(fields), FORM, **headers)  # type: ignore[arg-type]
            times.append(1e3 * (time.perf_counter() - start))
        address = response.json()["next"]
    return times, len(queries)


# -- the next task, in a browser

PARTS = (
    "\\frac{a_{%d}}{b+%d}",
    "\\sum_{n=1}^{%d} \\frac{x^n}{n!+%d}",
    "\\sqrt{x^{%d}+y_{%d}}",
    "\\int_0^{%d} e^{-%dx}\\,dx",
)
WATCH = """() => {
  const now = () => performance.timeOrigin + performance.now();
  const main = () => document.getElementById("main");
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    sessionStorage.pressed = JSON.stringify([performance.timeOrigin + event.timeStamp, main().dataset.task]);
    sessionStorage.removeItem("took");
  }, true);
  const isShown = (task) => {
    if (!main()?.dataset.task || main().dataset.task === task) return false;
    if (document.documentElement.dataset.judging !== "ready") return false;
    const { bottom } = document.getElementById("document-panel").getBoundingClientRect();
    const formulas = [...document.querySelectorAll("#document-panel .panel-body .math-container")];
    return formulas.every((each) => each.dataset.math || each.getBoundingClientRect().top > bottom);
  };
  const frame = () => {
    const [start, task] = JSON.parse(sessionStorage.pressed ?? "[]");
    if (task && isShown(task)) {
      sessionStorage.removeItem("pressed");
      const channel = new MessageChannel();
      channel.port1.onmessage = () => { sessionStorage.took = now() - start; };
      channel.port2.postMessage(0);
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


@case
def next_task(*, tasks: int = 40, formulas: int = 80, reading: float = 1.5, lab: str = "") -> None:
    """Measure from the key that submits to the next task painted, in Chromium, with posts full of formulas.

    Every post has about 10 kB and as many formulas as asked. The assessor reads for some seconds, then presses the keys
    of a grade and of Enter. The time ends after the frame in which the page takes keys and every formula in view is
    rendered. The first task does not count. --lab battles measures two answers side by side, or another lab.
    """
    from playwright.sync_api import sync_playwright

    from server import browser

    chromium = browser.find()
    if chromium is None:
        raise SystemExit("There is no Chromium; `make test` installs one.")
    with database():
        if lab:
            _lab_to_judge(lab, tasks + 5)
        else:
            make_batch(tasks + 5, n_people=1)
            fill(formulas)
        times = []
        with Site() as site, sync_playwright() as playwright:
            page = first_task(
                playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"]), site.base
            )
            for _ in range(tasks):
                page.wait_for_timeout(1e3 * reading)
                page.wait_for_selector("html[data-math=done]", state="attached")
                page.keyboard.press("3")
                page.keyboard.press("Enter")
                page.wait_for_function("() => sessionStorage.took")
                times.append(float(page.evaluate("sessionStorage.took")))
    figure(
        "key to the next task painted, median", statistics.median(times[1:]), "ms", note=f"{tasks - 1} tasks"
    )
    figure("key to the next task painted, 95th percentile", percentile(times[1:], 0.95), "ms")


def _lab_to_judge(lab: str, n: int) -> None:
    """A batch of a lab for the person who logs in at the browser."""
    from django.db import connections

    from accounts.models import User
    from maintenance.benchmarks.labs import lab_batch

    lab_batch(lab, n, User.objects.create_user("worker01", password=PASSWORD))
    connections.close_all()  # Playwright's event loop refuses queries


def fill(n_formulas: int) -> None:
    """Give each document, and the topic, a text of about 10 kB with different formulas."""
    from django.db import connections

    from corpus.models import Document
    from tracks.models import Topic

    rng = random.Random(1)
    words = "the series converges for every value of the variable because each term is bounded "

    def post() -> str:
        text = []
        for i in range(n_formulas):
            latex = "+".join(part % (rng.randrange(100), rng.randrange(100)) for part in rng.sample(PARTS, 2))
            span = f'<span class="math-container" id="q_{i}">{latex}</span>'
            text.append(f"{words[: rng.randrange(40, 80)]} {span}")
        return "".join(f"<p>{' '.join(text[i : i + 5])}.</p>" for i in range(0, n_formulas, 5))

    for document in Document.objects.all():
        document.body = post()
        document.save(update_fields=["body"])
    Topic.objects.update(body=post())
    connections.close_all()  # Playwright's event loop refuses queries


def first_task(browser: Any, base: str) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(120_000)  # a busy machine takes long to start a server and a browser
    page.add_init_script(f"({WATCH})()")
    page.goto(f"{base}/login/")
    page.locator("[name=username]").fill("worker01")
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "/login/" not in url)
    page.goto(f"{base}/judge/")
    page.get_by_role("button", name="judging").click()
    page.wait_for_selector("html[data-judging=ready]", state="attached")
    return page
