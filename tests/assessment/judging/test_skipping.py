"""Skip a task, return it, and get more time, through the judging page."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from assessment.batches import progress as batch_selectors
from assessment.batches import services as batch_services
from assessment.judging import services as task_services
from assessment.models import Task
from assessment.planning import services as assignment_services
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, action: str, task: Task, **fields: str) -> str:
    response = client.post(reverse(f"assessment:{action}", args=[task.pk]), fields, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_skipped_entries_come_back_last_and_in_the_order_of_the_skips(scene: Scene) -> None:
    client, entries = client_of(scene.ada), []
    for _ in range(2):
        task = accept(scene.batch, scene.ada)
        entries.append(task.entry_id)
        post(client, "skip", task)

    rest = []
    while (task := accept(scene.batch, scene.ada)).entry_id not in entries:
        rest.append(task.entry_id)
        judge(task)

    assert len(rest) == 4
    assert task.entry_id == entries[0]
    judge(task)
    judge(accept(scene.batch, scene.ada))
    assert task_services.accept_next(batch=scene.batch, assessor=scene.ada) is None


def test_only_task_left_comes_back_at_once_and_the_page_says_so(scene: Scene) -> None:
    for _ in range(5):
        judge(accept(scene.batch, scene.ada))
    last = accept(scene.batch, scene.ada)

    html = post(client_of(scene.ada), "skip", last)

    assert "the only one that you have left" in html


def test_organizer_sees_the_reason_of_a_skip(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    post(client_of(scene.ada), "skip", task, reason="The formulas are not shown.")

    html = client_of(make_organizer()).get(scene.batch.get_absolute_url()).content.decode()

    assert "The formulas are not shown." in html
    assert "comes back last" in html
    [progress] = batch_selectors.track_progress(scene.track)
    assert (progress.n_open, progress.n_overdue) == (1, 0)  # the next task; the skipped one is neither


def test_too_long_a_reason_is_refused_and_stays_in_the_form(scene: Scene) -> None:
    task, reason = accept(scene.batch, scene.ada), "x" * 501

    response = client_of(scene.ada).post(reverse("assessment:skip", args=[task.pk]), {"reason": reason})

    html = response.content.decode()
    assert response.status_code == 422
    assert "Not skipped. Use at most 500 characters: this has 501." in html
    assert reason in html
    task.refresh_from_db()
    assert task.status == Task.Status.ACCEPTED


def test_skipped_task_can_still_be_submitted(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    post(client_of(scene.ada), "skip", task)

    judge(task)

    task.refresh_from_db()
    assert task.status == Task.Status.SUBMITTED


def test_skipped_entry_of_a_topic_that_changed_hands_goes_to_the_other_assessor(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    post(client_of(scene.ada), "skip", task)
    assignment_services.reassign(
        batch=scene.batch, topic=scene.first, from_assessor=scene.ada, to_assessor=scene.bob
    )

    entries = {accept(scene.batch, scene.bob).entry_id}
    judge(accept(scene.batch, scene.bob))
    for _ in range(2):
        taken = accept(scene.batch, scene.bob)
        entries.add(taken.entry_id)
        judge(taken)
    for _ in range(3):
        judge(accept(scene.batch, scene.ada))

    assert task.entry_id in entries
    assert task_services.accept_next(batch=scene.batch, assessor=scene.ada) is None


def test_returned_task_is_the_first_that_comes_again(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)

    html = post(client_of(scene.ada), "give_back", task)

    assert "is in your queue again" in html
    task.refresh_from_db()
    assert task.status == Task.Status.EXPIRED
    assert accept(scene.batch, scene.ada) == task


def test_more_time_starts_at_the_minutes_of_the_batch(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    Task.objects.filter(pk=task.pk).update(expires_at=timezone.now() + timedelta(minutes=1))
    address = reverse("assessment:extend", args=[task.pk])

    answer = client_of(scene.ada).post(address, headers={"Accept": "application/json"}).json()

    task.refresh_from_db()
    assert answer == {"expires": task.expires_at.isoformat()}
    assert timedelta(minutes=119) < task.expires_at - timezone.now() <= timedelta(minutes=120)


def test_more_time_takes_no_second_task(scene: Scene) -> None:
    first = accept(scene.batch, scene.ada)
    Task.objects.filter(pk=first.pk).update(status=Task.Status.EXPIRED)
    Task.objects.filter(pk=first.pk).update(entry=scene.pool.entries.get(topic=scene.second, position=2))
    second = accept(scene.batch, scene.ada)

    post(client_of(scene.ada), "extend", first)

    first.refresh_from_db()
    assert first.status == Task.Status.EXPIRED
    assert Task.objects.get(pk=second.pk).status == Task.Status.ACCEPTED


def test_more_time_takes_no_task_of_a_topic_that_changed_hands(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    change = {"batch": scene.batch, "topic": scene.first}
    assignment_services.reassign(**change, from_assessor=scene.ada, to_assessor=scene.bob)
    post(client_of(scene.ada), "extend", task)
    judge(accept(scene.batch, scene.bob))
    assignment_services.reassign(**change, from_assessor=scene.bob, to_assessor=scene.ada)
    post(client_of(scene.ada), "extend", task)

    assert accept(scene.batch, scene.ada).entry_id != task.entry_id


@pytest.mark.parametrize("action", ["skip", "give_back", "extend"])
def test_nothing_of_a_submitted_task_changes(scene: Scene, action: str) -> None:
    task = accept(scene.batch, scene.ada)
    judge(task)

    response = client_of(scene.ada).post(reverse(f"assessment:{action}", args=[task.pk]))

    assert response.status_code == 409
    assert "submitted this task already" in response.content.decode()


@pytest.mark.parametrize("action", ["skip", "give_back", "extend"])
def test_closed_batch_keeps_its_tasks(scene: Scene, action: str) -> None:
    task = accept(scene.batch, scene.ada)
    batch_services.close(batch=scene.batch)

    response = client_of(scene.ada).post(reverse(f"assessment:{action}", args=[task.pk]))

    assert response.status_code == 409


@pytest.mark.parametrize("action", ["skip", "give_back", "extend"])
def test_task_of_somebody_else_is_not_found(scene: Scene, action: str) -> None:
    task = accept(scene.batch, scene.ada)

    assert client_of(scene.bob).post(reverse(f"assessment:{action}", args=[task.pk])).status_code == 404


def open_and_overdue(scene: Scene) -> list[str]:
    """Read the open tasks of the batch off the batch page, the live board and the API."""
    organizer = client_of(make_organizer())
    pages = [scene.batch.get_absolute_url(), reverse("assessment:board", args=[scene.track.slug])]
    texts = [" ".join(re.sub("<[^>]*>", " ", organizer.get(page).content.decode()).split()) for page in pages]
    board = organizer.get(reverse("api:board", args=[scene.track.slug])).json()
    return [
        *(match.group() for text in texts for match in re.finditer(r"Tasks open \d+ \d+ overdue", text)),
        f"Tasks open {board['n_open']} {board['n_overdue']} overdue",
    ]


def is_over(task: Task) -> None:
    """Let the time of a task have run out an hour ago."""
    Task.objects.filter(pk=task.pk).update(expires_at=timezone.now() - timedelta(hours=1))


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a day pass."""
    monkeypatch.setattr(timezone, "now", lambda now=timezone.now: now() + timedelta(days=1))


