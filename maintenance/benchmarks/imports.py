"""Imports of posts and formula indexes, compared with plain Django imports of the same files."""

import csv
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from maintenance.benchmarks.harness import case, database, figure, forked, process_times, run_job

TEXT = """
let be the function such that continuous then we have for every integer prove sequence converges bounded compact linear
operator group ring field ideal show integral sum limit derivative matrix of is in on and a with by
"""
WORDS = TEXT.split()
LATEX = [
    r"\frac{x^2+x+c}{x^2+2x+c}", r"\sum_{k=0}^{n}\binom{n}{k}k", r"f(x)\le \epsilon", r"\int_0^1 e^{-t^2}\,dt",
    r"A \subseteq B", "a<b", "x", "n", "f", r"\mathbb{R}", r"x_n \to x", "G", r"\lim_{n\to\infty} a_n = 0",
]  # fmt: skip
MATHML = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML" alttext="{tex}" class="ltx_Math" display="inline"><semantics>'
    "<mrow><msub><mi>x</mi><mn>{n}</mn></msub><mo>=</mo><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>{n}</mn></mrow>"
    "</mfrac></mrow></semantics></math>"
)


def assay(path: Path, slug: str) -> int:
    """Import as the worker does: reading, sanitizing, COPY, upsert, checkpoints. Returns the number of rows."""
    from corpus.imports import recognition, services
    from corpus.models import Collection
    from jobs import services as jobs

    jobs.nudge = lambda job_id: None  # no message to a worker: the job runs in this process
    collection = Collection.objects.filter(slug=slug).first() or services.create_collection(slug=slug)
    sources = [recognition.Source(str(path), path.name)]
    job = run_job(services.start_import(collection=collection, sources=sources, by=None))
    counts = job.imports.get().counts
    return int(counts.get("formulas") or sum(counts.values()))


def stored_plainly(model: Any, rows: Iterator[dict[str, Any]]) -> int:
    """Store rows with `bulk_create`, a thousand at a time; returns their number."""
    from corpus.models import Collection

    collection = Collection.objects.create(slug=f"peer-{time.monotonic_ns()}", name="peer")
    made = (model(collection=collection, **fields) for fields in rows)
    n = 0
    while waiting := list(islice(made, 1000)):
        n += len(model.objects.bulk_create(waiting))
    return n


def measure(label: str, path: Path, work: Callable[..., int], *arguments: Any, peer: float = 0) -> float:
    """Rows per second in a fresh process, with CPU time and memory; PostgreSQL's CPU time is counted separately."""
    before = server_cpu(path.parent)
    cost = forked(work, path, *arguments)
    n, server = cost.result, server_cpu(path.parent) - before
    note = (
        f"{n:,} rows, {path.stat().st_size / 1e6:.0f} MB; CPU {cost.cpu / n * 1e6:.0f} µs per row, PostgreSQL "
        f"{server / n * 1e6:.0f}; peak {cost.memory:.0f} MB, its largest process {cost.child_memory:.0f} MB"
    )
    figure(label, n / cost.seconds, "rows/s", {"plain Django": peer} if peer else None, note=note)
    return float(n / cost.seconds)


def server_cpu(folder: Path) -> float:
    file = folder / "postgres" / "postmaster.pid"
    postmaster = int(file.read_text().split()[0]) if file.exists() else 0
    times = list(process_times())
    return sum(both for pid, _, _, _, both in times if pid == postmaster) + sum(
        own for _, parent, _, own, _ in times if parent == postmaster
    )


# -- posts


