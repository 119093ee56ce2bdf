"""Import files into a collection from the command line, with the same job as in the browser."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from assay.errors import Refused
from assay.formats.documents import indexes
from corpus.collections.selectors import collection_named, counts_in_words
from corpus.imports import services as import_services
from corpus.imports.recognition import sources_of
from corpus.imports.selectors import interrupted_import, skipped_rows
from jobs.console import follow, progress_bar
from jobs.models import Job
from jobs.services import move_here


class Command(BaseCommand):
    help = (
        "Import files into a collection, which is created if it does not exist: the files of a Stack Exchange dump "
        "(Posts, Users, Tags, Comments, PostLinks, Votes), documents as lines of JSON or in tables, articles in XHTML, "
        "formula indexes (TSV in LaTeX, SLT or OPT), or images. A folder means all files in it, and the articles and "
        "images of its subfolders. Archives of articles may be zip or tar. "
        "Files may be compressed with gz, xz, bz2 or zip. Repeat the command to continue an interrupted import."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", help="slug of the collection")
        parser.add_argument("paths", nargs="+", type=Path, metavar="file", help="files, or folders of files")
        parser.add_argument("--name", default="", help="name of a new collection")
        parser.add_argument("--license", default="", help="license of a new collection")
        parser.add_argument(
            "--host",
            action="append",
            default=[],
            help="host whose links lead into a new collection, such as math.stackexchange.com; repeatable",
        )
        parser.add_argument(
            "--formulas-are",
            choices=indexes.REPRESENTATIONS,
            help="representation of the formulas of an index: LaTeX, Presentation MathML (slt) or Content MathML "
            "(opt); by default detected from the formulas",
        )
        parser.add_argument(
            "--index-version",
            type=int,
            choices=sorted(indexes.HEADERS),
            default=0,
            help="refuse formula indexes of another version; by default the version is detected from the columns",
        )

    def handle(self, *args: object, **options: Any) -> None:
        try:
            job = self._job(options)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        with progress_bar(job):
            follow(job)
        for file in job.imports.order_by("id"):
            self.stdout.write(f"{file.name}: {_describe(file.counts) or 'nothing'}")
            for reason, n, lines in skipped_rows(file):
                self.stdout.write(f"  skipped {n:,}: {reason}{f' ({lines})' if lines else ''}")
        self.stdout.write(f"{job.subject} now contains {_describe(job.result['counts']) or 'nothing'}.")

    @transaction.atomic
    def _job(self, options: dict[str, Any]) -> Job:
        sources = sources_of(options["paths"])
        collection = collection_named(options["slug"])
        if collection is None:
            keys = {key: options[key] for key in ("slug", "name", "license")}
            collection = import_services.create_collection(**keys, hosts=options["host"])
        interrupted = interrupted_import(collection, {source.location for source in sources})
        if interrupted is not None:
            move_here(job=interrupted)
            self.stderr.write(f"Continuing the import of {interrupted.created_at:%Y-%m-%d %H:%M} UTC.")
            return interrupted
        index = {"representation": options["formulas_are"], "version": options["index_version"]}
        return import_services.start_import(collection=collection, sources=sources, by=None, **index)


def _describe(counts: dict[str, int]) -> str:
    return ", ".join(counts_in_words(counts))
