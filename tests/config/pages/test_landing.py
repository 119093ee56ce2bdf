"""The first page shows campaigns, leaderboards, and where somebody's work is."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from participation.teams import services as team_services
from scoring.models import Leaderboard, Qrels
from tests.helpers.factories import (
    PASSWORD,
    make_assessor,
    make_deadline,
    make_organizer,
    make_track,
    make_user,
)
from tracks.models import Track

pytestmark = pytest.mark.django_db


def publish(track: Track) -> Leaderboard:
    """A public leaderboard without runs."""
    organizer = make_organizer()
    fields = {"protocol_digest": "0" * 64, "created_by": organizer}
    counts = {"protocol": track.protocol, "n_topics": 0, "n_judged": 0}
    qrels = Qrels.objects.create(track=track, version=1, name="Final", **fields, **counts)
    ready: dict[str, object] = {"status": Leaderboard.Status.READY, "release": Leaderboard.Release.PUBLIC}
    ready |= {"measures": [], "released_at": timezone.now(), "released_by": organizer}
    return Leaderboard.objects.create(track=track, qrels=qrels, **fields, **ready)


def test_visitor_sees_open_campaigns_leaderboards_and_where_to_start(client: Client) -> None:
    make_track("arq", name="ARQ", description="Answers to questions")
    make_track("secret", name="Secret", status=Track.Status.DRAFT)
    board = publish(make_track("old", name="Old", status=Track.Status.CLOSED))

    page = client.get("/").content.decode()

    assert 'href="/tracks/arq/join/"' in page
    assert f'href="{board.get_absolute_url()}"' in page
    assert "Secret" not in page
    for role in ("participant", "assessor", "organizer", "researcher"):
        assert f'href="/help/roles/{role}.html"' in page


def test_next_deadline_and_newest_leaderboard_come_first(client: Client) -> None:
    make_track("late", name="A late track")
    soon = make_track("soon", name="B soon")
    make_deadline(soon, closes_at=86_400)
    boards = [publish(make_track(slug, status=Track.Status.CLOSED)) for slug in ("first", "second")]
    make_track("secret", name="Secret", status=Track.Status.DRAFT)

    page, tracks = (client.get(address).content.decode() for address in ("/", "/tracks/"))

    assert page.index("B soon") < page.index("A late track")
    assert page.index(boards[1].get_absolute_url()) < page.index(boards[0].get_absolute_url())
    assert 'href="/tracks/"' in page
    assert "B soon" in tracks
    assert "Secret" not in page + tracks


def test_empty_site_says_what_will_appear(client: Client) -> None:
    page = client.get("/").content.decode()

    assert "No campaign is open for runs now." in page
    assert "No leaderboard is published yet." in page


def test_everybody_lands_where_their_work_is() -> None:
    track, second = make_track("arq"), make_track("two")
    team = team_services.create(track=track, name="Ours", members=[make_user("one")])
    both = make_user("both")
    for each in (track, second):
        team_services.create(track=each, name="Theirs", members=[both])
    make_assessor(track, "judge")
    make_organizer("olga")
    make_user("sam")
    places = {
        "one": f"/tracks/arq/teams/{team.pk}/runs/",
        "both": "/",
        "judge": "/judge/",
        "olga": "/",
        "sam": "/",
    }

    for name, place in places.items():
        client = Client()
        response = client.post("/login/", {"username": name, "password": PASSWORD}, follow=True)
        assert response.redirect_chain[-1][0] == place, name


def test_first_page_shows_own_roles_first_in_a_fixed_number_of_queries(
    client: Client, django_assert_num_queries: Any
) -> None:
    user = make_user()
    client.force_login(user)
    for n in (2, 5):
        for k in range(n):
            track = make_track(f"a{n}-{k}", name=f"A {n} {k}")
            team_services.create(track=make_track(f"z{n}-{k}"), name="Owls", members=[user])
            publish(track)
        with django_assert_num_queries(8):
            page = client.get("/").content.decode()

    assert page.index("You are in team") < page.index("A 2 0")


def test_page_of_an_open_track_leads_visitors_and_strangers_to_the_request() -> None:
    track = make_track("arq")
    clients = [Client(), Client(), Client()]
    clients[1].force_login(make_user())
    clients[2].force_login(make_assessor(track))

    pages = [client.get("/tracks/arq/").content.decode() for client in clients]

    assert ["Request to join" in page for page in pages] == [True, True, False]
