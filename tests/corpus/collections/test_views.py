"""The pages of collections: what they show, and who may see them."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from corpus.models import Collection, Document
from jobs import services as jobs
from participation.models import Team
from tests.helpers.api import api, call
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_collection,
    make_comment,
    make_document,
    make_organizer,
    make_track,
    make_user,
)
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


def _participant(track: Track) -> Any:
    user = make_user()
    team = Team.objects.create(track=track, name="Team")
    team.members.add(user)
    return user


def _text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_all_users_read_the_searched_collection_and_only_assessors_the_threads_of_topics(
    track: Track,
) -> None:
    cast = {
        "organizer": (make_organizer(), 200, 200),
        "assessor": (make_assessor(track), 200, 200),
        "participant": (_participant(track), 200, 404),
        "stranger": (make_user(), 200, 404),
        "visitor": (None, 302, 302),
    }
    pages = []
    for collection in (track.collection, track.topic_collection):
        assert collection is not None
        make_document(collection, "1")
        pages.append([reverse("corpus:thread", args=[collection.slug, "1"]), collection.get_absolute_url()])
        pages[-1].append(reverse("corpus:find", args=[collection.slug]) + "?docno=nothing")

    for name, (user, *expected) in cast.items():
        client = Client()
        if user:
            client.force_login(user)
        for (thread, page, find), status in zip(pages, expected, strict=True):
            assert client.get(thread).status_code == status, (name, thread)
            assert client.get(page).status_code == status, (name, page)
            assert client.get(find).status_code == (404 if user else 302), (name, find)


@pytest.mark.parametrize(
    ("status", "track_status", "expected"),
    [
        (Collection.Status.READY, Track.Status.OPEN, 200),
        (Collection.Status.READY, Track.Status.CLOSED, 200),
        (Collection.Status.READY, Track.Status.DRAFT, 404),
        (Collection.Status.IMPORTING, Track.Status.OPEN, 404),
        (Collection.Status.INCOMPLETE, Track.Status.OPEN, 404),
    ],
)
def test_stranger_reads_a_ready_collection_of_an_open_or_closed_track(
    client: Client, status: str, track_status: str, expected: int
) -> None:
    collection = make_collection(status=status)
    make_track(collection=collection, status=track_status)
    client.force_login(make_user())

    assert client.get(collection.get_absolute_url()).status_code == expected


def test_only_organizers_read_a_collection_without_a_track(client: Client) -> None:
    collection = make_collection()
    client.force_login(make_user())

    assert client.get(collection.get_absolute_url()).status_code == 404


def test_imports_are_shown_to_organizers_only(client: Client, posts: Collection) -> None:
    client.force_login(make_user())
    assert "Imports" not in client.get(posts.get_absolute_url()).content.decode()

    client.force_login(make_organizer())
    assert "Imports" in client.get(posts.get_absolute_url()).content.decode()


@pytest.mark.parametrize("docno", ["a/b/c.html", "Ünï:cödé,1", "with space", "a#b?c&d", "<b>", "%2F"])
def test_docno_may_contain_any_characters(organizer: Client, posts: Collection, docno: str) -> None:
    document = make_document(posts, docno, kind=Document.Kind.DOCUMENT, title="")

    response = organizer.get(reverse("corpus:find", args=["posts"]), {"docno": docno})

    assert response.status_code == (302 if docno.strip() == docno else 404)
    assert f"Body of {document.docno}" in organizer.get(response["Location"]).content.decode()


def test_threads_are_paged_by_the_bytes_of_their_docnos(organizer: Client, posts: Collection) -> None:
    for n in range(60):
        question = make_document(posts, f"q{n:02}", title=f"Thread number {n:02}")
        make_answer(question, f"q{n:02}a")

    first = organizer.get(posts.get_absolute_url()).content.decode()
    second = organizer.get(posts.get_absolute_url(), {"after": "q49"}).content.decode()

    assert re.findall(r"Thread number (\d\d)", first) == [f"{n:02}" for n in range(50)]
    assert "?after=q49#threads" in first
    assert re.findall(r"Thread number (\d\d)", second) == [f"{n:02}" for n in range(50, 60)]
    assert 'rel="next"' not in second


def test_plain_documents_have_no_threads_and_no_formulas(organizer: Client, posts: Collection) -> None:
    make_document(posts, "LT-1", kind=Document.Kind.DOCUMENT, title="Harbor")
    headings = []
    for counts in ({"documents": 1}, {"questions": 1, "formulas": 3, "formulas in questions": 3}):
        Collection.objects.filter(pk=posts.pk).update(counts=counts)
        page = organizer.get(posts.get_absolute_url()).content.decode()
        heading = re.search(r'<h2 id="threads">(.*?)</h2>', page)
        headings.append((heading and heading[1], "Show formulas" in page))

    assert headings == [("Documents", False), ("Threads", True)]


def test_page_of_a_collection_describes_the_collection(organizer: Client, posts: Collection) -> None:
    Collection.objects.filter(pk=posts.pk).update(
        license="CC BY-SA 4.0", description="Posts.", counts={"questions": 1234, "answers": 5, "documents": 0}
    )

    text = _text(organizer.get(posts.get_absolute_url()).content.decode())

    assert "1,234 questions, 5 answers" in text
    assert "documents" not in text.split("Contents")[1].split("License")[0]
    assert "CC BY-SA 4.0" in text
    assert "math.stackexchange.com" in text
    assert "No documents yet." in text


def test_search_for_an_unknown_docno_shows_an_error(organizer: Client, posts: Collection) -> None:
    response = organizer.get(reverse("corpus:find", args=["posts"]), {"docno": " <x> "})

    assert response.status_code == 404
    assert '<span class="mono">&lt;x&gt;</span>' in response.content.decode()


def test_member_reads_a_thread_by_any_of_its_posts() -> None:
    posts = make_collection("posts")
    make_track("arq", collection=posts)
    question = make_document(posts, "7", title="A title", tags=["a"], accepted="8")
    answer = make_answer(question, "8", score=3)
    for n in range(7):
        make_comment(answer, str(n))
    client = api(make_user())

    thread = call(client, "GET", "thread", "posts", "8").json()
    document = call(client, "GET", "document", "posts", "8").json()

    assert (thread["docno"], thread["question"]["title"]) == ("7", "A title")
    assert thread["answers"][0]["is_accepted"]
    assert len(thread["answers"][0]["comments"]) == 7
    assert (document["thread"], document["body"]) == ("7", "<p>Body of 8.</p>")
    assert call(client, "GET", "thread", "posts", "9").status_code == 404


def test_collection_of_topics_stays_hidden() -> None:
    own = make_collection("topics")
    make_track("arq", topic_collection=own)
    make_document(own, "1")
    stranger, organizer = api(make_user()), api(make_organizer())

    for name, arguments in (("collection", []), ("threads", []), ("thread", ["1"]), ("document", ["1"])):
        assert call(stranger, "GET", name, "topics", *arguments).status_code == 404
        assert call(organizer, "GET", name, "topics", *arguments).status_code == 200


@pytest.mark.parametrize(("name", "arguments"), [("collections", []), ("threads", ["c0"])])
def test_lists_make_as_many_queries_for_many_rows(name: str, arguments: list[str]) -> None:
    client = api(make_organizer())
    counts = []
    for n in range(4):
        posts = make_collection(f"c{n}")
        make_document(posts)
        make_document(make_collection(f"d{n}") if n else posts)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            response = call(client, "GET", name, *arguments)
        counts.append(len(queries))

    assert response.status_code == 200
    assert len(set(counts[1:])) == 1


def test_organizer_imports_a_file_into_a_new_collection(tmp_path: Path, settings: LazySettings) -> None:
    settings.MEDIA_ROOT = tmp_path
    client = api(make_organizer())
    documents = SimpleUploadedFile("d.jsonl", b'{"docno": "1", "title": "A", "body": "<p>B</p>"}\n')
    file = encode_multipart(BOUNDARY, {"slug": "posts", "name": "Posts", "files": [documents]})

    requested = call(client, "POST", "import_collection", data=file, content_type=MULTIPART_CONTENT)
    empty = call(client, "POST", "import_collection", data={"slug": "posts"})
    jobs.run(requested.json()["id"])

    assert (requested.status_code, requested["Location"]) == (202, requested.json()["url"])
    assert empty.status_code == 400
    assert call(client, "GET", "job", requested.json()["id"]).json()["status"] == "done"
    assert call(client, "GET", "document", "posts", "1").json()["body"] == "<p>B</p>"
