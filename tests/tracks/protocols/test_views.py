"""The page of a protocol."""

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from assay.protocols.description import facts
from assay.protocols.loader import load_protocol, shipped_slugs, shipped_text
from tests.helpers.factories import make_track
from tracks.models import StoredProtocol
from tracks.protocols.services import store

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


SLUG = "trec-adhoc"
EARLIER = shipped_text(SLUG).replace("max_ranks = 1000", "max_ranks = 500")


def test_earlier_text_that_nothing_uses_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    store(text=EARLIER, by=None, is_shipped=True)

    call_command("load_protocols")

    assert StoredProtocol.objects.get(slug=SLUG).text == shipped_text(SLUG)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_shipped", [True, False])
def test_text_of_a_track_or_an_organizer_is_kept_and_named(
    capsys: pytest.CaptureFixture[str], is_shipped: bool
) -> None:
    earlier = store(text=EARLIER, by=None, is_shipped=is_shipped)
    if is_shipped:
        make_track(protocol=SLUG)

    call_command("load_protocols")

    earlier.refresh_from_db()
    assert earlier.text == EARLIER
    assert StoredProtocol.objects.count() == len(shipped_slugs())
    assert f"{SLUG}: kept as it is stored" in capsys.readouterr().err
