"""Jobs: each runs once, even if workers are killed."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from assay.errors import Refused
from corpus.models import Collection
from jobs import console, services, stopping
from jobs import services as jobs
from jobs.models import Job
from jobs.services import JobLost, Progress
from jobs.tasks import run_job
from jobs.watchdog import watched
from tests.fixtures import wait_until
from tests.helpers.api import api, call
from tests.helpers.factories import make_collection, make_organizer, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Registers a handler for one test and requests a job of it, which no worker receives."""
    monkeypatch.setattr(jobs, "_handlers", dict(jobs._handlers))

    def register(function: Any, failed: Any = None, retried: Any = None) -> Job:
        jobs.handler("tests.work", failed=failed, retried=retried)(function)
        return jobs.request(
            kind="tests.work",
            title="Work",
            arguments={"n": 3},
            by=make_organizer(),
            subject=make_collection(),
        )

    return register


def long_ago() -> Any:
    return timezone.now() - timedelta(hours=1)


def test_job_runs_to_its_end_and_keeps_its_result(kind: Any) -> None:
    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        progress.update(1, n, "one")
        return {"sum": n + 1}

    job = kind(work)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.result, job.done, job.total, job.attempt) == ("done", {"sum": 4}, 3, 3, 1)


def test_job_delivered_twice_runs_once(kind: Any) -> None:
    calls: list[int] = []

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        calls.append(n)
        return {}

    job = kind(work)
    jobs.run(job.pk)
    jobs.run(job.pk)

    assert calls == [3]


def test_job_that_another_worker_holds_is_not_started(kind: Any) -> None:
    calls: list[int] = []

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        calls.append(n)
        jobs.run(progress.job_id)  # as if another worker had received the message too
        return {}

    jobs.run(kind(work).pk)

    assert calls == [3]


def test_refusal_fails_the_job_with_its_message(kind: Any) -> None:
    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        raise Refused("The file is empty.")

    job = kind(work)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", "The file is empty.")


def test_failure_runs_the_hook_in_the_same_transaction(kind: Any) -> None:
    collection = make_collection(status=Collection.Status.IMPORTING)

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        raise KeyError("a bug")

    def failed(*, n: int) -> None:
        Collection.objects.filter(pk=collection.pk).update(status=Collection.Status.EMPTY)

    job = kind(work, failed)
    jobs.run(job.pk)

    job.refresh_from_db()
    collection.refresh_from_db()
    assert (job.state, collection.status) == ("failed", "empty")
    assert "a bug" not in job.error


def test_attempt_that_lost_its_job_stores_nothing(kind: Any) -> None:
    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        Job.objects.filter(pk=progress.job_id).update(attempt=7)  # another worker took it over
        with progress.storing():
            make_collection("half-a-result")
        return {}

    job = kind(work)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert not Collection.objects.filter(slug="half-a-result").exists()
    assert (job.state, job.attempt) == ("running", 7)


def test_attempt_that_lost_its_job_stops_at_its_next_report(kind: Any) -> None:
    reached: list[str] = []

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        Job.objects.filter(pk=progress.job_id).update(attempt=7)
        progress.update(1, n)
        reached.append("the end")
        return {}

    jobs.run(kind(work).pk)

    assert reached == []


def test_error_while_storing_rolls_back(kind: Any) -> None:
    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        with progress.storing():
            make_collection("half-a-result")
            raise Refused("The second half is broken.")

    jobs.run(kind(work).pk)

    assert not Collection.objects.filter(slug="half-a-result").exists()


def test_next_worker_takes_over_the_job_of_a_lost_worker(kind: Any) -> None:
    job = kind(lambda progress, *, n: {"n": n})
    Job.objects.filter(pk=job.pk).update(state="running", attempt=1, heartbeat_at=long_ago())

    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.attempt, job.losses) == ("done", 2, 1)


def test_job_that_lost_the_database_stays_running_for_the_beat(kind: Any) -> None:
    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        raise OperationalError("server closed the connection")

    job = kind(work)
    with pytest.raises(OperationalError):
        jobs.run(job.pk)

    job.refresh_from_db()
    assert job.state == "running"


