"""What is known of the formulae of a collection: columns for pooling and scoring, counts and pages for people."""

from collections.abc import Iterator

import numpy as np
from django.db import connection
from django.db.models import Count, Max, Q
from numpy.typing import NDArray

from corpus.formulae import PLACES, Formulae
from corpus.models import Collection, Formula, FormulaMathML

BATCH = 20_000  # ids in one query
Row = tuple[str, str, str, int, str]


def formulae_of(collection_id: int, ids: NDArray[np.bytes_]) -> Formulae:
    """Those of some formula instances that the collection has, whatever their order and number. Some queries."""
    return _columns(_rows(collection_id, "code", np.unique(ids)))


def instances_of(collection_id: int, visuals: NDArray[np.bytes_]) -> Formulae:
    """All instances of some visually distinct formulae. Some queries; single letters have hundreds of thousands."""
    named = np.unique(visuals)
    return _columns(_rows(collection_id, "visual", named[named != b""]))


def _rows(collection_id: int, key: str, values: NDArray[np.bytes_]) -> Iterator[Row]:
    words = [value.decode() for value in values.tolist()]
    statement = (
        "SELECT code, post, thread, place, visual FROM corpus_formula "  # noqa: S608 - our own names
        f"WHERE collection_id = %s AND {key} = ANY(%s)" + (" AND visual <> ''" if key == "visual" else "")
    )
    with connection.cursor() as cursor:
        for start in range(0, len(words), BATCH):
            cursor.execute(statement, [collection_id, words[start : start + BATCH]])
            yield from cursor.fetchall()


def _columns(rows: Iterator[Row]) -> Formulae:
    columns = list(zip(*rows, strict=True)) or [()] * 5
    code, post, thread, visual = (
        np.array([value.encode() for value in columns[i]], dtype=np.bytes_) for i in (0, 1, 2, 4)
    )
    order = np.argsort(code, kind="stable")
    place = np.array(columns[3], dtype=np.uint8)
    return Formulae(code[order], post[order], thread[order], place[order], visual[order])


def last_ids() -> dict[str, int]:
    """The highest key of each table of formulae, by what its formulae are written in; 0 where there is none."""
    last = {"latex": Formula.objects.aggregate(last=Max("id"))["last"] or 0}
    mathml = FormulaMathML.objects.aggregate(last=Max("id"))["last"] or 0
    return last | dict.fromkeys(FormulaMathML.Form.values, mathml)


def formula_counts(collection: Collection) -> dict[str, int]:
    """How many formulae a collection has: in all, by where they stand, and by what they are written in.

    Three queries that read every formula: half a minute for 28 million.
    """
    formulae = collection.formulae.order_by()
    found: dict[str, int] = formulae.aggregate(
        **{f"place_{number}": Count("pk", Q(place=number)) for number in range(len(PLACES))},
        n=Count("pk"),
        latex=Count("pk", ~Q(latex="")),
        visual=Count("pk", ~Q(visual="")),
    )
    if not found["n"]:
        return {}
    mathml = dict(collection.mathml.order_by().values_list("form").annotate(n=Count("pk")))
    return {
        "formulae": found["n"],
        **{f"formulae in {place}s": found[f"place_{number}"] for number, place in enumerate(PLACES)},
        "formulae as LaTeX": found["latex"],
        **{f"formulae as {form.name}": mathml.get(form.value, 0) for form in FormulaMathML.Form},
        "formulae with a visual id": found["visual"],
        "visually distinct formulae": n_distinct(collection),
    }


def n_distinct(collection: Collection) -> int:
    """How many visual ids a collection has. The database groups them by hashing, which `count(DISTINCT)` does not."""
    formulae = collection.formulae.order_by().exclude(visual="")
    return formulae.values("visual").annotate(n=Count("pk")).count()


def counts_kept(collection: Collection) -> dict[str, int]:
    """What was counted of a collection's formulae when some were last imported or clustered. No query."""
    return {word: n for word, n in collection.counts.items() if "formulae" in word}
