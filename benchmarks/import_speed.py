"""Posts per second from a dump file into the table, and the memory for it, compared with a plain Django import.

    python benchmarks/import_speed.py [--posts 300000] [--peer-posts 20000] [--file Posts.xml]

The script makes a dump of posts of about 1 kB with eight formulas per thousand characters, as on the site, or uses
`--file`. It starts a durable PostgreSQL in a temporary folder, or uses DATABASE_URL. Then it runs the job of
`manage.py import_collection`: reading, parsing, sanitizing, COPY, upsert, a commit with a checkpoint every 1.5 MB,
accepted answers. It imports a tenth of the posts first, to show how memory grows with the size of the file.
The comparison sanitizes the same posts in one process, row by row, and stores them with `bulk_create`. Peak memory is
that of the importing process, and of its largest worker process. CPU is that of both, without PostgreSQL: compare it on
a machine that has other work.
"""

import argparse
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

TEXT = """
let be the function such that continuous then we have for every integer prove sequence converges bounded compact linear
operator group ring field ideal show integral sum limit derivative matrix of is in on and a with by
"""
WORDS = TEXT.split()
LATEX = [
    r"\frac{x^2+x+c}{x^2+2x+c}", r"\sum_{k=0}^{n}\binom{n}{k}k", r"f(x)\le \epsilon", r"\int_0^1 e^{-t^2}\,dt",
    r"A \subseteq B", "a<b", "x", "n", "f", r"\mathbb{R}", r"x_n \to x", "G", r"\lim_{n\to\infty} a_n = 0",
]  # fmt: skip


def paragraph(rng: random.Random) -> str:
    words = rng.choices(WORDS, k=rng.randint(25, 55))
    for at in rng.sample(range(len(words)), k=2):
        words[at] = f"${escape(rng.choice(LATEX), quote=False)}$"
    return f"<p>{' '.join(words)}.</p>"


def post(number: int, rng: random.Random) -> str:
    """A row of a dump: every third post is a question, and the next two are its answers."""
    body = escape("\n\n".join(paragraph(rng) for _ in range(rng.randint(2, 6)))).replace("\n", "&#xA;")
    question = number - (number - 1) % 3
    if number == question:
        title = escape(f"On a {rng.choice(WORDS)} ${rng.choice(LATEX[5:])}$")
        tags = 'Tags="&lt;algebra&gt;&lt;limits&gt;" ViewCount="172" AnswerCount="2"'
        kind = f'PostTypeId="1" AcceptedAnswerId="{number + 1}" Title="{title}" {tags}'
    else:
        kind = f'PostTypeId="2" ParentId="{question}"'
    rest = (
        f'CreationDate="2015-02-06T20:19:50.957" OwnerUserId="{number % 5000}" ContentLicense="CC BY-SA 3.0"'
    )
    return f'  <row Id="{number}" {kind} Score="{number % 50}" Body="{body}" {rest} />\n'


