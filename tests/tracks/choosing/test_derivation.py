"""Topics of a formula task are derived from the topics of a track of questions."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_topic, make_track
from tracks.models import Track

pytestmark = pytest.mark.django_db


def formula(code: str, latex: str) -> str:
    return f'<span class="math-container" data-formula-id="{code}" data-display="inline">{latex}</span>'


@pytest.fixture
def track(settings: Any, tmp_path: Path) -> Track:
    """A draft of a formula task, next to a track of questions with three topics."""
    settings.MEDIA_ROOT = tmp_path
    source = make_track("questions")
    texts = {"title": f"Is {formula('q_1', 'x')} or {formula('q_2', 'x^2')}?", "thread": "77"}
    make_topic(source, "A.201", body=f"<p>{formula('q_3', 'a very long one')}</p>", **texts)
    body = f"<p>{formula('q_4', 'y')} {formula('q_5', 'y+1')}</p>"
    make_topic(source, "A.202", title="Why?", body=body)
    make_topic(source, "A.203", title="No formula", body="<p>None</p>")
    return make_track("formulas", protocol="arqmath-2021-task2", status=Track.Status.DRAFT)


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer())
    return client


def address() -> str:
    return f"{reverse('tracks:derive_topics', args=['formulas'])}?source=questions"


def test_formula_of_the_title_is_proposed_before_the_body(organizer: Client, track: Track) -> None:
    page = organizer.get(address()).content.decode()

    assert [line.split('"')[0] for line in page.split('value="q_')[1:] if "checked" in line[:60]] == [
        "2",
        "5",
    ]
    assert "1 topic without a formula left out." in page


def test_topics_are_derived_with_their_numbers_and_labels(organizer: Client, track: Track) -> None:
    fields = {"prefix": "B.", "formula-A.201": "q_1", "label-complexity-A.201": "low", "formula-A.202": ""}

    page = organizer.post(address(), fields, follow=True).content.decode()
    again = organizer.get(address()).content.decode()

    topic = track.topics.get()
    assert "1 topic derived from questions." in page
    assert "The formulas come from the topics of" in page
    assert (topic.code, topic.formula_id, topic.latex, topic.thread) == ("B.201", "q_1", "x", "77")
    assert (topic.labels, topic.tags) == ({"complexity": "low"}, ["algebra"])
    assert 'data-formula-id="q_3"' in topic.body
    track.refresh_from_db()
    assert track.derived_from is not None
    assert track.derived_from.slug == "questions"
    assert "derived as B.201" in again


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"formula-A.201": ""}, "No formula is picked"),
        ({"formula-A.201": "q_9"}, "Topic A.201 has no formula q_9."),
        (
            {"formula-A.201": "q_1", "label-complexity-A.201": "huge"},
            "complexity &#x27;huge&#x27; is not allowed",
        ),
    ],
)
def test_wrong_pick_is_refused(organizer: Client, track: Track, fields: dict[str, str], words: str) -> None:
    answer = organizer.post(address(), fields)

    assert answer.status_code == 409
    assert words in answer.content.decode()
    assert not track.topics.exists()


def test_only_a_draft_of_a_formula_task_takes_formulas(organizer: Client, track: Track) -> None:
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)
    opened = organizer.post(address(), {"formula-A.201": "q_1"})
    make_track("answers", status=Track.Status.DRAFT)
    other = f"{reverse('tracks:derive_topics', args=['answers'])}?source=questions"
    text = organizer.post(other, {"formula-A.201": "q_1"})

    assert "only the topics of a draft can change" in opened.content.decode()
    assert "asks for topics as text, not for formulas" in text.content.decode()


def test_program_derives_topics(track: Track) -> None:
    data = {"track": "questions", "formulas": {"A.202": "q_5"}, "labels": {"A.202": {"complexity": "high"}}}
    client = api(make_organizer())

    made = call(client, "POST", "derive_topics", "formulas", data=data | {"prefix": "F-"})
    unknown = call(client, "POST", "derive_topics", "formulas", data=data | {"track": "formulas"})

    assert made.json() == {
        "n_topics": 1, "topics": ["F-202"], "result": "1 topic derived from questions."
    }  # fmt: skip
    assert track.topics.get().code == "F-202"
    assert unknown.status_code == 400
