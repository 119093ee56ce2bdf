"""Collections, threads and documents for programs."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.test.utils import CaptureQueriesContext

from jobs import services as jobs
from tests.helpers.api import api, call
from tests.helpers.factories import (
    make_answer,
    make_collection,
    make_comment,
    make_document,
    make_organizer,
    make_track,
    make_user,
)

pytestmark = pytest.mark.django_db


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
    assert call(client, "GET", "job", requested.json()["id"]).json()["state"] == "done"
    assert call(client, "GET", "document", "posts", "1").json()["body"] == "<p>B</p>"