@pytest.fixture
def nudged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    ids: list[int] = []
    monkeypatch.setattr(jobs, "nudge", ids.append)
    return ids


def test_only_jobs_that_lost_their_worker_or_message_are_relaunched(kind: Any, nudged: list[int]) -> None:
    def make_job(**fields: Any) -> int:
        job = Job.objects.create(kind="tests.work", title="Work")
        Job.objects.filter(pk=job.pk).update(**fields)
        return job.pk

    forgotten = make_job(created_at=long_ago())
    lost = make_job(state="running", heartbeat_at=long_ago())
    make_job(created_at=long_ago(), heartbeat_at=timezone.now())  # its message was sent just now
    make_job(state="running", heartbeat_at=timezone.now())
    make_job(state="done", created_at=long_ago())
    make_job()

    assert jobs.relaunch_lost() == 2
    assert nudged == [forgotten, lost]
    assert jobs.relaunch_lost() == 1, "a message was sent for the forgotten job; the lost job is still silent"


def test_job_that_loses_every_worker_fails_and_says_so(kind: Any) -> None:
    failures: list[int] = []
    attempts: list[int] = []

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        attempts.append(progress.attempt)
        Job.objects.filter(pk=progress.job_id).update(heartbeat_at=long_ago())
        raise OperationalError("as if the worker were killed here: nothing is stored")

    job = kind(work, lambda *, n: failures.append(n))
    for _ in range(jobs.MAX_LOSSES):
        with pytest.raises(OperationalError):
            jobs.run(job.pk)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, attempts, failures) == ("failed", [1, 2, 3], [3])
    assert (job.losses, job.losses_in_a_row) == (3, 3)
    assert "lost 3 times" in job.error


def test_job_that_stores_parts_goes_on_however_many_workers_it_loses(kind: Any) -> None:
    n_parts = jobs.MAX_LOSSES + 2

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        with progress.storing(is_part=True):
            make_collection(f"part-{progress.attempt}")
        if progress.attempt < n_parts:
            Job.objects.filter(pk=progress.job_id).update(heartbeat_at=long_ago())
            raise OperationalError("as if the worker were killed here")
        return {"parts": progress.attempt}

    job = kind(work)
    for _ in range(n_parts - 1):
        with pytest.raises(OperationalError):
            jobs.run(job.pk)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.losses, job.result) == ("done", n_parts - 1, {"parts": n_parts})
    assert job.losses_in_a_row == 0, "the last attempt stored a part"


@pytest.mark.parametrize(("seconds", "state"), [(60.0, "done"), (0.0, "queued")])
def test_worker_that_stops_lets_short_jobs_end(
    kind: Any, monkeypatch: pytest.MonkeyPatch, seconds: float, state: str
) -> None:
    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        stopping.stop()
        progress.update(1, n)
        return {"n": n}

    monkeypatch.setattr(stopping, "_time", None)
    monkeypatch.setattr(stopping, "HAND_BACK_SECONDS", seconds)
    stopping.watch()
    job = kind(work)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.attempt, job.losses) == (state, 1, 0)


SKEWS = [timedelta(hours=-3), timedelta(hours=3)]


@contextmanager
def wrong_clock(skew: timedelta) -> Iterator[None]:
    """The clock of this process is wrong, that of the database is right."""
    right = timezone.now
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: right() + skew)
        yield


@pytest.mark.parametrize("skew", SKEWS)
def test_host_with_a_wrong_clock_takes_no_job_from_its_worker(
    kind: Any, nudged: list[int], skew: timedelta
) -> None:
    job = kind(lambda progress, *, n: {})
    Job.objects.create(kind="tests.work", title="Waiting")
    jobs._claim(job.pk)

    with wrong_clock(skew):
        jobs.run(job.pk)
        n_relaunched = jobs.relaunch_lost()

    job.refresh_from_db()
    assert (job.state, job.attempt, n_relaunched, nudged) == ("running", 1, 0, [])


