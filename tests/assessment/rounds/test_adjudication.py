"""Adjudication of disagreements: what an organizer creates, what the assessor sees, and what becomes of it."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assessment.batches import page as batch_selectors
from assessment.batches import services as batch_services
from assessment.judging import selectors as task_selectors
from assessment.models import Batch, Judgment
from scoring.models import QrelsEntry
from scoring.qrels import services as qrels_services
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.judging import accept, judge, judge_all, make_batch

pytestmark = pytest.mark.django_db

ADA = ("high", "medium", "low", "not-relevant", "high", "low")
BOB = ("high", "low", "low", "not-relevant", "not-relevant", "low")


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer())
    return client


@pytest.fixture
def eve(scene: Scene) -> User:
    return make_assessor(scene.track, "eve")


@pytest.fixture
def judged_twice(scene: Scene) -> Scene:
    """Ada and Bob differ on the second unit of A.1 and on the second of A.2."""
    for choice in ADA:
        judge(accept(scene.batch, scene.ada), choice, comment=f"Ada: {choice}")
    dual = make_batch(scene.pool, {scene.bob: [scene.first, scene.second]}, kind=Batch.Kind.DUAL)
    for choice in BOB:
        judge(accept(dual, scene.bob), choice, comment=f"Bob: {choice}")
    return scene


def create(client: Client, scene: Scene, *adjudicators: User, **fields: str) -> Batch:
    values: dict[str, object] = {"rule": "any", "name": "Adjudication", "minutes_allotted": 120} | fields
    values["adjudicators"] = [user.pk for user in adjudicators]
    response = client.post(reverse("assessment:new_adjudication", args=[scene.track.slug]), values)
    assert response.status_code == 302, response.content.decode()
    return Batch.objects.get(kind=Batch.Kind.ADJUDICATION, name=values["name"])


def test_batch_has_only_the_units_that_differ(judged_twice: Scene, organizer: Client, eve: User) -> None:
    batch = create(organizer, judged_twice, eve)
    batch_services.open_for_judging(batch=batch)

    judgments = judge_all(batch, eve, "low")

    differing = Judgment.objects.filter(assessor=judged_twice.ada, choice__in=("medium", "high"))
    assert len(judgments) == 2
    assert {judgment.docno for judgment in judgments} <= set(differing.values_list("docno", flat=True))
    [item] = task_selectors.desk(eve)
    assert (item.judged, item.total, item.is_done) == (2, 2, True)
    page = batch_selectors.batch_page(batch)
    assert (page.progress.judged, page.progress.total) == (2, 2)


def test_threshold_leaves_out_a_difference_on_one_side(
    judged_twice: Scene, organizer: Client, eve: User
) -> None:
    batch = create(organizer, judged_twice, eve, rule="steps", steps="2")

    [selected] = batch.selected.all()
    assert selected.entry.topic == judged_twice.second


def task_page(batch: Batch, user: User) -> str:
    """The page on which a user judges the first unit of a batch, which it opens."""
    batch_services.open_for_judging(batch=batch)
    client = Client()
    client.force_login(user)
    return client.get(accept(batch, user).get_absolute_url()).content.decode()


def test_adjudicator_sees_both_judgments_without_names(
    judged_twice: Scene, organizer: Client, eve: User
) -> None:
    html = task_page(create(organizer, judged_twice, eve), eve)

    assert "Ada: medium" in html
    assert "Bob: low" in html
    assert "ada</" not in html


def test_blind_adjudicator_sees_the_unit_only(judged_twice: Scene, organizer: Client, eve: User) -> None:
    html = task_page(create(organizer, judged_twice, eve, is_blind="on"), eve)

    assert "Ada: medium" not in html
    assert "Earlier judgments" not in html


def test_adjudication_decides_the_qrels(judged_twice: Scene, organizer: Client, eve: User) -> None:
    batch = create(organizer, judged_twice, eve)
    batch_services.open_for_judging(batch=batch)
    judge_all(batch, eve, "low")

    qrels = qrels_services.freeze_judgments(pool=judged_twice.pool, by=make_organizer())

    assert qrels.report["decided"]["by adjudication"] == 2
    grades = sorted(QrelsEntry.objects.filter(qrels=qrels).values_list("grade", flat=True))
    assert grades == [0, 1, 1, 1, 1, 3]


def test_second_batch_has_only_new_disagreements(judged_twice: Scene, organizer: Client, eve: User) -> None:
    create(organizer, judged_twice, eve)
    values = {"rule": "any", "name": "More", "minutes_allotted": 120, "adjudicators": [eve.pk]}

    response = organizer.post(reverse("assessment:new_adjudication", args=[judged_twice.track.slug]), values)

    assert response.status_code == 422
    assert "in an adjudication batch already" in response.content.decode()
    assert not Batch.objects.filter(name="More").exists()


def test_adjudication_is_opened_in_one_step(judged_twice: Scene, organizer: Client, eve: User) -> None:
    values = {"rule": "any", "name": "Now", "minutes_allotted": 120, "adjudicators": [eve.pk], "open": "1"}

    response = organizer.post(reverse("assessment:new_adjudication", args=[judged_twice.track.slug]), values)

    batch = Batch.objects.get(name="Now")
    assert response["Location"] == batch.get_absolute_url()
    assert batch.status == Batch.Status.OPEN
    assert judge_all(batch, eve, "low")


def test_refused_adjudicator_leaves_no_batch(judged_twice: Scene, organizer: Client) -> None:
    values = {"rule": "any", "name": "Adjudication", "minutes_allotted": 120}

    response = organizer.post(reverse("assessment:new_adjudication", args=[judged_twice.track.slug]), values)

    assert response.status_code == 422
    assert "Make a choice." in response.content.decode()
    assert not Batch.objects.filter(kind=Batch.Kind.ADJUDICATION).exists()


def test_page_takes_over_the_filter_of_the_disagreements(judged_twice: Scene, organizer: Client) -> None:
    address = reverse("assessment:new_adjudication", args=[judged_twice.track.slug])

    html = organizer.get(address, {"rule": "steps", "steps": "3"}).content.decode()

    assert '<option value="steps" selected>' in html
    assert 'value="3"' in html
    every = organizer.get(address, {"rule": "any"}).content.decode()
    n, n_all = (re.findall(r"Create a draft of (\d+) unit", each) for each in (html, every))
    assert int(n[0]) < int(n_all[0]), "the numbers of units that differ by 3 steps, and at all"
    assert organizer.get(address, {"rule": "none", "steps": "many"}).status_code == 200


def test_assessors_cannot_create_an_adjudication(judged_twice: Scene) -> None:
    client = Client()
    client.force_login(judged_twice.ada)

    response = client.post(reverse("assessment:new_adjudication", args=[judged_twice.track.slug]), {})

    assert response.status_code == 403
