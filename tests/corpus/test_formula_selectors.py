"""Formulae of a collection as columns: by id, and by what they look like."""

from typing import Any

import numpy as np
import pytest

from corpus.formula_selectors import (
    BATCH,
    formula_counts,
    formulae_of,
)
from corpus.formulae import Formulae
from corpus.models import Collection, Formula
from tests.factories import make_collection

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    """Five formulae, and one with the same id in another collection."""
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


def rows(formulae: Formulae) -> list[tuple[str, str, int, str]]:
    columns = (formulae.formula, formulae.post, formulae.place, formulae.visual)
    return [(a.decode(), b.decode(), int(c), d.decode()) for a, b, c, d in zip(*columns, strict=True)]


def test_formulae_come_by_id_sorted_by_bytes(collection: Collection) -> None:
    found = formulae_of(collection.pk, ids("é:1,a", "9", "10", "none", "9"))

    assert rows(found) == [("10", "p10", 1, "v1"), ("9", "p9", 3, "v2"), ("é:1,a", "pé:1,a", 2, "v1")]
    assert found.rows(ids("9", "none")).tolist() == [1, -1]


def test_no_ids_are_no_formulae(collection: Collection) -> None:
    assert len(formulae_of(collection.pk, np.empty(0, dtype="S1"))) == 0
    assert len(formulae_of(collection.pk, ids("none"))) == 0


def test_many_ids_are_asked_for_in_few_queries(
    collection: Collection, django_assert_num_queries: Any
) -> None:
    many = np.array([str(i).encode() for i in range(2 * BATCH + 1)])

    with django_assert_num_queries(3):
        found = formulae_of(collection.pk, many)

    assert [code for code, *_ in rows(found)] == ["10", "7", "8", "9"]


def test_counts_tell_places_and_visual_ids(collection: Collection) -> None:
    counts = formula_counts(collection)

    assert (counts["formulae"], counts["formulae in comments"], counts["formulae as LaTeX"]) == (5, 1, 0)
    assert (counts["formulae with a visual id"], counts["visually distinct formulae"]) == (4, 3)
    assert formula_counts(make_collection()) == {}
