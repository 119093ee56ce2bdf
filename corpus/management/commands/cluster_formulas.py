"""Cluster the formulas of a collection from the command line, with the same job as in the browser."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from corpus.clusterings.selectors import unfinished_clustering
from corpus.clusterings.services import start_clustering
from corpus.collections.selectors import collection_named
from jobs.console import follow, progress_bar
from web.pages import counted


class Command(BaseCommand):
    help = (
        "Assign the same visual id to formulas that look alike, and report where the ids of the index and our strings "
        "disagree. Formulas keep the ids that they have. Running workers take part. Repeat the command to continue an "
        "interrupted clustering."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", help="slug of the collection")
        parser.add_argument(
            "--from-scratch",
            action="store_true",
            help="replace all ids that the index did not give; pools built before contain the old ids",
        )

    def handle(self, *args: object, **options: Any) -> None:
        slug, is_from_scratch = options["slug"], options["from_scratch"]
        collection = collection_named(slug)
        if collection is None:
            raise CommandError(f"There is no collection {slug}.")
        interrupted = unfinished_clustering(collection)
        try:
            if interrupted is None:
                job = start_clustering(collection=collection, is_from_scratch=is_from_scratch, by=None)
            else:
                self.stderr.write(
                    f"Continuing the clustering of {interrupted.created_at:%Y-%m-%d %H:%M} UTC."
                )
                job = interrupted.job
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        with progress_bar(job, " parts"):
            follow(job)
        for line in summary_of(job.result):
            self.stdout.write(line)


def summary_of(n: dict[str, int]) -> list[str]:
    """The result of a clustering in three sentences."""
    unknown = n["without_id"]
    strings = f"{n.get('slt', 0):,} with an SLT string, {n.get('no_slt', 0):,} with MathML but no SLT string"
    ids = f"{n.get('given', 0):,} formulas have their visual id from the index"
    none = f"{counted(unknown, 'has,have')} no id, because neither LaTeX nor MathML was imported"
    problems = [
        counted(n["ids_of_several_strings"], "id with several SLT strings,ids with several SLT strings"),
        counted(n["strings_of_several_ids"], "SLT string with several ids,SLT strings with several ids"),
    ]
    if n["latex_of_several_ids"]:
        problems.append(
            counted(
                n["latex_of_several_ids"], "LaTeX formula with several ids,LaTeX formulas with several ids"
            )
        )
    disagreeing = counted(n["disagreeing_formulas"], "formula")
    return [
        f"{n['formulas']:,} formulas: {strings}, {n.get('no_mathml', 0):,} without MathML.",
        f"{n['visual_ids']:,} visually distinct formulas; {ids}, {none}.",
        f"The ids of the index and our strings disagree on {disagreeing}: {', '.join(problems)}.",
    ]
