"""The board and an assessor's own statistics in Chromium: plots are drawn, times do not break."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.assessment.conftest import Scene
from tests.helpers.browser import excess_width, log_in
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge
from tracks.models import Deadline

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_choices_and_days_are_drawn(
    scene: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    for choice in ("high", "low"):
        judge(accept(scene.batch, scene.ada), choice)
    page = new_page(base_url=live_server.url)
    log_in(page, live_server.url, make_organizer())

    page.goto(reverse("assessment:board", args=[scene.track.slug]))
    choices = page.get_by_role("img", name="Choices by assessor")
    expect(choices.locator("svg text").filter(has_text="High")).to_have_count(1)
    choices.hover(position={"x": 300, "y": 45})

    expect(choices.locator("svg text").filter(has_text="High: 1 (50 %)")).to_have_count(1)
    other = new_page(base_url=live_server.url)
    log_in(other, live_server.url, scene.ada)
    other.goto(reverse("assessment:own_statistics"))
    days = other.get_by_role("img", name="Judgments per day")
    expect(days.locator("svg text").filter(has_text="Judgments")).to_have_count(1)


def test_times_do_not_break_on_a_phone(
    scene: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    judge(accept(scene.batch, scene.ada), "do-not-know", "why")
    Deadline.objects.create(track=scene.track, closes_at=timezone.now() + timedelta(days=9), zone="AoE")
    page = new_page(base_url=live_server.url, viewport={"width": 320, "height": 700})
    log_in(page, live_server.url, make_organizer())

    lines = {}
    for name, address in {
        "board": reverse("assessment:board", args=[scene.track.slug]),
        "batch": scene.batch.get_absolute_url(),
        "track": scene.track.get_absolute_url(),
    }.items():
        page.goto(address)
        times = page.locator("main time:not([data-local]):visible")
        lines[name] = set(times.evaluate_all("all => all.map(time => time.getClientRects().length)"))

    assert (lines["board"], lines["batch"]) == ({1}, {1})
    both = page.locator("main time[data-local]:visible").first  # a time in two zones is long: it may break
    assert both.evaluate("time => getComputedStyle(time).whiteSpace") == "normal"
    assert excess_width(page) <= 0
