"""Formulas of a collection as columns, and their counts."""

from typing import Any

import numpy as np
import pytest

from assay.formulas.columns import Formulas
from corpus.formulas.selectors import BATCH, formula_counts, formulas_of
from corpus.models import Collection, Formula
from tests.helpers.factories import make_collection

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    """Five formulas, and one with the same id in another collection."""
    collection, other = make_collection(), make_collection()
    rows = [("10", "v1", 1), ("9", "v2", 3), ("é:1,a", "v1", 2), ("7", "", 0), ("8", "v3", 2)]
    for code, visual, place in rows:
        Formula.objects.create(
            collection=collection, code=code, post=f"p{code}", thread="t", place=place, visual=visual
        )
    Formula.objects.create(collection=other, code="10", post="elsewhere", thread="t", place=1, visual="v1")
    return collection


def ids(*names: str) -> np.ndarray[Any, Any]:
    return np.array([name.encode() for name in names], dtype=np.bytes_)


def rows(formulas: Formulas) -> list[tuple[str, str, int, str]]:
    columns = (formulas.formula, formulas.post, formulas.place, formulas.visual)
    return [(a.decode(), b.decode(), int(c), d.decode()) for a, b, c, d in zip(*columns, strict=True)]


def test_formulas_are_sorted_by_the_bytes_of_their_ids(collection: Collection) -> None:
    formulas = formulas_of(collection.pk, ids("é:1,a", "9", "10", "none", "9"))

    assert rows(formulas) == [("10", "p10", 1, "v1"), ("9", "p9", 3, "v2"), ("é:1,a", "pé:1,a", 2, "v1")]
    assert formulas.rows(ids("9", "none")).tolist() == [1, -1]


def test_no_ids_give_no_formulas(collection: Collection) -> None:
    assert len(formulas_of(collection.pk, np.empty(0, dtype="S1"))) == 0
    assert len(formulas_of(collection.pk, ids("none"))) == 0


def test_many_ids_need_few_queries(collection: Collection, django_assert_num_queries: Any) -> None:
    many = np.array([str(i).encode() for i in range(2 * BATCH + 1)])

    with django_assert_num_queries(3):
        formulas = formulas_of(collection.pk, many)

    assert [code for code, *_ in rows(formulas)] == ["10", "7", "8", "9"]


def test_formulas_are_counted_by_place_and_visual_id(collection: Collection) -> None:
    counts = formula_counts(collection)

    assert (counts["formulas"], counts["formulas in comments"], counts["formulas as LaTeX"]) == (5, 1, 0)
    assert (counts["formulas with a visual id"], counts["visually distinct formulas"]) == (4, 3)
    assert formula_counts(make_collection()) == {}
