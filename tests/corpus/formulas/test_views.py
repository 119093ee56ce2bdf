"""The page of a formula, with the formulas that look like it, and the search for an id."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from assay.formats.documents.batch import AGAIN
from assay.formats.documents.dump import Chunk
from assay.formats.documents.index_rows import convert
from assay.formats.documents.indexes import Index
from corpus.formulas.selectors import formula_counts
from corpus.formulas.storing import FormulaStore
from corpus.models import Collection, Formula, FormulaMathML
from tests.helpers.factories import (
    make_collection,
    make_comment,
    make_document,
    make_organizer,
    make_track,
    make_user,
)

pytestmark = pytest.mark.django_db

SPAN = '<span class="math-container" data-formula-id="{0}" data-display="inline">x</span>'


@pytest.fixture
def collection() -> Collection:
    """A question with formulas in its title, its body and a comment, and a formula of a missing post."""
    collection = make_collection("math")
    body = f"<p>Let {SPAN.format('f2')} be.</p><p>Other words.</p>"
    question = make_document(collection, "4", title=f"On {SPAN.format('f1')}", body=body)
    make_comment(question, "77", text=f"Why {SPAN.format('f3')}?")
    for number, (post, place, visual) in enumerate(
        [("4", 0, "v1"), ("4", 1, "v1"), ("4", 3, "v1"), ("9", 2, "")], 1
    ):
        Formula.objects.create(
            collection=collection,
            code=f"f{number}",
            post=post,
            thread="4",
            place=place,
            visual=visual,
            latex="x<y",
        )
    FormulaMathML.objects.create(
        collection=collection, form="slt", code="f1", content="<math><mi>x</mi></math>"
    )
    collection.counts = formula_counts(collection)
    collection.save()
    return collection


@pytest.fixture
def page(client: Client, collection: Collection) -> Client:
    client.force_login(make_organizer())
    return client


def shown(client: Client, code: str) -> str:
    answer = client.get(reverse("corpus:formula", args=["math", code]))
    assert answer.status_code == 200
    return answer.content.decode()


def marked(code: str) -> str:
    return f'<span class="math-container is-marked" data-formula-id="{code}"'


@pytest.mark.parametrize(("code", "words"), [("f1", "On "), ("f2", "<p>Let "), ("f3", "Why ")])
def test_formula_is_marked_in_its_context(page: Client, code: str, words: str) -> None:
    content = shown(page, code)

    assert words + marked(code) in content
    assert "Other words." not in content
    assert "x&lt;y" in content
    assert reverse("corpus:thread", args=["math", "4"]) in content


def test_page_lists_the_formulas_that_look_alike(page: Client) -> None:
    content = shown(page, "f1")

    assert "2 other formulas look like it" in content
    assert reverse("corpus:formula", args=["math", "f2"]) in content
    assert "&lt;math&gt;&lt;mi&gt;x&lt;/mi&gt;&lt;/math&gt;" in content


def test_formula_of_a_missing_post_and_no_visual_id_is_shown(page: Client) -> None:
    content = shown(page, "f4")

    assert "which is not in the collection" in content
    assert "none yet" in content
    assert "look like it" not in content


def test_page_needs_a_bounded_number_of_queries(page: Client, django_assert_max_num_queries: object) -> None:
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        shown(page, "f1")


def test_unknown_formula_is_not_found(page: Client) -> None:
    assert page.get(reverse("corpus:formula", args=["math", "f9"])).status_code == 404


def test_search_redirects_to_the_formula_or_shows_an_error(page: Client) -> None:
    known = page.get(reverse("corpus:find_formula", args=["math"]), {"formula": " f1 "})
    unknown = page.get(reverse("corpus:find_formula", args=["math"]), {"formula": "<f9>"})

    assert known["Location"] == reverse("corpus:formula", args=["math", "f1"])
    assert unknown.status_code == 404
    assert "This collection has no formula with the id" in unknown.content.decode()
    assert "&lt;f9&gt;" in unknown.content.decode()
    assert "Imports" in unknown.content.decode()


def test_collection_shows_the_counts_of_its_formulas(page: Client) -> None:
    content = page.get(reverse("corpus:collection", args=["math"])).content.decode()

    places = "1 in titles, 1 in questions, 1 in answers, 1 in comments"
    assert f"{places}, 4 as LaTeX, 1 as SLT, 1 visually distinct" in content
    assert 'action="/collections/math/find-formula/"' in content


def test_collection_without_formulas_has_no_search_for_them(client: Client) -> None:
    collection = make_collection()
    client.force_login(make_organizer())

    content = client.get(reverse("corpus:collection", args=[collection.slug])).content.decode()

    assert "Show formula</button>" not in content


def test_formula_is_visible_to_those_who_may_read_the_collection(
    client: Client, collection: Collection
) -> None:
    address = reverse("corpus:formula", args=["math", "f1"])
    client.force_login(make_user())
    assert client.get(address).status_code == 404

    make_track(collection=collection)
    assert client.get(address).status_code == 200


def test_formula_whose_id_has_special_characters_has_a_page(page: Client, collection: Collection) -> None:
    code = "Kähler_manifold:3,a/b?c#d"
    Formula.objects.create(collection=collection, code=code, post="4", thread="4", place=2)

    assert "The formula has no LaTeX" in shown(page, code)


def rows(numbers: Iterable[int], latex: bytes = b"x") -> bytes:
    return b"".join(b"%d\t5\t4\tanswer\t7\t%s\n" % (number, latex) for number in numbers)


@pytest.mark.parametrize("pages", [0, 40], ids=["unknown", "believed empty"])
@pytest.mark.parametrize("latex", [b"x", b"y"], ids=["again", "other"])
def test_rows_are_found_by_the_index_whatever_the_statistics_say(latex: bytes, pages: int) -> None:
    collection = make_collection("math", status=Collection.Status.EMPTY)
    store = FormulaStore(collection.pk, Index("latex", 2), last_id=0)
    many, few = rows(range(3000)), rows(range(500, 520), latex)

    with connection.cursor() as cursor:
        # of the rows that an earlier test had when PostgreSQL looked at the table
        cursor.execute(
            "SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited) "
            "FROM pg_stats WHERE tablename = 'corpus_formula'"
        )
        cursor.execute(
            "SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', 'corpus_formula', "
            "'relpages', %s, 'reltuples', %s::real)",
            [pages, 0 if pages else -1],
        )
        for data in (many, few):
            n_read = _rows_read(cursor)
            skipped, _ = store.store(cursor, Chunk(data, 0, len(data), 1), convert(data, "formulas-latex-v2"))

        assert skipped == {AGAIN: 20}
        assert _rows_read(cursor) - n_read < 200, "rows of other formulas were read"
        assert Formula.objects.filter(collection=collection, latex=latex.decode()).count() >= 20


def _rows_read(cursor: Any) -> int:
    cursor.execute(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'corpus_formula'"
    )
    return int(cursor.fetchone()[0])
