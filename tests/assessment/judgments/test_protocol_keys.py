"""Keys of a protocol that concern judging change what the pages do.

Other keys have their tests where their pages have: `layout`, grades and shortcuts in `tasks/test_views.py` and
`tasks/test_browser.py`, `in_context` in `tasks/test_members.py`, `follow_up` in `judgments/test_follow_ups.py`,
`groups` in `planning/test_grid.py`, `dual_topics`, `dual_share` and `training_topics` in `planning/test_views.py`, and
`order` in `tasks/test_move_to_front.py`.
"""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from assessment.models import Batch
from tests.assessment.conftest import Scene, build_scene
from tests.assessment.planning.test_grid import hidden
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.judging import accept, judge, judge_all, make_batch

pytestmark = pytest.mark.django_db


def client_of(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def change(scene: Scene, old: str, new: str) -> None:
    """Replace a line of the protocol of the scene."""
    stored = scene.track.protocol
    assert old in stored.text
    stored.text = stored.text.replace(old, new)
    stored.save(update_fields=["text"])


@pytest.mark.parametrize(("value", "status"), [("true", 422), ("false", 302)])
def test_needs_comment_refuses_a_non_answer_without_one(scene: Scene, value: str, status: int) -> None:
    change(scene, "needs_comment = true", f"needs_comment = {value}")
    task = accept(scene.batch, scene.ada)
    form = {"choice": "do-not-know", "comment": "", "request_id": str(uuid4()), "shown": "0"}

    answer = client_of(scene.ada).post(task.get_absolute_url(), form)

    assert answer.status_code == status
    assert task.judgments.exists() == (status == 302)


@pytest.mark.parametrize(("level", "n"), [(1, 0), (2, 3), (3, 0)])
def test_binary_from_divides_the_grades_into_two_classes(scene: Scene, level: int, n: int) -> None:
    change(scene, "binary_from = 2", f"binary_from = {level}")
    for _ in range(3):
        judge(accept(scene.batch, scene.ada), "medium")
    judge_all(make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL), scene.bob, "low")
    organizer = client_of(make_organizer())

    agreement = organizer.get(reverse("assessment:agreement", args=[scene.track.slug])).content.decode()
    disagreements = organizer.get(
        reverse("assessment:disagreements", args=[scene.track.slug]), {"rule": "threshold"}
    )

    assert f"relevant from grade {level} on" in agreement
    assert disagreements.context["rows"].paginator.count == n


@pytest.mark.parametrize(("protocol", "judges"), [("arqmath-2020-task1", 1), ("ntcir-10-math", 2)])
def test_judges_is_the_number_of_assessors_of_a_unit(protocol: str, judges: int) -> None:
    scene = build_scene(protocol)
    organizer = client_of(make_organizer())
    people = [scene.ada, scene.bob, make_assessor(scene.track, "cleo")]
    draft = make_batch(scene.pool, {}, is_open=False)
    share = {"action": "share", "assessors": [person.pk for person in people]}

    preview = organizer.post(reverse("assessment:plan", args=[draft.pk]), share)
    organizer.post(reverse("assessment:change_plan", args=[draft.pk]), hidden(preview.content.decode()))

    for topic in (scene.first, scene.second):
        assert draft.topic_assignments.filter(topic=topic).count() == judges
