"""Rounds of judging that programs plan."""

import pytest

from assessment.judging import services as task_services
from assessment.models import Batch
from tests.assessment.conftest import Scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer
from tests.helpers.judging import judge, make_batch

pytestmark = pytest.mark.django_db


def test_training_round_and_dual_batch_are_planned_by_the_protocol_or_as_named(scene: Scene) -> None:
    client, pool = api(make_organizer()), scene.pool.pk
    docno = scene.pool.entries.filter(topic=scene.first).earliest("position").docno

    training = call(client, "POST", "training_batches", pool, data={"name": "Round 1", "n_units": 2})
    named = {"name": "Round 2", "topics": ["A.1"], "assessors": ["ada"], "docnos": [docno]}
    picked = call(client, "POST", "training_batches", pool, data=named)
    proposal = call(client, "GET", "dual_batches", pool).json()
    second = [{"topic": "A.2", "assessor": "bob"}]
    own = call(client, "POST", "dual_batches", pool, data={"second": [second[0] | {"assessor": "ada"}]})
    dual = call(client, "POST", "dual_batches", pool, data={"second": second})

    rounds = [Batch.objects.get(pk=each.json()["id"]) for each in (training, picked, dual)]
    assert [each["Location"] for each in (training, picked, dual)] == [
        f"/api/v1/batches/{each.pk}/" for each in rounds
    ]
    assert [batch.selected.count() for batch in rounds] == [4, 1, 0]
    assert {(each.topic.code, each.assessor.username) for each in rounds[2].topic_assignments.all()} == {
        ("A.2", "bob")
    }
    assert [(row["topic"], row["judged_by"], row["able"]) for row in proposal["topics"]] == [
        ("A.1", ["ada"], ["bob"]),
        ("A.2", ["ada"], ["bob"]),
    ]
    assert own.json()["detail"] == "second: There is no ada here. Accepted: bob."


def test_disagreements_become_an_adjudication_batch(scene: Scene) -> None:
    dual = make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL)
    for batch, assessor, choice in ((scene.batch, scene.ada, "high"), (dual, scene.bob, "low")):
        task = task_services.accept_next(batch=batch, assessor=assessor)
        assert task is not None
        judge(task, choice)
    client, track = api(make_organizer()), scene.track.slug
    wanted = {"adjudicators": ["bob"], "rule": "any", "is_blind": True}

    made = call(client, "POST", "adjudication_batches", track, data=wanted).json()
    again = call(client, "POST", "adjudication_batches", track, data=wanted | {"name": "More"})

    batch = Batch.objects.get(pk=made["results"][0]["id"])
    assert (batch.kind, batch.is_blind, batch.selected.count()) == (Batch.Kind.ADJUDICATION, True, 1)
    assert (again.status_code, again.json()["code"]) == (409, "nothing-to-adjudicate")
