"""A clone of a track has what stays the same from year to year."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from participation.teams import services as team_services
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track, make_user
from tracks.guidelines import services as guidelines_services
from tracks.models import Track

pytestmark = pytest.mark.django_db


def test_clone_has_the_settings_and_people_but_no_topics(client: Client) -> None:
    organizer = make_organizer()
    old = make_track("task-1", name="Task 1", description="Answers.", reminder_days=9)
    make_topic(old)
    ada, sofia = make_assessor(old, "ada"), make_user("sofia")
    team_services.create(track=old, name="Group A", members=[sofia])
    guidelines_services.publish(track=old, text="Be fair.", revision=0, by=organizer)
    client.force_login(organizer)
    address = reverse("participation:clone_track", args=["task-1"])

    client.post(address, {"name": "Alone", "slug": "alone"})
    client.post(address, {"name": "Task 1, 2027", "slug": "task-1-2027", "assessors": "on", "teams": "on"})

    alone, new = Track.objects.get(slug="alone"), Track.objects.get(slug="task-1-2027")
    assert (new.protocol, new.collection, new.description) == (old.protocol, old.collection, "Answers.")
    assert (new.reminder_days, alone.reminder_days) == (9, 9)
    assert (new.status, new.topics.count(), new.guidelines) == ("draft", 0, None)
    assert new.guidelines_draft.text == "Be fair."
    assert [each.user for each in new.assessors.all()] == [ada]
    assert [(team.name, list(team.members.all())) for team in new.teams.all()] == [("Group A", [sofia])]
    assert (alone.assessors.count(), alone.teams.count()) == (0, 0)
    created = Event.objects.get(action="track.created", track_id=new.pk)
    assert (created.by, created.details["cloned from"]) == (organizer, "task-1")


def test_short_name_in_use_is_refused(client: Client) -> None:
    make_track("task-1")
    client.force_login(make_organizer())

    page = client.post(reverse("participation:clone_track", args=["task-1"]), {"name": "x", "slug": "task-1"})

    assert "The short name task-1 is in use" in page.content.decode()
    assert Track.objects.count() == 1
