"""The pages of formulas: one formula, those that look like it, and the way from an id to it."""

import pytest
from django.test import Client
from django.urls import reverse

from corpus.formulas.selectors import formula_counts
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
    """A question with a title, a body and a comment, and formulas in each; one of a post that is not there."""
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
def test_formula_is_shown_marked_where_it_stands(page: Client, code: str, words: str) -> None:
    content = shown(page, code)

    assert words + marked(code) in content
    assert "Other words." not in content
    assert "x&lt;y" in content
    assert reverse("corpus:thread", args=["math", "4"]) in content


def test_formula_names_those_that_look_like_it(page: Client) -> None:
    content = shown(page, "f1")

    assert "2 others look like it" in content
    assert reverse("corpus:formula", args=["math", "f2"]) in content
    assert "&lt;math&gt;&lt;mi&gt;x&lt;/mi&gt;&lt;/math&gt;" in content


def test_formula_of_a_missing_post_and_no_visual_id_is_shown(page: Client) -> None:
    content = shown(page, "f4")

    assert "which is not in the collection" in content
    assert "not known yet" in content
    assert "look like it" not in content


def test_page_asks_a_bounded_number_of_queries(page: Client, django_assert_max_num_queries: object) -> None:
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        shown(page, "f1")


def test_formula_that_is_not_there_is_404(page: Client) -> None:
    assert page.get(reverse("corpus:formula", args=["math", "f9"])).status_code == 404


def test_id_leads_to_its_formula_or_back_with_a_word(page: Client) -> None:
    found = page.get(reverse("corpus:find_formula", args=["math"]), {"formula": " f1 "})
    lost = page.get(reverse("corpus:find_formula", args=["math"]), {"formula": "<f9>"})

    assert found["Location"] == reverse("corpus:formula", args=["math", "f1"])
    assert lost.status_code == 404
    assert "No formula of this collection has the id" in lost.content.decode()
    assert "&lt;f9&gt;" in lost.content.decode()
    assert "Imports" in lost.content.decode()


def test_collection_says_what_formulas_it_has(page: Client) -> None:
    content = page.get(reverse("corpus:collection", args=["math"])).content.decode()

    assert (
        "in titles 1, questions 1, answers 1, comments 1; as LaTeX 4, SLT 1; visually distinct 1" in content
    )
    assert 'action="/collections/math/find-formula/"' in content


def test_collection_without_formulas_says_nothing_of_them(client: Client) -> None:
    collection = make_collection()
    client.force_login(make_organizer())

    content = client.get(reverse("corpus:collection", args=[collection.slug])).content.decode()

    assert "Go to a formula" not in content


def test_formulas_are_for_those_who_may_read_the_collection(client: Client, collection: Collection) -> None:
    address = reverse("corpus:formula", args=["math", "f1"])
    client.force_login(make_user())
    assert client.get(address).status_code == 404

    make_track(collection=collection)
    assert client.get(address).status_code == 200


def test_ids_with_odd_characters_have_a_page(page: Client, collection: Collection) -> None:
    code = "Kähler_manifold:3,a/b?c#d"
    Formula.objects.create(collection=collection, code=code, post="4", thread="4", place=2)

    assert "Its LaTeX is not known" in shown(page, code)
