"""An organizer imports a file in a real browser and follows its progress."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from corpus.models import Collection, Document
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.browser import excess_width, log_in
from tests.helpers.dumps import many_posts, write
from tests.helpers.factories import make_organizer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_organizer_uploads_a_dump_and_follows_the_import(
    live_server: Any, browser_page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)  # the test runs the job
    path = write(tmp_path, "Posts.xml", many_posts(3000))
    page = browser_page
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/imports/new/")

    page.set_input_files("[name=upload]", path)
    page.click("#import-form button")
    expect(page.get_by_text("Enter a short name for the new collection.")).to_be_visible()
    page.fill("[name=slug]", "math")
    page.set_input_files("[name=upload]", path)
    page.click("#import-form button")
    expect(page.locator(".job")).to_contain_text("queued")
    jobs.run(Job.objects.get().pk)

    expect(page.get_by_text("1,000 questions, 2,000 answers.")).to_be_visible(timeout=60_000)
    expect(page.locator(".job")).to_contain_text("done")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert excess_width(page) <= 0
    assert Collection.objects.get().status == Collection.Status.READY
    assert Document.objects.count() == 3000