@pytest.mark.parametrize("skew", SKEWS)
def test_host_with_a_wrong_clock_holds_its_job_as_long_as_any_other(
    kind: Any, nudged: list[int], settings: Any, skew: timedelta
) -> None:
    job = kind(lambda progress, *, n: {})
    with wrong_clock(skew):
        waiting = Job.objects.create(kind="tests.work", title="Waiting")
        held = jobs._claim(job.pk)
        assert held is not None
        Progress(held.pk, held.attempt).update(1, 3)

    assert jobs.relaunch_lost() == 0, "its worker is alive"

    settings.JOB_LOST_AFTER_SECONDS = 0
    assert jobs.relaunch_lost() == 2, "now it has been silent for too long"
    assert nudged == [job.pk, waiting.pk]


def test_worker_that_stores_for_long_does_not_lose_its_job_at_the_commit(kind: Any, settings: Any) -> None:
    """The lock of the row stops the heartbeat meanwhile."""
    settings.JOB_HEARTBEAT_SECONDS = 0
    job = kind(lambda progress, *, n: {})
    held = jobs._claim(job.pk)
    assert held is not None

    with Progress(held.pk, held.attempt).storing():
        Job.objects.filter(pk=job.pk).update(heartbeat_at=long_ago())

    assert jobs._claim(job.pk) is None


def test_failed_job_can_be_retried(kind: Any) -> None:
    attempts: list[int] = []

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        attempts.append(progress.attempt)
        if len(attempts) == 1:
            raise Refused("Not today.")
        return {}

    job = kind(work)
    jobs.run(job.pk)
    jobs.retry(job=job)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error, attempts) == ("done", "", [1, 2])


def test_retry_calls_the_hook_of_the_handler(kind: Any) -> None:
    calls: list[int] = []
    job = kind(lambda progress, *, n: {}, retried=lambda *, n: calls.append(n))
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED)

    jobs.retry(job=job)

    assert calls == [3]


def test_job_that_has_not_failed_cannot_be_retried(kind: Any) -> None:
    job = kind(lambda progress, *, n: {})

    with pytest.raises(Refused, match="Only a failed job"):
        jobs.retry(job=job)


def test_job_that_reaches_its_time_limit_is_stopped_and_says_so(kind: Any, settings: Any) -> None:
    def endless(progress: Progress, *, n: int) -> dict[str, Any]:
        while True:
            try:
                n += 1
            except Exception:  # noqa: BLE001  # as a handler may do
                n = 0

    settings.JOB_TIME_LIMIT_HOURS = 0.0001
    job = kind(endless)
    run_job(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == (
        "failed",
        "The job reached its time limit of 0.0001 hours (JOB_TIME_LIMIT_HOURS) and was stopped.",
    )


def test_job_of_an_unknown_kind_fails_with_that_reason() -> None:
    job = Job.objects.create(kind="tests.nobody", title="Work")

    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", "There is no handler for jobs of kind tests.nobody.")


def test_two_handlers_of_one_kind_are_refused(kind: Any) -> None:
    kind(lambda progress, *, n: {})

    with pytest.raises(ValueError, match="two handlers"):
        jobs.handler("tests.work")(lambda progress, **arguments: {})


@pytest.mark.django_db(transaction=True)
def test_heartbeat_continues_while_the_handler_reports_nothing(kind: Any, settings: Any) -> None:
    settings.JOB_HEARTBEAT_SECONDS = 0.01
    beats: list[Any] = []

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        beats.append(Job.objects.get(pk=progress.job_id).heartbeat_at)
        while len(beats) < 4:  # the job is still this worker's after each of them
            wait_until(lambda: Job.objects.get(pk=progress.job_id).heartbeat_at != beats[-1], seconds=20)
            beats.append(Job.objects.get(pk=progress.job_id).heartbeat_at)
            progress.report(len(beats), 4)
        return {}

    job = kind(work)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.losses, sorted(beats)) == ("done", 0, beats)


@pytest.mark.django_db(transaction=True)
def test_two_workers_that_start_at_once_run_a_job_once(kind: Any) -> None:
    calls: list[int] = []
    start = threading.Barrier(2)

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        calls.append(n)
        return {}

    job = kind(work)

    def worker() -> None:
        start.wait()
        try:
            jobs.run(job.pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=worker) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    job.refresh_from_db()
    assert (calls, job.state) == ([3], "done")


