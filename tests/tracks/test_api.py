"""Tracks and topics for programs."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
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
