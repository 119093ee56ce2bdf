"""30 teams submit runs of 98,000 lines just before the deadline: nothing is lost, and pages answer within a second.

    python benchmarks/last_minute.py [--teams 30] [--seconds 10] [--burst 0.5]

The site is gunicorn, a Celery worker, Celery beat, PostgreSQL and Redis, as `make run` starts them, with a collection
in which each document of a run is looked up. Each team submits through the API with its own token, in the last seconds
before the deadline; a share of them (`--burst`) at once, 0.5 to 1.5 seconds before it. Three more submit after it.
Meanwhile a visitor, a member, an organizer and a program read pages, one after the other.

It prints each figure with its target, and ends with an error if one is missed:

- every run that was sent before the deadline is accepted and not marked as late, also if it is checked after it;
- every acknowledged run is stored with the bytes that were sent, and no other run is;
- who sends after the deadline is refused, with the reason;
- no answer is a server error, and 95 of 100 pages answer within a second.

Pages without uploads come first, for comparison. The load runs on the same machine, so that its times include waiting
for a processor: run the script on a machine without other work. It takes about two minutes.
"""

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.failing_site import Site  # noqa: E402
from benchmarks.judging_speed import prepare as prepare_site  # noqa: E402
from server import embedded, paths  # noqa: E402

TOPICS, RANKS, DOCUMENTS = 98, 1000, 60_000
SLUG = "late"
TARGET = 1.0  # seconds for a page, at the 95th percentile
QUIET = 8.0  # seconds of reading pages before the uploads begin
AFTER = 3  # teams that come too late
TIMEOUT = 110.0
PAUSE = 0.1  # between two pages of a reader


class Answer(NamedTuple):
    """What a team got: the time at which it began to send and that of the answer, both by the clock of the script."""

    team: int
    began: float
    ended: float
    status: int
    content: dict[str, Any]


class Reader(NamedTuple):
    """Somebody who reads pages; `headers` log them in."""

    name: str
    addresses: list[str]
    headers: dict[str, str]