@pytest.mark.django_db(transaction=True)
def test_no_worker_takes_over_a_job_while_it_stores(kind: Any) -> None:
    refused: list[bool] = []

    def work(progress: Progress, *, n: int) -> dict[str, Any]:
        with progress.storing() as job:
            Job.objects.filter(pk=job.pk).update(heartbeat_at=long_ago())

            def other_worker() -> None:
                refused.append(jobs._claim(job.pk) is None)
                connection.close()

            thread = threading.Thread(target=other_worker)
            thread.start()
            thread.join()
        return {}

    job = kind(work)
    jobs.run(job.pk)

    job.refresh_from_db()
    assert (refused, job.state) == ([True], "done")


def test_storing_outside_a_running_job_raises_job_lost() -> None:
    job = Job.objects.create(kind="tests.work", title="Work")

    with pytest.raises(JobLost), Progress(job.pk, 1).storing():
        pytest.fail("stored for a job that was not running")


def test_job_that_needs_the_disk_of_a_machine_runs_there(kind: Any, settings: Any) -> None:
    job = kind(lambda progress, *, n: {})
    Job.objects.filter(pk=job.pk).update(place="host.far-away")

    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.needs) == ("queued", "on the machine far-away")

    settings.HOST_NAME = "far-away"
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == "done"


def test_message_goes_to_the_queue_of_the_place(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(jobs.current_app, "send_task", lambda *_, queue, **__: sent.append(queue))
    job = kind(lambda progress, *, n: {})

    jobs.nudge(job.pk)
    Job.objects.filter(pk=job.pk).update(place="import-folder")
    jobs.nudge(job.pk)

    assert sent == [None, "import-folder"]


def request(monkeypatch: pytest.MonkeyPatch, run: services.Handler) -> Job:
    monkeypatch.setattr(services, "_handlers", {"tests.work": services.RegisteredHandler(run, None)})
    return services.request(kind="tests.work", title="Work", arguments={}, by=None, subject=make_collection())


def test_command_runs_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    job = request(monkeypatch, lambda progress: {"n": 3})

    console.follow(job)

    assert job.result == {"n": 3}


def test_command_ends_with_the_error_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(progress: services.Progress) -> dict[str, int]:
        raise Refused("The file is empty.")

    job = request(monkeypatch, fail)

    with pytest.raises(CommandError, match=r"The file is empty\."):
        console.follow(job)


def test_command_waits_for_a_worker_that_was_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    job = request(monkeypatch, lambda progress: pytest.fail("the worker holds the job"))
    services._claim(job.pk)

    def finish(seconds: float) -> None:
        Job.objects.filter(pk=job.pk).update(state=Job.State.DONE, result={"n": 4})

    monkeypatch.setattr(console.time, "sleep", finish)
    console.follow(job)

    assert job.result == {"n": 4}


ENDLESS = """
import re
from jobs.watchdog import watched
with watched(0.5):
    print("started", flush=True)
    re.match("(a|a)*b", "a" * 100)
"""


def test_process_that_is_stuck_in_c_code_ends_with_a_traceback() -> None:
    process = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, check=False)

    assert (process.returncode, process.stdout) == (1, "started\n")
    assert "Timeout" in process.stderr
    assert "re.match" in process.stderr or "__init__.py" in process.stderr


def test_process_that_runs_is_left_alone() -> None:
    def is_watched() -> bool:
        return "watchdog" in {thread.name for thread in threading.enumerate()}

    with watched(60):
        assert is_watched()

    assert not is_watched()


def test_job_is_visible_to_organizers_and_to_the_user_who_requested_it(client: Client) -> None:
    owner = make_user()
    job = Job.objects.create(kind="tests.work", title="Work", created_by=owner)
    statuses = []

    for user in (owner, make_user(), make_organizer()):
        client.force_login(user)
        statuses.append(client.get(job.get_absolute_url()).status_code)

    assert statuses == [200, 404, 200]


