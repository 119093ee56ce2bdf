"""Jobs that management commands run."""

import pytest
from django.core.management import CommandError

from assay.errors import Refused
from jobs import console, services
from jobs.models import Job
from tests.helpers.factories import make_collection

pytestmark = pytest.mark.django_db


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
