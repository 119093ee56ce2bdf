"""The home of a track, asked for again while people judge."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.helpers.browser import log_in
from tests.scoring.conftest import build_scene


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_phase_stays_unfolded_when_the_home_is_asked_for_again(
    live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    scene = build_scene()
    scene.batch({scene.ada: list(scene.topics)})
    page = new_page(base_url=live_server.url)
    log_in(page, live_server.url, scene.organizer)
    page.clock.install()
    page.goto(scene.track.get_absolute_url())
    set_up, judging = (page.locator("details.phase").filter(has_text=text) for text in ("Set up", "Judging"))
    set_up.get_by_role("heading", name="Set up").click()
    judging.get_by_role("heading", name="Judging").click()

    with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
        page.clock.fast_forward("00:31")

    expect(set_up).to_have_attribute("open", "")
    expect(judging).not_to_have_attribute("open", "")
