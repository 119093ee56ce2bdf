"""The pages of tracks, topics and protocols, and the front page."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.helpers.factories import (
    make_assessor,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tracks.models import Track

pytestmark = pytest.mark.django_db


def test_only_organizers_see_a_draft(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    addresses = [reverse(f"tracks:{name}", args=[track.slug]) for name in ("track", "topics")]

    as_visitor = [client.get(address).status_code for address in addresses]
    client.force_login(make_user())
    as_stranger = [client.get(address).status_code for address in addresses]
    client.force_login(make_organizer())
    as_organizer = [client.get(address).status_code for address in addresses]

    assert (as_visitor, as_stranger, as_organizer) == ([404, 404], [404, 404], [200, 200])


def test_open_track_shows_everyone_how_it_is_judged_and_scored(client: Client) -> None:
    track = make_track()

    page = client.get(track.get_absolute_url()).content.decode()

    assert "Sufficient to answer the complete question on its own." in page
    assert "AP(rel=2)&#x27;" in page
    assert "50 of primary, 20 of alternate runs" in page
    assert page.count('<dl class="facts') == 1, "two lists have columns of different widths"


def test_organizer_opens_and_closes_a_track(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    make_topic(track, "A.1")
    client.force_login(make_organizer())

    client.post(reverse("tracks:open_track", args=[track.slug]))
    track.refresh_from_db()
    opened = track.status
    client.post(reverse("tracks:close_track", args=[track.slug]))
    track.refresh_from_db()

    assert (opened, track.status) == ("open", "closed")


@pytest.mark.parametrize("name", ["open_track", "close_track"])
def test_only_organizers_open_and_close_a_track(client: Client, name: str) -> None:
    track = make_track()
    address = reverse(f"tracks:{name}", args=[track.slug])

    assert client.post(address).status_code == 302, "redirects to the login page"
    client.force_login(make_assessor(track))
    assert client.post(address).status_code == 403
    client.force_login(make_organizer())
    assert client.get(address).status_code == 405


def test_program_gets_a_refusal_as_json(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    client.force_login(make_organizer())

    answer = client.post(
        reverse("tracks:open_track", args=[track.slug]), headers={"accept": "application/json"}
    )

    assert answer.status_code == 409
    assert answer.json()["detail"] == f"{track} has no topics yet. Import its topic file first."


def test_front_page_without_tracks_says_what_to_do(client: Client) -> None:
    as_visitor = client.get("/").content.decode()
    client.force_login(make_organizer())
    as_organizer = client.get("/").content.decode()

    assert "No campaign is open for runs now." in as_visitor
    assert "Import a collection" in as_organizer


def test_unknown_url_gets_a_page(client: Client) -> None:
    answer = client.get("/tracks/none/")

    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()
