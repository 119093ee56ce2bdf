"""The first page of a visitor, the list of tracks, and where somebody's work is."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from participation.teams import services as team_services
from scoring.models import Leaderboard, Qrels
from tests.helpers.factories import (
    PASSWORD,
    make_assessor,
    make_deadline,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import make_batch, make_pool, make_team
from tests.scoring.conftest import Scene, _alone, scene, scored
from tracks.assessors import organizers
from tracks.models import Milestone, Track
from tracks.pages import services as pages

__all__ = ["_alone", "scene", "scored"]  # fixtures
pytestmark = pytest.mark.django_db
DAY = 24 * 60 * 60


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
    assert "Log in and set up its first campaign" in page
    assert "What a campaign looks like" in page
    assert 'id="results"' not in page


def test_everybody_lands_where_their_work_is() -> None:
    track, second = make_track("arq"), make_track("two")
    team_services.create(track=track, name="Ours", members=[make_user("one")])
    both = make_user("both")
    for each in (track, second):
        team_services.create(track=each, name="Theirs", members=[both])
    make_assessor(track, "judge")
    make_organizer("olga")
    make_user("sam")
    places = {
        "one": "/tracks/arq/",
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


def test_card_of_a_member_has_the_place_of_the_team_in_what_it_may_read(scored: Scene) -> None:
    qrels = scored.qrels()
    scored.leaderboard(qrels)
    before = text_at("/tracks/", scored.member)
    board = scored.leaderboard(qrels, release="participants")

    after, stranger = text_at("/tracks/", scored.member), text_at("/tracks/", scored.stranger)

    value = rf"<bdi>good</bdi>, {board.measures[0]} <b>[01]\.\d{{4}}</b>, <b>1</b> of 1"
    assert "Your best run" not in before + stranger
    assert re.search(f"Your best run: {value}", unescape(after))
    assert f'href="{board.get_absolute_url()}">Leaderboard</a>' in after
    assert board.get_absolute_url() not in stranger


def test_places_of_teams_take_a_fixed_number_of_queries(scored: Scene) -> None:
    scored.leaderboard(release="public")
    client, counts = Client(), []
    client.force_login(scored.member)
    for number in range(2):
        client.get("/tracks/")
        with CaptureQueriesContext(connection) as queries:
            assert "Your best run" in client.get("/tracks/").content.decode()
        counts.append(len(queries))
        track = make_track(f"more-{number}")
        make_team(track, scored.member)
        publish(track)

    assert counts[0] == counts[1]


@pytest.mark.parametrize(("status", "is_linked"), [("draft", False), ("open", True), ("closed", True)])
def test_card_of_a_member_leads_to_the_runs_of_the_team(client: Client, status: str, is_linked: bool) -> None:
    user = make_user()
    team_services.create(track=make_track("owls", status=status), name="Owls", members=[user])
    client.force_login(user)

    page = client.get("/").content.decode()

    assert (">Your runs</a>" in page) == is_linked


def test_page_of_an_open_track_leads_visitors_and_strangers_to_the_request() -> None:
    track = make_track("arq")
    clients = [Client(), Client(), Client()]
    clients[1].force_login(make_user())
    clients[2].force_login(make_assessor(track))

    pages = [client.get("/tracks/arq/").content.decode() for client in clients]

    assert ["Request to join" in page for page in pages] == [True, True, False]


def text_at(address: str, user: User | None = None) -> str:
    client = Client()
    if user is not None:
        client.force_login(user)
    text: str = client.get(address).content.decode()
    return re.sub(r"\s+", " ", text.partition("<main")[2])


def test_visitor_reads_which_tracks_are_open_with_deadline_and_size() -> None:
    track = make_track("arq", name="ARQ 2036", description="Answers to **hard** questions.\n\nMore & more.")
    make_topic(track)
    make_team(track)
    make_deadline(track, closes_at=3 * DAY + 60, zone="AoE")
    make_track("draft", name="Secret 2037", status=Track.Status.DRAFT)

    page = text_at("/")

    assert "Answers to hard questions." in page
    assert "More &amp; more" not in page
    assert re.search(r"Runs until <b>\d{4}-\d\d-\d\d \d\d:\d\d AoE</b>", page)
    assert "3 days" in page
    assert "1 topic · 1 team · 0 runs" in page
    assert 'href="/tracks/arq/join/"' in page
    assert "Secret 2037" not in page


def test_visitor_sees_the_best_of_published_results_only(scored: Scene) -> None:
    qrels = scored.qrels()
    scored.leaderboard(qrels, release="participants")
    hidden = text_at("/")
    scored.leaderboard(qrels, release="public")

    page = text_at("/")

    assert 'id="results"' not in hidden
    assert "What a campaign looks like" not in hidden
    assert '<progress class="bar first" max="1.0"' in page
    assert re.search(r"<bdi>Ours</bdi></span> <progress [^>]*></progress> <b>0\.\d{4}</b>", page)
    named = r'<bdi>poor</bdi> <span class="muted">baseline</span></span> <progress class="bar base"'
    assert re.search(named, page), "a baseline has its own name, and says what it is"
    assert "of the best run of each team, 3 topics" in page


def test_visitor_reads_who_runs_the_site_once_an_administrator_wrote_it() -> None:
    administrator = make_organizer()
    before, asked = text_at("/"), text_at("/", administrator)

    pages.publish(name="contact", text="Lab **X** runs this.\n\nSince 1999.", revision=0, by=administrator)
    after, quiet = text_at("/"), text_at("/", administrator)

    assert "Who runs this site" not in before
    assert "Who runs this site</h2>" in after
    assert "<p>Lab <strong>X</strong> runs this.</p>" in after
    assert "Since 1999" not in after
    assert ("Visitors cannot read yet who runs this site" in asked) is True
    assert "Visitors cannot read yet who runs this site" not in quiet


def test_first_page_leads_to_results_and_the_tour_if_nothing_is_open(scored: Scene) -> None:
    Track.objects.update(status=Track.Status.CLOSED)
    empty = text_at("/")
    scored.leaderboard(release="public")

    page = text_at("/")

    assert re.findall(r"btn-primary[^>]*>([^<]*)<", empty) == ["Take the ten-minute tour"]
    assert re.findall(r"btn-primary[^>]*>([^<]*)<", page) == ["See published results"]


@pytest.mark.parametrize("address", ["/", "/tracks/"])
def test_more_tracks_cost_no_more_queries(address: str) -> None:
    make_track()
    client = Client()
    client.get(address)
    with CaptureQueriesContext(
        connection,
    ) as first:
        client.get(address)
    for _ in range(3):
        make_deadline(make_track(), closes_at=DAY)

    with CaptureQueriesContext(connection) as second:
        client.get(address)

    assert len(first) == len(second)
    assert len(first) <= 7


def test_list_has_the_tracks_of_a_user_first_and_each_with_its_state() -> None:
    own = make_track("own", name="Own", status=Track.Status.CLOSED)
    make_track("free", name="Free")
    over = make_track("over", name="Over", status=Track.Status.CLOSED)
    make_track("newest", name="Newest", status=Track.Status.CLOSED)
    Milestone.objects.create(track=over, title="Workshop", starts_on="2036-09-01")
    member = make_user("mia")
    make_team(own, member)

    page = text_at("/tracks/", member)

    headings = re.findall(r"<h2[^>]*>([^<]*)</h2>", page)
    assert headings == ["Your tracks", "Open for runs", "Closed"]
    assert page.index(">Own<") < page.index(">Free<") < page.index(">Newest<") < page.index(">Over<")
    assert "Workshop: <b>2036-09-01</b>" in page
    assert 'type="search"' not in page


def test_top_bar_marks_where_a_page_is(client: Client) -> None:
    make_track("free", name="Free")
    pages = {
        "/tracks/": ' aria-current="page"',
        "/tracks/free/": ' aria-current="true"',
        "/": "",
        "/protocols/": "",
    }
    for address, mark in pages.items():
        assert f'<a href="/tracks/"{mark}>' in client.get(address).content.decode(), address


def test_page_of_a_track_has_a_mark_at_the_top_and_its_section_open(client: Client) -> None:
    """The next step is in others too."""
    track, organizer = make_track("free"), make_organizer()
    make_topic(track)
    pool = make_pool(track, dict.fromkeys(track.topics.all(), 1))

    client.force_login(organizer)
    page = re.sub(r"\s+", " ", client.get(pool.get_absolute_url()).content.decode())

    assert '<a href="/tracks/" aria-current="true">' in page
    sections = r'<details( open)?> <summary aria-label="([\w ]+)"'
    folded = re.findall(sections, page)
    assert [name for is_open, name in folded if not is_open] == ["Judging", "Results", "Settings"]


def test_card_of_a_track_has_the_next_thing_that_its_reader_does() -> None:
    track, mia, ada = make_track("own"), make_user("mia"), make_assessor(make_track("other"), "ada")
    observer = make_user("oda")
    make_team(track, mia)
    team_services.add_member(team=track.teams.get(), user=observer, may_submit=False)
    judged = Track.objects.get(slug="other")
    make_topic(judged)
    submit = re.compile(r'btn btn-primary" href="/tracks/own/runs/submit/\?team=\d+">Submit runs<')

    before = text_at("/tracks/", ada)
    make_batch(make_pool(judged, dict.fromkeys(judged.topics.all(), 1)), {ada: list(judged.topics.all())})

    assert [bool(submit.search(text_at("/tracks/", each))) for each in (mia, observer, ada)] == [1, 0, 0]
    places = ("/tracks/", f"/tracks/{judged.slug}/")
    assert "Start judging" not in before
    for text in (text_at(place, ada) for place in places):
        assert re.search(r'btn btn-primary( btn-lg)?">\s*Start judging', text)
    assert "<strong>0</strong> of 1 judged." in text_at("/tracks/", ada)
    now = '<li class="past">Runs <span class="visually-hidden">done</span></li> <li class="now" aria-current="step">'
    assert f"{now}Judging</li>" in text_at("/tracks/", ada)


def test_card_of_an_organizer_has_a_deadline_once_and_results_come_last() -> None:
    organizer = make_organizer()
    publish(make_track("old", name="Old"))
    track = make_track("new", name="New")
    make_topic(track)
    make_assessor(track)
    make_team(track)
    make_deadline(track, closes_at=3 * DAY + 60)

    page = text_at("/tracks/", organizer)

    assert page.count("Teams can submit runs until") == 1
    assert "3 days</span>" in page
    assert "Runs until" not in page
    assert page.index("New") < page.index("Old")


def test_filled_button_of_the_list_opens_the_track_that_goes_on(scene: Scene) -> None:
    old = publish(make_track("old", status=Track.Status.CLOSED)).track
    organizers.appoint(track=old, user=scene.organizer, role="organizer")
    scene.submit(scene.ours, "good", "10 é 9")
    scene.judged("high")
    client = Client()
    client.force_login(scene.organizer)

    page = client.get("/tracks/").content.decode()

    assert len(re.findall(r'<li class="step">.*?<a href', page, flags=re.DOTALL)) == 1  # of the old one
    assert re.findall(r'btn-primary" href="([^"]*)"', page) == [scene.track.get_absolute_url()]


def test_filled_button_of_the_list_is_that_of_judging_before_that_of_a_draft(scene: Scene) -> None:
    draft = make_track("draft", status=Track.Status.DRAFT)
    organizers.appoint(track=draft, user=scene.organizer, role="organizer")
    scene.submit(scene.ours, "good", "10 é 9")
    scene.batch({scene.ada: list(scene.topics)})
    client = Client()
    client.force_login(scene.organizer)

    page = client.get("/tracks/").content.decode()

    assert len(re.findall(r'<li class="step">.*?<a href', page, flags=re.DOTALL)) == 1  # of the draft
    assert re.findall(r'btn-primary" href="([^"]*)"', page) == [scene.track.get_absolute_url()]


def test_card_names_the_next_step_to_organizers_in_one_query_for_all() -> None:
    organizer, counts = make_organizer(), []
    client = Client()
    client.force_login(organizer)
    for number in range(2):
        make_track(f"lab-{number}", status=Track.Status.DRAFT)
        client.get("/tracks/")
        with CaptureQueriesContext(connection) as queries:
            page = client.get("/tracks/").content.decode()
        counts.append(len(queries))
        address = reverse("tracks:import_topics", args=[f"lab-{number}"])
        assert re.search(rf'Next:\s+<a href="{address}">Import topics</a>', page)
        assert page.count("btn-primary") == 1  # the first track that waits
        assert re.search(r'btn-primary" href="/tracks/lab-\d/">\s*Go to the track', page)

    assert counts[0] == counts[1]


def test_list_of_ten_tracks_can_be_searched() -> None:
    for number in range(10):
        make_track(f"lab-{number}", name=f"Lab {number}", description="Birds" if number % 2 else "Fish")

    page, none = text_at("/tracks/?words=birds+3"), text_at("/tracks/?words=<b>")

    assert re.findall(r"<bdi>(Lab \d)</bdi>", page) == ["Lab 3"]
    assert 'value="birds 3"' in page
    assert "No track has the words “&lt;b&gt;”." in none
