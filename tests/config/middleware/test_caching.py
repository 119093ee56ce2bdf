"""Pages with private data are in no cache."""

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from config.pages import documentation
from tests.helpers.factories import make_organizer, make_topic, make_track

pytestmark = pytest.mark.django_db


def cache_control(client: Client, address: str) -> str:
    return client.get(address).headers.get("Cache-Control", "")


def test_pages_of_a_user_are_not_stored_and_public_pages_are(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path)
    (tmp_path / "index.html").write_text("The documentation")
    track = make_track()
    topic = make_topic(track, "A.1")
    pages = ["/", track.get_absolute_url(), reverse("tracks:topic", args=[track.slug, topic.code])]
    public = [cache_control(client, page) for page in pages]
    client.force_login(make_organizer())

    private = [cache_control(client, page) for page in [*pages, "/account/", "/admin/", "/nowhere/"]]

    assert public == ["", "", ""]
    assert all("no-store" in each and "private" in each for each in private)
    assert cache_control(client, reverse("documentation")) == "", "the same for everybody"
