"""The page of a protocol."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from assay.protocols.description import facts
from assay.protocols.loader import load_protocol, shipped_slugs
from tests.helpers.factories import make_track

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("slug", shipped_slugs())
def test_protocol_is_described_on_its_page_and_its_tracks(client: Client, slug: str) -> None:
    track = make_track(protocol=slug)

    for address in (reverse("tracks:protocol", args=[slug]), reverse("tracks:track", args=[track.slug])):
        page = client.get(address).content.decode()

        for heading, words in facts(load_protocol(slug)):
            assert f"<dt>{heading}</dt><dd>{escape(words)}</dd>" in page


def test_protocol_is_shown_and_downloaded(client: Client) -> None:
    track = make_track()
    address = reverse("tracks:protocol", args=[track.protocol.slug])

    page, toml = client.get(address), client.get(address, {"format": "toml"})

    assert track.protocol.digest in page.content.decode()
    assert toml.content.decode() == track.protocol.text
