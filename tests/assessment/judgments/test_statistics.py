"""An assessor's own statistics."""

from datetime import date
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.judgments import statistics as selectors
from assessment.judgments.statistics import Totals
from assessment.models import Judgment
from tests.assessment.conftest import Scene
from tests.helpers.judging import accept, judge, make_batch

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def statistics(user: User, of: str = "") -> Any:
    return client_of(user).get(reverse("assessment:own_statistics"), {"of": of})


def submit(scene: Scene, choice: str, seconds: int | None) -> Judgment:
    task = accept(scene.batch, scene.ada)
    return judgment_services.submit(task=task, choice=choice, request_id=uuid4(), seconds=seconds)


@pytest.fixture
def judged(scene: Scene) -> Scene:
    """Ada needed 10, 20 and 60 seconds in A.1, and an unknown time in A.2; she skipped a task, and undid a judgment."""
    for choice, seconds in (("high", 10), ("low", 20), ("high", 60), ("not-relevant", None)):
        submit(scene, choice, seconds)
    task_services.skip(task=accept(scene.batch, scene.ada))
    task_services.undo(task=submit(scene, "low", 999).task)
    return scene


def test_statistics_count_current_judgments_with_their_seconds(judged: Scene) -> None:
    page = statistics(judged.ada).context

    assert page["totals"] == Totals(4, 30.0, 20.0, pytest.approx(90 / 3600))
    assert [(each.code, each.judged, each.mean, each.median) for each in page["topics"]] == [
        ("A.1", 3, 30.0, 20.0),
        ("A.2", 1, None, None),
    ]
    [mix] = page["mixes"]
    assert [(each.label, each.n) for each in mix.shares] == [
        ("High", 2), ("Medium", 0), ("Low", 1), ("Not relevant", 1), ("System failure", 0), ("Do not know", 0),
    ]  # fmt: skip
    assert page["skips"] == {"total": 1, "waiting": 1}
    assert [(day.judged, day.mean) for day in page["days"]] == [(4, 30.0)]


def test_statistics_are_of_everything_a_track_or_a_batch(judged: Scene) -> None:
    other = make_batch(judged.pool, {judged.ada: [judged.first]}, kind="training")
    judge(accept(other, judged.ada))

    totals = {
        of: statistics(judged.ada, of).context["totals"].judged
        for of in ("", f"track-{judged.track.pk}", f"batch-{judged.batch.pk}", f"batch-{other.pk}")
    }

    assert list(totals.values()) == [5, 5, 4, 1]
    assert f'<option value="batch-{other.pk}">' in statistics(judged.ada).content.decode()


@pytest.mark.parametrize("of", ["batch-0", "track-x", "everything"])
def test_statistics_of_what_is_not_ones_own_are_not_found(judged: Scene, of: str) -> None:
    assert statistics(judged.ada, of).status_code == 404
    assert statistics(judged.bob, f"batch-{judged.batch.pk}").status_code == 404
    assert "No judgments yet." in statistics(judged.bob).content.decode()


def test_days_without_judgments_are_in_the_chart_and_old_ones_are_summed() -> None:
    days = [selectors.Day(date(2026, month, day), 2, None) for month, day in ((1, 5), (6, 1), (6, 3))]

    shown = selectors.shown_days(days)

    assert len(shown) == selectors.SHOWN_DAYS
    assert [day.judged for day in shown[-3:]] == [2, 0, 2]
    assert shown[-1].day == date(2026, 6, 3)


def test_statistics_take_the_same_queries_for_more_judgments(judged: Scene) -> None:
    client = client_of(judged.ada)
    address = reverse("assessment:own_statistics")
    client.get(address)
    with CaptureQueriesContext(connection) as few:
        client.get(address)
    other = make_batch(judged.pool, {judged.ada: [judged.first, judged.second]}, kind="training")
    for _ in range(4):
        judge(accept(other, judged.ada))

    with CaptureQueriesContext(connection) as many:
        client.get(address)

    assert len(many) == len(few) <= 10
    assert f"{Judgment.objects.latest('pk').created_at:%Y-%m-%d}" in client.get(address).content.decode()
