"""Assessors who are removed from a track, and the groups of assessors, on the page of people."""

import pytest
from django.test import Client

from accounts.models import User
from assessment.models import Judgment, TopicAssignment
from audit.models import Event
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer, make_track
from tests.helpers.judging import accept, judge
from tracks.assessors.services import add
from tracks.models import Assessor


@pytest.fixture
def organizer(client: Client, db: None) -> Client:
    client.force_login(make_organizer("olga"))
    return client


def remove(organizer: Client, scene: Scene, user: User) -> str:
    address = f"/tracks/{scene.track.slug}/people/{user.pk}/remove/"
    return organizer.post(address, follow=True).content.decode()


def test_removed_assessor_loses_open_topics_and_keeps_judgments(scene: Scene, organizer: Client) -> None:
    for _ in range(3):
        judge(accept(scene.batch, scene.ada), "high")
    done = Judgment.objects.filter(assessor=scene.ada).values_list("topic__code", flat=True)[0]
    browser = Client()
    browser.force_login(scene.ada)

    page = remove(organizer, scene, scene.ada)
    again = remove(organizer, scene, scene.ada)

    held = TopicAssignment.objects.filter(assessor=scene.ada, is_withdrawn=False)
    assert f"ada no longer judges for {scene.track}. Their judgments stay." in page
    assert "is not a person who judges for" in again
    assert [each.topic.code for each in held] == [done], "what is judged completely stays theirs"
    assert Judgment.objects.filter(assessor=scene.ada, is_current=True).count() == 3
    assert Assessor.objects.get(user=scene.ada).ended_at is not None
    assert browser.get(f"/tracks/{scene.track.slug}/judging/").status_code == 403
    assert browser.get(f"/tracks/{scene.track.slug}/guidelines/").status_code == 404
    assert Event.objects.filter(action="assessor.removed").count() == 1
    add(track=scene.track, user=scene.ada)
    assert browser.get(f"/tracks/{scene.track.slug}/judging/").status_code == 200


def test_somebody_without_topics_leaves_no_trace(scene: Scene, organizer: Client) -> None:
    remove(organizer, scene, scene.bob)

    assert not Assessor.objects.filter(user=scene.bob).exists()


def test_groups_of_all_assessors_are_saved_together_or_not_at_all(organizer: Client, db: None) -> None:
    track = make_track("ntcir", protocol="ntcir-12-wikipedia")
    first, second, *_ = track.protocol.parsed.judging.groups
    people = [make_assessor(track, name) for name in ("ada", "bob", "eve")]
    ada, bob, _ = (f"group-{user.pk}" for user in people)

    organizer.post("/tracks/ntcir/people/groups/", {ada: first, bob: second})
    swapped = organizer.post("/tracks/ntcir/people/groups/", {ada: second, bob: first}, follow=True)
    organizer.post("/tracks/ntcir/people/groups/", {ada: "nobles", bob: second})

    groups = dict(Assessor.objects.values_list("user__username", "group"))
    assert "The groups of the assessors are saved." in swapped.content.decode()
    assert groups == {"ada": second, "bob": first, "eve": ""}
    assert Event.objects.filter(action="assessor.moved").count() == 4
