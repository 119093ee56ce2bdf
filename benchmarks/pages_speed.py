"""Time, queries, size and memory of every page of the site at real size, for each role.

    python benchmarks/pages_speed.py [--runs 200] [--topics 100] [--boards 100] [--against CHECKOUT]

A database of its own is filled by `pages_data.py`. Then a process crawls the site as visitor, participant, assessor and
organizer, from the home page and from the lists of the admin with a search in each: `--examples` addresses of each
page. Requests pass through all middleware. The table shows the median and maximum of `--repeats` requests, the CPU
time of the web process, the number of queries, the size of the answer and the growth of the process, slowest first.
With `--against` the same is measured with the code of another checkout, and the ratio is shown. At last gunicorn serves
a public leaderboard to six visitors at once, and the memory of its processes is shown.
"""

import argparse
import json
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
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
VISITORS, VISIT_SECONDS = 6, 20
PAGE = 1 << 20
SECRET_KEY = uuid4().hex * 2


def main() -> None:
    arguments = read_arguments()
    if arguments.stage:
        do_stage(arguments)
        return
    with ExitStack() as stack:
        folders = {code: folder_of(arguments, code, stack) for code in (ROOT, arguments.against) if code}
        measured = [measure(folder, code) for code, folder in folders.items()]
        print_table(measured[0], next(iter(measured[1:]), None), arguments.all)
        for code, folder in folders.items() if not arguments.only else ():
            print(f"{code}: {words_of(served(folder, code))}", flush=True)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--boards", type=int, default=100, help="leaderboards of the track")
    parser.add_argument("--full", type=int, default=10, help="leaderboards with values by topic")
    parser.add_argument("--depth", type=int, default=10, help="depth of the pool")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--examples", type=int, default=2, help="addresses of each page and role")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="other code to compare with")
    parser.add_argument(
        "--analyses", action="store_true", help="also measure the analyses of the leaderboard"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the rows there, and use them again")
    parser.add_argument(
        "--only",
        default="",
        metavar="PATTERN",
        help="measure only pages whose names match, such as 'differences|freeze'; with --keep, without a second crawl",
    )
    parser.add_argument("--all", action="store_true", help="print every page, not only the 60 slowest")
    parser.add_argument("--stage", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def folder_of(arguments: argparse.Namespace, code: Path, stack: ExitStack) -> Path:
    """The folder of the rows of a checkout: temporary, or one that is kept."""
    if arguments.keep is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-pages-")))
    else:
        folder = arguments.keep / code.name
        folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    return folder


def measure(folder: Path, code: Path) -> dict[str, Any]:
    """Measure the pages of a checkout, in processes of its own."""
    made = folder / "make.json"
    try:
        result = json.loads(made.read_text()) if made.exists() else run_stage("make", code, folder)
        return dict(result | run_stage("crawl", code, folder))
    finally:
        run_stage("stop", code, folder)


def served(folder: Path, code: Path) -> dict[str, Any]:
    """What gunicorn needs for visitors, measured last: the table is printed before."""
    try:
        return run_stage("serve", code, folder)
    finally:
        run_stage("stop", code, folder)


def run_stage(stage: str, code: Path, folder: Path) -> dict[str, Any]:
    """Run this script again, with other code, for one part of the work; returns what it wrote."""
    environment = os.environ | {
        "PYTHONPATH": str(code),
        "ASSAY_VAR": str(folder),
        "ASSAY_CODE": str(code),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": SECRET_KEY,
        "LOG_LEVEL": "ERROR",
    }
    command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:], "--stage", stage]
    subprocess.run(command, check=True, env=environment, cwd=code)
    written = folder / f"{stage}.json"
    content: dict[str, Any] = json.loads(written.read_text()) if written.exists() else {}
    return content


