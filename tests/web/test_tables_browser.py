"""Tables in Chromium."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.helpers.browser import excess_width, log_in
from tests.helpers.factories import make_organizer, make_topic, make_track

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_headings_of_a_long_list_stay_in_the_window_and_hide_no_link_with_the_focus(
    live_server: LiveServer, browser_page: Page
) -> None:
    page, track = browser_page, make_track("rag")
    for n in range(1, 61):
        make_topic(track, f"A.{n}")
    page.set_viewport_size({"width": 1280, "height": 600})
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/rag/topics/")
    heads, last = page.get_by_role("columnheader").first, page.get_by_role("link", name="A.60")

    last.scroll_into_view_if_needed()

    expect(heads).to_be_in_viewport(ratio=1)
    last.focus()
    for link in reversed(page.locator("main tbody th a").all()):
        link.focus()
        link_box, head_box = link.bounding_box(), heads.bounding_box()
        assert link_box
        assert head_box
        assert link_box["y"] >= head_box["y"] + head_box["height"] - 1
    assert excess_width(page) <= 0
