"""The pages of threads: what they show, and their number of queries."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from assay.html import sanitize
from corpus.models import Author, Collection, Document, DocumentLink
from corpus.threads import selectors as thread_selectors
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_collection,
    make_comment,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.hostile import PAYLOADS
from tracks.models import Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def track() -> Track:
    return make_track(
        "algebra", collection=make_collection("posts"), topic_collection=make_collection("later")
    )


@pytest.fixture
def posts(track: Track) -> Collection:
    assert track.collection is not None
    return track.collection


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer())
    return client


def _page(client: Client, collection: Collection, docno: str) -> str:
    response = client.get(reverse("corpus:thread", args=[collection.slug, docno]))
    assert response.status_code == 200
    return str(response.content.decode())


def _text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


# -- a thread


def test_answers_are_ordered_by_score_and_the_accepted_one_is_marked(
    organizer: Client, posts: Collection
) -> None:
    question = make_document(posts, "1", accepted="11")
    for docno, score in (("10", 3), ("11", 5), ("12", None), ("13", 9)):
        make_answer(question, docno, score=score)

    html = _page(organizer, posts, "1")

    assert re.findall(r'<article class="[^"]*" id="post-(\d+)"', html) == ["1", "13", "11", "10", "12"]
    assert re.findall(r'<article class="[^"]*is-accepted" id="post-(\d+)"', html) == ["11"]
    assert html.count("Accepted answer") == 1


def test_post_shows_title_tags_score_day_user_and_docno(organizer: Client, posts: Collection) -> None:
    Author.objects.create(collection=posts, code="7", name="Emmy <N>", reputation=12345)
    make_document(
        posts,
        "1",
        title=sanitize.clean_title("Is $x<y$?"),
        tags=["algebra"],
        score=42,
        author_code="7",
        published_at=datetime(2015, 3, 2, tzinfo=UTC),
    )

    html = _page(organizer, posts, "1")

    assert "<title>Is $x&lt;y$? · posts · Assay</title>" in html
    assert (
        '<h1><span>Is <span class="math-container" data-display="inline">x&lt;y</span>?</span></h1>' in html
    )
    assert "<bdi>Emmy &lt;N&gt;</bdi>, reputation 12,345 · <time" in " ".join(html.split())
    api = organizer.get(reverse("api:thread", args=[posts.slug, "1"])).json()
    assert api["question"]["reputation"] == 12345
    assert all(part in _text(html) for part in ("42 score", "2015-03-02", "algebra", "Thread 1"))


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"author_code": "7", "author_name": "old name"}, "Emmy"),
        ({"author_code": "8", "author_name": "Ada"}, "Ada"),
        ({"author_code": "9"}, "user 9"),
        ({"author_name": "gone"}, "gone"),
        ({}, ""),
    ],
)
def test_author_has_the_best_name_that_the_collection_gives(
    organizer: Client, posts: Collection, fields: dict[str, str], shown: str
) -> None:
    Author.objects.create(collection=posts, code="7", name="Emmy")
    make_document(posts, "1", **fields)

    author = re.search(r'<span class="post-by">(.*?)</span>', _page(organizer, posts, "1"), re.DOTALL)
    assert author is not None
    assert _text(author[1]) == shown


def test_comments_after_the_fifth_are_folded(organizer: Client, posts: Collection) -> None:
    question = make_document(posts, "1")
    for n in range(7):
        make_comment(question, text=f"remark {n}", published_at=datetime(2015, 1, 7 - n, tzinfo=UTC))

    before, after = _page(organizer, posts, "1").split('<details class="more-comments"')

    assert re.findall(r"remark \d", before) == [f"remark {n}" for n in (6, 5, 4, 3, 2)]
    assert re.findall(r"remark \d", after) == ["remark 1", "remark 0"]
    assert "2 more comments" in after


def test_links_of_posts_and_comments_lead_to_local_threads(organizer: Client, posts: Collection) -> None:
    other = make_document(posts, "2")
    make_answer(other, "20")
    body = '<a href="https://math.stackexchange.com/a/20">x</a> <a href="https://math.stackexchange.com/q/404">y</a>'
    question = make_document(posts, "1", body=sanitize.clean_body(body))
    make_comment(question, text=sanitize.clean_comment("[z](http://math.stackexchange.com/q/2/9)"))

    html = _page(organizer, posts, "1")

    assert (
        '<a class="local-link" href="/collections/posts/threads/2/#post-20" target="_blank" rel="noopener">x</a>'
        in html
    )
    assert (
        '<a class="local-link" href="/collections/posts/threads/2/" target="_blank" rel="noopener">z</a>'
        in html
    )
    assert (
        '<span class="external-link" title="External link to math.stackexchange.com, not followed">y' in html
    )


def test_neighbors_are_shown_by_kind_in_both_directions_and_once(
    organizer: Client, posts: Collection
) -> None:
    here, *others = [make_document(posts, docno) for docno in ("1", "2", "3", "4")]
    pairs = [(here, others[0], "duplicate"), (others[0], here, "related"), (others[1], here, "duplicate")]
    pairs += [(here, others[2], "related"), (others[2], here, "related")]
    for source, target, kind in pairs:
        DocumentLink.objects.create(source=source, target=target, kind=kind)

    thread = thread_selectors.thread_page(posts, "1")

    assert thread is not None
    duplicates = [(neighbor.docno, neighbor.is_outgoing) for neighbor in thread.duplicates]
    assert duplicates == [("2", True), ("3", False)]
    assert [neighbor.docno for neighbor in thread.related] == ["4"]
    html = _page(organizer, posts, "1")
    assert (
        html.index("Duplicates") < html.index("Title of 2") < html.index("Related") < html.index("Title of 4")
    )


def test_link_within_a_thread_makes_no_neighbor(posts: Collection) -> None:
    question = make_document(posts, "1")
    DocumentLink.objects.create(source=question, target=make_answer(question, "11"), kind="related")

    thread = thread_selectors.thread_page(posts, "1")

    assert thread is not None
    assert thread.related == []


def test_document_is_rendered_without_its_thread_and_with_its_links(posts: Collection) -> None:
    document = make_document(posts, "1", body=sanitize.clean_body('<a href="/q/1">here</a>'), tags=["a"])

    rendered = thread_selectors.render_document(document)

    assert 'href="/collections/posts/threads/1/"' in rendered.body
    assert (rendered.title, rendered.tags) == ("Title of 1", ["a"])


def test_docno_of_an_answer_redirects_to_its_thread(organizer: Client, posts: Collection) -> None:
    make_answer(make_document(posts, "1"), "11")

    response = organizer.get(reverse("corpus:thread", args=["posts", "11"]))

    assert response.status_code == 302
    assert response["Location"] == "/collections/posts/threads/1/#post-11"


def test_answers_whose_question_is_missing_are_shown(organizer: Client, posts: Collection) -> None:
    make_document(posts, "11", kind=Document.Kind.ANSWER, thread="1", title="")

    html = _page(organizer, posts, "1")

    assert "The question 1 is missing from the collection." in html
    assert 'id="post-11"' in html


def test_unknown_docno_is_not_found(organizer: Client, posts: Collection) -> None:
    assert organizer.get(reverse("corpus:thread", args=["posts", "404"])).status_code == 404


def test_long_thread_needs_as_many_queries_as_a_short_one(
    posts: Collection, django_assert_num_queries: Callable[[int], Any]
) -> None:
    question = make_document(
        posts, "1", author_code="7", body='<a data-host="" data-post="1" data-thread="1">x</a>'
    )
    answers = [
        Document(collection=posts, docno=f"a{n}", kind="answer", thread="1", body=f"<p>{n}</p>", score=n % 50)
        for n in range(500)
    ]
    Document.objects.bulk_create(answers)
    for answer in answers[:20]:
        make_comment(answer, author_code="7")
    DocumentLink.objects.create(source=question, target=make_document(posts, "2"), kind="related")

    with django_assert_num_queries(5):
        thread = thread_selectors.thread_page(posts, "1")

    assert thread is not None
    assert len(thread.answers) == 500


# -- hostile content

ICON = re.compile(
    r'<svg class="i" aria-hidden="true"><use href="/static/vendor/icons.svg#[a-z0-9-]+"/></svg>'
)


def test_hostile_content_adds_no_script_to_the_page(organizer: Client, posts: Collection) -> None:
    pages = {}
    for number, payload in enumerate(PAYLOADS):
        fields = {"title": sanitize.clean_title(payload), "body": sanitize.clean_body(payload)}
        name = payload.replace("\x00", "")[:50]
        question = make_document(posts, str(number), tags=[name], author_name=name, **fields)
        make_comment(question, text=sanitize.clean_comment(payload))
        pages[payload] = ICON.sub("", _page(organizer, posts, str(number)))

    elements = re.compile(r"<(iframe|object|embed|svg|form action|style|meta http|base)\b")
    scripts = {payload: len(re.findall(r"<script\b", html)) for payload, html in pages.items()}
    assert {payload: n for payload, n in scripts.items() if n != 7} == {}
    assert {payload for payload, html in pages.items() if elements.search(html)} == set()
    assert {
        payload for payload, html in pages.items() if "evil.example/" in re.sub(r">[^<]*<", "><", html)
    } == set()


# -- topics


def test_links_of_a_topic_lead_only_into_collections_that_the_user_may_read(
    client: Client, track: Track
) -> None:
    assert track.collection is not None
    assert track.topic_collection is not None
    make_document(track.collection, "1")
    make_document(track.topic_collection, "2")
    body = '<a href="https://math.stackexchange.com/q/1">one</a> <a href="https://math.stackexchange.com/q/2">two</a>'
    topic = make_topic(track, "A.1", body=sanitize.clean_body(body))

    links = {}
    for name, user in (("assessor", make_assessor(track)), ("stranger", make_user())):
        client.force_login(user)
        html = client.get(reverse("tracks:topic", args=[track.slug, topic.code])).content.decode()
        links[name] = re.findall(r'<a class="local-link" href="([^"]*)"', html)

    assert links["assessor"] == ["/collections/posts/threads/1/", "/collections/later/threads/2/"]
    assert links["stranger"] == ["/collections/posts/threads/1/"]


def test_thread_of_a_forum_shows_its_posts_in_order_and_arabic_from_right_to_left(
    organizer: Client, posts: Collection
) -> None:
    """Without formulas, tags and scores it has neither their button nor their columns."""
    make_document(posts, "t:1", kind=Document.Kind.THREAD, title="Owls", body="")
    for number in (2, 10, 9):
        make_document(
            posts, f"t:1:p{number}", kind=Document.Kind.POST, thread="t:1", language="arz", body="<p>x</p>"
        )

    html = _page(organizer, posts, "t:1")

    assert re.findall(r'<article class="[^"]*" id="post-([^"]+)"', html) == ["t:1:p2", "t:1:p10", "t:1:p9"]
    assert len(re.findall(r'<div class="post-body" dir="rtl"\s+lang="arz">', html)) == 3
    assert "3 posts" in _text(html)
    assert "score" not in _text(html).partition("Owls")[2]
    assert "Show LaTeX" not in html
    page = organizer.get(posts.get_absolute_url()).content.decode()
    assert "Owls" in page
    assert ("Tags</th>" in page, "Score</th>" in page) == (False, False)
    make_document(posts, "q", tags=["owls"], score=0, body='<p><span class="math-container">x</span></p>')
    page = organizer.get(posts.get_absolute_url()).content.decode()
    assert ("Tags</th>" in page, "Score</th>" in page) == (True, True)
    assert "Show LaTeX" in _page(organizer, posts, "q")
