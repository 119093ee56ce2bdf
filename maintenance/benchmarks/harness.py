"""The harness of the benchmarks: named cases with options, timing, memory, a site, and figures next to a peer's.

A case is a function with the decorator `case`. Its keyword parameters are the options of the command line, its
docstring is the help, and it prints each of its figures with `figure`.
"""

import argparse
import inspect
import json
import os
import platform
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
    before, now = (
        {name: statistics.median(measured) for name, measured in of.items()} for of in figures.values()
    )
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
    """Seconds of elapsed and of CPU time, and the result."""

    seconds: float
    cpu: float
    result: Any


def timed(work: Callable[[], Any], repeats: int = 1) -> Cost:
    """Run in this process, and take the medians of the times."""
    seconds, cpu, result = [], [], None
    for _ in range(repeats):
        start, start_cpu = time.perf_counter(), time.process_time()
        result = work()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    return Cost(statistics.median(seconds), statistics.median(cpu), result)


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
def database(*, var: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Path]:
    """A durable PostgreSQL with the tables of the site, in a temporary folder or in `var`; Django is set up."""
    with ExitStack() as stack:
        if var is None:
            var = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-benchmark-")))
            var.chmod(0o711)  # PostgreSQL runs under another account if this one is root
        var.mkdir(parents=True, exist_ok=True)
        server = embedded.Postgres(var / "postgres")
        server.start()
        stack.callback(server.stop)
        os.environ |= {
            "ASSAY_VAR": str(var),
            "DATABASE_URL": paths.database_url(var / "postgres"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SECRET_KEY": uuid4().hex * 2,
            "LOG_LEVEL": "ERROR",
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


class Site:
    """The web processes, gunicorn."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.base = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Site":
        words = ["gunicorn", "-c", "server/gunicorn.py", "-b", f"127.0.0.1:{self.port}", "config.wsgi"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=ROOT, start_new_session=True, stdout=quiet, stderr=quiet
        )
        for _ in range(1200):  # a busy machine takes long to start a server
            with suppress(OSError):
                urllib.request.urlopen(f"{self.base}/health/", timeout=2).close()
                return self
            time.sleep(0.1)
        raise SystemExit("the site does not answer")

    def __exit__(self, *_: object) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def cpu(self) -> float:
        """CPU seconds of the web processes, which other work of the machine changes little; also of replaced ones."""
        first = self.process.pid
        return sum(
            both if number == first else own
            for number, _, group, own, both in process_times()
            if group == first
        )


def analyze() -> None:
    """Let PostgreSQL count the rows, as it does some time after an import."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