@dataclass
class Pages:
    """The seconds of each page, by phase, and what was not a success."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"quiet": [], "uploads": []})
    failures: list[str] = field(default_factory=list)
    phase: str = "quiet"
    is_over: threading.Event = field(default_factory=threading.Event)


def main() -> None:
    arguments = read_arguments()
    with tempfile.TemporaryDirectory(prefix="assay-late-") as folder, contextlib.ExitStack() as stack:
        var = Path(folder)
        var.chmod(0o711)
        for server in (embedded.Postgres(var / "postgres"), embedded.Redis(var / "redis")):
            server.start()
            stack.callback(server.stop)
        os.environ["REDIS_URL"] = paths.broker_url(var)
        prepare_site(var)
        tokens, readers = make_campaign(arguments.teams + AFTER)
        runs = [make_run(team) for team in range(arguments.teams + AFTER)]
        site = Site()
        stack.callback(site.stop)
        site.start()
        print(
            f"{arguments.teams} teams, {len(runs[0]) / 1e6:.1f} MB each; load of the machine {os.getloadavg()[0]:.1f}"
        )
        with reading(site.port, readers) as pages:
            time.sleep(QUIET)
            answers, deadline = submit_all(arguments, site.port, tokens, runs, pages)
        sys.exit(0 if report(arguments, answers, deadline, runs, pages) else 1)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--teams", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=10, help="before the deadline, for the first ones")
    parser.add_argument("--burst", type=float, default=0.5, help="share of the teams that come at once")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make_campaign(n_teams: int) -> tuple[list[str], list[Reader]]:
    """An open track with a collection, topics and teams; a token for each team, and the readers of pages."""
    from django.db import connection

    from accounts.models import User
    from assay.protocols.loader import load_protocol, shipped_text
    from corpus.models import Collection
    from pooling.teams import services as team_services
    from tracks.models import StoredProtocol, Topic, Track

    slug = "arqmath-2020-task1"
    protocol = StoredProtocol.objects.create(
        slug=slug, title=slug, text=shipped_text(slug), digest=load_protocol(slug).digest
    )
    collection = Collection.objects.create(slug="posts", name="Posts", status="ready")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO corpus_document (collection_id, docno, kind, thread, title, body, tags, accepted, author_code,"
            " author_name, language, source) SELECT %s, n::text, 'answer', n::text, '', '<p>An answer.</p>', '{}', '',"
            " '', '', '', '' FROM generate_series(1, %s) n",
            [collection.pk, DOCUMENTS],
        )
        cursor.execute("ANALYZE")
    track = Track.objects.create(
        slug=SLUG, name="A track", protocol=protocol, collection=collection, status="open"
    )
    Topic.objects.bulk_create(
        Topic(track=track, code=f"A.{n}", title=f"Topic {n}", body="<p>A question.</p>")
        for n in range(1, TOPICS + 1)
    )
    organizer = User.objects.create(username="olga", is_staff=True)
    members = [User.objects.create(username=f"member{n:02}") for n in range(n_teams)]
    for n, member in enumerate(members):
        team_services.create(track=track, name=f"Team {n:02}", members=[member])
    tokens = [token_of(member) for member in members]
    return tokens, readers_of(members[0], organizer, tokens[0])


def token_of(user: Any) -> str:
    from django.utils import timezone

    from accounts.tokens import services

    expires_at = timezone.now() + timedelta(days=1)
    return services.create(user=user, name="late", scopes=["read", "runs"], expires_at=expires_at).text


def readers_of(member: Any, organizer: Any, token: str) -> list[Reader]:
    track = f"/tracks/{SLUG}/"
    return [
        Reader("visitor", ["/", track, f"{track}topics/"], {}),
        Reader("member", [f"{track}runs/", f"{track}runs/submit/", "/account/"], session_of(member)),
        Reader("organizer", [track, f"{track}runs/", f"{track}people/"], session_of(organizer)),
        Reader("program", [f"/api/v1{track}runs/", f"/api/v1{track}"], {"Authorization": f"Bearer {token}"}),
    ]


def session_of(user: Any) -> dict[str, str]:
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(user)
    return {"Cookie": f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"}


def make_run(team: int) -> bytes:
    """A run of all topics, of documents that the collection has."""
    rng = np.random.default_rng(team)
    lines = []
    for topic in range(1, TOPICS + 1):
        documents = rng.choice(DOCUMENTS, RANKS, replace=False) + 1
        scores = np.sort(rng.random(RANKS))[::-1] * 30
        lines += [
            f"A.{topic}\t{document}\t{rank}\t{score:.6f}\tteam{team:02}\n"
            for rank, (document, score) in enumerate(zip(documents.tolist(), scores.tolist(), strict=True), 1)
        ]
    return "".join(lines).encode()


@contextlib.contextmanager
def reading(port: int, readers: Iterable[Reader]) -> Iterator[Pages]:
    """Readers who open one page after the other."""
    pages = Pages()
    threads = [threading.Thread(target=read, args=(port, reader, pages)) for reader in readers]
    for thread in threads:
        thread.start()
    try:
        yield pages
    finally:
        pages.is_over.set()
        for thread in threads:
            thread.join()


def read(port: int, reader: Reader, pages: Pages) -> None:
    while not pages.is_over.is_set():
        for address in reader.addresses:
            start, phase = time.perf_counter(), pages.phase
            status = get(port, address, reader.headers)
            pages.seconds[phase].append(time.perf_counter() - start)
            if status not in {200, 302}:  # the runs of a member are on the page of their team
                pages.failures.append(f"{reader.name} {address}: {status}")
            time.sleep(PAUSE)


def get(port: int, address: str, headers: dict[str, str]) -> int:
    """The status of a page that was read completely; 0 for a broken connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", address, headers=headers)
        response = connection.getresponse()
        response.read()
    except OSError:
        return 0
    else:
        return response.status
    finally:
        connection.close()


def submit_all(
    arguments: argparse.Namespace, port: int, tokens: list[str], runs: list[bytes], pages: Pages
) -> tuple[list[Answer], float]:
    """Submit all runs around a new deadline; the answers, and the deadline by the clock of the script."""
    from django.utils import timezone

    from tracks.models import Deadline, Track

    deadline = time.time() + arguments.seconds + 0.5
    closes_at = timezone.now() + timedelta(seconds=deadline - time.time())
    Deadline.objects.create(track=Track.objects.get(slug=SLUG), kind="", closes_at=closes_at)
    rng = random.Random(arguments.seed)
    last = arguments.teams * (1 - arguments.burst)
    moments = [
        deadline - (rng.uniform(1.5, arguments.seconds) if team < last else rng.uniform(0.5, 1.5))
        for team in range(arguments.teams)
    ] + [deadline + 0.5 + n for n in range(AFTER)]
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=submit, args=(port, team, moment, tokens[team], runs[team], answers))
        for team, moment in enumerate(moments)
    ]
    pages.phase = "uploads"
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(answers), deadline


