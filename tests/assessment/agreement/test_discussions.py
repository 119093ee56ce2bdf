"""The discussion of a training round, as organizers and assessors see it."""

import csv
import json
from io import StringIO
from uuid import uuid4

import lxml.html
import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from assessment.batches import services as batch_services
from assessment.judgments import services as judgment_services
from assessment.models import Batch, DiscussionNote
from tests.assessment.conftest import Scene
from tests.assessment.judgments.test_protocol_keys import form_scene
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.judging import accept, judge, make_batch

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def organizer(scene: Scene) -> Client:
    return client_of(make_organizer())


@pytest.fixture
def training(scene: Scene) -> Batch:
    """Ada and Bob judged the three units of A.1 high-high, medium-low and high-not; the round is open."""
    topics = {scene.ada: [scene.first], scene.bob: [scene.first]}
    batch = make_batch(scene.pool, topics, kind=Batch.Kind.TRAINING, name="Warm-up")
    for choices in (("high", "high"), ("medium", "low"), ("high", "not-relevant")):
        for assessor, choice in zip((scene.ada, scene.bob), choices, strict=True):
            judge(accept(batch, assessor), choice, comment=f"{assessor} finds it {choice}.")
    return batch


def address(name: str, batch: Batch) -> str:
    return reverse(f"assessment:{name}", args=[batch.pk])


def docnos(batch: Batch) -> list[str]:
    """The units in the order in which they were judged."""
    return list(
        batch.judgments.filter(assessor__username="ada").order_by("pk").values_list("docno", flat=True)
    )


def test_organizer_sees_all_answers_side_by_side_largest_difference_first(
    training: Batch, organizer: Client
) -> None:
    html = organizer.get(address("discussion", training)).content.decode()

    equal, near, far = docnos(training)
    assert html.index(f">{far}<") < html.index(f">{near}<") < html.index(f">{equal}<")
    assert "of 3; the largest differences first" in html.partition('<span class="big">2</span>')[2]
    assert "Training round 1: Warm-up" in html
    assert "ada finds it medium." in html
    assert "bob finds it low." in html


def test_agreement_page_of_a_round_links_to_its_discussion(
    scene: Scene, training: Batch, organizer: Client
) -> None:
    page = reverse("assessment:agreement", args=[scene.track.slug])

    html = organizer.get(page, {"round": f"batch-{training.pk}"}).content.decode()

    assert address("discussion", training) in html
    assert 'Shared units</span>\n<span class="big">3</span>' in html


@pytest.mark.parametrize(("who", "named"), [("named", True), ("lettered", False)])
def test_assessors_see_the_discussion_only_once_shared_and_closed(
    scene: Scene, training: Batch, organizer: Client, who: str, named: bool
) -> None:
    ada, eve = client_of(scene.ada), client_of(make_assessor(scene.track, "eve"))
    seen = [ada.get(address("discussion", training)).status_code]
    organizer.post(address("share_discussion", training), {"discussion": who})
    seen.append(ada.get(address("discussion", training)).status_code)
    batch_services.close(batch=training)

    response = ada.get(address("discussion", training))

    assert [*seen, response.status_code] == [404, 404, 200]
    html = response.content.decode()
    assert "bob finds it low." in html
    assert ('scope="col">bob' in html) == named
    assert ('scope="col">Assessor A' in html) == (not named)
    assert "you</span>" in html
    assert "Save outcome" not in html
    assert address("discussion", training) in ada.get(reverse("assessment:mine")).content.decode()
    assert eve.get(address("discussion", training)).status_code == 404
    organizer.post(address("share_discussion", training), {"discussion": "hidden"})
    assert ada.get(address("discussion", training)).status_code == 404


def test_agreed_grade_saves_itself_and_only_its_row_comes_again(training: Batch, organizer: Client) -> None:
    page = lxml.html.document_fromstring(organizer.get(address("discussion", training)).content)
    form = next(each for each in page.forms if "outcome" in each.classes)
    select = form.get("hx-trigger").removeprefix("change from:#").removesuffix(", submit")

    values = dict(form.form_values()) | {"grade": "2"}
    answer = organizer.post(form.get("hx-post"), values, headers={"HX-Request": "true"}, follow=True)

    row = lxml.html.document_fromstring(answer.content).get_element_by_id(form.get("hx-target")[1:])
    assert form.get("hx-select") == form.get("hx-target")
    assert page.get_element_by_id(select).get("name") == "grade"
    assert row.xpath(".//option[@selected]/@value") == ["2"]
    assert DiscussionNote.objects.get().grade == 2


