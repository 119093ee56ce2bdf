"""The plots of the board and of an assessor's own statistics in Chromium."""

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.assessment.conftest import Scene
from tests.helpers.browser import log_in
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge

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