@case
def import_posts(*, posts: int = 300_000, peer_posts: int = 20_000, file: str = "") -> None:
    """Import posts of a dump, compared with `iterparse`, the same sanitizing and `bulk_create` in one process.

    Posts have about 1 kB and eight formulas per thousand characters, as on the site. A tenth of them is imported first,
    to show how memory grows with the size of the file.
    """
    with database() as var:
        few, tenth, every = (dump(var / f"Posts-{n}.xml", n) for n in (peer_posts, posts // 10, posts))
        plain = measure("iterparse and bulk_create", few, posts_plainly)
        measure("Assay, a tenth", tenth, assay, "tenth")
        measure("Assay", Path(file) if file else every, assay, "every", peer=plain)


def dump(path: Path, n: int) -> Path:
    rng = random.Random(7)
    with path.open("w") as out:
        out.write('\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        out.writelines(post(number, rng) for number in range(1, n + 1))
        out.write("</posts>\n")
    return path


def post(number: int, rng: random.Random) -> str:
    """A row of a dump: every third post is a question, and the next two are its answers."""
    paragraphs = []
    for _ in range(rng.randint(2, 6)):
        words = rng.choices(WORDS, k=rng.randint(25, 55))
        for at in rng.sample(range(len(words)), k=2):
            words[at] = f"${escape(rng.choice(LATEX), quote=False)}$"
        paragraphs.append(f"<p>{' '.join(words)}.</p>")
    body = escape("\n\n".join(paragraphs)).replace("\n", "&#xA;")
    question = number - (number - 1) % 3
    kind = f'PostTypeId="2" ParentId="{question}"'
    if number == question:
        title = escape(f"On a {rng.choice(WORDS)} ${rng.choice(LATEX[5:])}$")
        tags = 'Tags="&lt;algebra&gt;&lt;limits&gt;" ViewCount="172" AnswerCount="2"'
        kind = f'PostTypeId="1" AcceptedAnswerId="{number + 1}" Title="{title}" {tags}'
    rest = (
        f'CreationDate="2015-02-06T20:19:50.957" OwnerUserId="{number % 5000}" ContentLicense="CC BY-SA 3.0"'
    )
    return f'  <row Id="{number}" {kind} Score="{number % 50}" Body="{body}" {rest} />\n'


def posts_plainly(path: Path) -> int:
    from lxml import etree

    from assay.html.sanitize import clean_body, clean_title
    from corpus.models import Document

    def rows() -> Iterator[dict[str, Any]]:
        for _, row in etree.iterparse(path, tag="row", resolve_entities=False, no_network=True):
            is_question = row.get("PostTypeId") == "1"
            yield {
                "docno": row.get("Id"),
                "kind": "question" if is_question else "answer",
                "thread": row.get("Id") if is_question else row.get("ParentId"),
                "title": clean_title(row.get("Title", "")),
                "body": clean_body(row.get("Body", "")),
                "tags": row.get("Tags", "").strip("<>").split("><") if is_question else [],
                "score": int(row.get("Score")),
                "accepted": row.get("AcceptedAnswerId", ""),
                "author_code": row.get("OwnerUserId", ""),
                "published_at": datetime.fromisoformat(row.get("CreationDate")).replace(tzinfo=UTC),
            }
            row.clear()
            while row.getprevious() is not None:
                del row.getparent()[0]

    return stored_plainly(Document, rows())


# -- formula indexes


@case
def import_formulas(*, rows: int = 1_000_000, peer_rows: int = 50_000) -> None:
    """Import a formula index in LaTeX and in MathML, compared with `csv` and `bulk_create`.

    Visual ids are as frequent as words: some are very frequent, two fifths occur once. A quarter of the rows is
    imported first, to show how memory grows.
    """
    with database() as var:
        sizes = {"few": peer_rows, "quarter": rows // 4, "latex": rows}
        files = {name: index(var / f"{name}.tsv", n, is_mathml=False) for name, n in sizes.items()}
        mathml = index(var / "slt.tsv", rows, is_mathml=True)
        plain = measure("csv and bulk_create", files["few"], index_plainly)
        measure("Assay, a quarter", files["quarter"], assay, "quarter")
        measure("Assay, LaTeX", files["latex"], assay, "every", peer=plain)
        measure("Assay, MathML of the same formulas", mathml, assay, "every")
        measure("Assay, the same LaTeX again", files["latex"], assay, "every")
        measure("Assay, MathML alone", mathml, assay, "alone")


def index(path: Path, n_rows: int, *, is_mathml: bool) -> Path:
    # two generators, so that MathML and LaTeX have the same visual ids
    rng, formulas = random.Random(7), random.Random(8)
    types = ["answer"] * 6 + ["question"] * 2 + ["comment"] * 2
    with path.open("w", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(["id", "post_id", "thread_id", "type", "visual_id", "formula"])
        for n in range(1, n_rows + 1):
            visual = n if rng.random() < 0.4 else int(n ** rng.random())
            latex = f"{formulas.choice(LATEX)} = x_{{{visual}}}"
            content = MATHML.format(tex=latex.replace("<", "&lt;"), n=visual) if is_mathml else latex
            place = "title" if n % 40 == 1 else types[n // 12 % 10]
            writer.writerow([n, n // 12, n // 40, place, visual, content])
    return path


def index_plainly(path: Path) -> int:
    from corpus.models import Formula

    places = {label: value for value, label in Formula.Place.choices}

    def rows() -> Iterator[dict[str, Any]]:
        with path.open(newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                yield {
                    "code": row["id"],
                    "post": row["post_id"],
                    "thread": row["thread_id"],
                    "place": places[row["type"]],
                    "visual": row["visual_id"],
                    "is_visual_given": True,
                    "latex": row["formula"],
                }

    return stored_plainly(Formula, rows())
