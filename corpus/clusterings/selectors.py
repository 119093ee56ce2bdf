"""What others may read of clusterings."""

import csv
from collections.abc import Iterator
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet

from assay.formats.spreadsheet import harmless
from corpus.formulas.selectors import counts_in_words
from corpus.models import Clustering, Collection, Disagreement
from jobs.models import Job

PAGE = 50
COLUMNS = (
    "visual_id",
    "ids_of_string",
    "strings_of_id",
    "formulas",
    "first_formula",
    "representation",
    "string",
)


def clusterings(collection: Collection) -> QuerySet[Clustering]:
    """The clusterings of a collection's formulas, newest first."""
    return collection.clusterings.select_related("job", "job__created_by")


def latest_clustering(collection: Collection, *, is_complete: bool) -> Clustering | None:
    """The newest clustering, or the newest of those that are complete."""
    found = clusterings(collection)
    return (found.filter(is_complete=True) if is_complete else found).first()


def unfinished_clustering(collection: Collection) -> Clustering | None:
    """The clustering that is waiting or under way."""
    return clusterings(collection).filter(job__state__in=[Job.State.QUEUED, Job.State.RUNNING]).first()


def disagreements(clustering: Clustering | None) -> QuerySet[Disagreement]:
    """Where given ids and our strings disagree: SLT strings before LaTeX, by id."""
    if clustering is None:
        return Disagreement.objects.none()
    return clustering.disagreements.all()


def formulas_page(collection: Collection, number: str | None) -> dict[str, Any]:
    """What the page of a collection's formulas shows."""
    complete = latest_clustering(collection, is_complete=True)
    latest = latest_clustering(collection, is_complete=False)
    return {
        "collection": collection,
        "formulas": counts_in_words(collection),
        "has_formulas": collection.formulas.exists(),
        "clustering": complete,
        "current": latest if latest != complete else None,
        "page": Paginator(disagreements(complete), PAGE).get_page(number),
    }


class _Echo:
    """A file that hands each line back, so that rows can be streamed."""

    def write(self, line: str) -> str:
        return line


def disagreements_csv(collection: Collection) -> Iterator[str]:
    """Lines of a CSV file, header first, with a byte order mark so that spreadsheets read it as UTF-8."""
    writer = csv.writer(_Echo())
    yield "\ufeff"
    yield writer.writerow(COLUMNS)
    found = disagreements(latest_clustering(collection, is_complete=True))
    for one in found.iterator(chunk_size=2000):
        representation = "SLT" if one.is_slt else "LaTeX"
        row = (one.visual, one.n_ids, one.n_strings, one.n, one.formula, representation, one.string)
        yield writer.writerow([harmless(value) for value in row])
