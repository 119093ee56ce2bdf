"""Guidelines next to a task, the version that a judgment records, and examples from training."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from assessment.models import Judgment
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge, make_batch
from tracks.guidelines import services
from tracks.models import GuidelinesDraft, GuidelinesVersion

pytestmark = pytest.mark.django_db


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def publish(scene: Scene, text: str, summary: str = "") -> GuidelinesVersion:
    draft = GuidelinesDraft.objects.filter(track=scene.track).first()
    revision = draft.revision if draft else 0
    return services.publish(
        track=scene.track, text=text, summary=summary, revision=revision, by=make_organizer()
    )


def test_judgment_records_the_version_in_force(scene: Scene) -> None:
    before = judge(accept(scene.batch, scene.ada))
    first = publish(scene, "One")
    task = accept(scene.batch, scene.ada)
    of_first = judge(task)
    second = publish(scene, "Two")

    revision = judge(type(task).objects.get(pk=task.pk), "low")

    of_first.refresh_from_db()
    assert [before.guidelines, of_first.guidelines, revision.guidelines] == [None, first, second]


def test_task_announces_a_new_version_until_it_is_read(scene: Scene) -> None:
    publish(scene, "# Older rules")
    publish(scene, "# Rules", "Stricter now")
    task, client = accept(scene.batch, scene.ada), as_user(scene.ada)
    assert "Stricter now" in client.get(task.get_absolute_url()).content.decode()
    assert "Stricter now" in client.get(reverse("assessment:mine")).content.decode()

    panel = client.get(reverse("assessment:guidelines_panel", args=[scene.batch.pk])).content.decode()

    assert "<h2>Rules</h2>" in panel
    assert "<html" not in panel
    assert client.get(task.get_absolute_url()).context["news"] is None
    assert "Stricter now" not in client.get(reverse("assessment:mine")).content.decode()


def test_training_unit_becomes_an_example_of_the_draft(scene: Scene) -> None:
    training = make_batch(scene.pool, {scene.bob: [scene.first]}, kind="training")
    judgment = judge(accept(training, scene.bob), "medium", "Names the steps")
    judge(accept(scene.batch, scene.ada), "high")
    client = as_user(make_organizer())
    address = reverse("assessment:examples", args=[scene.track.slug])

    page = client.get(address)
    [unit] = page.context["units"]
    assert (unit.topic, unit.docno, unit.choice) == ("A.1", judgment.docno, "medium")
    assert unit.comment == "Names the steps"
    fields = {"topic": "A.1", "docno": judgment.docno, "choice": "low", "explanation": "Only a hint."}
    answer = client.post(address, fields, follow=True)

    assert f"::: example A.1 {judgment.docno} low\nOnly a hint.\n:::\n" in GuidelinesDraft.objects.get().text
    assert "Example: <strong>Low</strong>" in answer.content.decode()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"docno": "nope"}, "was not judged in a training round"),
        ({"explanation": "a\n:::\nb"}, "would end the example"),
        ({"choice": "best"}, "best is not one of the available choices"),
    ],
)
def test_example_that_cannot_be_is_refused(scene: Scene, fields: dict[str, str], message: str) -> None:
    training = make_batch(scene.pool, {scene.bob: [scene.first]}, kind="training")
    judgment = judge(accept(training, scene.bob))
    values = {"topic": "A.1", "docno": judgment.docno, "choice": "low", "explanation": ""} | fields

    answer = as_user(make_organizer()).post(reverse("assessment:examples", args=[scene.track.slug]), values)

    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert not GuidelinesDraft.objects.exists()


def test_list_of_training_units_needs_the_same_number_of_queries(scene: Scene) -> None:
    training = make_batch(scene.pool, {scene.bob: [scene.first, scene.second]}, kind="training")
    client = as_user(make_organizer())
    address = reverse("assessment:examples", args=[scene.track.slug])
    counts = []
    for n in (1, 4):
        while Judgment.objects.count() < n:
            judge(accept(training, scene.bob))
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        counts.append(len(queries))

    assert counts[0] == counts[1]
