"""Rows that nothing refers to are deleted with their parts, by page and API; others are kept, with the reason."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from assessment.models import Batch
from corpus.models import Collection, Comment, Document
from jobs import services as jobs
from jobs.models import Job
from participation.invitations.services import Place, Terms, invite
from participation.models import JoinRequest, Team
from participation.teams import services as team_services
from pooling.models import Pool, Run
from tests.helpers.api import api, call
from tests.helpers.confirming import confirm
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_collection,
    make_deadline,
    make_document,
    make_image,
    make_organizer,
    make_protocol,
    make_track,
    make_user,
    make_webhook,
)
from tests.helpers.judging import make_batch, make_pool
from tracks.downloads import services as downloads
from tracks.guidelines import services as guidelines
from tracks.models import Download, StoredProtocol, Topic, Track
from tracks.topics.services import import_topics

pytestmark = pytest.mark.django_db
TOPICS = b'{"code": "T.1", "title": "Waves"}\n{"code": "T.2", "title": "Tides"}\n'


@pytest.fixture
def organizer() -> User:
    return make_organizer()


@pytest.fixture
def track(organizer: User) -> Track:
    """A draft with everything that organizers set up before they open it."""
    track = make_track("lab", protocol="trec-adhoc", status=Track.Status.DRAFT)
    import_topics(track=track, data=TOPICS, name="topics.jsonl")
    make_assessor(track)
    make_deadline(track, closes_at=3600)
    make_webhook(track, organizer)
    guidelines.save_draft(track=track, text="Read.", revision=0, by=organizer)
    team = team_services.create(track=track, name="Lab", members=[make_user()])
    invite(place=Place(track=track, team=team), terms=Terms(email="lee@example.org"), by=organizer)
    downloads.attach_file(
        track=track, kind=Download.Kind.OTHER, file=ContentFile(b"x"), name="a.txt", by=organizer
    )
    return track


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_draft_is_deleted_with_what_describes_it_and_its_files(organizer: User, track: Track) -> None:
    stored = Download.objects.get(name="a.txt").file.name
    address = reverse("tracks:delete_track", args=["lab"])
    client = client_of(organizer)

    page = client.get(address).content.decode()
    answer = client.post(address, follow=True)
    connection.check_constraints()

    assert "Delete the track lab" in page
    assert "2 topics" in page
    assert "The track lab is deleted." in answer.content.decode()
    assert not Track.objects.exists()
    assert not Topic.objects.exists()
    assert not default_storage.exists(stored) or connection.in_atomic_block
    event = Event.objects.get(action="track.deleted")
    assert (event.by, event.track_slug, event.details["protocol"]) == (organizer, "lab", "trec-adhoc")


def test_draft_with_a_pool_and_a_track_that_was_opened_are_kept(organizer: User, track: Track) -> None:
    guidelines.publish(track=track, text="Read.", revision=1, by=organizer)
    make_pool(track, {track.topics.get(code="T.1"): 1})
    address = reverse("tracks:delete_track", args=["lab"])

    page = client_of(organizer).get(address).content.decode()
    refused = call(api(organizer), "DELETE", "track", "lab")
    topic_kept = call(api(organizer), "DELETE", "topic", "lab", "T.1")
    opened = call(api(organizer), "DELETE", "track", make_track("opened").slug)

    assert "lab is used by 1 guidelines version, 1 pool and 1 pool entry, so" in page
    assert "btn-danger" not in page.partition("<main")[2]
    assert (refused.status_code, topic_kept.status_code, opened.status_code) == (409, 409, 409)
    assert refused.json()["code"] == "still-used"
    assert "Only a draft can be deleted" in opened.json()["detail"]


Maker = Callable[[Track, User], Any]


def _batch(track: Track, by: User) -> Batch:
    topic = track.topics.get(code="T.1")
    pool = make_pool(track, {topic: 2})
    return make_batch(pool, {make_assessor(track): [topic]}, is_open=False)


def _pool(track: Track, by: User) -> Pool:
    return make_pool(track, {track.topics.get(code="T.1"): 2})


def _team(track: Track, by: User) -> Team:
    team = team_services.create(track=track, name="Idle", members=[make_user("mia")])
    team_services.set_members(team=team, members=[make_user("max")])
    invitation = invite(place=Place(track=track, team=team), terms=Terms(), by=by)
    fields = {"name": "Mia", "email": "m@example.org", "state": "accepted", "team_name": "Idle"}
    JoinRequest.objects.create(track=track, invitation=invitation, **fields)
    return team


def _topic(track: Track, by: User) -> Topic:
    return track.topics.get(code="T.2")


NOUNS: dict[str, tuple[Maker, str]] = {
    "batch": (_batch, "assessment:delete_batch"),
    "pool": (_pool, "pooling:delete_pool"),
    "team": (_team, "participation:delete_team"),
    "topic": (_topic, "tracks:delete_topic"),
}


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize("way", ["page", "api"])
def test_row_that_nothing_refers_to_is_deleted_by_page_and_api(
    organizer: User, track: Track, noun: str, way: str
) -> None:
    make, view = NOUNS[noun]
    row = make(track, organizer)
    keys = ["lab", "T.2"] if noun == "topic" else [row.pk]

    if way == "page":
        page = client_of(organizer).get(reverse(view, args=keys))
        assert f"Delete the {noun}" in page.content.decode()
        assert confirm(client_of(organizer), reverse(view, args=keys)).status_code == 302
    else:
        assert call(api(organizer), "DELETE", noun, *keys).status_code == 204

    connection.check_constraints()
    assert not type(row).objects.filter(pk=row.pk).exists()
    event = Event.objects.get(action=f"{noun}.deleted")
    assert (event.by, event.track_slug) == (organizer, "lab")


def test_row_in_use_says_by_what(organizer: User, track: Track) -> None:
    batch = _batch(track, organizer)
    opened = make_batch(batch.pool, {make_assessor(track): [track.topics.get(code="T.1")]}, name="Open")
    team = Team.objects.get(name="Lab")
    Run.objects.create(track=track, team=team, tag="r", n_lines=1, n_topics=1, submitted_by=organizer)
    client = api(organizer)

    details = [
        call(client, "DELETE", "pool", batch.pool_id).json()["detail"],
        call(client, "DELETE", "batch", opened.pk).json()["detail"],
        call(client, "DELETE", "team", team.pk).json()["detail"],
        call(client, "DELETE", "protocol", "trec-adhoc").json()["detail"],
    ]

    assert "is used by 2 batches" in details[0]
    assert details[0].endswith("so it cannot be deleted. Delete what uses it first.")
    assert "is open" in details[1]
    assert details[2] == "Lab is used by 1 run, so it cannot be deleted."
    assert "ships with Assay" in details[3]


def test_protocol_is_deleted_by_who_added_it_while_no_track_uses_it(track: Track) -> None:
    adder = make_user("adder")
    track.organizers.create(user=adder)
    own, used = (
        StoredProtocol.objects.create(
            slug=slug, title=slug, text=make_protocol("trec-adhoc").text, digest=slug, created_by=adder
        )
        for slug in ("own", "used")
    )
    make_track("other")
    Track.objects.filter(slug="other").update(protocol=used)
    client = client_of(adder)

    answers = [
        confirm(client, reverse("tracks:delete_protocol", args=[each.slug])).status_code
        for each in (own, used)
    ]

    assert answers == [302, 409]
    assert set(StoredProtocol.objects.filter(created_by=adder)) == {used}
    assert client.get(reverse("tracks:delete_protocol", args=["trec-adhoc"])).status_code == 404


def test_unused_collection_is_deleted_in_a_job(organizer: User, track: Track) -> None:
    collection, used = make_collection("spare"), track.collection
    assert used is not None
    question = make_document(collection)
    make_answer(question)
    Comment.objects.create(document=question, code="1", text="A remark.")
    make_image(collection)

    kept = call(api(organizer), "DELETE", "collection", used.slug)
    accepted = confirm(client_of(organizer), reverse("corpus:delete_collection", args=["spare"]))
    jobs.run(Job.objects.get(kind="corpus.delete").pk)

    assert kept.status_code == 409
    assert "is used by 1 track" in kept.json()["detail"]
    assert accepted.status_code == 302
    assert not Collection.objects.filter(slug="spare").exists()
    assert not Document.objects.filter(collection__slug="spare").exists()
    assert Event.objects.filter(action="collection.deleted", subject="spare", by=organizer).exists()


def test_people_who_do_not_organize_delete_nothing(track: Track) -> None:
    batch = _batch(track, make_organizer())
    stranger = api(make_user())

    answers = [
        call(stranger, "DELETE", name, key).status_code
        for name, key in (("pool", batch.pool_id), ("batch", batch.pk), ("collection", "lab-posts"))
    ]

    assert answers == [403, 403, 403]
