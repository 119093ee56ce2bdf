"""Formulas of a collection: columns for pooling and scoring, counts, and the pages of formulas."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from django.core.paginator import Page, Paginator
from django.db import connection
from django.db.models import Count, Max, Q
from django.utils.safestring import SafeString
from numpy.typing import NDArray

from assay.formulas.columns import PLACES, Formulas
from assay.html.highlight import around, mark
from corpus.clusterings.selectors import disagreements, latest_clustering
from corpus.models import Clustering, Collection, Comment, Formula, FormulaMathML
from corpus.threads.selectors import addresses, resolve_links

BATCH = 20_000  # ids in one query
PAGE_SIZE = 50  # disagreements
MAX_ALIKE = 50  # formulas that look alike, on the page of one of them
MAX_COUNTED = 10_000  # of those: there are hundreds of thousands of a single letter
Row = tuple[str, str, str, str, str]  # columns of many formulas, each one text


@dataclass(frozen=True)
class FormulasPage:
    """`clustering` is the newest complete one; `current` a newer one that is unfinished or failed."""

    collection: Collection
    formulas: list[str]
    n_with_id: int
    has_formulas: bool
    clustering: Clustering | None
    current: Clustering | None
    disagreements: "Page[Any]"


class Instance(NamedTuple):
    """A formula in a list of formulas that look alike. `address` is empty if the collection does not have its post."""

    code: str
    latex: str
    place: str
    post: str
    address: str


@dataclass(frozen=True)
class FormulaPage:
    """`n_alike` formulas look like this one, or more than `max_counted`; `alike` lists some of them."""

    collection: Collection
    formula: Formula
    address: str
    excerpt: SafeString
    markups: list[tuple[str, str]]
    n_alike: int
    alike: list[Instance]
    max_counted: int = MAX_COUNTED


def formulas_of(collection_id: int, ids: NDArray[np.bytes_]) -> Formulas:
    """The formulas of some ids that the collection has, in any order. One query per `BATCH` ids."""
    return _columns(_rows(collection_id, np.unique(ids)))


def _rows(collection_id: int, ids: NDArray[np.bytes_]) -> Iterator[Row]:
    """Columns of some formulas, a batch at a time. Ids contain no line ends, so line ends separate the values of a
    column. A row per formula would take twice as long."""
    words = [code.decode() for code in ids.tolist()]
    with connection.cursor() as cursor:
        for start in range(0, len(words), BATCH):
            cursor.execute(_COLUMNS, [collection_id, words[start : start + BATCH]])
            row = cursor.fetchone()
            if row[0] is not None:
                yield row


_COLUMNS = r"""
    SELECT string_agg(code, E'\n'), string_agg(post, E'\n'), string_agg(thread, E'\n'), string_agg(visual, E'\n'),
           string_agg(place::text, '')
    FROM corpus_formula WHERE collection_id = %s AND code = ANY(%s)
