"""A campaign of many runs in use: an hour of mixed work with the memory of each process, and the day of a release.

Both start a site on what `many-runs` has made, and use it through the pages and the API, as people and programs do.
"""

import http.client
import itertools
import json
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urljoin
from uuid import uuid4

import numpy as np

from maintenance.benchmarks.harness import ROOT, Site, case, database, figure, percentile, process_times
from maintenance.benchmarks.many_runs import DOCUMENTS, SLUG, participant, run_file, track
from maintenance.benchmarks.real_size import SKIPPED, organizer
from server import embedded, paths

SHOWN = re.compile(r'name="shown" value="([^"]*)"')
LINK = re.compile(r'<a [^>]*href="([^"#]+)')


class Campaign(NamedTuple):
    """The site of a campaign: its port, and the first process of each part."""

    port: int
    first: dict[int, str]

    def parts(self) -> dict[int, str]:
        parents = {number: parent for number, parent, *_ in process_times()}
        parts = {}
        for number in parents:
            ancestor = number
            while ancestor not in self.first and ancestor in parents:
                ancestor = parents[ancestor]
            if ancestor in self.first:
                parts[number] = self.first[ancestor]
        return parts

    def memory(self) -> dict[str, list[float]]:
        """The memory of each process in MB, by part; what several share is divided among them (PSS)."""
        sizes: dict[str, list[float]] = defaultdict(list)
        for number, part in self.parts().items():
            with suppress(OSError):  # the process has ended
                rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
                sizes[part] += [int(size) / 1024 for size in re.findall(r"(?m)^Pss: *(\d+)", rollup)]
        return sizes

    def cpu(self) -> Counter[str]:
        """CPU seconds by part, with those of processes that have ended."""
        parts, seconds = self.parts(), Counter[str]()
        for number, _, _, own, both in process_times():
            if number in parts:
                seconds[parts[number]] += both if number in self.first else own  # type: ignore[assignment]
        return seconds


@contextmanager
def site(var: Path) -> Iterator[Campaign]:
    """Web, worker, beat, PostgreSQL and Redis on a campaign that `many-runs` has made."""
    var = var.absolute()
    redis = embedded.Redis(var / "redis")
    with ExitStack() as stack:
        redis.start()
        stack.callback(redis.stop)
        settings = {"DEBUG": "0", "REDIS_URL": paths.broker_url(var)}
        stack.enter_context(database(var=var, settings=settings))
        web = stack.enter_context(Site())
        first = {web.process.pid: "web"}
        for part, words in {"worker": "worker --concurrency 2", "beat": "beat"}.items():
            command = [
                sys.executable,
                "-m",
                "celery",
                "-q",
                "-A",
                "config",
                *words.split(),
                "--loglevel",
                "ERROR",
            ]
            process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            first[process.pid] = part
        first[int((var / "postgres" / "postmaster.pid").read_text().split()[0])] = "PostgreSQL"
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if re.match(rf"\S*redis-server .*{re.escape(str(var))}", line.read_text()):
                    first[int(line.parent.name)] = "Redis"
        yield Campaign(web.port, first)


