"""Many judgments in one request: stored all or not at all, by the rules of the page."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from assessment.batches import services as batch_services
from assessment.judging import services as task_services
from assessment.judging.many import MOST
from assessment.models import Batch, Judgment, Task
from pooling.models import Pool, PoolEntry
from tests.assessment.conftest import Scene, build_scene
from tests.helpers.api import api, call
from tests.helpers.judging import accept, judge, make_batch

pytestmark = pytest.mark.django_db


def rows_of(pool: Pool, choice: str = "high") -> list[dict[str, Any]]:
    """A judgment of each unit of a pool, last ones first."""
    entries = PoolEntry.objects.filter(pool=pool).select_related("topic").order_by("-pk")
    return [{"topic": each.topic.code, "docno": each.docno, "choice": choice} for each in entries]


def send(who: User | Client, batch: Batch, rows: Any, **options: Any) -> Any:
    client = api(who) if isinstance(who, User) else who
    return call(client, "POST", "submissions", batch.pk, data={"judgments": rows}, **options)


def test_units_are_judged_whether_taken_or_not_and_the_open_task_stays(scene: Scene) -> None:
    taken = accept(scene.batch, scene.ada)
    rows = [row for row in rows_of(scene.pool) if row["docno"] != taken.entry.docno]
    rows[0] |= {"choice": "low", "comment": "Only half.", "seconds": 5}

    answer = send(scene.ada, scene.batch, rows)

    assert answer.status_code == 201, answer.json()
    assert [row["docno"] for row in answer.json()["results"]] == [row["docno"] for row in rows]
    assert (
        answer.json()["results"][0] | {"choice": "low", "comment": "Only half.", "seconds": 5}
        == answer.json()["results"][0]
    )
    assert Judgment.objects.filter(is_current=True, assessor=scene.ada).count() == 5
    assert accept(scene.batch, scene.ada) == taken
    judge(taken)
    assert task_services.accept_next(batch=scene.batch, assessor=scene.ada) is None


def test_one_wrong_judgment_stores_none_and_each_is_named_with_its_place(scene: Scene) -> None:
    rows = rows_of(scene.pool)
    judge(accept(scene.batch, scene.ada))
    (known,) = Judgment.objects.all()
    place = next(i for i, row in enumerate(rows) if row["docno"] == known.docno)
    rows[(place + 1) % 6]["choice"] = "splendid"
    rows += [rows[(place + 2) % 6], {"topic": "A.9", "docno": "1", "choice": "high"}]

    answer = send(scene.ada, scene.batch, rows)

    problem = answer.json()
    places = {error["field"]: error["code"] for error in problem["errors"]}
    assert answer.status_code == 422
    assert places == {
        f"judgments.{place}": "judged-elsewhere",
        f"judgments.{(place + 1) % 6}": "unknown-choice",
        "judgments.6": "unit-twice",
        "judgments.7": "unknown-unit",
    }
    assert problem["detail"].startswith("4 of 8 judgments cannot be stored, so none was.")
    assert Judgment.objects.count() == Task.objects.count() == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "at least 1"),
        ([{"topic": "A.1", "docno": "1"}], "needs a `choice`"),
        ([{"topic": "A.1", "choice": "high"}], "required"),
        ([{"topic": "A.1", "docno": "1", "choice": "high"}] * (MOST + 1), "no more than"),
    ],
)
def test_form_of_the_request_is_checked_first(scene: Scene, rows: Any, message: str) -> None:
    answer = send(scene.ada, scene.batch, rows)

    assert (answer.status_code, message in answer.json()["detail"]) == (400, True), answer.json()


def test_topics_of_others_closed_batches_and_strangers_are_refused(scene: Scene) -> None:
    of_bob = make_batch(scene.pool, {scene.bob: [scene.first], scene.ada: [scene.second]})

    answer = send(scene.bob, of_bob, rows_of(scene.pool))
    stranger = send(scene.bob, scene.batch, rows_of(scene.pool))
    batch_services.close(batch=of_bob)
    closed = send(scene.bob, of_bob, rows_of(scene.pool))

    codes = [error["code"] for error in answer.json()["errors"]]
    assert (answer.status_code, codes) == (422, ["unit-of-others"] * 3)
    assert (stranger.status_code, closed.status_code) == (404, 409)
    assert not Judgment.objects.exists()


def test_repeated_request_stores_nothing_again_and_a_revision_names_what_it_replaces(scene: Scene) -> None:
    client, rows = api(scene.ada), rows_of(scene.pool)
    for row in rows:
        row["request_id"] = str(uuid4())

    first = send(client, scene.batch, rows, headers={"Idempotency-Key": "a"}).json()["results"]
    replayed = send(client, scene.batch, rows, headers={"Idempotency-Key": "a"}).json()["results"]
    by_request = send(client, scene.batch, rows).json()["results"]
    revised = [row | {"choice": "low", "shown": each["id"]} for row, each in zip(rows, first, strict=True)]
    for row in revised:
        del row["request_id"]
    changed = send(client, scene.batch, revised)

    assert first == replayed == by_request
    assert changed.status_code == 201
    assert Judgment.objects.count() == 12
    assert set(Judgment.objects.filter(is_current=True).values_list("choice", flat=True)) == {"low"}


def test_statements_do_not_grow_faster_than_judgments(
    scene: Scene, django_assert_max_num_queries: Any
) -> None:
    client = api(scene.ada)
    with django_assert_max_num_queries(25 + 6 * 11):
        assert send(client, scene.batch, rows_of(scene.pool)).status_code == 201


def test_unit_with_members_needs_a_choice_for_each() -> None:
    scene = build_scene("arqmath-2020-task2")
    entry = scene.pool.entries.select_related("topic").earliest("pk")
    row = {"topic": entry.topic.code, "docno": entry.docno}

    wrong = send(scene.ada, scene.batch, [row | {"choice": "high"}])

    assert wrong.json()["errors"][0]["field"] == "judgments.0.members"
