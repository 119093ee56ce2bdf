"""Clusterings of formulas, and where their visual ids disagree with the formulas."""

import csv
from collections.abc import Iterator

from django.db.models import QuerySet

from assay.formats.spreadsheet import harmless
from corpus.models import Clustering, Collection, Disagreement
from jobs.models import Job

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
    """The clusterings of a collection, newest first."""
    return collection.clusterings.select_related("job", "job__created_by")


def latest_clustering(collection: Collection, *, is_complete: bool) -> Clustering | None:
    """The newest clustering, or the newest of those that are complete."""
    rows = clusterings(collection)
    return (rows.filter(is_complete=True) if is_complete else rows).first()


def unfinished_clustering(collection: Collection) -> Clustering | None:
    """The clustering that is queued or running."""
    return clusterings(collection).filter(job__state__in=Job.UNFINISHED).first()


def disagreements(clustering: Clustering | None) -> QuerySet[Disagreement]:
    """Where the ids of the index and our strings disagree: SLT strings before LaTeX, by id."""
    if clustering is None:
        return Disagreement.objects.none()
    return clustering.disagreements.all()


class _Echo:
    """A file that returns each line, so that rows can be streamed."""

    def write(self, line: str) -> str:
        return line


def disagreements_csv(collection: Collection) -> Iterator[str]:
    """Lines of a CSV file, header first, with a byte order mark so that spreadsheets read it as UTF-8."""
    writer = csv.writer(_Echo())
    yield "\ufeff"
    yield writer.writerow(COLUMNS)
    rows = disagreements(latest_clustering(collection, is_complete=True))
    for row in rows.iterator(chunk_size=2000):
        representation = "SLT" if row.is_slt else "LaTeX"
        cells = (row.visual, row.n_ids, row.n_strings, row.n, row.formula, representation, row.string)
        yield writer.writerow([harmless(cell) for cell in cells])
