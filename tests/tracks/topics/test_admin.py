"""Topics in the admin: their labels."""

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.helpers.factories import make_organizer, make_topic, make_track

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ('{"category": "proof"}', ""),
        ("", ""),
        ('{"color": "red"}', "unknown label 'color'; use "),
        ('{"category": "poem"}', "is not allowed; use computation, concept, proof"),
        ('["proof"]', "Labels must be a JSON object of strings"),
        ('{"category": null}', "Labels must be a JSON object of strings"),
        ('{"category": "\\u0000"}', "is not allowed"),
        ("{", "Enter a valid JSON"),
        ('{"category": %s}' % ("1" * 5000), "A number has too many digits"),
        ("[" * 3000 + "]" * 3000, "nested too deeply"),
    ],
)
def test_topic_accepts_the_labels_that_its_protocol_defines(
    client: Client, organizer: User, labels: str, message: str
) -> None:
    topic = make_topic(make_track(), "A.1")

    answer = client.post(
        reverse("admin:tracks_topic_change", args=[topic.pk]), {"labels": labels, "thread": ""}
    )

    assert (answer.status_code == 302) is (not message)
    assert unescape(message) in unescape(answer.content.decode())
