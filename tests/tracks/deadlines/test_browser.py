"""Deadlines in a browser: the reader's own time, the time left, and a form that keeps what nobody touches."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browser import log_in
from tests.helpers.factories import make_deadline, make_organizer, make_topic, make_track
from tracks.models import Deadline, Download, Track

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_reader_sees_their_own_time_and_saving_keeps_the_instants(
    live_server: Any, new_page: Callable[..., Page]
) -> None:
    track = make_track("lab", status=Track.Status.DRAFT)
    make_topic(track)
    instant = datetime(2036, 5, 2, 11, 59, 30, 123456, UTC)
    Deadline.objects.create(track=track, closes_at=instant, zone="AoE")
    make_deadline(track, "alternate", closes_at=90_000, zone="AoE")
    before = list(Deadline.objects.order_by("pk").values())
    page = new_page(timezone_id="Asia/Kolkata", locale="en-US")
    log_in(page, live_server.url, make_organizer())

    page.goto(f"{live_server.url}/tracks/lab/deadlines/")
    expect(page.get_by_text("your time: May 2, 2036, 5:29 PM Asia/")).to_be_visible()
    page.click("text=Save deadlines")
    expect(page.get_by_text("Deadlines saved.")).to_be_visible()
    assert list(Deadline.objects.order_by("pk").values()) == before

    page.goto(f"{live_server.url}/tracks/lab/downloads/topics/edit/")
    page.click("main form.wide-form [type=submit]")
    expect(page.get_by_text("Topics saved.")).to_be_visible()
    assert Download.objects.get().released_at == Track.objects.get().created_at
