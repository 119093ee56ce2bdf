"""Cluster the formulas of a collection from the command line, through the same job as in the browser."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from corpus.clusterings.selectors import unfinished_clustering
from corpus.clusterings.services import start_clustering
from corpus.management.commands.import_collection import bar_of, follow
from corpus.models import Collection
from jobs.models import Job


class Command(BaseCommand):
    help = (
        "Give formulas that look alike one visual id, and say where ids of the index and our strings disagree. Ids "
        "that formulas have are kept. Workers that run take part. A clustering that was interrupted goes on where it "
        "stopped if the same command is given again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", help="the collection")
        parser.add_argument(
            "--anew",
            action="store_true",
            help="make all ids again that the index did not give; pools built before name the old ones",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            job = self._job(options["slug"], is_anew=options["anew"])
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        with bar_of(job, " parts"):
            follow(job)
        if job.state == Job.State.FAILED:
            raise CommandError(job.error)
        for line in said(job.result):
            self.stdout.write(line)

    def _job(self, slug: str, *, is_anew: bool) -> Job:
        collection = Collection.objects.filter(slug=slug).first()
        if collection is None:
            raise CommandError(f"There is no collection {slug}.")
        interrupted = unfinished_clustering(collection)
        if interrupted is not None:
            self.stderr.write(f"Taking up the clustering of {interrupted.created_at:%Y-%m-%d %H:%M} UTC.")
            return interrupted.job
        return start_clustering(collection=collection, is_anew=is_anew, by=None)


def said(n: dict[str, int]) -> list[str]:
    """What came of a clustering, in three sentences."""
    unknown = n["without_id"]
    strings = f"{n.get('slt', 0):,} with an SLT string, {n.get('no_slt', 0):,} whose MathML gives none"
    ids = f"{n.get('given', 0):,} formulas had their visual id from the index"
    none = f"{_counted(unknown, 'has', 'have')} none: nothing is known of {'it' if unknown == 1 else 'them'}"
    disagree = [
        _counted(n["ids_of_several_strings"], "id with several SLT strings", "ids with several SLT strings"),
        _counted(n["strings_of_several_ids"], "SLT string with several ids", "SLT strings with several ids"),
    ]
    if n["latex_of_several_ids"]:
        disagree.append(f"{n['latex_of_several_ids']:,} LaTeX without a string with several ids")
    which = _counted(n["disagreeing_formulas"], "formula", "formulas")
    return [
        f"{n['formulas']:,} formulas: {strings}, {n.get('no_mathml', 0):,} without MathML.",
        f"{n['visual_ids']:,} visually distinct formulas; {ids}, {none}.",
        f"Given ids and our strings disagree on {which}: {', '.join(disagree)}.",
    ]


def _counted(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
