"""The pages of jobs."""

import pytest
from django.test import Client
from django.urls import reverse

from jobs import services
from jobs.models import Job
from tests.helpers.api import api, call
from tests.helpers.factories import make_collection, make_organizer, make_user

pytestmark = pytest.mark.django_db


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
    assert "No jobs yet." in others


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
    assert "hx-trigger" not in finished.content.decode()


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
    assert (canceled.json()["state"], by_page.state) == ("failed", "queued")
