"""Topics of a draft that are written, edited and deleted on the site."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_protocol, make_topic, make_track
from tracks.models import Topic, Track

pytestmark = pytest.mark.django_db

NEW = {
    "code": "A.1",
    "title": "Sum of $n$ numbers",
    "body": "# Why\n\nIs $$1 + 2$$ *known*? <script>x</script>",
    "markup": "markdown",
    "tags": "sums, , limits",
    "label-category": "proof",
    "scenario": "A student asks.",
}


@pytest.fixture
def track(db: None) -> Track:
    return make_track("lab", status=Track.Status.DRAFT)


@pytest.fixture
def organizer(client: Client, track: Track) -> Client:
    client.force_login(make_organizer())
    return client


def write(client: Client, **fields: str) -> str:
    return client.post(reverse("tracks:new_topic", args=["lab"]), NEW | fields, follow=True).content.decode()


def test_organizer_writes_a_topic_in_markdown(organizer: Client, track: Track) -> None:
    page = write(organizer)

    topic = track.topics.get()
    assert "Topic A.1 is written." in page
    assert topic.title == 'Sum of <span class="math-container" data-display="inline">n</span> numbers'
    assert "<em>known</em>" in topic.body
    assert '<span class="math-container" data-display="block">1 + 2</span>' in topic.body
    assert "<script" not in topic.body
    assert (topic.tags, topic.labels, topic.scenario) == (
        ["sums", "limits"],
        {"category": "proof"},
        "A student asks.",
    )
    assert set(Event.objects.values_list("action", flat=True)) == {"topic.written", "topic.edited"}


def test_body_can_be_html(organizer: Client, track: Track) -> None:
    write(organizer, markup="html", body="<p>Is <b>$x$</b>?</p><script>x</script>")

    html = track.topics.get().body
    assert html == '<p>Is <b><span class="math-container" data-display="inline">x</span></b>?</p>'


def test_preview_stores_nothing(organizer: Client, track: Track) -> None:
    empty = organizer.get(reverse("tracks:new_topic", args=["lab"])).content.decode()
    page = write(organizer, action="preview")

    assert "DatabaseDefault" not in empty
    assert '<div id="preview">' in page
    assert "<em>known</em>" in page
    assert not track.topics.exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"code": "A 1"}, "A topic&#x27;s code has 1 to 400 bytes without white space"),
        ({"code": "all"}, "A topic cannot be named &#x27;all&#x27;"),
        ({"code": "A.9"}, "lab has a topic A.9 already; choose another code."),
        ({"title": "", "body": ""}, "Enter a title or a body."),
        ({"label-category": "poem"}, "“poem” is not in it"),
    ],
)
def test_topic_that_cannot_be_used_is_refused(
    organizer: Client, track: Track, fields: dict[str, str], words: str
) -> None:
    make_topic(track, "A.9")

    assert words in write(organizer, **fields)
    assert track.topics.count() == 1


def test_protocol_of_formulas_needs_a_formula(organizer: Client, track: Track) -> None:
    Track.objects.update(protocol=make_protocol("arqmath-2021-task2"))

    without = write(organizer, **{"label-complexity": "low"})
    write(organizer, latex="x^2", formula_id="q_1")

    assert "arqmath-2021-task2 needs a formula in each topic: enter its LaTeX." in without
    assert track.topics.get().latex == "x^2"


def test_topic_of_a_draft_is_edited_and_deleted(organizer: Client, track: Track) -> None:
    topic = make_topic(track, "A.1", labels={"category": "proof"})
    address = reverse("tracks:edit_topic", args=["lab", "A.1"])

    form = organizer.get(address).content.decode()
    organizer.post(address, {"title": "New", "body": "<p>b</p>", "markup": "html", "tags": "a,b"})
    topic.refresh_from_db()
    deleted = organizer.post(
        reverse("tracks:delete_topic", args=["lab", "A.1"]), follow=True
    ).content.decode()

    assert "&lt;p&gt;Body of A.1.&lt;/p&gt;" in form
    assert (topic.title, topic.body, topic.tags, topic.labels) == ("New", "<p>b</p>", ["a", "b"], {})
    assert "Topic A.1 is deleted." in deleted
    assert not Topic.objects.exists()


def test_topic_of_an_opened_track_keeps_its_text(organizer: Client, track: Track) -> None:
    topic = make_topic(track, "A.1")
    Track.objects.update(status=Track.Status.OPEN)

    form = organizer.get(reverse("tracks:edit_topic", args=["lab", "A.1"])).content.decode()
    refused = write(organizer, code="A.2")
    deleted = organizer.post(reverse("tracks:delete_topic", args=["lab", "A.1"]))
    client = api(make_organizer())
    changed = call(client, "PATCH", "topic", "lab", "A.1", data={"title": "Other"})
    labeled = call(client, "PATCH", "topic", "lab", "A.1", data={"labels": {"category": "proof"}})

    assert 'name="title"' not in form
    assert (
        "No topic can be added any more"
        in organizer.get(reverse("tracks:new_topic", args=["lab"])).content.decode()
    )
    assert "only the topics of a draft can change" in refused
    assert (deleted.status_code, changed.status_code, labeled.status_code) == (409, 409, 200)
    topic.refresh_from_db()
    assert (topic.title, topic.labels) == ("Title of A.1", {"category": "proof"})


def test_program_writes_edits_and_deletes_topics(track: Track) -> None:
    client: Any = api(make_organizer())
    content = {"code": "A.1", "title": "One $x$", "tags": ["a"], "labels": {"category": "proof"}}

    made = call(client, "POST", "topics", "lab", data=content)
    edited = call(client, "PATCH", "topic", "lab", "A.1", data={"body": "<p>b<script>x</script></p>"})
    deleted = call(client, "DELETE", "topic", "lab", "A.1")

    assert (made.status_code, made.json()["labels"]) == (201, {"category": "proof"})
    assert edited.json()["body"] == "<p>b</p>"
    assert deleted.status_code == 204
