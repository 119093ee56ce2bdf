"""Marking parts of a document in Chromium: with the mouse, with keys, by touch and offline."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from assay.html.sanitize import plain
from assessment.models import Judgment
from tests.assessment.judging.test_browser import PHONE, desk_of, left, ready, state
from tests.assessment.judgments.test_spans import BODY, span_scene
from tests.fixtures import wait_until
from tests.helpers.browser import assert_accessible

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SELECT = """([first, last]) => {
  const range = document.createRange();
  const pieces = [...document.querySelectorAll("#document-panel > .panel-body [data-at]")];
  const of = (words) => pieces.find((piece) => piece.textContent.includes(words)).firstChild;
  range.setStart(of(first), of(first).data.indexOf(first));
  range.setEnd(of(last), of(last).data.indexOf(last) + last.length);
  window.getSelection().removeAllRanges();
  window.getSelection().addRange(range);
}"""


@pytest.fixture
def desk(transactional_db: None, live_server: Any, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens the first task of Ada, whose document can be marked."""
    return desk_of(span_scene(), live_server, new_page)


def stored() -> list[list[tuple[str, str]]]:
    """The marked words of each judgment, with their choices."""
    text, answers = plain(BODY), Judgment.objects.order_by("pk").values_list("answers", flat=True)
    return [
        [(text[each["start"] : each["start"] + each["length"]], each["choice"]) for each in answer["wrong"]]
        for answer in answers
    ]


def parts(page: Page) -> Any:
    return page.locator(".parts button")


def test_parts_are_marked_removed_and_shown_again_also_offline(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    page.keyboard.press("1")
    page.evaluate(SELECT, ["Ham", "x < y"])
    page.keyboard.press("3")
    expect(parts(page)).to_have_text(["Added: Ham & eggs 😀 cost $x^2$ if x < y ×"])
    page.evaluate(SELECT, ["sold", "shop"])
    page.get_by_role("button", name="Omitted", exact=False).first.click()
    page.evaluate(SELECT, ["eggs", "eggs"])
    page.keyboard.press("4")
    expect(parts(page)).to_have_count(3)
    assert page.evaluate("[...CSS.highlights.get('part-1')].map(String)") == ["eggs", "sold in the  shop"]
    expect(page.locator(".parts-state")).to_have_text("Marked as Omitted.")
    page.get_by_role("button", name="Remove Omitted: eggs").click()
    expect(page.locator(".parts-state")).to_be_empty()
    assert_accessible(page)

    page.get_by_role("button", name="Select with keys").focus()
    for key in ("Home", "ArrowDown", "Shift+ArrowDown", "3"):
        page.keyboard.press(key)
    expect(parts(page)).to_have_count(3)
    page.reload()
    ready(page)
    expect(parts(page)).to_have_count(3)
    page.context.set_offline(True)
    page.get_by_role("button", name="Select with keys").press("Enter")
    expect(state(page)).to_contain_text("Not saved yet: no connection.")
    page.context.set_offline(False)
    left(page, address)

    first = [("Ham & eggs 😀 cost $x^2$ if x < y", "added"), ("sold in the shop", "omitted")]
    assert sorted(stored()[0])[:1] == first[:1]
    assert first[1] in stored()[0]
    assert len(stored()[0]) == 3
    expect(parts(page)).to_have_count(0)  # the next task, in the same page
    page.keyboard.press("1")
    page.evaluate(SELECT, ["eggs", "eggs"])
    page.keyboard.press("3")
    expect(parts(page)).to_have_text(["Added: eggs ×"])
    assert page.evaluate("[...CSS.highlights.get('part-0')].map(String)") == ["eggs"]
    page.goto(address)
    ready(page)
    expect(parts(page)).to_have_count(3)
    page.get_by_role("button", name="Remove Omitted").click()
    page.keyboard.press("Escape")
    page.locator("#submit").click()
    left(page, address)
    assert len(stored()[1]) == 2


def test_parts_are_marked_by_touch(desk: Callable[..., Page]) -> None:
    page = desk(color_scheme="dark", **PHONE)
    page.locator("label[for=choice-relevant]").tap()
    page.evaluate(SELECT, ["eggs", "eggs"])
    page.locator(".question:visible").get_by_role("button", name="Omitted").tap()
    expect(parts(page)).to_have_text(["Omitted: eggs ×"])
    assert_accessible(page)
    page.locator("#submit").tap()

    wait_until(lambda: len(stored()) == 1)
    assert stored() == [[("eggs", "omitted")]]