class Person:
    """A person with a browser, or a program: sends requests with a session, and notes their times and statuses."""

    def __init__(self, port: int, user: Any = None) -> None:
        from django.conf import settings
        from django.test import Client

        self.port, self.session = port, {}
        if user is not None:
            client, token = Client(), "t" * 32
            client.force_login(user)
            session = client.cookies[settings.SESSION_COOKIE_NAME].value
            cookie = f"{settings.SESSION_COOKIE_NAME}={session}; csrftoken={token}"
            self.session = {"Cookie": cookie, "X-CSRFToken": token}
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[Any, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        start = time.perf_counter()
        connection.request(method, path, body, self.session | (headers or {}))
        response = connection.getresponse()
        content = response.read()
        self.seconds.append(time.perf_counter() - start)
        self.statuses[response.status] += 1
        connection.close()
        if response.status >= 500 or (response.status >= 400 and method != "GET"):
            raise SystemExit(f"{method} {path}: {response.status} {content[:500].decode(errors='replace')}")
        return response, content

    def get(self, path: str) -> str:
        """The text of a page; empty for a file."""
        response, content = self.ask("GET", path)
        is_page = response.status == 200 and response.headers.get("Content-Type", "")[:9] == "text/html"
        return content.decode() if is_page else ""

    def api(self, method: str, path: str, data: object = None) -> Any:
        body = json.dumps(data or {}).encode() if method == "POST" else None
        _, content = self.ask(method, f"/api/v1/{path}", body, {"Content-Type": "application/json"})
        return json.loads(content) if content else None

    def wait_for(self, job: str) -> None:
        """Read a job until it is done."""
        while (state := self.api("GET", job.removeprefix("/api/v1/"))["status"]) in {"queued", "running"}:
            time.sleep(1)
        if state != "done":
            raise SystemExit(f"{job}: {state}")


class Work:
    """Threads that work until a time, with a pause between two steps. The first error ends all of them."""

    def __init__(self) -> None:
        self.over, self.errors = threading.Event(), list[BaseException]()
        self.threads: list[threading.Thread] = []

    def start(self, steps: Iterator[object], pause: float) -> None:
        def run() -> None:
            try:
                for _ in steps:
                    if self.over.wait(pause):
                        return
            except BaseException as error:  # noqa: BLE001  it is raised by `stop`
                self.errors.append(error)
                self.over.set()

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()
        for error in self.errors:
            raise error


def walk(reader: Person, seed: int) -> Iterator[None]:
    """Follow links at random, from the page of the track."""
    rng, start = random.Random(seed), f"/tracks/{SLUG}/"
    address = start
    while True:
        links = [urljoin(address, unescape(link)) for link in LINK.findall(reader.get(address))]
        links = [link for link in links if link.startswith("/") and not link.startswith(SKIPPED)]
        yield
        address = rng.choice(links) if links and rng.random() < 0.9 else start


def judge(assessor: Person, batch: int) -> Iterator[None]:
    """Judge as the script of the page does: the response to a judgment contains the page of the next task."""
    headers = {"Accept": "application/json", "Prefer": "return=representation"}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    response, _ = assessor.ask("POST", f"/judge/batches/{batch}/next/")
    task = response.headers["Location"]
    page = assessor.get(task)
    for n in itertools.count():
        yield
        form = {"choice": ("not-relevant", "relevant")[n % 4 == 0], "seconds": 1, "request_id": uuid4()}
        form["shown"] = SHOWN.findall(page)[0]
        answer = json.loads(assessor.ask("POST", task, urlencode(form).encode(), headers)[1])
        task, page = answer["next"], answer["page"]


def manage(manager: Person, submitter: Person, pool: int, codes: list[str]) -> Iterator[None]:
    """Submit runs, build a pool, download and delete it, then freeze, score, release and download."""
    grades = np.random.default_rng(1).choice(3, (len(codes), DOCUMENTS), p=[0.9, 0.07, 0.03])
    for n in itertools.count(int(time.time()), 4):
        left_out = dict.fromkeys(random.Random(n).sample(codes, 2), "Equal qrels cannot be frozen twice.")
        for number in range(n, n + 4):
            query = urlencode({"kind": "primary", "tag": f"run{number}"})
            headers = {"Content-Type": "application/octet-stream"}
            headers["Content-Disposition"] = f'attachment; filename="run{number}.txt"'
            content = run_file(grades, number, f"run{number}").encode()
            submitter.ask("POST", f"/api/v1/tracks/{SLUG}/runs/?{query}", content, headers)
        built = manager.api("POST", f"tracks/{SLUG}/pools/", {"name": f"Pool {n}", "seed": n})
        manager.wait_for(built["job"])
        for name in ("pool.tsv", "contributions.tsv"):
            manager.get(f"/pools/{built['id']}/{name}")
        manager.api("DELETE", f"pools/{built['id']}/")
        qrels = manager.api("POST", f"tracks/{SLUG}/qrels/freeze/", {"pool": pool, "left_out": left_out})
        board = newest_board(manager)  # frozen qrels are scored at once
        release = {"released_to": "public", "reason": "A batch is open."}
        manager.api("POST", f"leaderboards/{board['id']}/release/", release)
        files = [f"/qrels/{qrels['id']}/qrels.tsv", f"/leaderboards/{board['id']}/topics.tsv"]
        for path in [*files, f"/api/v1/tracks/{SLUG}/judgments/"]:
            manager.get(path)
        yield


def newest_board(manager: Person) -> Any:
    """The newest leaderboard, when it is ready."""
    while (board := manager.api("GET", f"tracks/{SLUG}/leaderboards/")["results"][0])["status"] == "scoring":
        time.sleep(1)
    return board


def training_batch(manager: Person, pool: int, names: list[str]) -> int:
    """An open batch in which each of these assessors judges the pool, although other batches have judged it."""
    form = {"pool": pool, "name": f"Training {time.time():.0f}", "kind": "training"}
    batch = manager.api("POST", f"tracks/{SLUG}/batches/", form)
    manager.api("POST", f"batches/{batch['id']}/share/", {"assessors": names})
    manager.api("POST", f"batches/{batch['id']}/open/")
    return int(batch["id"])


@case
def hour(var: Path, *, minutes: int = 60, assessors: int = 8, pause: float = 1, every: float = 180) -> None:
    """Use a campaign that `many-runs` has made for an hour, and print the memory of the processes each minute.

    ASSESSORS judge, with PAUSE seconds between two tasks. A visitor, a participant, an assessor and an organizer follow
    links, with four times that pause. Four runs are submitted, a pool of all runs is built, downloaded and deleted, the
    judgments are frozen and scored, and the leaderboard is released and downloaded; this is repeated EVERY seconds.
    """
    with site(var) as campaign:
        from accounts.models import User
        from pooling.models import Pool

        people = {user.username: user for user in User.objects.all()}
        names = [f"assessor{n}" for n in range(assessors)]
        manager, submitter = Person(campaign.port, organizer()), Person(campaign.port, participant(0))
        pool = Pool.objects.filter(track=track(), status="ready").earliest("id").pk
        batch = training_batch(manager, pool, names)
        judges = [Person(campaign.port, people[name]) for name in names]
        readers = [
            Person(campaign.port, people.get(name)) for name in ("", "participant0", names[0], "organizer")
        ]
        everybody, work = [manager, submitter, *judges, *readers], Work()
        codes = list(track().topics.order_by("id").values_list("code", flat=True))
        work.start(manage(manager, submitter, pool, codes), every)
        for judge_ in judges:
            work.start(judge(judge_, batch), pause)
        for seed, reader in enumerate(readers):
            work.start(walk(reader, seed), 4 * pause)
        parts = list(campaign.first.values())
        print("|".join(["minute", *parts, "all", "requests", "of assessors"]))
        totals = []
        for minute in range(minutes + 1):
            sizes = campaign.memory()
            totals.append(sum(map(sum, sizes.values())))
            counts = [sum(len(person.seconds) for person in group) for group in (everybody, judges)]
            cells = [f"{len(sizes[part])} x, {sum(sizes[part]):.0f} MB" for part in parts]
            print(" | ".join([str(minute), *cells, f"{totals[-1]:.0f} MB", *map(str, counts)]), flush=True)
            if work.over.wait(60 if minute < minutes else 0):
                break
        work.stop()
        for part, seconds in campaign.cpu().items():
            figure(f"CPU of {part}", seconds)
        for quarter in range(4):
            share = totals[quarter * len(totals) // 4 : (quarter + 1) * len(totals) // 4]
            figure(
                f"memory, quarter {quarter + 1}",
                statistics.mean(share),
                "MB",
                note=f"{max(share):.0f} at most",
            )


@case
def release_day(var: Path, *, users: int = 5, seconds: float = 60) -> None:
    """Let USERS read a released leaderboard at the same time, while another one is scored, and print the times.

    Three of five are participants, who read their own runs too; the others are visitors. Nobody pauses.
    """
    with site(var) as campaign:
        from scoring.models import Leaderboard

        manager = Person(campaign.port, organizer())
        board = Leaderboard.objects.filter(track=track(), status="ready").latest("id")
        if board.release != "public":
            release = {"released_to": "public", "reason": "For the benchmark."}
            manager.api("POST", f"leaderboards/{board.pk}/release/", release)
        results, code = f"/leaderboards/{board.pk}/", track().topics.earliest("id").code
        addresses = [
            "/",
            f"/tracks/{SLUG}/",
            *(results + end for end in ("", "?page=2", "topics/", f"topics/{code}/")),
        ]
        addresses += [f"{results}leaderboard.tsv", f"/qrels/{board.qrels_id}/qrels.tsv"]
        times: dict[str, list[float]] = defaultdict(list)
        people, work = [], Work()
        for n in range(users):
            user = participant(n) if n % 5 < 3 else None
            own = board.evaluations.filter(run__team__members=user).first() if user else None
            mine = [f"/tracks/{SLUG}/runs/", f"/evaluations/{own.pk}/", f"/runs/{own.run_id}/"] if own else []
            people.append(Person(campaign.port, user))
            people[-1].get(addresses[0])  # the first request of a process takes longer
            work.start(read(people[-1], [*addresses, *mine], times, n), 0)
        work.start(score(manager, board.qrels_id), 0)
        before, start = campaign.cpu(), time.perf_counter()
        work.over.wait(seconds)
        used, elapsed = campaign.cpu() - before, time.perf_counter() - start
        work.stop()
        for name, values in sorted(times.items(), key=lambda item: -statistics.median(item[1])):
            figure(
                name,
                statistics.median(values),
                note=f"p95 {percentile(values, 0.95):.3f} s, {len(values)} requests",
            )
        every = [value for values in times.values() for value in values]
        figure("requests", len(every) / elapsed, "per second")
        figure(
            "all, median",
            statistics.median(every),
            note=f"p95 {percentile(every, 0.95):.3f} s, at most {max(every):.3f} s",
        )
        for part in ("web", "PostgreSQL"):
            figure(f"CPU of {part} per request", 1e3 * used[part] / len(every), "ms")


def read(reader: Person, addresses: list[str], times: dict[str, list[float]], seed: int) -> Iterator[None]:
    """Open these pages and files again and again, in random orders."""
    rng, role = random.Random(seed), "participant" if reader.session else "visitor"
    while True:
        for path in rng.sample(addresses, len(addresses)):
            reader.get(path)
            times[f"{role} {re.sub('[0-9]+', 'N', path)}"].append(reader.seconds[-1])
            yield


def score(manager: Person, qrels: int) -> Iterator[None]:
    for seed in itertools.count():
        manager.api("POST", f"qrels/{qrels}/score/", {"seed": seed})
        newest_board(manager)
        yield
