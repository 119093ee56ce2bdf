"""Formulas of a collection: columns for pooling and scoring, counts, and the page of a formula."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np
from django.db import connection
from django.db.models import Count, Max, Q
from django.utils.safestring import SafeString
from numpy.typing import NDArray

from assay.formulas import PLACES
from assay.formulas.columns import Formulas
from assay.html.highlight import around, mark
from corpus.models import Collection, Comment, Formula, FormulaMathML
from corpus.threads.selectors import addresses, resolve_links

BATCH = 20_000  # ids in one query
MAX_ALIKE = 50  # formulas that look alike, on the page of one of them
MAX_COUNTED = 10_000  # of those: there are hundreds of thousands of a single letter


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


_COLUMNS = r"""
    SELECT string_agg(code, E'\n'), string_agg(post, E'\n'), string_agg(thread, E'\n'), string_agg(visual, E'\n'),
           string_agg(place::text, '')
    FROM corpus_formula WHERE collection_id = %s AND code = ANY(%s)
"""


def formulas_of(collection_id: int, ids: NDArray[np.bytes_]) -> Formulas:
    """The formulas of some ids that the collection has, in any order. One query per `BATCH` ids.

    A row of the result has one text for each column of many formulas, because a row per formula would take twice as
    long. Ids contain no line ends, so line ends separate the values.
    """
    words = [code.decode() for code in np.unique(ids).tolist()]
    batches: list[tuple[str, ...]] = []
    with connection.cursor() as cursor:
        for start in range(0, len(words), BATCH):
            cursor.execute(_COLUMNS, [collection_id, words[start : start + BATCH]])
            row = cursor.fetchone()
            if row[0] is not None:
                batches.append(row)
    parts = list(zip(*batches, strict=True)) or [()] * 5
    code, post, thread, visual = (
        np.array([word for text in column for word in text.encode().split(b"\n")], dtype=np.bytes_)
        for column in parts[:4]
    )
    place = np.frombuffer("".join(parts[4]).encode(), dtype=np.uint8) - np.uint8(ord("0"))
    order = np.argsort(code, kind="stable")
    return Formulas(code[order], post[order], thread[order], place[order], visual[order])


def latex_of(collection_id: int, ids: Iterable[str], *, is_visual: bool) -> dict[str, str]:
    """The LaTeX of formulas by their ids, or of one formula of each visual id. One query."""
    name = "visual" if is_visual else "code"
    wanted = Q(visual__in=ids) & ~Q(visual="") if is_visual else Q(code__in=ids)
    formulas = Formula.objects.filter(wanted, collection=collection_id).exclude(latex="")
    return dict(formulas.order_by(name, "pk").distinct(name).values_list(name, "latex"))


def last_ids() -> dict[str, int]:
    """The highest key of the table of each representation of formulas; 0 for an empty table."""
    last = {"latex": Formula.objects.aggregate(last=Max("id"))["last"] or 0}
    mathml = FormulaMathML.objects.aggregate(last=Max("id"))["last"] or 0
    return last | dict.fromkeys(FormulaMathML.Form.values, mathml)


def formula_counts(collection: Collection) -> dict[str, int]:
    """The numbers of formulas of a collection: in all, by place, and by representation.

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
    # The database groups visual ids by hashing; `count(DISTINCT)` would sort them.
    distinct = formulas.exclude(visual="").values("visual").annotate(n=Count("pk"))
    mathml = dict(collection.mathml.order_by().values_list("form").annotate(n=Count("pk")))
    return {
        "formulas": counts["n"],
        **{f"formulas in {place}s": counts[f"place_{number}"] for number, place in enumerate(PLACES)},
        "formulas as LaTeX": counts["latex"],
        **{f"formulas as {form.name}": mathml.get(form.value, 0) for form in FormulaMathML.Form},
        "formulas with a visual id": counts["visual"],
        "visually distinct formulas": distinct.count(),
    }


def formula_page(collection: Collection, code: str) -> FormulaPage | None:
    """The page of a formula; None if the collection does not have it. Seven queries."""
    formula = collection.formulas.filter(code=code).first()
    if formula is None:
        return None
    n_alike, alike = _similar_formulas(formula)
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


def _similar_formulas(formula: Formula) -> tuple[int, list[Instance]]:
    """The number of other formulas with the same visual id, at most `MAX_COUNTED` + 1, and some of them."""
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