def note(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


# -- the processes that make the rows, request the pages, and serve


def do_stage(arguments: argparse.Namespace) -> None:
    code, var = Path(os.environ["ASSAY_CODE"]), Path(os.environ["ASSAY_VAR"])
    sys.path[:0] = [str(code), str(HERE)]
    from server import embedded, paths

    os.environ["DATABASE_URL"] = paths.database_url(var / "postgres")
    server = embedded.Postgres(var / "postgres")
    if arguments.stage == "stop":
        server.stop()
        return
    server.start()
    start_django()
    work = {"make": make_rows, "crawl": request_all, "serve": serve}[arguments.stage]
    (var / f"{arguments.stage}.json").write_text(json.dumps(work(arguments)))


def start_django() -> None:
    import django

    django.setup()


def make_rows(arguments: argparse.Namespace) -> dict[str, Any]:
    import pages_data
    from django.core.management import call_command

    start = time.perf_counter()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    campaign = pages_data.make_campaign(
        n_runs=arguments.runs,
        n_topics=arguments.topics,
        n_boards=arguments.boards,
        n_full=arguments.full,
        depth=arguments.depth,
    )
    note(f"{time.perf_counter() - start:.0f} s to make the rows, {pages_data.size_of_tables()}")
    analyses = {}
    for kind in ("reusability", "topics") if arguments.analyses else ():
        start = time.perf_counter()
        pages_data.analyze(campaign, kind)
        analyses[kind] = time.perf_counter() - start
        note(f"{kind}: {analyses[kind]:.1f} s")
    return {"analyses": analyses}


def request_all(arguments: argparse.Namespace) -> dict[str, Any]:
    """Crawl the site as each role, and measure the pages on the way."""
    import pages_data
    from django.core.management import call_command

    call_command("migrate", verbosity=0)  # rows that were kept may be from older code
    call_command("collectstatic", interactive=False, verbosity=0)
    campaign = pages_data.find_campaign()
    pages = []
    addresses = (
        Path(os.environ["ASSAY_VAR"]) / "addresses.json"
    )  # by role, of an earlier crawl of the same rows
    known: dict[str, list[str]] = json.loads(addresses.read_text()) if addresses.exists() else {}
    for role, user in campaign.people.items():
        crawl = Crawl(role, user, arguments)
        if arguments.only and role in known:
            pages += list(crawl.measure_known(known[role]))
        else:
            starts = ["/", *(extra_addresses(campaign) if role != "assessor" else [])]
            starts += admin_addresses() if role == "organizer" else []
            pages += list(crawl.measure(starts))
            known[role] = crawl.requested
        note(f"{role}: {len(crawl.requested)} pages, {memory():.0f} MB")
    addresses.write_text(json.dumps(known))
    return {"pages": pages, "memory": memory(), "load": os.getloadavg()[0]}


def extra_addresses(campaign: Any) -> list[str]:
    """Pages that are reached by a form."""
    from django.urls import reverse

    board = campaign.board
    first, second = board.evaluations.order_by("pk").values_list("pk", flat=True)[:2]
    other = type(board).objects.filter(release="public").exclude(pk=board.pk).latest("pk").pk
    return [
        reverse("scoring:compare_runs", args=[first, second]),
        reverse("scoring:compare_leaderboards", args=[board.pk, other]),
        reverse("pooling:preview", args=[campaign.track.slug]) + "?seconds=30",
        reverse("scoring:qrels_export", args=[board.qrels_id]) + "?to=trec",
    ]


def admin_addresses() -> list[str]:
    """The lists of the admin, each with a search, and with its first filter."""
    from django.contrib.admin import site
    from django.urls import reverse

    addresses = []
    for model, admin in site._registry.items():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        addresses += [address, *([f"{address}?q=run-1"] if admin.search_fields else [])]
    return addresses


class Crawl:
    """The pages that a role reaches, each measured when it is reached."""

    def __init__(self, role: str, user: Any, arguments: argparse.Namespace) -> None:
        from django.test import Client

        self.client = Client(SERVER_NAME="localhost", raise_request_exception=False)
        if user is not None:
            self.client.force_login(user)
        self.role, self.arguments = role, arguments
        self.requested: list[str] = []
        self.n_by_name: Counter[str] = Counter()

    def measure(self, starts: list[str]) -> Iterator[dict[str, Any]]:
        waiting, seen = deque(starts), set(starts)
        while waiting:
            address = waiting.popleft()
            name = name_of(address)
            if not name or self.n_by_name[name] >= self.arguments.examples:
                continue
            self.n_by_name[name] += 1
            page, text = self.page(name, address)
            if page["status"] not in {200, 302}:
                self.n_by_name[name] -= page["status"] != 500
            if re.search(self.arguments.only, name):
                yield page
            for link in links_of(text, address):
                if link not in seen:
                    seen.add(link)
                    waiting.append(link)

    def measure_known(self, addresses: list[str]) -> Iterator[dict[str, Any]]:
        """The pages that are asked for, of those that an earlier crawl reached."""
        for address in addresses:
            if re.search(self.arguments.only, name_of(address)):
                yield self.page(name_of(address), address)[0]

    def page(self, name: str, address: str) -> tuple[dict[str, Any], str]:
        before = memory()
        seconds: list[float] = []
        start = time.process_time()
        repeats = self.arguments.repeats if re.search(self.arguments.only, name) else 1
        while len(seconds) < repeats and sum(seconds) < 10:
            took, n_queries, status, content = self.request(address)
            seconds.append(took)
        self.requested.append(address)
        return {
            "role": self.role,
            "name": name,
            "address": address,
            "status": status,
            "median": statistics.median(seconds),
            "max": max(seconds),
            "cpu": (time.process_time() - start) / len(seconds),
            "queries": n_queries,
            "size": len(content),
            "growth": memory() - before,
        }, content[:PAGE].decode(errors="replace") if status == 200 else ""

    def request(self, address: str) -> tuple[float, int, int, bytes]:
        from django.db import connection

        n_queries = 0

        def count(execute: Any, *arguments: Any) -> Any:
            nonlocal n_queries
            n_queries += 1
            return execute(*arguments)

        start = time.perf_counter()
        with connection.execute_wrapper(count):
            response = self.client.get(address)
            content = b"".join(response) if response.streaming else response.content
        seconds = time.perf_counter() - start
        response.close()
        return (
            seconds,
            n_queries,
            response.status_code,
            content if is_html(response) else b"\0" * len(content),
        )


def is_html(response: Any) -> bool:
    return str(response.get("Content-Type", "")).startswith("text/html")


def name_of(address: str) -> str:
    """The name of the page at an address, with a mark for a query; empty if it is not to be requested."""
    from django.urls import Resolver404, resolve

    path = urlsplit(address).path
    if path.startswith(SKIPPED):
        return ""
    try:
        name = resolve(path).view_name
    except Resolver404:
        return ""
    return f"{name} ?" if urlsplit(address).query else name


def links_of(text: str, base: str) -> Iterator[str]:
    for link in re.findall(r'<a [^>]*href="([^"#]+)', text):
        address = urljoin(base, link.replace("&amp;", "&"))
        if address.startswith("/") and "_changelist_filters" not in address:
            yield address


def memory(pid: int | str = "self") -> float:
    """Resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def serve(arguments: argparse.Namespace) -> dict[str, Any]:
    """The largest memory of a process of gunicorn while visitors read a public leaderboard."""
    import pages_data

    board = pages_data.find_campaign().board
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{probe.getsockname()[1]}"
    # fmt: off
    command = [sys.executable, "-m", "gunicorn", "-c", "server/gunicorn.py", "-b", base.removeprefix("http://"),
               "config.wsgi"]
    # fmt: on
    web = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"{base}/health/")
        idle = largest_process(web.pid)
        evaluations = list(board.evaluations.values_list("pk", flat=True))
        paths = [board.get_absolute_url(), f"{board.get_absolute_url()}topics.tsv"]
        paths += [f"/evaluations/{pk}/" for pk in evaluations[:20]]
        n_pages, largest = visit(base, paths, web.pid)
    finally:
        os.killpg(web.pid, signal.SIGTERM)
        web.wait()
    return {"idle": idle, "largest": largest, "pages": n_pages}


def visit(base: str, paths: list[str], group: int) -> tuple[int, float]:
    """Read pages in some threads for a while: number of pages, and the largest process in MB."""
    end = time.monotonic() + VISIT_SECONDS
    counts = [0] * VISITORS

    def read(number: int) -> None:
        while time.monotonic() < end:
            path = paths[(number + counts[number]) % len(paths)]
            with urllib.request.urlopen(base + path, timeout=300) as answer:
                answer.read()
            counts[number] += 1

    threads = [threading.Thread(target=read, args=[number]) for number in range(VISITORS)]
    for thread in threads:
        thread.start()
    largest = 0.0
    while any(thread.is_alive() for thread in threads):
        largest = max(largest, largest_process(group))
        time.sleep(0.1)
    return sum(counts), largest


def largest_process(group: int) -> float:
    sizes = [0.0]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                sizes.append(memory(stat.parent.name))
        except OSError:  # the process has ended
            continue
    return max(sizes)


def wait_for(address: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{address} does not answer")


# -- the report


def print_table(results: dict[str, Any], against: dict[str, Any] | None, is_complete: bool) -> None:
    pages = sorted(results["pages"], key=lambda page: -page["median"])
    before = {(page["role"], page["name"]): page["median"] for page in reversed(_slowest_last(against))}
    print(
        f"{'median':>8} {'max':>8} {'cpu':>7} {'queries':>7} {'kB':>8} {'+MB':>5} {'before':>8}  role         page"
    )
    for page in pages if is_complete else pages[:60]:
        old = before.get((page["role"], page["name"]))
        ratio = f"{old / page['median']:6.1f} x" if old else ""
        print(
            f"{page['median']:8.3f} {page['max']:8.3f} {page['cpu']:7.3f} {page['queries']:7} "
            f"{page['size'] / 1024:8.0f} {page['growth']:5.0f} {ratio:>8}  {page['role']:12} "
            f"{page['name']} {page['address']}{'' if page['status'] in {200, 302} else ' ' + str(page['status'])}"
        )
    slow = sum(page["median"] > LIMIT for page in pages)
    print(f"{len(pages)} pages, {slow} of them over {LIMIT} s")
    for label, measured in (("now", results), ("before", against)):
        if measured:
            print(f"{label}: {_summary(measured)}")


def _slowest_last(results: dict[str, Any] | None) -> list[dict[str, Any]]:
    return sorted(results["pages"], key=lambda page: page["median"]) if results else []


def _summary(results: dict[str, Any]) -> str:
    over = sum(page["median"] > LIMIT for page in results["pages"])
    slowest = max((page["median"] for page in results["pages"]), default=0.0)
    busy = sum(page["cpu"] > LIMIT for page in results["pages"])
    words = [f"{over} pages over {LIMIT} s, {busy} of them of CPU time, slowest {slowest:.2f} s"]
    words.append(f"crawler {results['memory']:.0f} MB, load of the machine {results['load']:.1f}")
    words += [f"{kind} {seconds:.1f} s" for kind, seconds in results["analyses"].items()]
    return "; ".join(words)


def words_of(web: dict[str, Any]) -> str:
    return (
        f"gunicorn with {VISITORS} visitors: largest process {web['largest']:.0f} MB "
        f"(idle {web['idle']:.0f} MB), {web['pages']} pages in {VISIT_SECONDS} s"
    )


if __name__ == "__main__":
    main()
