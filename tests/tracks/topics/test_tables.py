"""Topics in tables and under the names that other collections use; on the page."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.helpers.factories import make_organizer, make_track
from tracks.models import Topic, Track

pytestmark = pytest.mark.django_db


def topics_after(client: Client, content: bytes, protocol: str = "trec-adhoc") -> tuple[str, list[Topic]]:
    """The page after the import of a file, and the topics."""
    client.force_login(make_organizer())
    track = make_track(protocol=protocol, status=Track.Status.DRAFT)
    data = {"upload": SimpleUploadedFile("topics", content), "holds": "topics"}
    page = client.post(reverse("tracks:import_topics", args=[track.slug]), data, follow=True)
    return page.content.decode(), list(track.topics.order_by("code"))


@pytest.mark.parametrize(
    ("content", "code", "title", "body"),
    [
        (b'qid\ttitle\turl\tdescription\nq 1\tx\tu\ty\n', "", "", ""),
        (b'Topic-ID\ttopic_title\turl\tdescription\nt1\t"5" d"\tu\tIs 1 < 2?\n', "t1", '"5" d"', "<p>Is 1 &lt; 2?</p>"),
        (b'\xef\xbb\xbfid,query\r\nt1,"a, ""b"""\r\n', "t1", 'a, "b"', ""),
        (b'{"_id": "t1", "text": "tidal power", "metadata": {}}\n', "t1", "tidal power", ""),
        (b'{"qid": 7, "query": "tides", "description": "All of them."}\n', "7", "tides", "<p>All of them.</p>"),
        (b'{"code": "t1", "text": "tidal power"}\n', "t1", "", "<p>tidal power</p>"),
        (b'{"code": "t1", "title": "a visa, a national id, a long title, and so on"}\n',
         "t1", "a visa, a national id, a long title, and so on", ""),
        (b'\r\nid,title\r\n\r\nt1,a,\r\n', "t1", "a", ""),
    ],
)  # fmt: skip
def test_topics_under_usual_names_are_imported(
    client: Client, content: bytes, code: str, title: str, body: str
) -> None:
    page, topics = topics_after(client, content)

    assert [(topic.code, topic.title, topic.body) for topic in topics] == (
        [(code, title, body)] if code else []
    )
    if b"url" in content and code:
        assert "columns whose names are not known were left out: url" in page
    if not code:
        assert "line 2: a topic&#x27;s code has 1 to 100 bytes without white space" in page


def test_text_with_a_separator_that_is_not_quoted_is_refused(client: Client) -> None:
    page, topics = topics_after(client, b"code,title\n1,cats\n2,cats, dogs and mice\n")

    assert (
        "line 3: expected 2 columns as in the header, got 3; put a text with separators in quotation" in page
    )
    assert topics == []


def test_table_of_formulas_is_imported(client: Client) -> None:
    _, topics = topics_after(client, b"id\tlatex\tquery\nf1\tx^2\tsquares\n", "ntcir-10-math")

    assert [(topic.code, topic.latex, topic.title) for topic in topics] == [("f1", "x^2", "squares")]
