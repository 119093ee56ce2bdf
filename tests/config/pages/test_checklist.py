"""The checklist of a campaign names what is done, what comes next, and what is wrong."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from assessment.batches import services as batch_services
from assessment.models import Batch
from config.pages.checklist import Checklist, Point, checklist
from corpus.models import Collection
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Pool
from pooling.pools import services as pool_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from tests.helpers.factories import (
    PASSWORD,
    make_assessor,
    make_collection,
    make_deadline,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.scoring.conftest import Scene, build_scene
from tests.scoring.qrels.test_services import NINE
from tracks.models import Track
from tracks.tracks import services as track_services

pytestmark = pytest.mark.django_db


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> Scene:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    settings.MEDIA_ROOT = tmp_path
    return build_scene()


def following(track: Track) -> str:
    track.refresh_from_db()
    item = checklist(track).following
    return item.label if item else ""


def items(page: Checklist) -> dict[str, Point]:
    return {item.label: item for _, group in page.groups for item in group}


def test_next_step_of_a_new_track_is_its_topics(client: Client) -> None:
    track = make_track(status=Track.Status.DRAFT)
    client.force_login(make_organizer())

    assert following(track) == "Topics"
    assert "Next: Import topics" in client.get(track.get_absolute_url()).content.decode()

    make_topic(track)

    assert following(track) == "Assessors"


def test_what_a_worker_does_is_waited_for() -> None:
    collection = make_collection(status=Collection.Status.IMPORTING)
    track = make_track(collection=collection, status=Track.Status.CLOSED)
    Pool.objects.create(
        track=track,
        protocol=track.protocol,
        name="P",
        seed=1,
        depth={},
        status="building",
        created_by=make_user(),
    )

    points = items(checklist(track))

    assert points["Collection"].action == "Wait for the import"
    assert points["Pool"].action == "Wait for the pool"


@pytest.mark.parametrize(
    ("n_given", "state", "is_done"),
    [
        (0, "not clustered: visual ids are assigned to the formulas of runs only", False),
        (4, "4 of 6 have a visual id of the index", False),
        (6, "6 of 6 have a visual id of the index", True),
    ],
)
def test_checklist_counts_visual_ids_of_the_index(n_given: int, state: str, is_done: bool) -> None:
    counts = {"formulas": 6, "formulas with a visual id": n_given}
    track = make_track(protocol="arqmath-2021-task2", collection=make_collection(counts=counts))

    item = items(checklist(track))["Formulas"]

    assert (item.state, item.is_done) == (state, is_done)


def test_checklist_leads_through_a_campaign(scene: Scene) -> None:
    track = scene.track

    assert following(track) == "Runs"
    scene.submit(scene.ours, "good", "10 é 9")
    assert following(track) == "Close for runs"
    track_services.close(track=track)
    assert following(track) == "Main judging"
    batch = scene.judged(*NINE)
    judging = items(checklist(track))["Main judging"]
    assert (judging.state, judging.action) == ("1 batch, 1 open, all judged", f"Close “{batch.name}”")
    batch_services.close(batch=batch)
    assert following(track) == "Qrels"
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    assert following(track) == "Leaderboard"
    board = scene.leaderboard(qrels)
    assert following(track) == "Release"
    leaderboard_services.release(leaderboard=board, level="public", by=scene.organizer)
    assert following(track) == ""
    assert checklist(track).n_done == checklist(track).n_required


def test_next_step_is_offered_where_one_was_done(client: Client) -> None:
    track, organizer = make_track(), make_organizer()
    make_topic(track)
    address = reverse("participation:add_people", args=[track.slug])
    client.force_login(organizer)

    before = client.get(reverse("participation:people", args=[track.slug])).content.decode()
    done = client.post(address, {"text": "Ada; ada@example.org; assessor", "action": "add"}, follow=True)
    overview = client.get(track.get_absolute_url()).content.decode()

    assert "Next: " not in before
    assert "<strong>Next: Add teams</strong>" in done.content.decode()  # a page has no link to itself
    assert overview.count("Next: ") == 1


def test_people_are_added_from_the_checklist_directly(client: Client) -> None:
    track = make_track()
    make_topic(track)
    client.force_login(make_organizer())
    address = reverse("participation:add_people", args=[track.slug])

    empty = client.get(track.get_absolute_url()).content.decode()
    make_assessor(track)
    some = client.get(track.get_absolute_url()).content.decode()

    assert f'href="{address}">Next: Add assessors' in empty
    assert f'href="{address}"' not in some


def test_checklist_names_what_is_wrong(scene: Scene) -> None:
    track = scene.track
    scene.submit(scene.ours, "good", "10 é 9")
    batch = batch_services.create(pool=scene.pool, name="Draft", kind=Batch.Kind.MAIN, by=scene.organizer)
    failed = pool_services.request(track=track, name="late", seed=1, depth={}, by=scene.organizer)
    Pool.objects.filter(pk=failed.pk).update(status=Pool.Status.FAILED)

    shown = items(checklist(track))

    assert shown["Collection"].problems == (
        "Runs are checked without a collection: unknown documents are accepted.",
    )
    assert shown["Pool"].problems[0] == "The pool late failed. Its page states why."
    assert shown["Runs"].problems[-1].startswith("Without a run: ")
    assert shown["Main judging"].problems == ("Not opened yet: Draft.", "3 topics without an assessor.")
    assert shown["Main judging"].address == batch.get_absolute_url()


def test_judgments_after_the_freeze_are_named(scene: Scene) -> None:
    batch = scene.judged("high", "low")
    qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    assert items(checklist(scene.track))["Qrels"].problems == ()

    scene.judge(batch, scene.ada, "high")

    [problem] = items(checklist(scene.track))["Qrels"].problems
    assert problem.startswith("Judgments came after version 1.")


def test_campaign_with_imported_qrels_is_not_complete_while_somebody_judges(
    scene: Scene, client: Client
) -> None:
    """The qrels replace the judging, but not what assessors have been asked to do. A refusal leads back."""
    track, address = scene.track, scene.track.get_absolute_url()
    scene.submit(scene.ours, "good", "10 é 9")
    track_services.close(track=track)
    batch = scene.batch({scene.ada: ["A.1"]})
    scene.leaderboard(release="public")

    assert following(track) == "Main judging"
    batch_services.close(batch=batch)
    assert not items(checklist(track))["Main judging"].problems
    client.force_login(scene.organizer)
    page = client.get(address).content.decode()
    refused = client.post(f"{address}open/", headers={"referer": f"http://testserver{address}"})
    elsewhere = client.post(f"{address}open/", headers={"referer": "https://evil.example.org/"})
    assert 'class="btn btn-plain">Open for runs' in page
    assert refused.status_code == elsewhere.status_code == 409
    assert "The track was not opened" in refused.content.decode()
    assert f'href="http://testserver{address}">Back to the page' in refused.content.decode()
    assert "evil" not in elsewhere.content.decode()


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
