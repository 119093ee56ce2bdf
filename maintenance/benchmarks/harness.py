"""The harness of the benchmarks: named cases with options, timing, memory, a site, and figures next to a peer's.

A case is a function with the decorator `case`. Its keyword parameters are the options of the command line, its
docstring is the help, and it prints each of its figures with `figure`.
"""

import argparse
import inspect
import json
import multiprocessing
import os
import platform
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin
from uuid import uuid4

from server import embedded, paths

ROOT = paths.ROOT
SHARED = Path(os.environ.get("ASSAY_SHARED", ROOT.parent / "shared"))
FIGURES = "ASSAY_BENCHMARK_FIGURES"  # a file to which a case also writes its figures, as lines of JSON
CASES: dict[str, Callable[..., None]] = {}


# -- cases


def case(function: Callable[..., None]) -> Callable[..., None]:
    CASES[function.__name__.replace("_", "-")] = function
    return function


def main(arguments: Sequence[str]) -> None:
    """Run a case with the options that its parameters declare."""
    if not arguments or arguments[0] == "--list" or arguments[0] not in CASES:
        for name, function in CASES.items():
            print(f"{name:<22} {(inspect.getdoc(function) or '').partition(chr(10))[0]}")
        raise SystemExit(arguments != ["--list"])
    name, function = arguments[0], CASES[arguments[0]]
    trees = argparse.ArgumentParser(add_help=False)
    trees.add_argument("--against", type=Path, help="another working tree, which is measured in turn")
    trees.add_argument("--rounds", type=int, default=3, help="with --against")
    parser = argparse.ArgumentParser(
        prog=f"python -m maintenance.benchmarks {name}",
        description=inspect.getdoc(function),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[trees],
    )
    for parameter in inspect.signature(function).parameters.values():
        add(parser, parameter)
    options = vars(parser.parse_args(arguments[1:]))
    against, rounds = options.pop("against"), options.pop("rounds")
    if against:
        compare_trees([name, *trees.parse_known_args(arguments[1:])[1]], against.resolve(), rounds)
        return
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores with a load of {load:.1f}, Python {platform.python_version()}", flush=True)
    function(**options)


def add(parser: argparse.ArgumentParser, parameter: inspect.Parameter) -> None:
    kind, default = parameter.annotation, parameter.default
    if default is parameter.empty:
        parser.add_argument(parameter.name, type=kind)
        return
    name = f"--{parameter.name.replace('_', '-')}"
    if kind is bool:
        parser.add_argument(name, action="store_true")
    elif get_origin(kind) is tuple:
        parser.add_argument(name, nargs="*", type=get_args(kind)[0], default=default)
    else:
        parser.add_argument(
            name, type=kind, default=default, help=f"default: {default}" if default != "" else ""
        )


def compare_trees(options: Sequence[str], against: Path, rounds: int) -> None:
    """Run a case with the code of two working trees in turn, and print the medians of their figures and the ratios."""
    figures: dict[Path, dict[str, list[float]]] = {tree: defaultdict(list) for tree in (against, ROOT)}
    for _ in range(rounds):
        for tree, values in figures.items():
            with tempfile.NamedTemporaryFile("r") as file:
                environment = os.environ | {"PYTHONPATH": str(tree), FIGURES: file.name}
                command = [sys.executable, "-m", "maintenance.benchmarks", *options]
                subprocess.run(command, cwd=tree, env=environment, check=True)
                for name, value in map(json.loads, file):
                    values[name].append(value)
    before, now = ({name: statistics.median(each) for name, each in of.items()} for of in figures.values())
    for name in before.keys() & now.keys():
        print(f"{name}: {before[name]:.4g} before, {now[name]:.4g} now, ratio {now[name] / before[name]:.2f}")


def figure(
    name: str, value: float, unit: str = "s", peers: Mapping[str, float] | None = None, *, note: str = ""
) -> None:
    """Print a figure, and those of peers by their names, with the ratio: above 1, ours is better."""
    text = f"{name:<46} {value:>10,.4g} {unit}"
    for other, theirs in (peers or {}).items():
        ratio = theirs / value if unit in {"s", "ms", "MB"} else value / theirs
        text += f"   {other} {theirs:,.4g} {unit}   ratio {ratio:.2f}"
    print(f"{text}   {note}".rstrip(), flush=True)
    if path := os.environ.get(FIGURES):
        with Path(path).open("a") as file:
            file.write(json.dumps([name, value]) + "\n")


