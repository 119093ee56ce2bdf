"""About, contact, terms and privacy: texts of the software until an organizer publishes others."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from tests.helpers.factories import make_organizer, make_user
from tracks.models import SitePage

pytestmark = pytest.mark.django_db


def publish(text: str, revision: int = 0, action: str = "publish") -> Any:
    client = Client()
    client.force_login(make_organizer())
    form = {"text": text, "revision": revision, "action": action}
    return client.post("/privacy/edit/", form, follow=True)


def test_every_page_has_a_text_and_is_linked_in_the_footer(client: Client) -> None:
    home = client.get("/").content.decode()

    for name in SitePage.Name.values:
        assert f'href="/{name}/"' in home
        assert "<p>" in client.get(f"/{name}/").content.decode().split("guidelines-text")[1]


def test_published_text_replaces_the_first_and_is_sanitized(client: Client) -> None:
    publish("# Data\n\n[Write](javascript:alert(1)) <script>alert(1)</script> **us**")

    page = client.get("/privacy/").content.decode()

    assert "<h2>Data</h2>" in page
    assert "<strong>us</strong>" in page
    assert "<script>alert" not in page
    assert 'href="javascript' not in page


@pytest.mark.parametrize(
    ("text", "revision", "message"),
    [
        ("One", 1, "The text is the same as before."),
        ("Two", 0, "Somebody else published"),
        (" ", 1, "is empty"),
    ],
)
def test_publication_is_refused_with_the_reason(text: str, revision: int, message: str) -> None:
    publish("One")

    response = publish(text, revision)

    assert response.status_code == 409
    assert message in response.content.decode()
    assert SitePage.objects.count() == 1


def test_preview_publishes_nothing() -> None:
    assert "<em>Draft</em>" in publish("*Draft*", action="preview").content.decode()
    assert not SitePage.objects.exists()


def test_database_keeps_versions() -> None:
    publish("One")

    with pytest.raises(IntegrityError, match="is kept"), transaction.atomic():
        SitePage.objects.update(text="Other")


def test_only_organizers_write(client: Client) -> None:
    client.force_login(make_user())

    assert (
        client.post("/privacy/edit/", {"text": "Mine", "revision": 0, "action": "publish"}).status_code == 403
    )
