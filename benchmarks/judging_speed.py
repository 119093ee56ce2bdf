"""Judgments per second: Assay with gunicorn and an embedded PostgreSQL, assessors without think time.

    python benchmarks/judging_speed.py [--load PATH/judging_load.py] [--workers 1 8] [--seconds 30] [--open 4000]
    python benchmarks/judging_speed.py --against FOLDER [--rounds 3]

The load generator is not part of Assay. The script looks for it in `bench/` of the folder that ASSAY_SHARED names, or
of `../shared`. It also prints the published numbers of Turkle on a machine of two cores: gunicorn with two workers, a
batch of 2,000 tasks of 15.5 kB, medians of three runs of 30 s. Assay runs like the first line of that table. Run the
script on a machine without other work.

With --against, it alternates between the script of another working tree of Assay and itself, and prints the ratios of
the medians. The CPU time of the web processes changes least when the machine has other work.
"""

import argparse
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from server import embedded, paths  # noqa: E402

PASSWORD = "worker-pass-1"
PEOPLE = 8
TURKLE = """Turkle, published (2 cores, 2 gunicorn workers, 2,000 tasks of 15.5 kB, no think time)
  PostgreSQL  1 / 8 assessors    5.3 /  5.6 judgments/s   accept p50 151 / 345 ms   cycle p50 183 / 1347 ms
  SQLite      1 / 8 assessors   30.9 / 26.8 judgments/s   accept p50  12 /  52 ms   cycle p50  31 /  228 ms
  MariaDB     1 / 8 assessors   27.3 / 40.7 judgments/s   accept p50  15 /  52 ms   cycle p50  35 /  191 ms
  accept on PostgreSQL at 200 / 2,000 / 10,000 open tasks: p50 19 / 151 / 716 ms"""


def main() -> None:
    arguments = read_arguments()
    if arguments.against:
        compare(arguments)
        return
    with tempfile.TemporaryDirectory(prefix="assay-judging-") as folder:
        var = Path(folder)
        var.chmod(0o711)
        server = embedded.Postgres(var / "postgres")
        server.start()
        try:
            prepare(var)
            print(TURKLE)
            print("Assay, measured now (the submission takes the next task in the same request)")
            if not arguments.services_only:
                measure_pages(arguments, var)
            measure_accept(arguments.sizes)
        finally:
            server.stop()


def read_arguments() -> argparse.Namespace:
    shared = Path(os.environ.get("ASSAY_SHARED", ROOT.parent / "shared"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--load", type=Path, default=shared / "bench" / "judging_load.py")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--open", type=int, default=4000, help="entries of the batch")
    parser.add_argument("--services-only", action="store_true", help="do not start gunicorn and the load")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[200, 4_000, 100_000], help="entries of batches"
    )
    parser.add_argument("--against", type=Path, help="another working tree, which is measured in turn")
    parser.add_argument("--rounds", type=int, default=3, help="with --against")
    arguments = parser.parse_args()
    if not arguments.services_only and not arguments.load.is_file():
        parser.error(f"there is no load generator at {arguments.load}; name it with --load")
    return arguments


LINE = re.compile(
    r"(\d+) assessors: ([\d.]+) judgments/s.*cycle p50 (\d+) p95 (\d+) ms.* ([\d.]+) ms per judgment"
)
FIGURES = ("judgments/s", "cycle p50 ms", "cycle p95 ms", "CPU ms per judgment")


def compare(arguments: argparse.Namespace) -> None:
    """Run the scripts of both trees in turn, and print the medians and their ratios."""
    figures: dict[Path, list[list[float]]] = {arguments.against.resolve(): [], ROOT: []}
    for _ in range(arguments.rounds):
        for tree, rounds in figures.items():
            rounds.append(run_script(tree, arguments))
            print(f"  {tree.name}: {dict(zip(FIGURES, rounds[-1], strict=True))}", flush=True)
    before, now = (
        [statistics.median(column) for column in zip(*rounds, strict=True)] for rounds in figures.values()
    )
    for name, old, new in zip(FIGURES, before, now, strict=True):
        print(f"  {name}: {old:.1f} before, {new:.1f} now, ratio {new / old:.2f}")


