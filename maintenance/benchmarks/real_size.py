"""A campaign of real size, step by step: time, CPU, memory, disk and the longest transaction of each; and every page.

Memory is the peak of the sum over all processes of a step, and of PostgreSQL, where shared pages count once (PSS). CPU
time is theirs. "transaction" is the age of the oldest transaction that wrote, sampled twice per second: a job counts as
lost if its row cannot be updated for 30 seconds. On a machine with other work, compare CPU times.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import psycopg2

from maintenance.benchmarks.harness import case, database, figure, percentile, process_times

SLUG = "math"
TRACKS = {"task1": "arqmath-2020-task1", "task2": "arqmath-2021-task2"}
RUNS_PER_TEAM = 5
ASSESSORS = 8
JUDGMENTS = 200
STEP = "ASSAY_BENCHMARK_STEP"  # set in the process that runs one step


@case
def real_size(collection: Path, var: Path, *, only: str = "", again: bool = False) -> None:
    """Measure a campaign with a collection that `make-collection` has made, step by step, and print a table.

    VAR is the folder of the database and of the stored files. Each step runs in a process of its own: the jobs of the
    imports and of the clustering, as `manage.py` runs them; the submission of the runs of both tasks, their pools, a
    leaderboard, and judging. Finished steps are in VAR/real_size.jsonl and are not repeated without --again, so an
    interrupted measurement can be continued. --only names steps, separated by semicolons. `pages` measures the pages.
    """
    if step := os.environ.get(STEP):
        import django

        django.setup()
        print(STEPS[step](collection), flush=True)
        return
    with database(var=var.absolute(), settings={"DEBUG": "0"}):
        perform(var / "real_size.jsonl", list(STEPS), only, again=again)


def perform(record: Path, steps: list[str], only: str, *, again: bool) -> None:
    """Measure the steps of a case that are not in its record, or those of `only`, and print the table."""
    results = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    finished = set() if again else {result["step"] for result in results}
    server = server_of(record.parent)
    print(
        "| step | done | time | CPU: Assay, PostgreSQL | peak memory: Assay, PostgreSQL | database | transaction |"
    )
    print("|---|---|---|---|---|---|---|")
    for result in results:
        print(result["row"], flush=True)
    for name in [name.strip() for name in only.split(";") if name.strip()] or steps:
        if name not in finished:
            row = measured(name, server)
            with record.open("a") as file:
                file.write(json.dumps({"step": name, "row": row}) + "\n")
            print(row, flush=True)


# -- the steps; each returns its result in words


def server_of(var: Path) -> int:
    """The process of PostgreSQL."""
    return int((var / "postgres" / "postmaster.pid").read_text().split()[0])


def dump_files(names: list[str], folder: Path) -> str:
    return imported(*(path for name in names for path in sorted((folder / "dump").glob(f"{name}.xml*"))))


def imported(*files: Path) -> str:
    from django.core.management import call_command

    from corpus.models import Import

    call_command("import_collection", SLUG, *map(str, files), "--host", "math.stackexchange.com")
    last = Import.objects.latest("id")
    n = sum(sum(map(int, file.counts.values())) for file in Import.objects.filter(job=last.job))
    return f"{n:,} rows"


def clustered(_folder: Path) -> str:
    from django.core.management import call_command

    from corpus.models import Clustering

    call_command("cluster_formulas", SLUG)
    last = Clustering.objects.latest("id")
    return f"{last.counts['formulas']:,} rows"


def track_of(task: str) -> Any:
    from tracks.models import Track

    return Track.objects.get(slug=task)


def organizer() -> Any:
    from accounts.models import User

    user, _ = User.objects.get_or_create(username="organizer", is_staff=True, is_superuser=True)
    return user


def make_track(folder: Path, task: str) -> Any:
    from corpus.models import Collection
    from tracks.models import Organizer, StoredProtocol, Track
    from tracks.protocols import services as protocol_services
    from tracks.topics.services import import_topics
    from tracks.tracks import services as track_services

    protocol_services.load_shipped()
    track = Track.objects.filter(slug=task).first() or Track.objects.create(
        slug=task,
        name=task,
        protocol=StoredProtocol.objects.get(slug=TRACKS[task]),
        collection=Collection.objects.get(slug=SLUG),
    )
    Organizer.objects.get_or_create(track=track, user=organizer())
    if track.status == Track.Status.DRAFT:
        import_topics(track=track, data=(folder / task / "topics.xml").read_bytes(), name="topics.xml")
        track = track_services.open_for_runs(track=track)
    return track


def submitted(task: str, folder: Path) -> str:
    from assay.formats.declaration import Declaration
    from participation.models import Team
    from pooling.models import Run
    from pooling.runs import services as run_services

    track = make_track(folder, task)
    files = sorted((folder / task / "runs").iterdir())
    for number, path in enumerate(files):
        team, _ = Team.objects.get_or_create(track=track, name=f"Team {number // RUNS_PER_TEAM:02}")
        if Run.objects.filter(track=track, tag=path.stem).exists():
            continue
        kind = "alternate" if number % RUNS_PER_TEAM else "primary"
        with path.open("rb") as file:
            run_services.submit(
                track=track,
                team=team,
                by=organizer(),
                file=file,
                file_name=path.name,
                declared=Declaration(kind=kind),
            )
    return f"{len(files):,} runs"


def pooled(task: str, _folder: Path) -> str:
    from jobs.console import follow
    from pooling.pools import services

    pool = services.request(track=track_of(task), name="Main pool", seed=1, depth={}, by=organizer())
    assert pool.job is not None
    follow(pool.job)
    pool.refresh_from_db()
    members = pool.statistics.get("members") or {}
    return f"{pool.statistics['n']:,} units" + (f", {members['n']:,} members" if "n" in members else "")


def exported(task: str, _folder: Path) -> str:
    from pooling.models import Pool
    from pooling.pools import exports

    pool = Pool.objects.get(track__slug=task)
    files = [exports.pool_lines, exports.contribution_lines, exports.member_lines]
    n = sum(1 for lines in [*files, exports.member_contribution_lines] for _ in lines(pool))
    return f"{n:,} lines"


def scored(folder: Path) -> str:
    from assay.formats.qrels.reader import parse_qrels
    from jobs.console import follow
    from scoring.leaderboards import services as leaderboard_services
    from scoring.qrels import services as qrels_services

    columns = parse_qrels((folder / "task1" / "qrels.tsv").read_bytes())
    qrels = qrels_services.import_file(
        track=track_of("task1"), columns=columns, file_name="qrels.tsv", by=organizer()
    )
    board = leaderboard_services.request(qrels=qrels, by=organizer())
    assert board.job is not None
    follow(board.job)
    return f"{board.evaluations.count():,} runs"


def judged(_folder: Path) -> str:
    """All units of the pool as tasks; one assessor judges some of them."""
    from accounts.models import User
    from assessment.batches import services as batch_services
    from assessment.judging import services as task_services
    from assessment.judgments import services as judgment_services
    from assessment.planning import services as assignment_services
    from pooling.models import Pool
    from tracks.models import Assessor

    pool = Pool.objects.get(track__slug="task1")
    batch = batch_services.create(pool=pool, name=f"Main {uuid4().hex[:6]}", by=None)
    people = [User.objects.get_or_create(username=f"assessor{n}")[0] for n in range(ASSESSORS)]
    for person in people:
        Assessor.objects.get_or_create(track=pool.track, user=person)
    topics = list(pool.track.topics.all())
    for number, person in enumerate(people):
        assignment_services.assign(batch=batch, assessor=person, topics=topics[number::ASSESSORS])
    start = time.perf_counter()
    batch_services.open_for_judging(batch=batch)
    opened = time.perf_counter() - start
    seconds = []
    for _ in range(JUDGMENTS):
        start = time.perf_counter()
        task = task_services.accept_next(batch=batch, assessor=people[0])
        assert task is not None
        task.batch = batch
        judgment_services.submit(task=task, choice="high", request_id=uuid4())
        seconds.append(time.perf_counter() - start)
    n = pool.statistics["n"]
    p50, p95 = (1e3 * statistics.quantiles(seconds, n=20)[i] for i in (9, 18))
    return f"{n:,} tasks opened in {opened:.1f} s; a judgment p50 {p50:.0f} ms, p95 {p95:.0f} ms"


STEPS: dict[str, Callable[[Path], str]] = {
    "posts": partial(dump_files, ["Posts"]),
    "users, tags": partial(dump_files, ["Users", "Tags"]),
    "comments": partial(dump_files, ["Comments"]),
    "links": partial(dump_files, ["PostLinks"]),
    "votes": partial(dump_files, ["Votes"]),
    "formulas in LaTeX": lambda folder: imported(folder / "latex"),
    "formulas in MathML": lambda folder: imported(folder / "slt"),
    "clustering": clustered,
    "runs of task 1": partial(submitted, "task1"),
    "pool of task 1": partial(pooled, "task1"),
    "export of pool 1": partial(exported, "task1"),
    "runs of task 2": partial(submitted, "task2"),
    "pool of task 2": partial(pooled, "task2"),
    "export of pool 2": partial(exported, "task2"),
    "leaderboard": scored,
    "judging": judged,
}


# -- measuring a step


class Peaks:
    """Samples a step and PostgreSQL until it is stopped."""

    def __init__(self, pid: int, server: int) -> None:
        self.pid, self.server = pid, server
        self.worker_memory = self.server_memory = self.worker_cpu = self.transaction = 0.0
        self.start_cpu = usage(server)[0]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.sample, daemon=True)
        self._thread.start()

    def sample(self) -> None:
        with connected() as cursor:
            while not self._stop.wait(0.5):
                (cpu, memory), (_, server_memory) = usage(self.pid), usage(self.server)
                self.worker_memory = max(self.worker_memory, memory)
                self.worker_cpu = max(self.worker_cpu, cpu)
                self.server_memory = max(self.server_memory, server_memory)
                cursor.execute(
                    "SELECT coalesce(extract(epoch FROM max(now() - xact_start)), 0) FROM pg_stat_activity "
                    "WHERE backend_xid IS NOT NULL AND backend_type = 'client backend'"
                )
                self.transaction = max(self.transaction, float(cursor.fetchone()[0]))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def usage(root: int) -> tuple[float, float]:
    """CPU seconds and megabytes of a process and its descendants, and the CPU of those of them that have ended."""
    processes = {pid: (parent, cpu) for pid, parent, _, _, cpu in process_times()}
    family = [root]
    for pid in family:
        family += [child for child, (parent, _) in processes.items() if parent == pid]
    return sum(processes[pid][1] for pid in family if pid in processes), sum(map(pss, family))


def pss(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


@contextmanager
def connected() -> Iterator[Any]:
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def database_size() -> float:
    """Gigabytes."""
    with connected() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return float(cursor.fetchone()[0]) / 1e9


def measured(name: str, server: int) -> str:
    """Run a step in a process of its own, and return its row of the table."""
    before, start = database_size(), time.perf_counter()
    command, done = [sys.executable, "-m", "maintenance.benchmarks", *sys.argv[1:]], ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {STEP: name}
    ) as process:
        peaks = Peaks(process.pid, server)
        assert process.stdout is not None
        for line in process.stdout:
            done = line.rstrip()
            print(f"    {done}", file=sys.stderr, flush=True)
        status = process.wait()
    peaks.stop()
    if status:
        raise SystemExit(f"the step {name} failed")
    seconds, size = time.perf_counter() - start, database_size()
    return (
        f"| {name} | {done} | {seconds:,.0f} s | {peaks.worker_cpu:,.0f} s, "
        f"{usage(server)[0] - peaks.start_cpu:,.0f} s | {peaks.worker_memory:,.0f} MB, {peaks.server_memory:,.0f} MB "
        f"| {size:.1f} GB (+{size - before:.1f}) | {peaks.transaction:.1f} s |"
    )


# -- pages

SKIPPED = (
    "/static/",
    "/media/",
    "/help/",
    "/logout",
    "/admin/logout",
    "/admin/jsi18n",
    "/admin/password_change",
)
LIMIT = 0.5  # seconds that no page may take
LARGEST = 300 * 1024  # bytes of a page


@case
def pages(
    var: Path, *, repeats: int = 5, examples: int = 2, only: str = "", shown: int = 60, judge: bool = False
) -> None:
    """Measure every page of a campaign that `real-size` has made: time, queries and size, for each role.

    The site is crawled as visitor, participant, assessor and organizer, from the home page and, as organizer, from the
    lists of the admin with a search in each: --examples addresses of each page. Requests pass through all middleware.
    The table shows the --shown worst, by time or size in relation to the goals of 0.5 s and 300 kB, with the median and
    maximum of the repeats, the CPU time of Assay and PostgreSQL, the number of queries and the size. Files may have any
    size. --only is a pattern of names such as 'differences|freeze'. With --judge, a judgment is changed before each
    request, so these are the times of first openings after a judgment.
    """
    from django.test import Client

    with database(var=var.absolute(), settings={"DEBUG": "0", "REDIS_URL": "filesystem://"}):
        from accounts.models import User

        participant = User.objects.filter(teams__isnull=False).first()
        people = {
            "visitor": None,
            "participant": participant,
            "assessor": User.objects.filter(username="assessor0").first(),
            "organizer": organizer(),
        }
        rows, before, server = [], revise if judge else lambda: None, server_of(var)
        for role, user in people.items():
            client = Client(SERVER_NAME="localhost", raise_request_exception=False)
            if user is not None:
                client.force_login(user)
            starts = ["/", *(admin_addresses() if role == "organizer" else [])]
            rows += [(role, *page) for page in crawl(client, starts, repeats, examples, only, before, server)]
    rows.sort(key=lambda page: -max(page[3] / LIMIT, page[7] / LARGEST * page[9]))
    print(f"{'median':>8} {'max':>8} {'cpu':>7} {'queries':>7} {'kB':>8}  role         page")
    for role, name, address, median, longest, cpu, n_queries, size, status, _ in rows[:shown]:
        mark = "" if status in {200, 302} else f" {status}"
        print(
            f"{median:8.3f} {longest:8.3f} {cpu:7.3f} {n_queries:7} {size / 1024:8.0f}  {role:12} "
            f"{name} {address}{mark}"
        )
    medians = [page[3] for page in rows]
    slow = sum(median > LIMIT for median in medians)
    figure("slowest page, median", max(medians), note=f"{len(medians)} pages, {slow} of them over {LIMIT} s")
    figure("pages, 95th percentile of the medians", percentile(medians, 0.95))
    sizes = [page[7] for page in rows if page[9]]
    large = sum(size > LARGEST for size in sizes)
    figure("largest page", max(sizes) / 1024, "kB", note=f"{large} pages over {LARGEST // 1024} kB")


def admin_addresses() -> list[str]:
    """The lists of the admin, each with a search."""
    from django.contrib.admin import site
    from django.urls import reverse

    addresses = []
    for model, admin in site._registry.items():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        addresses += [address, *([f"{address}?q=run1"] if admin.search_fields else [])]
    return addresses


def revise() -> None:
    """Change the newest judgment that counts, as its assessor does."""
    from assessment.judgments import services
    from assessment.models import Judgment

    counted = Judgment.objects.filter(is_current=True, batch__status="open", grade__isnull=False)
    judgment = counted.select_related("task", "track__protocol").latest("pk")
    grades = judgment.track.protocol.parsed.judging.grades
    choice = next(grade.key for grade in grades if grade.value != judgment.grade)
    services.submit(task=judgment.task, choice=choice, request_id=uuid4())


def crawl(
    client: Any,
    starts: list[str],
    repeats: int,
    examples: int,
    only: str,
    before: Callable[[], None],
    server: int,
) -> Iterator[tuple[Any, ...]]:
    """The pages that a role reaches, each measured when it is reached."""
    waiting, seen, n_by_name = deque(starts), set(starts), Counter[str]()
    while waiting:
        address = waiting.popleft()
        name = name_of(address)
        if not name or n_by_name[name] >= examples:
            continue
        n_by_name[name] += 1
        is_wanted = re.search(only, name) is not None
        *figures, status, text = requested(client, address, repeats if is_wanted else 1, before, server)
        if status not in {200, 302, 500}:
            n_by_name[name] -= 1
        if is_wanted:
            yield name, address, *figures, status, bool(text)
        for link in re.findall(r'<a [^>]*href="([^"#]+)', text):
            target = urljoin(address, link.replace("&amp;", "&"))
            if target.startswith("/") and "_changelist_filters" not in target and target not in seen:
                seen.add(target)
                waiting.append(target)


def name_of(address: str) -> str:
    """The name of the page at an address, with a mark for a query; empty if it is not to be requested."""
    from django.urls import Resolver404, resolve

    path = urlsplit(address).path
    if path.startswith(SKIPPED):
        return ""
    with suppress(Resolver404):
        name = resolve(path).view_name
        return f"{name} ?" if urlsplit(address).query else name
    return ""


def requested(
    client: Any, address: str, repeats: int, before: Callable[[], None], server: int
) -> tuple[float, float, float, int, int, int, str]:
    """Median and maximum time, CPU time of Assay and PostgreSQL, number of queries, size, status and text of a page.

    `before` is called before each request; `server` is the process of PostgreSQL.
    """
    from django.db import connection

    seconds: list[float] = []
    cpu, n_queries = 0.0, 0

    def count(execute: Any, *arguments: Any) -> Any:
        nonlocal n_queries
        n_queries += 1
        return execute(*arguments)

    while len(seconds) < repeats and sum(seconds) < 10:
        before()
        cpu -= usage(server)[0] + time.process_time()
        start, n_queries = time.perf_counter(), 0
        with connection.execute_wrapper(count):
            response = client.get(address)
            content = b"".join(response) if response.streaming else response.content
        seconds.append(time.perf_counter() - start)
        cpu += time.process_time() + usage(server)[0]
        response.close()
    is_page = response.get("Content-Type", "")[:9] == "text/html"
    text = content[: 1 << 20].decode(errors="replace") if is_page and response.status_code == 200 else ""
    return (
        statistics.median(seconds),
        max(seconds),
        cpu / len(seconds),
        n_queries,
        len(content),
        response.status_code,
        text,
    )
