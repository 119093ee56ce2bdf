"""Keys of a protocol that concern judging change what the pages do.

`assay/protocols/test_effects.py` names the test of each key; those of other keys are where their pages have tests.
"""

import csv
from io import StringIO
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


@pytest.mark.parametrize(
    ("protocol", "old", "new", "before", "after"),
    [
        ("arqmath-2020-task1", 'key = "high"', 'key = "top"', 'value="high"', 'value="top"'),
        ("arqmath-2020-task1", 'label = "High"', 'label = "Top"', "<span>High</span>", "<span>Top</span>"),
        ("arqmath-2020-task1", "Sufficient to answer", "Fit to answer", "Sufficient to", "Fit to answer"),
        ("arqmath-2020-task1", 'shortcut = "3"', 'shortcut = "q"', 'data-key="3"', 'data-key="q"'),
        ("arqmath-2020-task1", 'key = "do-not-know"', 'key = "no"', 'value="do-not-know"', 'value="no"'),
        ("arqmath-2020-task1", 'label = "Do not know"', 'label = "No idea"', ">Do not know<", ">No idea<"),
        ("arqmath-2020-task1", "You cannot tell", "Nobody can tell", "You cannot tell", "Nobody can tell"),
        ("arqmath-2020-task1", 'shortcut = "u"', 'shortcut = "q"', 'data-key="u"', 'data-key="q"'),
        ("bolt-ir-p3", 'key = "trans"', 'key = "words"', "follow-up-trans", "follow-up-words"),
        ("bolt-ir-p3", "Did you consult", "Did you read", "Did you consult", "Did you read"),
        ("bolt-ir-p3", '"Problematic"', '"Doubtful"', "Problematic", "Doubtful"),
    ],
    ids=[
        *(f"grade.{key}" for key in ("key", "label", "definition", "shortcut")),
        *(f"non_answer.{key}" for key in ("key", "label", "definition", "shortcut")),
        *(f"follow_up.{key}" for key in ("key", "label", "choices")),
    ],
)
def test_choices_and_questions_of_the_page_are_those_of_the_protocol(
    protocol: str, old: str, new: str, before: str, after: str
) -> None:
    scene = build_scene(protocol)
    address, ada = accept(scene.batch, scene.ada).get_absolute_url(), client_of(scene.ada)
    first = ada.get(address).content.decode()

    change(scene, old, new)

    second = ada.get(address).content.decode()
    assert [before in html for html in (first, second)] == [True, False]
    assert [after in html for html in (first, second)] == [False, True]


@pytest.mark.parametrize(("after", "status"), [('after = ["yes", "maybe"]', 422), ('after = ["maybe"]', 302)])
def test_questions_are_asked_after_the_grades_that_they_name(after: str, status: int) -> None:
    scene = build_scene("bolt-ir-p3")
    change(scene, 'after = ["yes", "maybe"]', after)
    form = {"choice": "yes", "comment": "", "request_id": str(uuid4()), "shown": "0"}

    answer = client_of(scene.ada).post(accept(scene.batch, scene.ada).get_absolute_url(), form)

    assert answer.status_code == status


def test_value_of_a_grade_is_the_grade_of_the_judgment(scene: Scene) -> None:
    change(scene, "value = 3", "value = 7")
    form = {"choice": "high", "comment": "", "request_id": str(uuid4()), "shown": "0"}

    client_of(scene.ada).post(accept(scene.batch, scene.ada).get_absolute_url(), form)

    file = client_of(make_organizer()).get(reverse("assessment:judgments_csv", args=[scene.batch.pk]))
    [row] = csv.DictReader(StringIO(b"".join(file).decode("utf-8-sig")))
    assert (row["choice"], row["grade"]) == ("high", "7")


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
