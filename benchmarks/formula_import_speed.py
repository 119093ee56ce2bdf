"""How many rows of a formula index a second go from file to table, with how much memory, beside a plain import.

    python benchmarks/formula_import_speed.py [--rows 1000000] [--peer-rows 50000]

It makes an index of version 2 in LaTeX and one in Presentation MathML (rows as long as ARQMath's, visual ids as often
repeated, a quoted field now and then), starts a durable PostgreSQL of its own in a temporary folder (or uses
DATABASE_URL), and runs the job that `manage.py import_collection` runs: reading, checking, COPY, commit with a
checkpoint every 4 MB, counting at the end. A quarter goes in first, so that the growth of memory with the size of the
file shows; then LaTeX; then MathML of the same formulas, which joins it; then LaTeX again, all of which is there.
The peer reads with Python's csv, and stores by `bulk_create`. Peak memory is that of the importing process and of its
largest helper; CPU is that of both, and beside it that of the PostgreSQL of its own: the figures to compare on a
machine that is busy.
"""

import argparse
import csv
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from import_speed import LATEX, database, measured

HEADER = "id\tpost_id\tthread_id\ttype\tvisual_id\tformula\n"
TYPES = ["answer"] * 6 + ["question"] * 2 + ["comment"] * 2
MATHML = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML" alttext="{tex}" class="ltx_Math" display="inline"><semantics>'
    "<mrow><msub><mi>x</mi><mn>{n}</mn></msub><mo>=</mo><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>{n}</mn></mrow>"
    "</mfrac></mrow></semantics></math>"
)


def make_index(path: Path, n_rows: int, *, is_mathml: bool) -> None:
    """An index whose visual ids are as frequent as words: some stand everywhere, two fifths only once."""
    # Two, so that MathML has the visual ids that LaTeX has: a chosen formula takes nothing from what chooses ids.
    rng, formulas = random.Random(7), random.Random(8)
    with path.open("w", newline="") as file:
        file.write(HEADER)
        for number in range(1, n_rows + 1):
            visual = number if rng.random() < 0.4 else int(number ** rng.random())
            place = "title" if number % 40 == 1 else TYPES[number // 12 % 10]
            file.write(f"{number}\t{number // 12}\t{number // 40}\t{place}\t{visual}\t")
            file.write(f"{formula(formulas, visual, is_mathml=is_mathml)}\n")


def formula(rng: random.Random, visual: int, *, is_mathml: bool) -> str:
    latex = f"{rng.choice(LATEX)} = x_{{{visual}}}"
    if is_mathml:
        content = MATHML.format(tex=latex.replace("<", "&lt;"), n=visual)
    else:
        content = latex if rng.random() > 0.001 else f'\\text{{"quoted" }}{latex}'
    return content if '"' not in content else '"' + content.replace('"', '""') + '"'


def assay(slug: str) -> Callable[[Path], int]:
    """The import as the worker does it. Returns the number of rows."""

    def run(path: Path) -> int:
        from corpus.imports import services as import_services
        from corpus.models import Collection
        from jobs import services as jobs
        from jobs.models import Job

        collection = Collection.objects.filter(slug=slug).first()
        collection = collection or import_services.create_collection(slug=slug)
        sources = [import_services.Source(str(path), path.name)]
        # The message to a worker is left out: the job runs here.
        nudge, jobs.nudge = jobs.nudge, lambda _job_id: None
        job = import_services.start_import(collection=collection, sources=sources, by=None)
        jobs.nudge = nudge
        jobs.run(job.pk)
        job = Job.objects.get(pk=job.pk)
        if job.state != Job.State.DONE:
            raise SystemExit(job.error)
        return int(job.imports.get().counts["formulas"])

    return run


def peer(path: Path) -> int:
    """What one would write first: csv and `bulk_create`, a thousand at a time."""
    from corpus.models import Collection, Formula

    collection = Collection.objects.create(slug=f"peer-{time.monotonic_ns()}", name="peer")
    places = {label: value for value, label in Formula.Place.choices}
    waiting: list[Formula] = []
    n = 0
    with path.open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            waiting.append(
                Formula(
                    collection=collection,
                    code=row["id"],
                    post=row["post_id"],
                    thread=row["thread_id"],
                    place=places[row["type"]],
                    visual=row["visual_id"],
                    is_visual_given=True,
                    latex=row["formula"],
                )
            )
            if len(waiting) == 1000:
                n += len(Formula.objects.bulk_create(waiting))
                waiting.clear()
    return n + len(Formula.objects.bulk_create(waiting))


def server_cpu(folder: Path) -> float:
    """CPU seconds of the PostgreSQL in the folder, with its ended processes; 0 where there is none, or no /proc."""
    file = folder / "postgres" / "postmaster.pid"
    if not file.exists() or not Path("/proc/self/stat").exists():
        return 0.0
    postmaster, ticks = file.read_text().split()[0], 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = stat.read_text().rpartition(")")[2].split()
            if stat.parent.name == postmaster:
                ticks += sum(map(int, fields[11:15]))
            elif fields[1] == postmaster:
                ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def report(name: str, path: Path, work: Callable[[Path], int]) -> float:
    before = server_cpu(path.parent)
    n, seconds, cpu, own, helper = measured(work, path)
    server = server_cpu(path.parent) - before
    print(
        f"{name:<34} {n:>9,} rows {path.stat().st_size / 1e6:>6.0f} MB {seconds:>7.2f} s {n / seconds:>9,.0f} rows/s   "
        f"CPU {cpu / n * 1e6:>5.1f} µs a row, PostgreSQL {server / n * 1e6:>5.1f}   "
        f"peak {own:>4.0f} MB, helper {helper:>4.0f} MB",
        flush=True,
    )
    return n / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peer-rows", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        latex, quarter, mathml, few = (folder / f"{one}.tsv" for one in ("latex", "quarter", "slt", "few"))
        make_index(latex, options.rows, is_mathml=False)
        make_index(quarter, options.rows // 4, is_mathml=False)
        make_index(mathml, options.rows, is_mathml=True)
        make_index(few, options.peer_rows, is_mathml=False)
        with database(folder):
            from django.db import connections

            connections.close_all()
            report("Assay, a quarter", quarter, assay("quarter"))
            ours = report("Assay, LaTeX", latex, assay("whole"))
            report("Assay, MathML that joins it", mathml, assay("whole"))
            report("Assay, the same LaTeX again", latex, assay("whole"))
            report("Assay, MathML alone", mathml, assay("alone"))
            theirs = report("csv and bulk_create", few, peer)
            print(f"{ours / theirs:.1f} times as fast")


if __name__ == "__main__":
    main()
