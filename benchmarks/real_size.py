"""Measure a campaign with a collection of ARQMath's size, step by step, and print a table.

    python benchmarks/make_collection.py COLLECTION --scale 0.1 --gz
    python benchmarks/real_size.py COLLECTION VAR [--only "posts; comments"]

VAR is the folder of a durable PostgreSQL with the settings of `make run`, and of the stored files. Each step runs in a
process of its own: the jobs of the imports and of the clustering, as `manage.py` runs them; the submission of the runs
of both tasks, their pools, a leaderboard, judging, and the pages. Finished steps are in VAR/real_size.jsonl and are not
repeated, so an interrupted measurement can be continued.

Memory is the peak of the sum over all processes of a step, and of PostgreSQL, where shared pages count once (PSS). CPU
time is theirs. "transaction" is the age of the oldest transaction that wrote, sampled twice per second: a job counts as
lost if its row cannot be updated for 30 seconds. On a machine with other work, compare CPU times.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg2

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from server import embedded, paths  # noqa: E402

SLUG = "math"
TRACKS = {"task1": "arqmath-2020-task1", "task2": "arqmath-2021-task2"}
RUNS_PER_TEAM = 5
ASSESSORS = 8
JUDGMENTS = 200
SAMPLE_SECONDS = 0.5


# --- The steps. Each prints one line: what it has done.


def dump_file(*names: str) -> Callable[[Path], str]:
    def step(folder: Path) -> str:
        return imported(*(path for name in names for path in sorted((folder / "dump").glob(f"{name}.xml*"))))

    return step


def index(name: str) -> Callable[[Path], str]:
    return lambda folder: imported(folder / name)


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
    from tracks.models import StoredProtocol, Track
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
    if track.status == Track.Status.DRAFT:
        import_topics(track=track, data=(folder / task / "topics.xml").read_bytes(), name="topics.xml")
        track = track_services.open_for_runs(track=track)
    return track


def submitted(task: str) -> Callable[[Path], str]:
    def step(folder: Path) -> str:
        from pooling.models import Run, Team
        from pooling.runs import services as run_services
        from pooling.runs.services import Declaration

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

    return step


def pooled(task: str) -> Callable[[Path], str]:
    def step(_folder: Path) -> str:
        from jobs.console import follow
        from pooling.pools import services

        pool = services.request(track=track_of(task), name="Main pool", seed=1, depth={}, by=organizer())
        assert pool.job is not None
        follow(pool.job)
        pool.refresh_from_db()
        members = pool.statistics.get("members") or {}
        return f"{pool.statistics['n']:,} units" + (f", {members['n']:,} members" if "n" in members else "")

    return step


def exported(task: str) -> Callable[[Path], str]:
    def step(_folder: Path) -> str:
        from pooling.models import Pool
        from pooling.pools import exports

        pool = Pool.objects.get(track__slug=task)
        files = [exports.pool_lines, exports.contribution_lines, exports.member_lines]
        n = sum(1 for lines in [*files, exports.member_contribution_lines] for _ in lines(pool))
        return f"{n:,} lines"

    return step


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
    from assessment.assignments import services as assignment_services
    from assessment.batches import services as batch_services
    from assessment.judgments import services as judgment_services
    from assessment.tasks import services as task_services
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


def addresses() -> Iterator[tuple[str, str]]:
    """The pages to measure, with a name for each."""
    from corpus.models import Collection, Formula
    from pooling.models import Pool, Run
    from scoring.models import Leaderboard

    collection = Collection.objects.get(slug=SLUG)
    math = f"/collections/{SLUG}/"
    heads = collection.documents.filter(kind="question")
    last = heads.order_by("-docno").values_list("docno", flat=True)[0]
    common = Formula.objects.get(collection=collection, code="1").code
    rare = Formula.objects.filter(collection=collection, place=Formula.Place.COMMENT)[0].code
    yield from {
        "collections": "/collections/",
        "collection": math,
        "collection, last threads": f"{math}?after={last[:-1]}",
        "thread": f"{math}threads/{heads[0].docno}/",
        "formulas": f"{math}formulas/",
        "frequent formula": f"{math}formulas/{common}/",
        "formula in a comment": f"{math}formulas/{rare}/",
        "imports": "/imports/",
        "new import": "/imports/new/",
    }.items()
    for pool in Pool.objects.all():
        task, entry = pool.track.slug, pool.entries.first()
        assert entry is not None
        code = entry.topic.code
        yield from {
            f"{task}: track": f"/tracks/{task}/",
            f"{task}: topic": f"/tracks/{task}/topics/{code}/",
            f"{task}: runs": f"/tracks/{task}/runs/",
            f"{task}: run": f"/runs/{Run.objects.filter(track=pool.track)[0].pk}/",
            f"{task}: pools": f"/tracks/{task}/pools/",
            f"{task}: pool": f"/pools/{pool.pk}/",
            f"{task}: pool topic": f"/pools/{pool.pk}/topics/{code}/",
            f"{task}: pool entry": f"/pools/{pool.pk}/entries/{entry.pk}/",
            f"{task}: depths": f"/pools/{pool.pk}/depths/",
            f"{task}: overlap": f"/pools/{pool.pk}/overlap/",
            f"{task}: judging": f"/tracks/{task}/judging/",
        }.items()
    for board in Leaderboard.objects.all():
        yield "leaderboard", f"/leaderboards/{board.pk}/"
        yield "leaderboard by topic", f"/leaderboards/{board.pk}/topics/"
        yield "evaluation", f"/evaluations/{board.evaluations.order_by('pk')[0].pk}/"


def admin_addresses() -> Iterator[tuple[str, str]]:
    from django.contrib import admin

    for model, page in admin.site._registry.items():
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        yield f"admin: {model._meta.model_name}", address
        if page.search_fields:
            yield f"admin: {model._meta.model_name}, search", f"{address}?q=run1"


def visited(_folder: Path) -> str:
    """Every page as an organizer, three times: the first visit and the median."""
    from django.test import Client

    client = Client(HTTP_HOST="localhost")
    client.force_login(organizer())
    client.get("/")
    slow = []
    pages = [*addresses(), *admin_addresses()]
    for name, address in pages:
        seconds, cpu = [], time.process_time()
        for _ in range(3):
            start = time.perf_counter()
            response = client.get(address, follow=True)
            seconds.append(time.perf_counter() - start)
        cpu = (time.process_time() - cpu) / 3
        if response.status_code != 200:
            print(f"  {response.status_code} {name} {address}", flush=True)
        size = len(response.content) / 1e3
        slow.append((statistics.median(seconds), seconds[0], name, cpu, size))
    slow.sort(reverse=True)
    for median, first, name, cpu, size in slow[:15]:
        times = f"first {first:6.3f} s, median {median:6.3f} s, CPU of the web process {cpu:6.3f} s"
        print(f"  {name:<32} {times}, {size:7,.0f} kB", flush=True)
    n_slow = sum(median > 0.5 for median, *_ in slow)
    return f"{len(pages)} pages, {n_slow} over 0.5 s, slowest {slow[0][2]} {slow[0][0]:.2f} s"


STEPS: dict[str, Callable[[Path], str]] = {
    "posts": dump_file("Posts"),
    "users, tags": dump_file("Users", "Tags"),
    "comments": dump_file("Comments"),
    "links": dump_file("PostLinks"),
    "votes": dump_file("Votes"),
    "formulas in LaTeX": index("latex"),
    "formulas in MathML": index("slt"),
    "clustering": clustered,
    "runs of task 1": submitted("task1"),
    "pool of task 1": pooled("task1"),
    "export of pool 1": exported("task1"),
    "runs of task 2": submitted("task2"),
    "pool of task 2": pooled("task2"),
    "export of pool 2": exported("task2"),
    "leaderboard": scored,
    "judging": judged,
    "pages": visited,
}


# --- Measuring


class Usage(NamedTuple):
    """CPU seconds and megabytes of a process and its descendants."""

    cpu: float
    memory: float


def usage(root: int) -> Usage:
    """What a process and its descendants use now, and the CPU of those of them that have ended."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has ended
            fields = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            ticks[int(stat.parent.name)] = sum(map(int, fields[11:15]))
    family = [root]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
    cpu = sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")
    return Usage(cpu, sum(map(pss, family)))


