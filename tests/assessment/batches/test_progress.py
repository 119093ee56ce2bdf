"""The time that judging will still take: one estimate, on every page that shows it."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from assessment.batches.progress import rates_of
from assessment.models import Batch
from tests.assessment.conftest import Scene
from tests.helpers.api import api
from tests.helpers.factories import make_organizer, make_topic, make_track
from tests.helpers.judging import accept, judge, make_batch, make_pool

pytestmark = pytest.mark.django_db

MEASURED = "at the speed measured in this track."


def make_large_batch(scene: Scene, *, kind: str = Batch.Kind.DUAL) -> Batch:
    """Ada has a topic of 30 units, Bob one of 90."""
    topics = make_topic(scene.track, "A.3"), make_topic(scene.track, "A.4")
    pool = make_pool(scene.track, dict(zip(topics, (30, 90), strict=True)))
    Batch.objects.update(status=Batch.Status.CLOSED)
    return make_batch(pool, {scene.ada: [topics[0]], scene.bob: [topics[1]]}, kind=kind)


def judge_in(batch: Batch, assessor: User, *seconds: int) -> None:
    for each in seconds:
        judge(accept(batch, assessor), seconds=each)


def page(user: User, name: str, *arguments: object, **query: object) -> str:
    client = Client()
    client.force_login(user)
    html = client.get(reverse(f"assessment:{name}", args=arguments), query).content.decode()
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def pages(batch: Batch) -> dict[str, str]:
    """The pages of organizers that show the estimate."""
    organizer = make_organizer()
    return {
        "batch": page(organizer, "batch", batch.pk),
        "plan": page(organizer, "plan", batch.pk),
        "board": page(organizer, "board", batch.pool.track.slug, batch=batch.pk),
    }


def test_desk_batch_board_and_plan_show_the_same_measured_time(scene: Scene) -> None:
    batch = make_large_batch(scene)
    judge_in(batch, scene.ada, *[600] * 20)

    shown = pages(batch)

    # Ada: 10 units of 600 s; Bob, who has not judged: 90 units at the speed of the track
    assert {name: f"About 17 h left, {MEASURED}" in text for name, text in shown.items()} == dict.fromkeys(
        shown, True
    )
    assert "ada 1 20 30 1.7 h" in shown["batch"]
    assert "bob 1 0 90 15 h" in shown["batch"]
    assert "ada 20 30 1.7 h" in shown["board"]
    assert "bob 0 90 15 h" in shown["board"]
    assert "ada 1 20 10 1.7 h" in shown["plan"]
    assert "bob 1 0 90 15 h" in shown["plan"]
    assert f"20 of 30 judged. About 1.7 h left, {MEASURED}" in page(scene.ada, "mine")
    assert f"0 of 90 judged. About 15 h left, {MEASURED}" in page(scene.bob, "mine")
    address = f"/api/v1/tracks/{scene.track.slug}/board/"
    program = api(make_organizer())
    board = program.get(address, {"batch": batch.pk}).json()
    lines = program.get(f"{address}assessors/", {"batch": batch.pk}).content.decode().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    assert board["hours_left"] == pytest.approx(50 / 3)
    assert [row["hours_left"] for row in board["assessors"]] == pytest.approx([5 / 3, 15])
    assert [row["hours_left"] for row in rows] == ["1.67", "15.00"]


def test_below_20_timed_units_no_page_shows_an_estimate(scene: Scene) -> None:
    batch = make_large_batch(scene)
    judge_in(batch, scene.ada, *[600] * 19)

    shown = {**pages(batch), "desk of Ada": page(scene.ada, "mine"), "desk of Bob": page(scene.bob, "mine")}

    assert {name for name, text in shown.items() if " left, at " in text or "Estimated time" in text} == set()
    address = f"/api/v1/tracks/{scene.track.slug}/board/"
    board = api(make_organizer()).get(address, {"batch": batch.pk}).json()
    assert {board["hours_left"], *(row["hours_left"] for row in board["assessors"])} == {None}


def test_open_page_counts_as_five_medians_and_who_is_new_has_the_speed_of_the_track(scene: Scene) -> None:
    batch = make_large_batch(scene)
    judge_in(batch, scene.ada, *[60] * 20, 100_000)
    judge_in(batch, scene.bob, 60)

    rates = rates_of([batch])[batch.pk]

    assert rates.by_assessor == {scene.ada.pk: pytest.approx((20 * 60 + 300) / 21)}
    assert rates.others == pytest.approx((21 * 60 + 300) / 22)


def test_machines_have_no_estimate(scene: Scene) -> None:
    batch = make_large_batch(scene)
    Batch.objects.filter(pk=batch.pk).update(kind=Batch.Kind.MACHINE)
    batch.refresh_from_db()

    assert rates_of([batch]) == {}
    for text in (*pages(batch).values(), page(scene.ada, "mine")):
        assert "h left" not in text
        assert "min left" not in text


def test_rates_of_several_tracks_take_two_queries(
    scene: Scene, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    judge_in(make_large_batch(scene), scene.ada, *[60] * 20)
    track = make_track(protocol="ntcir-12-wikipedia")
    other = make_batch(make_pool(track, {make_topic(track, "1"): 1}), {}, is_open=False)
    batches = list(Batch.objects.select_related("pool__track", "pool__protocol"))

    with django_assert_num_queries(2):
        rates = rates_of(batches)

    assert other.pk not in rates
    assert rates[scene.batch.pk].others == 60