def make_dump(path: Path, n_posts: int) -> None:
    rng = random.Random(7)
    with path.open("w") as file:
        file.write('\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        for number in range(1, n_posts + 1):
            file.write(post(number, rng))
        file.write("</posts>\n")


@contextmanager
def database(folder: Path) -> Iterator[None]:
    """The server of DATABASE_URL, or a durable server in the folder, with the tables of Assay."""
    from server import embedded, paths

    os.environ.setdefault("ASSAY_VAR", str(folder))
    server = None
    if not os.environ.get("DATABASE_URL"):
        server = embedded.Postgres(folder / "postgres", options=embedded.DURABLE)
        server.start()
        os.environ["DATABASE_URL"] = paths.database_url(folder / "postgres")
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    django.setup()
    from django.core.management import call_command
    from django.urls import reverse

    call_command("migrate", verbosity=0)
    reverse("home")  # loads all pages, as in the web process that queues an import
    try:
        yield
    finally:
        if server is not None:
            from django.db import connections

            connections.close_all()
            server.stop()


def assay(path: Path) -> int:
    """Import like the worker. Returns the number of posts."""
    from corpus.imports import recognition
    from corpus.imports import services as import_services
    from jobs import services as jobs
    from jobs.models import Job

    collection = import_services.create_collection(slug=f"import-{time.monotonic_ns()}")
    sources = [recognition.Source(str(path), path.name)]
    # No message to a worker: the job runs in this process.
    nudge, jobs.nudge = jobs.nudge, lambda _job_id: None
    job = import_services.start_import(collection=collection, sources=sources, by=None)
    jobs.nudge = nudge
    jobs.run(job.pk)
    job = Job.objects.get(pk=job.pk)
    if job.state != Job.State.DONE:
        raise SystemExit(job.error)
    return sum(job.result["counts"].values())


def peer(path: Path) -> int:
    """A simple import: parse, sanitize, and `bulk_create` a thousand posts at a time."""
    from datetime import UTC, datetime

    from lxml import etree

    from assay.html.sanitize import clean_body, clean_title
    from corpus.models import Collection, Document

    collection = Collection.objects.create(slug=f"peer-{time.monotonic_ns()}", name="peer")
    waiting: list[Document] = []
    n = 0
    for _, row in etree.iterparse(path, tag="row", resolve_entities=False, no_network=True):
        is_question = row.get("PostTypeId") == "1"
        waiting.append(
            Document(
                collection=collection,
                docno=row.get("Id"),
                kind="question" if is_question else "answer",
                thread=row.get("Id") if is_question else row.get("ParentId"),
                title=clean_title(row.get("Title", "")),
                body=clean_body(row.get("Body", "")),
                tags=row.get("Tags", "").strip("<>").split("><") if is_question else [],
                score=int(row.get("Score")),
                accepted=row.get("AcceptedAnswerId", ""),
                author_code=row.get("OwnerUserId", ""),
                published_at=datetime.fromisoformat(row.get("CreationDate")).replace(tzinfo=UTC),
            )
        )
        row.clear()
        while row.getprevious() is not None:
            del row.getparent()[0]
        if len(waiting) == 1000:
            n += len(Document.objects.bulk_create(waiting))
            waiting.clear()
    n += len(Document.objects.bulk_create(waiting))
    return n


def measured(work: Callable[[Path], int], path: Path) -> tuple[int, float, float, float, float]:
    """Posts, seconds, CPU seconds, and peak megabytes of a fresh process and of its largest child."""

    def run() -> None:
        start = time.perf_counter()
        n = work(path)
        seconds = time.perf_counter() - start
        used = [
            resource.getrusage(processes) for processes in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
        send.send((n, seconds, cpu, *(usage.ru_maxrss / 1024 for usage in used)))

    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    send.close()
    process.join()
    figures: tuple[int, float, float, float, float] = receive.recv()
    return figures


def report(name: str, path: Path, work: Callable[[Path], int]) -> float:
    n, seconds, cpu, own, worker = measured(work, path)
    size = path.stat().st_size / 1e6
    print(
        f"{name:<28} {n:>8,} posts {size:>7.1f} MB {seconds:>7.2f} s {n / seconds:>9,.0f} posts/s   "
        f"CPU {cpu / n * 1e6:>4.0f} µs per post   "
        f"peak {own:>4.0f} MB, worker {worker:>4.0f} MB",
        flush=True,
    )
    return n / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--posts", type=int, default=300_000)
    parser.add_argument("--peer-posts", type=int, default=20_000)
    parser.add_argument("--file", type=Path, help="a Posts.xml to import instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        files = {
            n: folder / f"Posts-{n}.xml" for n in (options.posts, options.posts // 10, options.peer_posts)
        }
        for n, path in files.items():
            make_dump(path, n)
        with database(folder):
            from django.db import connections

            connections.close_all()
            report("Assay, a tenth", files[options.posts // 10], assay)
            ours = report("Assay", options.file or files[options.posts], assay)
            theirs = report("iterparse and bulk_create", files[options.peer_posts], peer)
            print(f"{ours / theirs:.1f} times as fast")


if __name__ == "__main__":
    main()
