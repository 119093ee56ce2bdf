"""Guidelines next to a task in Chromium: by key, on a phone, and their editor."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from assessment.models import Judgment
from tests.assessment.conftest import Scene, build_scene
from tests.assessment.judging.test_browser import desk_of, left, ready
from tests.assessment.judging.test_guidelines import publish
from tests.helpers.browser import assert_accessible, excess_width, log_in
from tests.helpers.factories import make_organizer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def live_scene(transactional_db: None) -> Scene:
    return build_scene()


@pytest.fixture
def desk(live_scene: Scene, live_server: Any, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens Ada's first task, with guidelines that changed."""
    publish(live_scene, "# Rules")
    publish(live_scene, "# Rules\n\nRead $x^2$ well.", "Stricter now")
    return desk_of(live_scene, live_server, new_page)


def test_panel_opens_by_key_and_stays_open_while_judging(desk: Callable[..., Page]) -> None:
    page = desk(viewport={"width": 1280, "height": 800})
    address = page.url
    panel = page.get_by_role("dialog", name="Guidelines")
    expect(page.get_by_text("Stricter now")).to_be_visible()

    page.keyboard.press("g")
    expect(panel.locator(".katex")).to_have_count(1)
    expect(page.get_by_role("heading", name="Guidelines")).to_be_focused()
    expect(page.get_by_text("Stricter now")).to_have_count(0)
    expect(page.locator("#submit")).to_be_in_viewport(ratio=1)
    assert_accessible(page)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    left(page, address)
    ready(page)
    expect(panel.get_by_text("Rules")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()

    expect(page.locator(".task-links [data-guidelines]")).to_be_focused()
    assert Judgment.objects.get().choice == "medium"


def test_sheet_of_a_phone_covers_the_task_until_it_is_closed(desk: Callable[..., Page]) -> None:
    page = desk(color_scheme="dark", **PHONE)

    page.get_by_role("link", name="Read them").tap()
    sheet = page.get_by_role("dialog", name="Guidelines")
    expect(sheet.locator(".katex")).to_have_count(1)
    assert_accessible(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_selector("html[data-bs-theme=light]", state="attached")
    assert_accessible(page)
    page.keyboard.press("2")
    sheet.get_by_role("button", name="Close the guidelines").tap()

    expect(sheet).to_be_hidden()
    expect(page.locator("input[name=choice]:checked")).to_have_count(0)


def test_editor_shows_the_text_while_it_is_written(
    live_scene: Scene, live_server: Any, new_page: Callable[..., Page]
) -> None:
    page = new_page(viewport={"width": 1280, "height": 900})
    log_in(page, live_server.url, make_organizer("olga"))
    page.goto(f"{live_server.url}/tracks/{live_scene.track.slug}/guidelines/edit/")

    page.get_by_label("Markdown").fill("## First\n\nLet $y$ be.")
    expect(page.locator("#preview").get_by_role("heading", name="First")).to_be_visible()
    expect(page.locator("#preview .katex")).to_have_count(1)
    assert_accessible(page)
    page.get_by_role("button", name="Publish version 1").click()

    expect(page.get_by_text("Version 1 is in force.")).to_be_visible()
    expect(page.locator("main .katex")).to_have_count(1)


def test_preview_on_a_phone_follows_the_text_and_is_hidden_while_it_is_empty(
    live_scene: Scene, live_server: Any, new_page: Callable[..., Page]
) -> None:
    page = new_page(**PHONE)
    log_in(page, live_server.url, make_organizer("olga"))
    page.goto(f"{live_server.url}/tracks/{live_scene.track.slug}/guidelines/edit/")
    text, preview = page.get_by_label("Markdown"), page.locator("#preview")

    expect(text).to_be_in_viewport(ratio=1)
    text.fill("")
    expect(preview).to_be_hidden()
    text.fill("## First")
    expect(preview.get_by_role("heading", name="First")).to_be_visible()

    tops = [
        each.evaluate("it => it.getBoundingClientRect().top")
        for each in (text, preview, page.get_by_role("button", name="Save draft"))
    ]
    assert sorted(tops) == tops
    assert_accessible(page)


@pytest.mark.parametrize("language", ["en-us", "de", "ar"])
def test_bar_of_a_phone_is_one_row_of_progress_and_one_of_links(
    language: str, live_scene: Scene, desk: Callable[..., Page]
) -> None:
    User.objects.filter(pk=live_scene.ada.pk).update(language=language)

    page = desk(**PHONE)

    links = ".task-links > li > :is(a, button), .task-links > li > * > :is(button, summary)"
    for n, parts in ((2, ".task-progress, #time-left"), (5, links)):
        boxes = [each.bounding_box() for each in page.locator(parts).all()]
        middles = [box["y"] + box["height"] / 2 for box in boxes if box]
        assert len(middles) == n
        assert max(middles) - min(middles) < 1, parts
    assert excess_width(page) <= 0
