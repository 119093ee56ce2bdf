"""Organizers create and edit tracks on the site."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import User
from audit.models import Event
from tests.helpers.factories import make_collection, make_organizer, make_protocol, make_track
from tracks.models import Track

pytestmark = pytest.mark.django_db

TOPICS = b'{"code": "T.1", "title": "Waves"}\n{"code": "T.2", "title": "Tides"}\n'


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


def create(client: Client, topics: bytes | None = None, **fields: Any) -> str:
    protocol = make_protocol("trec-adhoc").pk
    form = {"name": "Answers 2026", "slug": "answers-2026", "protocol": protocol, **fields}
    if topics is not None:
        form["topics"] = SimpleUploadedFile("topics.jsonl", topics)
    return client.post(reverse("tracks:new_track"), form, follow=True).content.decode()


def test_organizer_creates_a_draft_with_its_topics(client: Client, organizer: User) -> None:
    page = create(client, TOPICS, collection=make_collection("posts").pk)

    assert "Created Answers 2026. 2 topics: 2 new" in page
    track = Track.objects.get()
    assert (track.slug, track.status, track.topics.count()) == ("answers-2026", "draft", 2)
    actions = Event.objects.filter(track_id=track.pk).values_list("action", "by")
    assert sorted(actions) == [("topics.imported", organizer.pk), ("track.created", organizer.pk)]


def test_track_is_not_created_without_the_topics_of_its_file(client: Client, organizer: User) -> None:
    page = create(client, b'{"title": "no code"}\n')

    assert "line 1" in page
    assert not Track.objects.exists()
    assert not Event.objects.exists()
    assert "Created Answers 2026" in create(client)


def test_short_name_that_is_taken_or_an_address_is_refused(client: Client, organizer: User) -> None:
    make_track("answers-2026")

    assert "already exists" in create(client)
    assert "is the address of a page" in create(client, slug="new")


def test_collection_of_topic_threads_differs_from_the_searched_one(client: Client, organizer: User) -> None:
    collection = make_collection().pk

    page = create(client, collection=collection, topic_collection=collection)

    assert "Choose another collection than the one that runs search" in page
    assert not Track.objects.exists()


def test_edit_of_an_opened_track_leaves_what_runs_were_checked_against(
    client: Client, organizer: User
) -> None:
    track = make_track("task-1", name="Task 1")
    other = make_protocol("trec-adhoc")

    page = client.post(
        reverse("tracks:edit_track", args=["task-1"]),
        {"name": "Task One", "slug": "other", "protocol": other.pk},
        follow=True,
    )

    assert "Saved Task One" in page.content.decode()
    track.refresh_from_db()
    assert (track.name, track.slug, track.protocol.slug) == ("Task One", "task-1", "arqmath-2020-task1")
    assert Event.objects.get().details == {"name": {"from": "Task 1", "to": "Task One"}}