"""


def _columns(batches: Iterator[Row]) -> Formulas:
    parts = list(zip(*batches, strict=True)) or [()] * 5
    code, post, thread, visual = (
        np.array([word for text in column for word in text.encode().split(b"\n")], dtype=np.bytes_)
        for column in parts[:4]
    )
    place = np.frombuffer("".join(parts[4]).encode(), dtype=np.uint8) - np.uint8(ord("0"))
    order = np.argsort(code, kind="stable")
    return Formulas(code[order], post[order], thread[order], place[order], visual[order])


def last_ids() -> dict[str, int]:
    """The highest key of the table of each representation of formulas; 0 for an empty table."""
    last = {"latex": Formula.objects.aggregate(last=Max("id"))["last"] or 0}
    mathml = FormulaMathML.objects.aggregate(last=Max("id"))["last"] or 0
    return last | dict.fromkeys(FormulaMathML.Form.values, mathml)


def formula_counts(collection: Collection) -> dict[str, int]:
    """How many formulas a collection has: in all, by place, and by representation.

    Three queries that read every formula: 30 seconds for 28 million.
    """
    formulas = collection.formulas.order_by()
    counts: dict[str, int] = formulas.aggregate(
        **{f"place_{number}": Count("pk", Q(place=number)) for number in range(len(PLACES))},
        n=Count("pk"),
        latex=Count("pk", ~Q(latex="")),
        visual=Count("pk", ~Q(visual="")),
    )
    if not counts["n"]:
        return {}
    mathml = dict(collection.mathml.order_by().values_list("form").annotate(n=Count("pk")))
    return {
        "formulas": counts["n"],
        **{f"formulas in {place}s": counts[f"place_{number}"] for number, place in enumerate(PLACES)},
        "formulas as LaTeX": counts["latex"],
        **{f"formulas as {form.name}": mathml.get(form.value, 0) for form in FormulaMathML.Form},
        "formulas with a visual id": counts["visual"],
        "visually distinct formulas": n_distinct(collection),
    }


def n_distinct(collection: Collection) -> int:
    """How many visual ids a collection has. The database groups them by hashing; `count(DISTINCT)` would sort them."""
    formulas = collection.formulas.order_by().exclude(visual="")
    return formulas.values("visual").annotate(n=Count("pk")).count()


def stored_counts(collection: Collection) -> dict[str, int]:
    """The counts of formulas from the last import or clustering. No query."""
    return {name: n for name, n in collection.counts.items() if "formulas" in name}


def counts_in_words(collection: Collection) -> list[str]:
    """The stored counts of formulas that are not zero, such as `3 in titles`. No query."""
    counts = stored_counts(collection)
    parts = [(f"in {place}s", f"formulas in {place}s") for place in PLACES]
    parts += [(f"as {form}", f"formulas as {form}") for form in ("LaTeX", *FormulaMathML.Form.names)]
    parts += [("visually distinct", "visually distinct formulas")]
    return [f"{counts[name]:,} {words}" for words, name in parts if counts.get(name)]


def formulas_page(collection: Collection, number: str | None) -> FormulasPage:
    """The page of all formulas of a collection, with one page of the disagreements of its newest clustering."""
    complete = latest_clustering(collection, is_complete=True)
    latest = latest_clustering(collection, is_complete=False)
    return FormulasPage(
        collection=collection,
        formulas=counts_in_words(collection),
        n_with_id=stored_counts(collection).get("formulas with a visual id", 0),
        has_formulas=collection.formulas.exists(),
        clustering=complete,
        current=latest if latest != complete else None,
        disagreements=Paginator(disagreements(complete), PAGE_SIZE).get_page(number),
    )


def formula_page(collection: Collection, code: str) -> FormulaPage | None:
    """The page of a formula; None if the collection does not have it. Seven queries."""
    formula = collection.formulas.filter(code=code).first()
    if formula is None:
        return None
    n_alike, alike = _alike(formula)
    return FormulaPage(
        collection=collection,
        formula=formula,
        address=addresses(collection, [formula.post]).get(formula.post, ""),
        excerpt=_excerpt(collection, formula),
        markups=[
            (mathml.get_form_display(), mathml.content) for mathml in collection.mathml.filter(code=code)
        ],
        n_alike=n_alike,
        alike=alike,
    )


def has_formula(collection: Collection, code: str) -> bool:
    return collection.formulas.filter(code=code).exists()


def _excerpt(collection: Collection, formula: Formula) -> SafeString:
    """The paragraph, title or comment that contains the formula, with the formula marked; empty if there is none."""
    document = collection.documents.filter(docno=formula.post).only("title", "body").first()
    if document is None:
        return SafeString("")
    if formula.place == Formula.Place.TITLE:
        excerpt = around(document.title, formula.code)
    elif formula.place == Formula.Place.COMMENT:
        comment = Comment.objects.filter(
            document=document, text__contains=f'"{escape(formula.code)}"'
        ).first()
        excerpt = mark(comment.text, formula.code) if comment else ""
    else:
        excerpt = around(document.body, formula.code)
    return resolve_links([excerpt], [collection])[0]


def _alike(formula: Formula) -> tuple[int, list[Instance]]:
    """How many other formulas have the same visual id, counted up to `MAX_COUNTED` + 1, and some of them."""
    if not formula.visual:
        return 0, []
    collection = formula.collection
    others = collection.formulas.filter(visual=formula.visual).exclude(code=formula.code).order_by()
    rows = list(others[:MAX_ALIKE])
    n = others[: MAX_COUNTED + 1].count() if len(rows) == MAX_ALIKE else len(rows)
    urls = addresses(collection, [row.post for row in rows])
    instances = [
        Instance(row.code, row.latex, row.get_place_display(), row.post, urls.get(row.post, ""))
        for row in rows
    ]
    return n, sorted(instances, key=lambda instance: (len(instance.code), instance.code))