def run_script(tree: Path, arguments: argparse.Namespace) -> list[float]:
    """The figures of the script of a tree, for the largest number of assessors."""
    options = {
        "workers": max(arguments.workers),
        "seconds": arguments.seconds,
        "open": arguments.open,
        "sizes": 200,
    }
    command = [sys.executable, str(tree / "benchmarks" / "judging_speed.py"), "--load", str(arguments.load)]
    command += [text for name, value in options.items() for text in (f"--{name}", str(value))]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(command, check=False, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
    line = LINE.search(done.stdout)
    if done.returncode or not line:
        raise SystemExit(f"{command[1]} ended with {done.returncode} and printed:\n{done.stdout}")
    return [float(figure) for figure in line.groups()[1:]]


def prepare(var: Path) -> None:
    """Set the environment, create the tables, and collect static files."""
    os.environ |= {
        "ASSAY_VAR": str(var),
        "DATABASE_URL": paths.database_url(var / "postgres"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": uuid4().hex * 2,
        "LOG_LEVEL": "ERROR",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)


def make_batch(n: int, n_people: int = PEOPLE, length: int = 15_500) -> int:
    """A batch of n entries with documents of that many bytes; each assessor has one topic."""
    from assessment.assignments import services as assignment_services
    from assessment.batches import services as batch_services
    from corpus.models import Collection, Document
    from pooling.models import PoolEntry

    pool, people, topics = make_pool(n_people)
    text = "<p>" + "An answer with many words, all of which are to the point. " * 250 + "</p>"
    collection = Collection.objects.get(pk=pool.track.collection_id)
    documents = [
        Document(
            collection=collection,
            docno=f"{pool.pk}-{i}",
            thread=f"{pool.pk}-{i}",
            kind="answer",
            body=text[:length],
        )
        for i in range(n)
    ]
    Document.objects.bulk_create(documents, batch_size=500)
    entries = [
        PoolEntry(
            pool=pool,
            topic=topics[i % n_people],
            docno=document.docno,
            document=document,
            position=i // n_people,
        )
        for i, document in enumerate(documents)
    ]
    PoolEntry.objects.bulk_create(entries, batch_size=2000)
    batch = batch_services.create(pool=pool, name="Load", by=None)
    for person, topic in zip(people, topics, strict=True):
        assignment_services.assign(batch=batch, assessor=person, topics=[topic])
    batch_services.open_for_judging(batch=batch)
    return batch.pk


def make_pool(n_people: int):  # type: ignore[no-untyped-def]
    """A new track with that many assessors and topics."""
    from accounts.models import User
    from assay.protocols.loader import load_protocol, shipped_text
    from corpus.models import Collection
    from pooling.models import Pool
    from tracks.models import Assessor, StoredProtocol, Topic, Track

    slug = "arqmath-2020-task1"
    protocol, _ = StoredProtocol.objects.get_or_create(
        slug=slug, defaults={"text": shipped_text(slug), "digest": load_protocol(slug).digest}
    )
    name = f"load-{uuid4().hex[:8]}"
    collection = Collection.objects.create(slug=name, name=name, status="ready")
    track = Track.objects.create(
        slug=name, name=name, protocol=protocol, collection=collection, status="open"
    )
    people = []
    for i in range(n_people):
        person, is_new = User.objects.get_or_create(username=f"worker{i + 1:02d}")
        if is_new:
            person.set_password(PASSWORD)
            person.save()
        Assessor.objects.create(track=track, user=person)
        people.append(person)
    topics = [
        Topic.objects.create(track=track, code=f"A.{i}", title="A topic", body="<p>A question.</p>")
        for i in range(n_people)
    ]
    pool = Pool.objects.create(
        track=track,
        name=name,
        protocol=protocol,
        protocol_digest=protocol.digest,
        seed=1,
        sha256=uuid4().hex,  # as of a pool that a job built
        status="ready",
        created_by=people[0],
    )
    return pool, people, topics


def measure_pages(arguments: argparse.Namespace, var: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "-c",
        "server/gunicorn.py",
        "-b",
        f"127.0.0.1:{port}",
        "config.wsgi",
    ]
    web = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    base = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{base}/health/")
        for workers in arguments.workers:
            print_load(arguments, var, base, workers, web.pid)
    finally:
        os.killpg(web.pid, signal.SIGTERM)
        web.wait()


def wait_for(address: str) -> None:
    for _ in range(1200):  # a busy machine takes long to start a server
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{address} does not answer")


def cpu_seconds(group: int) -> float:
    """CPU time of the processes of a group, which other work of the machine changes little."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def print_load(arguments: argparse.Namespace, var: Path, base: str, workers: int, web: int) -> None:
    report = var / "load.json"
    flow = f"{ROOT / 'benchmarks' / 'judging_flow.py'}:Assay"
    # fmt: off
    command = [sys.executable, str(arguments.load), "--base", base, "--batch", str(make_batch(arguments.open, workers)),
               "--workers", str(workers), "--seconds", str(arguments.seconds), "--flow", flow,
               "--password", PASSWORD, "--json", str(report)]
    # fmt: on
    logins = cpu_of(web, [*command, "--seconds", "0"])
    used = cpu_of(web, command)
    load = json.loads(report.read_text())
    ms = {kind: f"p50 {times['p50']:.0f} p95 {times['p95']:.0f} ms" for kind, times in load["ms"].items()}
    print(
        f"  {workers} assessors: {load['per_second']:.1f} judgments/s   submit and accept {ms['submit']}   "
        f"cycle {ms['cycle']}   errors {load['errors'] or 'none'}   "
        f"CPU time of the web processes {1e3 * used / max(1, load['judgments']):.1f} ms per judgment, "
        f"{1e3 * (used - logins) / max(1, load['judgments']):.1f} without the logins"
    )


def cpu_of(web: int, command: list[str]) -> float:
    """Run a command; returns the CPU seconds that the web processes took meanwhile."""
    before = cpu_seconds(web)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return cpu_seconds(web) - before


def measure_accept(sizes: list[int]) -> None:
    """In this process: submit tasks, whose answer contains the next one, in batches of several sizes."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from accounts.models import User
    from assessment.models import Batch
    from assessment.tasks import services as task_services

    client = Client(SERVER_NAME="localhost")
    for n in sizes:
        batch = Batch.objects.get(pk=make_batch(n, length=1_000))
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        person = User.objects.get(username="worker01")
        client.force_login(person)
        task = task_services.accept_next(batch=batch, assessor=person)
        assert task is not None
        address, times = task.get_absolute_url(), []
        for _ in range(min(200, n // PEOPLE) - 1):
            fields = {"choice": "high", "comment": "", "request_id": uuid4(), "seconds": "1", "shown": "0"}
            with CaptureQueriesContext(connection) as queries:
                start = time.perf_counter()
                answer = client.post(
                    address, fields, HTTP_ACCEPT="application/json", HTTP_PREFER="return=representation"
                )
                times.append(1e3 * (time.perf_counter() - start))
            address = answer.json()["next"]
        times.sort()
        print(
            f"  in one process, {n:7,} open: submission with the next page p50 {statistics.median(times):.1f} ms, "
            f"p95 {times[int(0.95 * len(times))]:.1f} ms, {len(queries)} queries"
        )


if __name__ == "__main__":
    main()
