"""Tracks in the admin: what organizers can change there, and what they cannot."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.helpers.factories import (
    make_assessor,
    make_organizer,
    make_protocol,
    make_track,
)
from tracks.models import Track
from tracks.tracks import services as track_services

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def track_form(**fields: object) -> dict[str, object]:
    inline = {"assessors-TOTAL_FORMS": "0", "assessors-INITIAL_FORMS": "0"}
    return {"name": "Answers 2026", "slug": "answers-2026", "description": "", **inline, **fields}


def test_tracks_are_created_on_the_site_only(client: Client, organizer: User) -> None:
    assert client.get(reverse("admin:tracks_track_add")).status_code == 403


def test_protocol_of_an_opened_track_does_not_change(client: Client, organizer: User) -> None:
    track = make_track()
    other = make_protocol("trec-adhoc")

    client.post(
        reverse("admin:tracks_track_change", args=[track.pk]), track_form(name="New name", protocol=other.pk)
    )

    track.refresh_from_db()
    assert (track.name, track.protocol.slug) == ("New name", "arqmath-2020-task1")


def test_track_without_topics_is_not_opened(client: Client, organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT)

    answer = client.post(
        reverse("admin:tracks_track_changelist"),
        {"action": "open_tracks", "_selected_action": [track.pk]},
        follow=True,
    )

    track.refresh_from_db()
    assert "has no topics yet" in answer.content.decode()
    assert track.status == Track.Status.DRAFT


@pytest.mark.parametrize("junk", ["", "abc", "1; --", "9" * 40, "-1"])
def test_selection_that_is_not_an_id_is_refused_with_a_message(
    client: Client, organizer: User, junk: str
) -> None:
    answer = client.post(
        reverse("admin:tracks_track_changelist"),
        {"action": "open_tracks", "_selected_action": [junk]},
        follow=True,
    )

    assert answer.status_code == 200
    assert "Nothing was changed" in answer.content.decode()


@pytest.mark.parametrize(
    "name",
    [
        "accounts_user",
        "corpus_collection",
        "corpus_import",
        "jobs_job",
        "tracks_storedprotocol",
        "tracks_topic",
        "tracks_topicimport",
        "tracks_track",
    ],
)
def test_lists_are_for_organizers_only(client: Client, name: str) -> None:
    address = reverse(f"admin:{name}_changelist")

    client.force_login(make_organizer())
    assert client.get(address).status_code == 200
    client.force_login(make_assessor(make_track()))
    assert client.get(address).status_code == 302, "sent to the admin's login"


def test_edit_of_a_track_keeps_a_status_that_changed_meanwhile(organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT)
    stale = Track.objects.get(pk=track.pk)
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)

    stale.name = "New name"
    track_services.edit(track=stale, changed=["name"])

    track.refresh_from_db()
    assert (track.name, track.status) == ("New name", Track.Status.OPEN)


def test_stale_form_cannot_change_the_protocol_of_an_opened_track(organizer: User) -> None:
    track = make_track(status=Track.Status.DRAFT)
    stale = Track.objects.get(pk=track.pk)
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)

    stale.protocol = make_protocol("trec-adhoc")
    with pytest.raises(track_services.TrackRefused, match="its protocol cannot change"):
        track_services.edit(track=stale, changed=["protocol"])

    track.refresh_from_db()
    assert track.protocol.slug == "arqmath-2020-task1"


def test_searched_collection_of_an_open_track_cannot_hold_its_topic_threads(
    client: Client, organizer: User
) -> None:
    track = make_track()
    assert track.collection is not None
    form = track_form(name=track.name, topic_collection=track.collection.pk)

    answer = client.post(reverse("admin:tracks_track_change", args=[track.pk]), form)

    assert "Choose another collection than the one that runs search" in answer.content.decode()
    track.refresh_from_db()
    assert track.topic_collection is None
