"""What is known of the formulas of a collection: columns for pooling and scoring, counts and pages for people."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from django.db import connection
from django.db.models import Count, Max, Q
from django.utils.safestring import SafeString
from numpy.typing import NDArray

from assay.formulas.columns import PLACES, Formulas
from assay.html.highlight import around, mark
from corpus.models import Collection, Comment, Formula, FormulaMathML
from corpus.threads.selectors import addresses, resolve_links

BATCH = 20_000  # ids in one query
SHOWN = 50  # formulas that look alike, on the page of one
MOST_COUNTED = 10_000  # single letters have hundreds of thousands
Row = tuple[str, str, str, str, str]  # columns of many formulas, each one text


def formulas_of(collection_id: int, ids: NDArray[np.bytes_]) -> Formulas:
    """Those of some formula instances that the collection has, whatever their order and number. Some queries."""
    return _columns(_rows(collection_id, np.unique(ids)))


def _rows(collection_id: int, ids: NDArray[np.bytes_]) -> Iterator[Row]:
    """Columns of some formulas, a batch at a time. Ids have no line ends, so these part them: a row a formula from
    the database takes twice as long."""
    words = [one.decode() for one in ids.tolist()]
    with connection.cursor() as cursor:
        for start in range(0, len(words), BATCH):
            cursor.execute(_COLUMNS, [collection_id, words[start : start + BATCH]])
            found = cursor.fetchone()
            if found[0] is not None:
                yield found


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
    """The highest key of each table of formulas, by what its formulas are written in; 0 where there is none."""
    last = {"latex": Formula.objects.aggregate(last=Max("id"))["last"] or 0}
    mathml = FormulaMathML.objects.aggregate(last=Max("id"))["last"] or 0
    return last | dict.fromkeys(FormulaMathML.Form.values, mathml)


def formula_counts(collection: Collection) -> dict[str, int]:
    """How many formulas a collection has: in all, by where they stand, and by what they are written in.

    Three queries that read every formula: half a minute for 28 million.
    """
    formulas = collection.formulas.order_by()
    found: dict[str, int] = formulas.aggregate(
        **{f"place_{number}": Count("pk", Q(place=number)) for number in range(len(PLACES))},
        n=Count("pk"),
        latex=Count("pk", ~Q(latex="")),
        visual=Count("pk", ~Q(visual="")),
    )
    if not found["n"]:
        return {}
    mathml = dict(collection.mathml.order_by().values_list("form").annotate(n=Count("pk")))
    return {
        "formulas": found["n"],
        **{f"formulas in {place}s": found[f"place_{number}"] for number, place in enumerate(PLACES)},
        "formulas as LaTeX": found["latex"],
        **{f"formulas as {form.name}": mathml.get(form.value, 0) for form in FormulaMathML.Form},
        "formulas with a visual id": found["visual"],
        "visually distinct formulas": n_distinct(collection),
    }


def n_distinct(collection: Collection) -> int:
    """How many visual ids a collection has. The database groups them by hashing, which `count(DISTINCT)` does not."""
    formulas = collection.formulas.order_by().exclude(visual="")
    return formulas.values("visual").annotate(n=Count("pk")).count()


def counts_kept(collection: Collection) -> dict[str, int]:
    """What was counted of a collection's formulas when some were last imported or clustered. No query."""
    return {word: n for word, n in collection.counts.items() if "formulas" in word}


class Instance(NamedTuple):
    """A formula in a list of those that look alike. `address` is empty where the collection has not its post."""

    code: str
    latex: str
    place: str
    post: str
    address: str


def counts_in_words(collection: Collection) -> list[tuple[str, list[str]]]:
    """What a collection's page says of its formulas: in all, where they stand, what they are written in."""
    counts = counts_kept(collection)
    lines = [
        ("in", [(f"{place}s", counts.get(f"formulas in {place}s", 0)) for place in PLACES]),
        (
            "as",
            [(form, counts.get(f"formulas as {form}", 0)) for form in ("LaTeX", *FormulaMathML.Form.names)],
        ),
        ("visually", [("distinct", counts.get("visually distinct formulas", 0))]),
    ]
    said = [(word, [f"{what} {n:,}" for what, n in parts if n]) for word, parts in lines]
    return [(word, parts) for word, parts in said if parts]


def formula_page(collection: Collection, code: str) -> dict[str, object] | None:
    """All that a formula's page shows; None if the collection has no such formula. Seven queries."""
    formula = collection.formulas.filter(code=code).first()
    if formula is None:
        return None
    n, alike = _alike(formula)
    return {
        "collection": collection,
        "formula": formula,
        "address": addresses(collection, [formula.post]).get(formula.post, ""),
        "excerpt": _excerpt(collection, formula),
        "markups": [(one.get_form_display(), one.content) for one in collection.mathml.filter(code=code)],
        "alike": alike,
        "n_alike": n,
        "is_more": n > MOST_COUNTED,
    }


def has_formula(collection: Collection, code: str) -> bool:
    return collection.formulas.filter(code=code).exists()


def _excerpt(collection: Collection, formula: Formula) -> SafeString:
    """The paragraph, title or comment that the formula stands in, with the formula marked; empty if it is not found."""
    document = collection.documents.filter(docno=formula.post).only("title", "body").first()
    if document is None:
        return SafeString("")
    if formula.place == Formula.Place.TITLE:
        found = around(document.title, formula.code)
    elif formula.place == Formula.Place.COMMENT:
        comment = Comment.objects.filter(document=document, text__contains=f'"{formula.code}"').first()
        found = mark(comment.text, formula.code) if comment else ""
    else:
        found = around(document.body, formula.code)
    return resolve_links([found], [collection])[0]


def _alike(formula: Formula) -> tuple[int, list[Instance]]:
    """How many other formulas have its visual id, counted to some bound, and some of them."""
    if not formula.visual:
        return 0, []
    collection = formula.collection
    others = collection.formulas.filter(visual=formula.visual).exclude(code=formula.code).order_by()
    found = list(others[:SHOWN])
    n = others[: MOST_COUNTED + 1].count() if len(found) == SHOWN else len(found)
    where = addresses(collection, [one.post for one in found])
    rows = [
        Instance(one.code, one.latex, one.get_place_display(), one.post, where.get(one.post, ""))
        for one in found
    ]
    return n, sorted(rows, key=lambda one: (len(one.code), one.code))
