"""Batches for organizers: counts that add up, medians, late and unassigned work."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from assessment.batches import page as batch_selectors
from assessment.batches import services as batch_services
from assessment.batches.progress import rates_of, track_progress, with_times
from assessment.judging.selectors import desk_batch
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Task
from assessment.planning import services as assignment_services
from tests.assessment.conftest import Scene
from tests.helpers.api import api
from tests.helpers.factories import make_organizer, make_topic, make_track
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer())
    return client


def test_progress_counts_by_assessor_and_topic(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    for seconds in (10, 30):
        judgment_services.submit(task=task, choice="low", request_id=uuid4(), seconds=seconds)
        task = accept(scene.batch, scene.ada)

    [progress] = with_times(track_progress(scene.track))

    assert (progress.judged, progress.total, progress.n_topics, progress.median_seconds) == (2, 6, 2, 20.0)
    assert [(share.assignment.topic.code, share.judged, share.total) for share in progress.shares] == [
        ("A.1", 2, 3),
        ("A.2", 0, 3),
    ]
    assert (progress.n_open, progress.n_overdue) == (1, 0)


def test_progress_of_a_topic_that_changed_hands_adds_up_to_its_entries(scene: Scene) -> None:
    judge(accept(scene.batch, scene.ada))
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    judge_all(scene.batch, scene.bob)

    page = batch_selectors.batch_page(scene.batch)

    assert (page.progress.judged, page.progress.total) == (3, 6)
    assert [(row.assessor.username, row.judged, row.total) for row in page.by_assessor] == [
        ("ada", 1, 4),
        ("bob", 2, 2),
    ]


def test_what_is_open_is_left_although_the_earlier_holder_still_sends_a_judgment(scene: Scene) -> None:
    of_ada = accept(scene.batch, scene.ada)
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )
    of_bob = accept(scene.batch, scene.bob)
    assert of_bob.entry_id == of_ada.entry_id

    judge(of_ada)
    before = desk_batch(scene.batch, scene.bob)
    judge(of_bob)
    after = desk_batch(scene.batch, scene.bob)

    assert (before.judged, before.total, after.judged, after.total) == (0, 3, 1, 3)


def test_batch_shows_the_share_of_each_choice(scene: Scene, organizer: Client) -> None:
    for choice in ("high", "low", "low"):
        judge(accept(scene.batch, scene.ada), choice)

    html = organizer.get(reverse("assessment:batch", args=[scene.batch.pk])).content.decode()

    row = r'<th scope="row">(\w+)</th>\s*<td[^>]*>(\d+)</td>\s*<td[^>]*>(\d+) %'
    shares = re.findall(row, html)
    assert shares == [("High", "1", "33"), ("Medium", "0", "0"), ("Low", "2", "67")]


def test_revisions_are_counted_once(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    judge(task, "low")
    judge(task, "high")

    page = batch_selectors.batch_page(scene.batch)

    counts = {row.label: row.n for row in page.choice_counts}
    assert counts == {
        "High": 1,
        "Medium": 0,
        "Low": 0,
        "Not relevant": 0,
        "System failure": 0,
        "Do not know": 0,
    }
    assert page.progress.judged == 1


def test_overdue_tasks_are_counted_whether_expired_or_not(scene: Scene) -> None:
    other = make_batch(scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind="training")
    accept(other, scene.ada)
    accept(other, scene.bob)
    past = timezone.now() - timedelta(minutes=1)
    Task.objects.filter(assessor=scene.ada).update(expires_at=past, status="expired")
    Task.objects.filter(assessor=scene.bob).update(expires_at=past)

    progress = {each.batch: each for each in track_progress(scene.track)}[other]

    assert (progress.n_open, progress.n_overdue) == (0, 2)


def test_page_reports_late_and_uncounted_judgments_and_unassigned_topics(
    scene: Scene, organizer: Client
) -> None:
    topics = [make_topic(scene.track, f"C.{n}") for n in range(2)]
    batch = make_batch(make_pool(scene.track, dict.fromkeys(topics, 2)), {scene.ada: topics[:1]})
    late = accept(batch, scene.ada)
    assignment_services.reassign(batch=batch, topic=topics[0], from_assessor=scene.ada, to_assessor=scene.bob)
    judge(accept(batch, scene.bob), "do-not-know", "not my field")
    batch_services.close(batch=batch)
    judge(late)

    text = organizer.get(reverse("assessment:batch", args=[batch.pk])).content.decode()
    text = " ".join(text.split())

    assert "1 judgment came after the batch was closed" in text
    assert "1 judgment kept, but not counted" in text
    assert "1 topic of the pool not assigned: C.1" in text
    assert "not my field" in text


def test_page_of_a_batch_without_topics_explains_what_to_do(scene: Scene, organizer: Client) -> None:
    batch = batch_services.create(pool=scene.pool, name="New", by=None)

    text = organizer.get(reverse("assessment:batch", args=[batch.pk])).content.decode()

    assert "No topics are assigned yet" in text


def test_judging_page_explains_an_empty_track(organizer: Client) -> None:
    track = make_track()

    text = organizer.get(reverse("assessment:judging", args=[track.slug])).content.decode()

    assert "No batches yet" in text
    assert reverse("pooling:new_pool", args=[track.slug]) in text
    assert reverse("assessment:new_batch", args=[track.slug]) not in text


def test_judging_page_without_batches_offers_to_create_one(organizer: Client) -> None:
    track = make_track()
    make_pool(track, {make_topic(track, "A.1"): 1})

    html = organizer.get(reverse("assessment:judging", args=[track.slug])).content.decode()

    address = reverse("assessment:new_batch", args=[track.slug])
    assert re.search(rf'<a class="btn[^"]*" href="{address}">Create a batch</a>', html)


def test_judging_page_takes_the_same_queries_for_many_batches(scene: Scene, organizer: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            organizer.get(reverse("assessment:judging", args=[scene.track.slug]))
        return len(captured)

    queries()
    few = queries()
    for _ in range(4):
        judge(accept(make_batch(scene.pool, {scene.bob: [scene.first]}, kind="training"), scene.bob))

    assert queries() == few


def test_page_has_the_full_names_of_assessors(scene: Scene, organizer: Client) -> None:
    User.objects.filter(pk=scene.ada.pk).update(first_name="Ada", last_name="Lovelace")

    assert "<bdi>Ada Lovelace</bdi>" in organizer.get(scene.batch.get_absolute_url()).content.decode()


def test_batch_is_opened_and_closed_on_its_page(scene: Scene, organizer: Client) -> None:
    address = reverse("assessment:close", args=[scene.batch.pk])
    page = organizer.post(address, {"remarks": "1"}, follow=True).content.decode()
    scene.batch.refresh_from_db()
    assert scene.batch.status == "closed"

    undo = re.search(r'is closed[^§]*?<form method="post" action="([^"]+)">[^§]*?Undo</button>', page)
    assert undo is not None
    organizer.post(undo[1])
    scene.batch.refresh_from_db()
    assert scene.batch.status == "open"


def test_refused_opening_is_a_page_that_says_why(scene: Scene, organizer: Client) -> None:
    page = organizer.post(reverse("assessment:open", args=[scene.batch.pk]))

    assert page.status_code == 409
    assert "it cannot be opened" in page.content.decode()


MEASURED = "at the speed measured in this track"


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
    assert f"Work left 17 h {MEASURED}" in shown["batch"]
    assert f"Work left 17 h {MEASURED}" in shown["plan"]
    assert f"About 17 h of work left, 8.3 h each, {MEASURED}" in shown["board"]
    assert "ada 1 20 30 1.7 h" in shown["batch"]
    assert "bob 1 0 90 15 h" in shown["batch"]
    assert "ada 20 30 1.7 h" in shown["board"]
    assert "bob 0 90 15 h" in shown["board"]
    assert "ada 1 20 10 1.7 h" in shown["plan"]
    assert "bob 1 0 90 15 h" in shown["plan"]
    assert f"20 of 30 judged. About 1.7 h of work left, {MEASURED}" in page(scene.ada, "mine")
    assert f"0 of 90 judged. About 15 h of work left, {MEASURED}" in page(scene.bob, "mine")
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

    words = (MEASURED, "Time left", "Estimated time")
    assert {name for name, text in shown.items() if any(word in text for word in words)} == set()
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
        assert "of work left" not in text


def test_rates_of_several_tracks_take_one_query(
    scene: Scene, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    judge_in(make_large_batch(scene), scene.ada, *[60] * 20)
    track = make_track(protocol="ntcir-12-wikipedia")
    other = make_batch(make_pool(track, {make_topic(track, "1"): 1}), {}, is_open=False)
    batches = list(Batch.objects.select_related("pool__track", "pool__protocol"))

    with django_assert_num_queries(1):
        rates = rates_of(batches)

    assert other.pk not in rates
    assert rates[scene.batch.pk].others == 60


def test_times_of_many_judgments_are_kept_for_a_minute_but_counts_are_not(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assessment.batches.progress.MANY", 20)
    batch = make_large_batch(scene)
    judge_in(batch, scene.ada, *[60] * 20)

    def shown() -> tuple[int, float | None, float]:
        progress = next(each for each in with_times(track_progress(scene.track)) if each.batch == batch)
        return progress.judged, progress.median_seconds, rates_of([batch])[batch.pk].others

    before = shown()
    judge_in(batch, scene.ada, *[10] * 5)
    soon = shown()
    cache.clear()
    later = shown()

    assert before == (20, 60, 60)
    assert soon == (25, 60, 60)
    assert later == (25, 60, 50)
