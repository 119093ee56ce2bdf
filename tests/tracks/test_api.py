"""Tracks and topics for programs."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.test.utils import CaptureQueriesContext

from assay.protocols.loader import shipped_text
from tests.helpers.api import api, call
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_organizer,
    make_protocol,
    make_topic,
    make_track,
    make_user,
)
from tracks.models import Track

pytestmark = pytest.mark.django_db


def test_everyone_reads_an_open_track_and_nobody_else_a_draft() -> None:
    make_topic(make_track("arq", name="ARQ"))
    make_track("draft", status=Track.Status.DRAFT)

    track = call(api(None), "GET", "track", "arq").json()
    listed = [each["slug"] for each in call(api(None), "GET", "tracks").json()["results"]]

    assert listed == ["arq"]
    assert (track["protocol"], track["collection"], track["n_topics"]) == (
        "arqmath-2020-task1",
        "arq-posts",
        1,
    )
    assert {kind["kind"]: kind["is_accepting"] for kind in track["kinds"]} == {
        "primary": True,
        "alternate": True,
    }
    assert call(api(make_user()), "GET", "track", "draft").status_code == 404
    assert call(api(make_organizer()), "GET", "track", "draft").status_code == 200


def test_organizer_opens_and_closes_a_track() -> None:
    track = make_track("arq", status=Track.Status.DRAFT)
    client = api(make_organizer())

    without_topics = call(client, "POST", "open_track", "arq")
    make_topic(track)
    statuses = [call(client, "POST", name, "arq").json()["status"] for name in ("open_track", "close_track")]

    assert (without_topics.status_code, without_topics.json()["code"]) == (409, "track-refused")
    assert without_topics.json()["detail"] == "arq has no topics yet. Import its topic file first."
    assert statuses == ["open", "closed"]


def test_parts_of_topics_are_hidden_as_on_the_page() -> None:
    track = make_track("bolt", protocol="bolt-ir-p3")
    make_topic(track, "B.1", title="A query", narrative="<p>Rules.</p>")
    assessor = make_assessor(track)

    seen = [
        (topic["title"], topic["narrative"])
        for client in (api(None), api(assessor))
        for topic in (
            call(client, "GET", "topics", "bolt").json()["results"][0],
            call(client, "GET", "topic", "bolt", "B.1").json(),
        )
    ]

    assert seen == [("A query", "")] * 2 + [("A query", "<p>Rules.</p>")] * 2


@pytest.mark.parametrize(("name", "arguments"), [("tracks", []), ("topics", ["t0"])])
def test_lists_make_as_many_queries_for_many_rows(name: str, arguments: list[str]) -> None:
    client = api(make_organizer())
    counts = []
    for n in range(4):
        track = make_track(f"t{n}")
        make_topic(track)
        if n:
            make_topic(Track.objects.get(slug="t0"))
        with CaptureQueriesContext(connection) as queries:
            response = call(client, "GET", name, *arguments)
        counts.append(len(queries))

    assert response.status_code == 200
    assert len(set(counts[1:])) == 1


def test_organizer_prepares_a_track(tmp_path: Path, settings: LazySettings) -> None:
    settings.MEDIA_ROOT = tmp_path
    client, posts = api(make_organizer()), make_collection("posts")
    protocol = make_protocol().slug
    make_user("ada")
    new = {"slug": "arq", "name": "ARQ", "protocol": protocol, "collection": "posts"}
    topics = SimpleUploadedFile("topics.jsonl", b'{"code": "A.1", "title": "Which?"}\n')
    file = encode_multipart(BOUNDARY, {"file": topics})

    created = call(client, "POST", "tracks", data=new)
    again = call(client, "POST", "tracks", data=new)
    imported = call(client, "POST", "import_topics", "arq", data=file, content_type=MULTIPART_CONTENT)
    assessor = call(client, "POST", "assessors", "arq", data={"username": "ada"})
    nobody = call(client, "POST", "assessors", "arq", data={"username": "nobody"})

    assert (created.status_code, created["Location"]) == (201, "/api/v1/tracks/arq/")
    assert created.json()["collection"] == posts.slug
    assert again.status_code == 400
    assert imported.json()["result"].startswith("1 topic")
    assert assessor.json()["username"] == "ada"
    assert nobody.json()["errors"][0]["message"] == "There is nobody named nobody."


def test_organizer_changes_a_track_unless_somebody_was_faster() -> None:
    track = make_track("arq", status=Track.Status.DRAFT)
    client = api(make_organizer())
    read = call(client, "GET", "track", "arq")

    renamed = call(client, "PATCH", "track", "arq", data={"name": "New"}, headers={"If-Match": read["ETag"]})
    late = call(client, "PATCH", "track", "arq", data={"name": "Old"}, headers={"If-Match": read["ETag"]})
    unknown = call(client, "PATCH", "track", "arq", data={"collection": "nothing"})
    Track.objects.update(status=Track.Status.OPEN)
    fixed = call(client, "PATCH", "track", "arq", data={"collection": None})

    assert (renamed.json()["name"], renamed.json()["collection"]) == ("New", "arq-posts")
    assert late.status_code == 412
    assert unknown.json()["errors"][0]["message"] == "There is no collection named nothing."
    assert (fixed.status_code, fixed.json()["code"]) == (409, "track-refused")
    track.refresh_from_db()
    assert track.name == "New"


def test_organizer_adds_a_protocol() -> None:
    client = api(make_organizer())
    text = shipped_text("arqmath-2020-task1").replace('slug = "arqmath-2020-task1"', 'slug = "own"')

    added = call(client, "POST", "protocols", data={"text": text})
    wrong = call(client, "POST", "protocols", data={"text": "x = 1"})
    read = call(api(None), "GET", "protocol", "own").json()

    assert (added.status_code, read["text"]) == (201, text)
    assert wrong.status_code == 422
