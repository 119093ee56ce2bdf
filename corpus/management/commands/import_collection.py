"""Import files into a collection from the command line, through the same job as in the browser."""

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from tqdm import tqdm

from assay.errors import Refused
from assay.formats.formulas import indexes
from corpus.imports import services as import_services
from corpus.imports.selectors import in_words, skipped_rows
from corpus.models import Collection
from jobs import services as jobs
from jobs.models import Job

POLL_SECONDS = 0.5


class Command(BaseCommand):
    help = (
        "Import Stack Exchange dump files (Posts, Users, Tags, Comments, PostLinks, Votes), documents as one JSON "
        "object a line, or formula indexes (TSV in LaTeX, SLT or OPT) into a collection, which is made if there is "
        "none. A folder stands for the files in it. Files may be packed with gz, xz or zip. "
        "An import that was interrupted goes on where it stopped if the same command is given again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument("paths", nargs="+", type=Path, metavar="file", help="files, or folders of files")
        parser.add_argument("--name", default="", help="of a new collection")
        parser.add_argument("--license", default="", help="of a new collection")
        parser.add_argument(
            "--host",
            action="append",
            default=[],
            help="of a new collection: a host whose links lead into it, such as math.stackexchange.com; repeatable",
        )

        parser.add_argument(
            "--formulas-are",
            choices=indexes.REPRESENTATIONS,
            help="what the formulas of an index are written in: LaTeX, Presentation MathML (slt) or Content MathML "
            "(opt); without it that is told from the formulas",
        )
        parser.add_argument(
            "--index-version",
            type=int,
            choices=sorted(indexes.HEADERS),
            default=0,
            help="refuse formula indexes of another version; without it any is taken, told from the columns",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            job = self._job(options)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        with bar_of(job):
            follow(job)
        if job.state == Job.State.FAILED:
            raise CommandError(job.error)
        self._report(job)

    @transaction.atomic
    def _job(self, options: dict[str, Any]) -> Job:
        sources = import_services.sources_of(options["paths"])
        collection = Collection.objects.filter(slug=options["slug"]).first()
        if collection is None:
            keys = {key: options[key] for key in ("slug", "name", "license")}
            collection = import_services.create_collection(**keys, hosts=options["host"])
        interrupted = import_services.interrupted_import(collection=collection, sources=sources)
        if interrupted is not None:
            self.stderr.write(f"Taking up the import of {interrupted.created_at:%Y-%m-%d %H:%M} UTC.")
            return interrupted
        said = {"representation": options["formulas_are"], "version": options["index_version"]}
        return import_services.start_import(collection=collection, sources=sources, by=None, **said)

    def _report(self, job: Job) -> None:
        for file in job.imports.order_by("id"):
            self.stdout.write(f"{file.name}: {worded(file.counts) or 'nothing'}")
            for reason, n, lines in skipped_rows(file):
                self.stdout.write(f"  skipped {n:,}: {reason}{f' ({lines})' if lines else ''}")
        self.stdout.write(f"{job.subject} now holds {worded(job.result['counts']) or 'nothing'}.")


def worded(counts: dict[str, int]) -> str:
    return ", ".join(in_words(counts))


def follow(job: Job) -> None:
    """Do a job here; if a worker is quicker, wait until it has, and take over if that worker is lost."""
    while True:
        jobs.run(job.pk)
        job.refresh_from_db()
        if job.is_finished:
            return
        time.sleep(POLL_SECONDS)


@contextmanager
def bar_of(job: Job, unit: str = "B") -> Iterator[None]:
    """A progress bar that follows the job's row, whoever does the job."""
    stop = threading.Event()
    thread = threading.Thread(target=_draw, args=[job.pk, stop, unit], daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _draw(job_id: int, stop: threading.Event, unit: str) -> None:
    with tqdm(unit=unit, unit_scale=True, leave=False) as bar:
        while not stop.wait(POLL_SECONDS):
            current = Job.objects.filter(pk=job_id).first()
            if current is not None:
                bar.total = current.total
                bar.set_description(current.message, refresh=False)
                bar.update(current.done - bar.n)
        connection.close()
