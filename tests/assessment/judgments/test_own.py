"""The assessor's own judgments: search, filters and pages."""

from typing import Any

import lxml.html
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from assessment.judgments import selectors
from assessment.models import Judgment
from corpus.models import Document
from tests.assessment.conftest import Scene
from tests.helpers.judging import accept, judge
from tracks.models import Topic

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged(scene: Scene) -> Scene:
    """Ada's judgments: high, low "No proof." and do-not-know "Needs topology." in A.1; high in A.2."""
    for choice, comment in (
        ("high", ""),
        ("low", "No proof."),
        ("do-not-know", "Needs topology."),
        ("high", ""),
    ):
        judge(accept(scene.batch, scene.ada), choice, comment)
    return scene


def client_of(scene: Scene) -> Client:
    client = Client()
    client.force_login(scene.ada)
    return client


def own(scene: Scene, client: Client | None = None, **query: str) -> Any:
    client = client or client_of(scene)
    return client.get(reverse("assessment:own_judgments", args=[scene.batch.pk]), query)


def rows(page: Any) -> list[tuple[str, str]]:
    return [(judgment.topic.code, judgment.choice) for judgment, *_ in page.context["judgments"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"topic": "A.2"}, [("A.2", "high")]),
        ({"choice": "high"}, [("A.2", "high"), ("A.1", "high")]),
        ({"commented": "on"}, [("A.1", "do-not-know"), ("A.1", "low")]),
        ({"q": "TOPOLOGY"}, [("A.1", "do-not-know")]),
        ({"q": "title of a.2"}, [("A.2", "high")]),
        ({"q": "lemma"}, [("A.1", "high")]),
        ({"topic": "A.1", "choice": "high", "commented": "on"}, []),
    ],
)
def test_own_judgments_are_filtered_and_searched(
    judged: Scene, query: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    first = Judgment.objects.order_by("pk").values("task__entry__document")[:1]
    Document.objects.filter(pk__in=first).update(title="A lemma")

    page = own(judged, **query)

    assert rows(page) == expected
    assert ("No judgments match." in page.content.decode()) == (not expected)


def test_own_judgments_are_found_by_docno_and_by_day(judged: Scene) -> None:
    latest = Judgment.objects.latest("pk")
    days = [
        f"{moment:%Y-%m-%d}"
        for moment in Judgment.objects.order_by("pk").values_list("created_at", flat=True)
    ]

    assert rows(own(judged, q=latest.docno)) == [("A.2", "high")]
    assert len(rows(own(judged, since=days[0], until=days[-1]))) == 4
    assert rows(own(judged, until="2020-01-01")) == rows(own(judged, since="2999-01-01")) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"since": "soon"}, "Enter a day such as 2026-05-01."),
        ({"topic": "Z.9"}, "“Z.9” is not in it"),
    ],
)
def test_wrong_filter_is_answered_and_the_others_still_apply(
    judged: Scene, query: dict[str, str], message: str
) -> None:
    page = own(judged, choice="low", **query)

    assert page.status_code == 400
    assert message in page.content.decode()
    assert rows(page) == [("A.1", "low")]


def test_pages_keep_the_filter_and_take_the_same_queries(
    judged: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(judged)
    with CaptureQueriesContext(connection) as all_on_one_page:
        own(judged, client, choice="high")
    monkeypatch.setattr(selectors, "PAGE", 1)

    with CaptureQueriesContext(connection) as one_row:
        page = own(judged, client, choice="high", page="2")

    assert rows(page) == [("A.1", "high")]
    assert "choice=high&amp;page=1" in page.content.decode()
    assert len(one_row) == len(all_on_one_page) <= 8


def test_own_judgments_are_grouped_by_topic_with_first_words_and_comments_below_choices(
    judged: Scene,
) -> None:
    Topic.objects.update(title="Sums of cubes")
    Document.objects.update(title="", body="<p>By induction on $n$.</p>")

    html = own(judged).content.decode()

    lines = lxml.html.document_fromstring(html).xpath("//main//table/tbody/tr")
    texts = [[" ".join(cell.text_content().split()) for cell in line] for line in lines]
    topics = [row for row in texts if len(row) == 1]
    judgments = [row for row in texts if len(row) > 1]
    assert topics == [["A.2 Sums of cubes"], ["A.1 Sums of cubes"]]
    assert all(row[0].endswith("By induction on n.") for row in judgments)
    assert [row[1] for row in judgments] == ["High", "Do not know Needs topology.", "Low No proof.", "High"]
