"""The servers, workers and browser that other tests rely on."""

import pytest

from jobs import services as jobs
from jobs.models import Job


@pytest.mark.browser
def test_the_front_page_needs_no_other_host(live_server, browser_page):
    response = browser_page.goto(live_server.url)

    assert response.status == 200
    assert "Assay" in browser_page.title()


def test_a_real_worker_takes_a_job(worker, transactional_db):
    worker()

    jobs.nudge(Job.objects.create(kind="no.such", title="Nothing").pk)

    from tests.conftest import wait_until

    wait_until(lambda: Job.objects.get().is_finished)
    assert Job.objects.get().state == Job.State.FAILED