def test_outcome_of_a_unit_is_noted_changed_and_shown(
    scene: Scene, training: Batch, organizer: Client
) -> None:
    _, near, _ = docnos(training)
    fields = {"topic": "A.1", "docno": near, "page": "1"}

    organizer.post(address("note", training), fields | {"grade": "2", "text": "It proves the claim."})
    organizer.post(address("note", training), fields | {"grade": "1", "text": "It only states the claim."})

    note = DiscussionNote.objects.get()
    assert (note.topic, note.docno, note.grade) == (scene.first, near, 1)
    html = organizer.get(address("discussion", training)).content.decode()
    assert "<strong>Low</strong> (1)" in html
    assert "It only states the claim." in html
    rows = list(csv.DictReader(StringIO(organizer.get(address("discussion_csv", training)).content.decode())))
    assert [(row["assessor"], row["agreed_grade"]) for row in rows if row["docno"] == near] == [
        ("ada", "1"),
        ("bob", "1"),
    ]
    organizer.post(address("note", training), fields | {"grade": "", "text": ""})
    assert not DiscussionNote.objects.exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grade": "9"}, "Grade 9 is not in the protocol; use one of 3, 2, 1, 0."),
        ({"docno": "nope"}, "Nobody has judged nope in this round"),
        ({"grade": "high"}, "Enter a whole number."),
    ],
)
def test_refused_outcome_says_why_and_stores_nothing(
    training: Batch, organizer: Client, changed: dict[str, str], message: str
) -> None:
    fields = {"topic": "A.1", "docno": docnos(training)[0], "grade": "1", "text": "typed"} | changed

    page = organizer.post(address("note", training), fields)
    by_script = organizer.post(address("note", training), fields, headers={"HX-Request": "true"})

    assert page.status_code == 422
    assert message in page.content.decode()
    assert ("typed</textarea>" in page.content.decode()) == ("docno" not in changed)
    assert (by_script.status_code, by_script["HX-Retarget"]) == (200, "#main")
    assert message in by_script.content.decode()
    assert not DiscussionNote.objects.exists()


def test_only_training_rounds_are_discussed(scene: Scene, organizer: Client) -> None:
    assert organizer.get(address("discussion", scene.batch)).status_code == 404
    response = organizer.post(address("share_discussion", scene.batch), {"discussion": "named"})
    assert response.status_code == 409


def test_assessors_change_nothing_in_a_discussion(scene: Scene, training: Batch) -> None:
    ada = client_of(scene.ada)

    for name in ("note", "share_discussion"):
        assert ada.post(address(name, training), {}).status_code == 403
    assert ada.get(address("discussion_csv", training)).status_code == 403


def test_number_of_queries_does_not_grow_with_units(
    scene: Scene, organizer: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    topics = {scene.ada: [scene.first, scene.second], scene.bob: [scene.first, scene.second]}
    batch = make_batch(scene.pool, topics, kind=Batch.Kind.TRAINING)
    for n in (2, 4):
        for _ in range(n):
            for assessor in (scene.ada, scene.bob):
                judge(accept(batch, assessor))
        with django_assert_num_queries(15):  # of these, three for the next step
            organizer.get(address("discussion", batch))


def test_discussion_shows_the_answers_to_questions(db: None) -> None:
    scene = form_scene()
    batch = make_batch(scene.pool, {scene.ada: [scene.first]}, kind=Batch.Kind.TRAINING, name="Warm-up")
    judgment_services.submit(
        task=accept(batch, scene.ada),
        choice="relevant",
        answers={"stance": "con", "errors": ["a", "c"], "order": ["y"]},
        request_id=uuid4(),
    )

    organizer = client_of(make_organizer())
    html = organizer.get(address("discussion", batch)).content.decode()
    [row] = csv.DictReader(StringIO(organizer.get(address("discussion_csv", batch)).content.decode()))
    [unit] = organizer.get(f"/api/v1/batches/{batch.pk}/discussion/").json()["results"]

    assert '<span class="optional">Which errors?</span> A, C' in html
    given = {"stance": "con", "errors": ["a", "c"], "order": ["y"]}
    assert json.loads(row["answers"]) == given == unit["answers"][0]["answers"]