def test_no_task_is_overdue_after_undo(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the one that returned to the queue, even when its former time is over; but the one that is open then."""
    judge(accept(scene.batch, scene.ada))

    post(client_of(scene.ada), "undo", accept(scene.batch, scene.ada))

    assert open_and_overdue(scene) == ["Tasks open 1 0 overdue"] * 3
    later(monkeypatch)
    assert open_and_overdue(scene) == ["Tasks open 0 1 overdue"] * 3


def test_page_of_an_open_task_says_that_its_batch_was_closed_and_where_to_go(scene: Scene) -> None:
    """Also after Undo, which the page of a closed batch does not offer."""
    client, task = client_of(scene.ada), accept(scene.batch, scene.ada)
    judge(task)
    before = post(client, "undo", accept(scene.batch, scene.ada))
    batch_services.close(batch=scene.batch)

    closed = client.get(task.get_absolute_url()).content.decode()

    words = "The batch was closed after you took this task. You can still submit it."
    assert (words in before, words in closed) == (False, True)
    assert re.search(rf'{re.escape(words)}\s*<a href="{reverse("assessment:mine")}">Your batches</a>', closed)
    undo = reverse("assessment:undo", args=[task.pk])
    assert (undo in before, undo in closed) == (True, False)
    assert "You have undone your judgment" in closed


@pytest.mark.parametrize("action", ["give_back", "skip", "extend"])
def test_task_is_not_overdue_after_its_assessor_acted_on_it(scene: Scene, action: str) -> None:
    task = accept(scene.batch, scene.ada)
    is_over(task)
    task_services.expire()
    before = open_and_overdue(scene)

    post(client_of(scene.ada), action, task)

    assert before == ["Tasks open 0 1 overdue"] * 3
    n_open = {"give_back": 0, "skip": 1, "extend": 1}[action]  # after a skip, the next task
    assert open_and_overdue(scene) == [f"Tasks open {n_open} 0 overdue"] * 3


def test_task_of_a_topic_that_came_back_is_not_overdue(scene: Scene) -> None:
    task = accept(scene.batch, scene.ada)
    is_over(task)
    change = {"batch": scene.batch, "topic": scene.first}
    assignment_services.reassign(**change, from_assessor=scene.ada, to_assessor=scene.bob)

    assignment_services.reassign(**change, from_assessor=scene.bob, to_assessor=scene.ada)

    assert open_and_overdue(scene) == ["Tasks open 0 0 overdue"] * 3
