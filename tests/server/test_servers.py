"""The servers, workers and browser that other tests rely on."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from jobs import services as jobs
from jobs.models import Job
from tests.conftest import wait_until


@pytest.mark.browser
def test_the_front_page_needs_no_other_host(live_server: LiveServer, browser_page: Page) -> None:
    response = browser_page.goto(live_server.url)

    assert response is not None
    assert response.status == 200
    assert "Assay" in browser_page.title()


def test_a_real_worker_takes_a_job(worker: Callable[[], object], transactional_db: None) -> None:
    worker()

    jobs.nudge(Job.objects.create(kind="no.such", title="Nothing").pk)

    wait_until(lambda: Job.objects.get().is_finished)
    assert Job.objects.get().state == Job.State.FAILED