def test_list_has_the_jobs_of_the_user_with_their_subjects(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_handlers", {"tests.work": services.RegisteredHandler(dict, None)})
    owner, collection = make_user(), make_collection(name="Posts of 2026")
    services.request(kind="tests.work", title="Work", arguments={}, by=owner, subject=collection)

    client.force_login(owner)
    own = client.get(reverse("jobs:jobs")).content.decode()
    client.force_login(make_user())
    others = client.get(reverse("jobs:jobs")).content.decode()

    assert f'<a href="{collection.get_absolute_url()}">Posts of 2026</a>' in own
    assert "No jobs yet" in others


def test_head_of_a_page_counts_running_jobs_and_refreshes_the_count(client: Client) -> None:
    client.force_login(make_organizer())
    job = Job.objects.create(kind="tests.work", title="Work", state="running")

    running = client.get(reverse("jobs:jobs")).content.decode()
    job.state = Job.State.DONE
    job.save()
    done = client.get(reverse("jobs:jobs")).content.decode()

    head = running[running.index('id="running"') :].split("</a>", 1)[0]
    assert 'hx-trigger="every 10s"' in head
    assert 'hx-select="#running"' in head
    assert "1 job" in head
    assert 'id="running"' not in done


def test_fragment_of_a_job_polls_until_the_job_is_finished(client: Client) -> None:
    client.force_login(make_organizer())
    job = Job.objects.create(kind="tests.work", title="Work", state="running", done=3, total=12)

    running = client.get(job.get_absolute_url(), headers={"hx-request": "true"})
    Job.objects.filter(pk=job.pk).update(state="done")
    finished = client.get(job.get_absolute_url(), headers={"hx-request": "true"})

    assert 'hx-trigger="every 1s"' in running.content.decode()
    assert 'value="25"' in running.content.decode()
    assert "HX-Refresh" not in running.headers
    assert finished.headers["HX-Refresh"] == "true"
    assert "Finished: Work." in client.get(reverse("jobs:jobs")).content.decode()
    assert "hx-trigger" not in finished.content.decode()


def test_kind_of_job_says_what_it_has_done() -> None:
    done = [
        Job(kind="pooling.build_pool", title="Build the pool 1 of ARQ", result={"pool": 1, "n": 84}),
        Job(kind="scoring.score_runs", result={"leaderboard": 1, "runs": 1}),
        Job(kind="tests.unknown", title="Work"),
    ]

    assert [jobs.in_words(job) for job in done] == [
        "The pool is built: 84 units.",
        "1 run scored.",
        "Finished: Work.",
    ]


def test_only_an_organizer_retries_a_failed_job(client: Client) -> None:
    job = Job.objects.create(
        kind="tests.work", title="Work", state="failed", created_by=(owner := make_user())
    )
    address = reverse("jobs:retry", args=[job.pk])

    client.force_login(owner)
    for_owner = client.get(job.get_absolute_url()).content.decode()
    status_for_owner = client.post(address).status_code
    client.force_login(make_organizer())
    for_organizer = client.get(job.get_absolute_url()).content.decode()
    client.post(address)

    job.refresh_from_db()
    assert (status_for_owner, job.state) == (403, "queued")
    assert "Retry job" in for_organizer
    assert "Retry job" not in for_owner


def test_canceled_job_stores_nothing_more_and_can_be_restarted(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga, owner = make_organizer("olga"), make_user()
    by_page, by_program = (Job.objects.create(kind="tests.work", title="Work") for _ in range(2))
    went_on: list[bool] = []

    def work(progress: services.Progress) -> dict[str, object]:
        client.post(reverse("jobs:cancel", args=[by_page.pk]))
        with progress.storing():
            went_on.append(True)
        return {}

    monkeypatch.setattr(services, "_handlers", {"tests.work": services.RegisteredHandler(work, None)})
    Job.objects.filter(pk=by_program.pk).update(created_by=owner)
    client.force_login(olga)
    services.run(by_page.pk)
    refused = call(api(owner), "POST", "cancel_job", by_program.pk)
    canceled = call(api(olga), "POST", "cancel_job", by_program.pk)
    again = call(api(olga), "POST", "cancel_job", by_program.pk)
    page = client.get(by_page.get_absolute_url()).content.decode()
    client.post(reverse("jobs:retry", args=[by_page.pk]))

    by_page.refresh_from_db()
    assert not went_on
    assert "olga canceled this job. You can restart it." in page
    assert (refused.status_code, canceled.status_code, again.status_code) == (403, 200, 409)
    assert (canceled.json()["status"], by_page.state) == ("failed", "queued")