# -- time and memory


class Cost(NamedTuple):
    """Seconds of elapsed and of CPU time, peak megabytes of the process and of its largest child, and the result."""

    seconds: float
    cpu: float
    memory: float
    child_memory: float
    result: Any


def timed(
    work: Callable[[], Any], repeats: int = 1, best: Callable[[list[float]], float] = statistics.median
) -> Cost:
    """Run in this process, and take the median of the times, or the best by another function."""
    seconds, cpu, result = [], [], None
    for _ in range(repeats):
        start, start_cpu = time.perf_counter(), time.process_time()
        result = work()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return Cost(best(seconds), best(cpu), peak_memory(), 0.0, result)


def forked(work: Callable[..., Any], *arguments: Any) -> Cost:
    """Run in a fresh process, whose result is sent back. Connections to a database must be closed before."""

    def run() -> None:
        start = time.perf_counter()
        result = work(*arguments)
        seconds = time.perf_counter() - start
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
        send.send(Cost(seconds, cpu, used[0].ru_maxrss / 1024, used[1].ru_maxrss / 1024, result))

    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    send.close()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{getattr(work, '__name__', work)} failed")
    cost: Cost = receive.recv()
    return cost


def command(words: Sequence[object], **environment: str) -> Cost:
    """Run a command; its peak memory does not begin with that of this process, as that of `wait4` would."""
    begin, peak = time.perf_counter(), 0.0
    line = [str(word) for word in words]
    process = subprocess.Popen(line, cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        with suppress(OSError):
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            peak = max([peak, *(int(row.split()[1]) / 1024 for row in status if row.startswith("VmHWM"))])
        time.sleep(0.01)
    if process.returncode:
        raise SystemExit(f"{' '.join(line[:4])} failed")
    return Cost(time.perf_counter() - begin, 0.0, peak, 0.0, None)


def peak_memory() -> float:
    """Peak memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)


def process_times() -> Iterator[tuple[int, int, int, float, float]]:
    """Process id, parent, group, CPU seconds, and those with ended children, of every process of the machine."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has ended
            fields = stat.read_text().rpartition(")")[2].split()
            own, both = (sum(map(int, fields[11:end])) / os.sysconf("SC_CLK_TCK") for end in (13, 15))
            yield int(stat.parent.name), int(fields[1]), int(fields[2]), own, both


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


# -- a site


@contextmanager
def database(
    *, var: Path | None = None, redis: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[Path]:
    """A durable PostgreSQL with the tables of the site, in a temporary folder or in `var`; Django is set up."""
    with ExitStack() as stack:
        if var is None:
            var = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-benchmark-")))
            var.chmod(0o711)  # PostgreSQL runs under another account if this one is root
        var.mkdir(parents=True, exist_ok=True)
        servers: list[embedded.Postgres | embedded.Redis] = [embedded.Postgres(var / "postgres")]
        servers += [embedded.Redis(var / "redis")] if redis else []
        for server in servers:
            server.start()
            stack.callback(server.stop)
        os.environ |= {
            "ASSAY_VAR": str(var),
            "DATABASE_URL": paths.database_url(var / "postgres"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SECRET_KEY": uuid4().hex * 2,
            "LOG_LEVEL": "ERROR",
            **({"REDIS_URL": paths.broker_url(var)} if redis else {}),
            **(settings or {}),
        }
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connections
        from django.urls import reverse

        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        reverse("home")  # loads all pages, as in the web process that queues an import
        connections.close_all()
        stack.callback(connections.close_all)
        yield var


def run_job(job: Any) -> Any:
    """Run a job in this process, without a message to a worker; returns it."""
    from jobs import services
    from jobs.models import Job

    services.run(job.pk)
    job = Job.objects.get(pk=job.pk)
    if job.state != Job.State.DONE:
        raise SystemExit(f"{job.title}: {job.error}")
    return job


class Site:
    """gunicorn and, on request, a Celery worker and Celery beat. A killed one is started again."""

    def __init__(self, *names: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.base = f"http://127.0.0.1:{self.port}"
        celery = ["celery", "-A", "config"]
        self.commands = {
            "web": ["gunicorn", "-c", "server/gunicorn.py", "-b", f"127.0.0.1:{self.port}", "config.wsgi"],
            "worker": [*celery, "worker", "--concurrency", "1", "--loglevel", "ERROR"],
            "beat": [*celery, "beat", "--loglevel", "ERROR"],
        }
        self.names = names or ("web",)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Site":
        for name in self.names:
            self.start(name)
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def start(self, name: str) -> None:
        words = [sys.executable, "-m", *self.commands[name]]
        quiet = subprocess.DEVNULL
        self.processes[name] = subprocess.Popen(
            words, cwd=ROOT, start_new_session=True, stdout=quiet, stderr=quiet
        )

    def restart(self, name: str) -> None:
        """Kill the processes of a name, and start them again."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()
        self.start(name)

    def kill_child(self, rng: random.Random) -> bool:
        """Kill one web process of several; false if there is none."""
        parent = self.processes["web"].pid
        children = [pid for pid, of, *_ in process_times() if of == parent]
        if children:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(children), signal.SIGKILL)
        return bool(children)

    def wait(self) -> None:
        for _ in range(1200):  # a busy machine takes long to start a server
            with suppress(OSError):
                urllib.request.urlopen(f"{self.base}/health/", timeout=2).close()
                return
            time.sleep(0.1)
        raise SystemExit("the site does not answer")

    def cpu(self) -> float:
        """CPU seconds of the web processes, which other work of the machine changes little."""
        return sum(own for _, _, group, own, _ in process_times() if group == self.processes["web"].pid)


def session_cookie(username: str) -> str:
    """The cookie of a person who is logged in."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client

    from accounts.models import User

    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(username=username))
    connection.close()
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={client.cookies[name].value}"


def make_track(name: str, n_topics: int, *, protocol: str = "arqmath-2020-task1") -> Any:
    """An open track with an empty collection, topics A.1 ..., and the organizer `olga`."""
    from accounts.models import User
    from assay.protocols.loader import load_protocol, shipped_text
    from corpus.models import Collection
    from tracks.models import StoredProtocol, Topic, Track

    fields = {"title": protocol, "text": shipped_text(protocol), "digest": load_protocol(protocol).digest}
    stored, _ = StoredProtocol.objects.get_or_create(slug=protocol, defaults=fields)
    User.objects.get_or_create(username="olga", defaults={"is_staff": True, "is_superuser": True})
    collection = Collection.objects.create(slug=name, name=name, status="ready")
    track = Track.objects.create(slug=name, name=name, protocol=stored, collection=collection, status="open")
    Topic.objects.bulk_create(
        Topic(track=track, code=f"A.{n}", title=f"Topic {n}", body="<p>A question.</p>")
        for n in range(1, n_topics + 1)
    )
    return track


def make_pool(track: Any, n: int, body: str = "<p>Short.</p>", *, name: str = "") -> tuple[Any, list[Any]]:
    """A pool of a track with n documents, which are shared among the topics, and its entries."""
    from accounts.models import User
    from corpus.models import Document
    from pooling.models import Pool, PoolEntry

    pool = Pool.objects.create(
        track=track,
        name=name or uuid4().hex[:8],
        protocol=track.protocol,
        protocol_digest=track.protocol.digest,
        seed=1,
        sha256=uuid4().hex,  # as of a pool that a job built
        status="ready",
        created_by=User.objects.get(username="olga"),
    )
    fields = {"collection": track.collection, "kind": "answer", "body": body}
    docnos = [f"{pool.pk}-{i}" for i in range(n)]
    documents = (Document(docno=docno, thread=docno, **fields) for docno in docnos)
    topics = list(track.topics.order_by("pk"))
    entries = [
        PoolEntry(
            pool=pool,
            topic=topics[i % len(topics)],
            docno=document.docno,
            document=document,
            position=i // len(topics),
        )
        for i, document in enumerate(Document.objects.bulk_create(documents, batch_size=500))
    ]
    return pool, PoolEntry.objects.bulk_create(entries, batch_size=2_000)


def analyze() -> None:
    """Let PostgreSQL count the rows, as it does some time after an import."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
