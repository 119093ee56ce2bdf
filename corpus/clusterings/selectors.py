"""Clusterings of formulas, where their visual ids disagree with the formulas, and the page of both."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from assay.formats.spreadsheet import BOM, csv_lines
from corpus.collections.selectors import formulas_in_words, stored_formula_counts
from corpus.models import Clustering, Collection, Disagreement, Formula
from jobs.models import Job

COLUMNS = (
    *("visual_id", "ids_of_string", "strings_of_id"),
    *("formulas", "first_formula", "representation", "string"),
)
PAGE_SIZE = 50  # disagreements, and formulas


@dataclass(frozen=True)
class FormulasPage:
    """`clustering` is the newest complete one; `current` a newer one that is unfinished or failed.

    `rows` are the disagreements of the page, each with the LaTeX of its first formula. `browsed` are some formulas in
    the order of their ids, from `first_code` on; `next_code` is the id of the formula after them.
    """

    collection: Collection
    formulas: list[str]
    n_with_id: int
    has_formulas: bool
    clustering: Clustering | None
    current: Clustering | None
    disagreements: "Page[Any]"
    rows: list[tuple[Disagreement, str]]
    first_code: str
    browsed: list[Formula]
    next_code: str


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
    """The disagreements of the ids of the index and our strings: SLT strings before LaTeX, by id."""
    if clustering is None:
        return Disagreement.objects.none()
    return clustering.disagreements.all()


def disagreements_csv(collection: Collection) -> Iterator[str]:
    """Lines of a CSV file, header first, with a byte order mark so that spreadsheets read it as UTF-8."""
    yield BOM
    rows = disagreements(latest_clustering(collection, is_complete=True)).iterator(chunk_size=2000)
    cells = (
        (
            row.visual,
            row.n_ids,
            row.n_strings,
            row.n,
            row.formula,
            "SLT" if row.is_slt else "LaTeX",
            row.string,
        )
        for row in rows
    )
    yield from csv_lines(COLUMNS, cells)


def formulas_page(collection: Collection, number: str | None, first_code: str) -> FormulasPage:
    """The page of all formulas of a collection, with one page of the disagreements of its newest clustering."""
    # The newest first: one that is completed between the two queries would else appear to have failed
    latest = latest_clustering(collection, is_complete=False)
    complete = latest_clustering(collection, is_complete=True) if latest else None
    shown = Paginator(disagreements(complete), PAGE_SIZE).get_page(number)
    first_formulas = collection.formulas.filter(code__in={row.formula for row in shown})
    latex: dict[str, str] = dict(first_formulas.values_list("code", "latex"))
    browsed = list(collection.formulas.filter(code__gte=first_code).order_by("code")[: PAGE_SIZE + 1])
    return FormulasPage(
        collection=collection,
        formulas=formulas_in_words(collection),
        n_with_id=stored_formula_counts(collection).get("formulas with a visual id", 0),
        has_formulas=collection.formulas.exists(),
        clustering=complete,
        current=latest if latest != complete else None,
        disagreements=shown,
        rows=[(row, latex.get(row.formula, "")) for row in shown],
        first_code=first_code,
        browsed=browsed[:PAGE_SIZE],
        next_code=browsed[PAGE_SIZE].code if len(browsed) > PAGE_SIZE else "",
    )