def pss(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


class Peaks:
    """Samples a step and PostgreSQL until it is stopped."""

    def __init__(self, pid: int, server: int) -> None:
        self.pid, self.server = pid, server
        self.worker_memory = self.server_memory = self.worker_cpu = self.transaction = 0.0
        self.start_cpu = usage(server).cpu
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        with connected() as cursor:
            while not self._stop.wait(SAMPLE_SECONDS):
                worker, server = usage(self.pid), usage(self.server)
                self.worker_memory = max(self.worker_memory, worker.memory)
                self.worker_cpu = max(self.worker_cpu, worker.cpu)
                self.server_memory = max(self.server_memory, server.memory)
                cursor.execute(
                    "SELECT coalesce(extract(epoch FROM max(now() - xact_start)), 0) FROM pg_stat_activity "
                    "WHERE backend_xid IS NOT NULL AND backend_type = 'client backend'"
                )
                self.transaction = max(self.transaction, float(cursor.fetchone()[0]))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


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


def measured(name: str, options: argparse.Namespace, server: int) -> dict[str, Any]:
    """Run a step in a process of its own. Its last line of output says what it has done."""
    before, start = database_size(), time.perf_counter()
    # fmt: off
    command = [sys.executable, __file__, str(options.collection), str(options.var), "--step", name]
    # fmt: on
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peaks = Peaks(process.pid, server)
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            print(f"    {line.rstrip()}", file=sys.stderr, flush=True)
        status = process.wait()
    peaks.stop()
    if status:
        raise SystemExit(f"the step {name} failed")
    size = database_size()
    return {
        "step": name,
        "done": lines[-1],
        "seconds": time.perf_counter() - start,
        "cpu": peaks.worker_cpu,
        "server_cpu": usage(server).cpu - peaks.start_cpu,
        "memory": peaks.worker_memory,
        "server_memory": peaks.server_memory,
        "transaction": peaks.transaction,
        "size": size,
        "growth": size - before,
        "lines": [line for line in lines if line.startswith("  ")],
    }


HEAD = (
    "| step | done | time | CPU: Assay, PostgreSQL | peak memory: Assay, PostgreSQL | database | transaction |\n"
    "|---|---|---|---|---|---|---|"
)


def row(result: dict[str, Any]) -> str:
    return (
        f"| {result['step']} | {result['done']} | {result['seconds']:,.0f} s "
        f"| {result['cpu']:,.0f} s, {result['server_cpu']:,.0f} s "
        f"| {result['memory']:,.0f} MB, {result['server_memory']:,.0f} MB "
        f"| {result['size']:.1f} GB (+{result['growth']:.1f}) | {result['transaction']:.1f} s |"
    )


def prepare(var: Path) -> None:
    os.environ |= {
        "ASSAY_VAR": str(var),
        "DATABASE_URL": paths.database_url(var / "postgres"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",  # there is no broker: the steps run their jobs themselves
        "DEBUG": "0",
    }
    import django

    django.setup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collection", type=Path, help="folder that make_collection.py has made")
    parser.add_argument("var", type=Path, help="folder for the database and the stored files")
    parser.add_argument("--only", default="", help=f"steps, separated by semicolons: {'; '.join(STEPS)}")
    parser.add_argument("--again", action="store_true", help="also steps that are finished")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.var.mkdir(parents=True, exist_ok=True)
    prepare(options.var)
    if options.step:
        print(STEPS[options.step](options.collection), flush=True)
        return
    server = embedded.Postgres(options.var / "postgres", options=embedded.DURABLE)
    server.start()
    try:
        run_steps(options)
    finally:
        server.stop()


def run_steps(options: argparse.Namespace) -> None:
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    connections.close_all()
    record = options.var / "real_size.jsonl"
    results = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    finished = set() if options.again else {result["step"] for result in results}
    wanted = [name.strip() for name in options.only.split(";") if name.strip()] or list(STEPS)
    server = int((options.var / "postgres" / "postmaster.pid").read_text().split()[0])
    print(HEAD, flush=True)
    for result in results:
        print(row(result), flush=True)
    for name in wanted:
        if name not in finished:
            result = measured(name, options, server)
            with record.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(row(result), flush=True)


if __name__ == "__main__":
    main()
