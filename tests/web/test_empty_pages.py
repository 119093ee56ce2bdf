"""Pages without content yet."""

from collections import Counter

import lxml.html
import pytest
from django.test import Client

from tests.helpers.factories import make_organizer, make_track

pytestmark = pytest.mark.django_db
PAGES = [
    ("/collections/", "Import a collection"),
    ("/imports/", "Import files"),
    ("/tracks/lab/topics/", "Import topics"),
    ("/tracks/lab/topics/", "Write a topic"),
    ("/tracks/lab/candidates/", "Import candidates"),
    ("/tracks/lab/pools/", "Build a pool"),
    ("/tracks/lab/qrels/", "Import qrels"),
    ("/tracks/lab/qrels/", "Freeze qrels"),
]


@pytest.mark.parametrize(("path", "button"), PAGES)
def test_empty_page_offers_each_action_once(client: Client, path: str, button: str) -> None:
    if path.startswith("/tracks/"):
        make_track("lab", status="draft")
    client.force_login(make_organizer())

    page = lxml.html.document_fromstring(client.get(path).content)

    (panel,) = page.find_class("empty")
    for line in page.find_class("next-line"):  # of every page of a track
        line.drop_tree()
    buttons = [link for link in page.find(".//main").iter("a") if "btn" in link.classes]
    assert button in [" ".join(link.text_content().split()) for link in panel.iter("a")]
    assert max(Counter(link.get("href") for link in buttons).values()) == 1
