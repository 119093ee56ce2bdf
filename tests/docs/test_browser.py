"""The documentation in a real browser, under the site's own Content-Security-Policy.

`new_page` fails each of these tests if a page asks another host, breaks the Content-Security-Policy or logs an error.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from home import documentation
from tests.helpers.browser import violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Open = Callable[..., Page]


@pytest.fixture(autouse=True)
def _served(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: built)


def test_search_leads_to_a_page_and_back(new_page: Open, live_server: LiveServer) -> None:
    page = new_page()
    page.goto(f"{live_server.url}/help/")

    page.get_by_role("textbox", name="Search").fill("rank-biased overlap")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="What the numbers mean").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("What the numbers mean")

    page.get_by_role("navigation", name="Site").get_by_role("link", name="Assay").click()

    expect(page).to_have_url(f"{live_server.url}/")


def test_chosen_theme_stays_on_the_next_page(new_page: Open, live_server: LiveServer) -> None:
    page = new_page(color_scheme="light")
    page.goto(f"{live_server.url}/help/tour.html")

    for _ in range(3):  # the button goes through auto, dark and light
        if page.locator("body").get_attribute("data-theme") == "dark":
            break
        page.get_by_role("button", name="Toggle Light / Dark / Auto color theme").last.click()
    page.goto(f"{live_server.url}/help/glossary.html")

    expect(page.locator("body")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 20, 21)"


def test_headings_landmarks_and_targets_suit_screen_readers_and_fingers(
    new_page: Open, live_server: LiveServer
) -> None:
    rules = ["aria-required-attr", "landmark-unique", "region", "page-has-heading-one", "target-size"]
    page = new_page()

    for name in ("index", "tour", "reference/formats", "search"):
        page.goto(f"{live_server.url}/help/{name}.html")
        assert violations(page, rules) == [], name


def test_unknown_page_is_not_found(new_page: Open, live_server: LiveServer) -> None:
    page = new_page()

    response = page.goto(f"{live_server.url}/help/no-such-page.html")

    assert response is not None
    assert response.status == 404