def submit(port: int, team: int, moment: float, token: str, content: bytes, answers: list[Answer]) -> None:
    """Submit a run at a moment."""
    time.sleep(max(0.0, moment - time.time()))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    began, status, body = time.time(), 0, b"{}"
    try:
        connection.request("POST", f"/api/v1/tracks/{SLUG}/runs/?kind=primary", content, headers)
        response = connection.getresponse()
        status, body = response.status, response.read()
    except OSError as error:
        body = json.dumps({"detail": str(error)}).encode()
    finally:
        connection.close()
    try:
        shown = json.loads(body)
    except ValueError:
        shown = {"detail": body[:200].decode(errors="replace")}
    answers.append(Answer(team, began, time.time(), status, shown))


class Row(NamedTuple):
    """A line of the report. Without a target, it is only shown."""

    name: str
    value: str
    target: str = "–"
    is_met: bool = True


def report(
    arguments: argparse.Namespace, answers: list[Answer], deadline: float, runs: list[bytes], pages: Pages
) -> bool:
    """Print the figures with their targets; whether all are met."""
    rows = [*rows_of_runs(answers, deadline, runs), *rows_of_pages(pages)]
    width = max(len(row.name) for row in rows)
    print(f"{'':{width}}  {'measured':>10}  {'target':>6}")
    for row in rows:
        print(f"{row.name:{width}}  {row.value:>10}  {row.target:>6}  {'' if row.is_met else 'MISSED'}")
    print(
        f"{len(pages.seconds['uploads'])} pages during uploads; load of the machine {os.getloadavg()[0]:.1f}"
    )
    for failure in sorted(set(pages.failures)):
        print(failure)
    for answer in answers:
        if answer.began < deadline and answer.status != 201:
            print(f"team {answer.team}: {answer.status} {answer.content.get('detail')}")
    return all(row.is_met for row in rows)


def rows_of_runs(answers: list[Answer], deadline: float, runs: list[bytes]) -> list[Row]:
    early = [answer for answer in answers if answer.began < deadline]
    late = [answer for answer in answers if answer.began >= deadline]
    accepted = [answer for answer in early if answer.status == 201]
    refused = [answer for answer in late if answer.status == 409 and "closed" in answer.content["detail"]]
    waits = [answer.ended - answer.began for answer in early]
    n_after, n_wrong = sum(answer.ended > deadline for answer in accepted), wrong_rows(accepted, runs)
    all_in_time, all_late = len(accepted) == len(early), len(refused) == len(late)
    return [
        Row(
            "runs sent before the deadline: accepted", f"{len(accepted)} of {len(early)}", "all", all_in_time
        ),
        Row("of these, acknowledged after the deadline", str(n_after)),
        Row("runs sent after it: refused with the reason", f"{len(refused)} of {len(late)}", "all", all_late),
        Row("acknowledged runs lost, changed or marked as late", str(n_wrong), "0", n_wrong == 0),
        Row("seconds until a team gets its answer, median", f"{statistics.median(waits):.2f}"),
        Row("seconds until a team gets its answer, longest", f"{max(waits):.2f}", "60", max(waits) <= 60),
    ]


def rows_of_pages(pages: Pages) -> list[Row]:
    quiet, during = pages.seconds["quiet"], pages.seconds["uploads"]
    slow = quantile(during, 0.95)
    return [
        Row("pages that were not shown", str(len(pages.failures)), "0", not pages.failures),
        Row("seconds of a page without uploads, 95th percentile", f"{quantile(quiet, 0.95):.3f}"),
        Row("seconds of a page during uploads, median", f"{statistics.median(during):.3f}"),
        Row(
            "seconds of a page during uploads, 95th percentile", f"{slow:.3f}", f"{TARGET:g}", slow <= TARGET
        ),
        Row("seconds of a page during uploads, longest", f"{max(during):.3f}"),
    ]


def wrong_rows(accepted: list[Answer], runs: list[bytes]) -> int:
    """How many acknowledged runs are not stored as they were sent, and how many others are stored."""
    from pooling.models import Run

    stored = {run.pk: run for run in Run.objects.filter(status=Run.Status.SUBMITTED)}
    wrong = len(stored.keys() ^ {answer.content["id"] for answer in accepted})
    for answer in accepted:
        run = stored.get(answer.content["id"])
        wrong += run is not None and (run.is_late or not is_same(run, runs[answer.team]))
    return wrong


def is_same(run: Any, sent: bytes) -> bool:
    with run.original.open("rb") as file:
        content = file.read()
    digest = hashlib.sha256(sent).hexdigest()
    return (
        content == sent and run.sha256 == digest and run.n_lines == TOPICS * RANKS and bool(run.columns.size)
    )


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


if __name__ == "__main__":
    main()
