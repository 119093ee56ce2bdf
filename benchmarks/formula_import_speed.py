"""Rows per second from a formula index into the table, and the memory for it, compared with a plain import.

    python benchmarks/formula_import_speed.py [--rows 1000000] [--peer-rows 50000]

The script makes an index of version 2 in LaTeX and one in Presentation MathML, with rows as long and visual ids as
frequent as in ARQMath, and some quoted fields. It starts a durable PostgreSQL in a temporary folder, or uses
DATABASE_URL. Then it runs the job of `manage.py import_collection`: reading, checking, COPY, a commit with a checkpoint
every 4 MB, counting at the end. It imports a quarter first, to show how memory grows with the size of the file; then
LaTeX; then MathML of the same formulas, which updates the rows; then the same LaTeX again.
The comparison reads with Python's csv, and stores with `bulk_create`. Peak memory is that of the importing process, and
of its largest worker process. CPU is that of both; the CPU of the started PostgreSQL is printed separately. Compare CPU
on a machine that has other work.
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
    """An index whose visual ids are as frequent as words: some are very frequent, two fifths occur once."""
    # Two generators, so that MathML and LaTeX have the same visual ids.
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
    """Import like the worker. Returns the number of rows."""

    def run(path: Path) -> int:
        from corpus.imports import recognition
        from corpus.imports import services as import_services
        from corpus.models import Collection
        from jobs import services as jobs
        from jobs.models import Job

        collection = Collection.objects.filter(slug=slug).first()
        collection = collection or import_services.create_collection(slug=slug)
        sources = [recognition.Source(str(path), path.name)]
        # No message to a worker: the job runs in this process.
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
    """A simple import: csv and `bulk_create`, a thousand rows at a time."""
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
    """CPU seconds of the PostgreSQL in the folder and of its processes; 0 if there is none, or no /proc."""
    file = folder / "postgres" / "postmaster.pid"
    if not file.exists() or not Path("/proc/self/stat").exists():
        return 0.0
    postmaster, ticks = file.read_text().split()[0], 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has ended
            fields = stat.read_text().rpartition(")")[2].split()
            if stat.parent.name == postmaster:
                ticks += sum(map(int, fields[11:15]))
            elif fields[1] == postmaster:
                ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def report(name: str, path: Path, work: Callable[[Path], int]) -> float:
    before = server_cpu(path.parent)
    n, seconds, cpu, own, worker = measured(work, path)
    server = server_cpu(path.parent) - before
    print(
        f"{name:<34} {n:>9,} rows {path.stat().st_size / 1e6:>6.0f} MB {seconds:>7.2f} s {n / seconds:>9,.0f} rows/s   "
        f"CPU {cpu / n * 1e6:>5.1f} µs per row, PostgreSQL {server / n * 1e6:>5.1f}   "
        f"peak {own:>4.0f} MB, worker {worker:>4.0f} MB",
        flush=True,
    )
    return n / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peer-rows", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        latex, quarter, mathml, few = (folder / f"{name}.tsv" for name in ("latex", "quarter", "slt", "few"))
        make_index(latex, options.rows, is_mathml=False)
        make_index(quarter, options.rows // 4, is_mathml=False)
        make_index(mathml, options.rows, is_mathml=True)
        make_index(few, options.peer_rows, is_mathml=False)
        with database(folder):
            from django.db import connections

            connections.close_all()
            report("Assay, a quarter", quarter, assay("quarter"))
            ours = report("Assay, LaTeX", latex, assay("whole"))
            report("Assay, MathML of the same formulas", mathml, assay("whole"))
            report("Assay, the same LaTeX again", latex, assay("whole"))
            report("Assay, MathML alone", mathml, assay("alone"))
            theirs = report("csv and bulk_create", few, peer)
            print(f"{ours / theirs:.1f} times as fast")


if __name__ == "__main__":
    main()
