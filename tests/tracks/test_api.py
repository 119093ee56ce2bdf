"""Tracks and topics for programs."""

from pathlib import Path
from typing import Any

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
from tests.helpers.row_scenes import make_row_track
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


def test_track_of_rows_has_nothing_to_open() -> None:
    make_row_track()
    Track.objects.update(status=Track.Status.DRAFT)
    track = Track.objects.get()

    refused = call(api(make_organizer()), "POST", "open_track", track.slug)

    assert refused.json()["detail"] == (
        f"{track} takes no runs, so there is nothing to open: open a batch, in which people judge."
    )


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
    shown = call(client, "GET", "track", "arq")
    again = call(client, "POST", "tracks", data=new)
    imported = call(client, "POST", "import_topics", "arq", data=file, content_type=MULTIPART_CONTENT)
    labels = SimpleUploadedFile("labels.csv", b"topic,split\nA.1,train\n")
    file = encode_multipart(BOUNDARY, {"file": labels, "holds": "labels"})
    labeled = call(client, "POST", "import_topics", "arq", data=file, content_type=MULTIPART_CONTENT)
    assessor = call(client, "POST", "assessors", "arq", data={"username": "ada"})
    nobody = call(client, "POST", "assessors", "arq", data={"username": "nobody"})

    assert (created.status_code, created["Location"]) == (201, "/api/v1/tracks/arq/")
    assert created.json() == shown.json()  # with what only its organizer sees
    assert created.json()["collection"] == posts.slug
    assert again.status_code == 400
    assert imported.json() == {
        "n_topics": 1, "n_new": 1, "n_changed": 0, "n_unchanged": 0, "n_removed": 0, "unmatched": [],
        "result": "1 topic: 1 new, 0 changed, 0 unchanged."
    }  # fmt: skip
    assert (labeled.json()["n_topics"], labeled.json()["n_new"]) == (1, None)
    assert assessor.json()["username"] == "ada"
    assert nobody.json()["errors"][0]["message"] == "There is nobody named nobody."


def test_every_error_of_a_topic_file_has_its_line(tmp_path: Path, settings: LazySettings) -> None:
    settings.MEDIA_ROOT = tmp_path
    track = make_track("arq", status=Track.Status.DRAFT)
    client, rows = (
        api(make_organizer()),
        [b'{"code": "a b"}', b"{", b'{"code": "A.1", "title": "Which?"}', b"[]"],
    )

    def sent(content: bytes, holds: str, name: str = "t.jsonl") -> list[dict[str, Any]]:
        file = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile(name, content), "holds": holds})
        response = call(client, "POST", "import_topics", "arq", data=file, content_type=MULTIPART_CONTENT)
        assert (response.status_code, track.topics.count()) == (422, 0)
        errors: list[dict[str, Any]] = response.json()["errors"]
        return errors

    assert [each["line"] for each in sent(b"\n".join(rows), "topics")] == [2, 4, 1]
    assert len(sent(b"{\n" * 40, "topics")) == 40
    [turn] = sent(b'[\n{"number": 1, "turn": [{"utterance": "Hi"}]}]', "topics")
    assert (turn["line"], turn["message"]) == (2, "a turn has no number; expected number or turn_id")
    [formula] = sent(b'{"code": "B.1", "formula_id": "q_1"}', "topics")
    assert (formula["line"], formula["message"][:23]) == (1, "topic B.1 is a formula;")
    [items] = sent(b"A.1\n", "known items", "k.tsv")
    assert items["message"] == "expected a topic and a docno, or the 4 columns of qrels, got 1"
    assert [each["line"] for each in sent(b"topic,category\nA.1\nA.2\n", "labels", "l.csv")] == [2, 3]


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
    wrong = call(client, "POST", "protocols", data={"text": 'title = "T"\nx = 1\nunit = "word"'})
    read = call(api(None), "GET", "protocol", "own").json()

    assert (added.status_code, read["text"]) == (201, text)
    errors = [(error["line"], error["key"]) for error in wrong.json()["errors"]]
    assert (wrong.status_code, errors[:2]) == (422, [(2, "x"), (3, "unit")])


def test_data_agreement_is_published_accepted_and_withdrawn() -> None:
    make_track("arq")
    organizer, member = api(make_organizer()), api(make_user(), "read", "runs")

    published = call(
        organizer, "POST", "publish_data_agreement", "arq", data={"text": "*Keep* it.", "revision": 0}
    ).json()
    stale = call(member, "POST", "accept_data_agreement", "arq", data={"revision": 0})
    accepted = call(member, "POST", "accept_data_agreement", "arq", data={"revision": 1}).json()
    withdrawn = call(organizer, "POST", "withdraw_data_agreement", "arq", data={"revision": 1}).json()

    assert (published["number"], published["accepted_at"]) == (1, None)
    assert "<em>Keep</em> it." in published["html"]
    assert (stale.status_code, stale.json()["code"]) == (409, "version-changed")
    assert accepted["accepted_at"] is not None
    assert accepted["sha256"] == published["sha256"]
    assert withdrawn["number"] == 0


def test_guidelines_are_drafted_and_published_for_the_assessors() -> None:
    track = make_track("arq")
    organizer, assessor = api(make_organizer()), api(make_assessor(track))
    address = "/api/v1/tracks/arq/guidelines/draft/"
    before = organizer.get(address)
    wrong = "::: example A.9 1 high\nNo.\n:::"

    saved = call(organizer, "PUT", "guidelines_draft", "arq", data={"text": "Judge well.", "revision": 0})
    overtaken = call(
        organizer,
        "PUT",
        "guidelines_draft",
        "arq",
        data={"text": "Judge.", "revision": 1},
        headers={"If-Match": before["ETag"]},
    )
    refused = call(organizer, "POST", "publish_guidelines", "arq", data={"text": wrong, "revision": 1})
    published = call(
        organizer, "POST", "publish_guidelines", "arq", data={"text": "Judge well.", "revision": 1}
    )
    read = call(assessor, "GET", "guidelines", "arq").json()["results"]

    assert (saved.json(), overtaken.status_code) == ({"text": "Judge well.", "revision": 1}, 412)
    assert (refused.status_code, refused.json()["code"]) == (409, "bad-examples")
    assert read == [published.json()]
    assert (read[0]["number"], read[0]["text"]) == (1, "Judge well.")


def test_track_is_cloned_with_its_assessors() -> None:
    make_assessor(make_track("arq"), "ada")
    client = api(make_organizer())
    names = {"name": "ARQ 2", "slug": "arq-2", "has_assessors": True}

    made = call(client, "POST", "clone_track", "arq", data=names)
    again = call(client, "POST", "clone_track", "arq", data=names)

    assert (made.status_code, made["Location"]) == (201, "/api/v1/tracks/arq-2/")
    assert made.json()["status"] == "draft"
    assert Track.objects.get(slug="arq-2").assessors.get().user.username == "ada"
    assert again.json()["errors"][0]["field"] == "slug"
