"""Rows of a table in Chromium: the controls of Assay, and a frame whose template can reach nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from assessment.models import Judgment
from tests.assessment.judging.test_browser import PHONE, desk_of, ready, state
from tests.fixtures import wait_until
from tests.helpers.browser import assert_accessible
from tests.helpers.row_scenes import CAPTIONS, MARKED, ROWS, TURKLE, build_rows

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXTS = "topic,docno,text\nt,1,Lovely\nt,2,Sad\n"
# What a hostile template tries. Each entry is "reached" if it worked.
HOSTILE = """
const found = {};
const attempt = (name, work) => {
  try { found[name] = work() ? "reached" : "nothing"; } catch (error) { found[name] = error.name; }
};
attempt("page", () => window.parent.document.body);
attempt("top", () => window.top.location.href);
attempt("cookie", () => document.cookie);
attempt("storage", () => window.localStorage.length >= 0);
attempt("opened", () => window.open("/account/"));
attempt("request", () => {
  const request = new XMLHttpRequest();
  request.open("GET", "/account/", false);
  request.send();
  return request.responseText;
});
const later = async () => {
  for (const [name, address] of [["api", "/api/v1/me/"], ["host", "https://example.org/"]])
    try {
      await fetch(address, {credentials: "include"});
      found[name] = "reached";
    } catch (error) {
      found[name] = error.name;
    }
  found.image = await new Promise((done) => {
    const image = new Image();
    image.onload = () => done("reached");
    image.onerror = () => done("refused");
    image.src = "/static/config/icon.svg?" + document.title;
  });
  try { window.top.location = "https://example.org/"; } catch (error) { found.away = error.name; }
  const form = document.createElement("form");
  form.method = "post"; form.action = "/account/"; form.target = "_top";
  document.body.append(form);
  HTMLFormElement.prototype.submit.call(form);
  document.getElementById("probe").value = JSON.stringify(found);
  document.body.dataset.tried = "";
};
later();
"""


@pytest.fixture
def desk(transactional_db: None, live_server: Any, new_page: Callable[..., Page]) -> Callable[..., Page]:
    return lambda scene, **options: desk_of(scene, live_server, new_page)(**options)


def frame_of(page: Page) -> FrameLocator:
    expect(page.locator(".form-frame")).to_have_attribute("data-ready", "")
    return page.frame_locator(".form-frame")


def stored() -> list[dict[str, Any]]:
    return list(Judgment.objects.order_by("pk").values_list("answers", flat=True))


def test_form_is_answered_with_the_keyboard_and_goes_to_the_next_row(desk: Callable[..., Page]) -> None:
    page = desk(build_rows(CAPTIONS, ROWS))
    address = page.url
    expect(page.get_by_role("group", name="Which errors?")).to_be_hidden()

    page.keyboard.press("2")
    expect(page.get_by_role("group", name="Which errors?")).to_be_visible()
    page.keyboard.press("4")
    page.get_by_role("group", name="Is it fluent?").get_by_text("Yes").click()
    assert_accessible(page)
    page.get_by_role("button", name="Submit").click()

    page.wait_for_function("before => location.href !== before", arg=address)
    assert stored() == [{"adequacy": "some", "errors": ["term"], "fluent": "yes"}]
    ready(page)
    expect(page.locator(".question.is-asked")).to_have_count(2)


def test_frame_keeps_a_draft_submits_and_is_filled_in_again(desk: Callable[..., Page]) -> None:
    page = desk(build_rows(TURKLE.replace("SCRIPT", ""), TEXTS), **PHONE)
    address = page.url
    frame = frame_of(page)

    page.get_by_role("button", name="Submit").click()  # the template requires a mood
    expect(frame.get_by_label("Good")).to_be_focused()
    assert stored() == []
    frame.get_by_label("Good").check()
    frame.get_by_label("Tone").check()
    frame.locator("textarea").fill("fine")
    page.wait_for_function(
        "() => document.getElementById('judgment').elements.answers.value.includes('fine')"
    )
    page.reload()
    frame = frame_of(ready(page))
    expect(frame.locator("textarea")).to_have_value("fine")
    expect(frame.get_by_label("Tone")).to_be_checked()
    page.context.set_offline(True)
    page.get_by_role("button", name="Submit").click()
    expect(state(page)).to_contain_text("no connection")
    page.context.set_offline(False)

    page.wait_for_function("before => location.href !== before", arg=address)
    assert stored() == [{"mood": "good", "why": "tone", "note": "fine"}]
    frame = frame_of(ready(page))
    expect(frame.get_by_label("Good")).not_to_be_checked()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(address)
    frame = frame_of(ready(page))
    expect(frame.get_by_label("Good")).to_be_checked()
    expect(frame.locator("textarea")).to_have_value("fine")


def test_hostile_template_reaches_neither_the_site_nor_another_host(
    desk: Callable[..., Page], complaints: list[str]
) -> None:
    page = desk(build_rows(TURKLE.replace("SCRIPT", HOSTILE.replace("\\", "\\\\")), TEXTS))
    address = page.url
    frame = frame_of(page)
    expect(frame.locator("body")).to_have_attribute("data-tried", "")
    tried = json.loads(frame.locator("#probe").input_value())

    assert "reached" not in tried.values()
    assert len(tried) >= 9
    assert page.url == address
    refused = [each for each in complaints if each.startswith("request to another host")]
    assert not refused
    complaints.clear()
    frame.get_by_label("Bad").check()
    page.get_by_role("button", name="Submit").click()
    wait_until(Judgment.objects.exists, reason="nothing was stored")
    assert stored()[0]["mood"] == "bad"
    complaints.clear()


# Judges the row that it is in, as soon as it is shown.
EAGER = """<script>
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector("[name=mood]").checked = true;
  document.getElementById("assay-form").requestSubmit();
  document.getElementById("assay-form").submit();
  window.parent.postMessage({assay: "submit", answers: {mood: ["good"]}}, "*");
  document.querySelector("label").click();
  document.body.dataset.tried = "";
});
</script>"""


# Takes the channel of frame.js with a getter of its own, and submits by it.
THIEF = """<script>
Object.defineProperty(MessageEvent.prototype, "data", {get() {
  this.target.postMessage({assay: "submit", answers: {mood: ["good"]}});
  document.body.dataset.tried = "";
  return {};
}});
</script>"""


def row_of(text: str) -> str:
    return f'topic,docno,text\nt,1,"{text.replace(chr(34), chr(34) * 2)}"\nt,2,Sad\n'


def test_value_of_a_row_is_text_and_raw_html_submits_nothing_by_itself(desk: Callable[..., Page]) -> None:
    page = desk(build_rows(TURKLE.replace("SCRIPT", ""), row_of(EAGER)))
    expect(frame_of(page).locator("#text")).to_have_text(" ".join(EAGER.split()))
    expect(frame_of(page).locator("body")).not_to_have_attribute("data-tried", "")


def test_missing_answer_of_a_frame_is_focused_or_named_if_the_template_hides_it(
    desk: Callable[..., Page],
) -> None:
    hidden = """<details><summary>More</summary><textarea name="note" required></textarea></details>
    <div style="display: none"><label>Reason <input name="why2" required></label></div>"""
    page = desk(
        build_rows(TURKLE.replace("SCRIPT", "").replace('<textarea name="note"></textarea>', hidden), TEXTS)
    )
    frame = frame_of(page)

    frame.get_by_label("Bad").check()
    page.get_by_role("button", name="Submit").click()
    expect(frame.locator("textarea")).to_be_focused()
    frame.locator("textarea").fill("why")
    page.get_by_role("button", name="Submit").click()
    expect(state(page)).to_have_text("The form requires “Reason”, and does not show it.")
    assert stored() == []


def test_template_that_submits_by_itself_waits_for_the_assessor(desk: Callable[..., Page]) -> None:
    template = TURKLE.replace("SCRIPT", "").replace("${text}", "${text|raw}")
    page = desk(build_rows(template, row_of(EAGER)))
    address = page.url
    frame = frame_of(page)

    expect(frame.locator("body")).to_have_attribute("data-tried", "")
    expect(state(page)).to_contain_text("The form tried to submit by itself.")
    assert page.url == address
    assert stored() == []
    frame.get_by_label("Bad").check()
    page.get_by_role("button", name="Submit").click()

    page.wait_for_function("before => location.href !== before", arg=address)
    assert [each["mood"] for each in stored()] == ["bad"]


def test_template_cannot_take_the_channel_of_the_frame(desk: Callable[..., Page]) -> None:
    template = TURKLE.replace("SCRIPT", "").replace("${text}", "${text|raw}")
    page = desk(build_rows(template, row_of(THIEF)))
    frame = frame_of(page)

    frame.get_by_label("Bad").check()
    page.get_by_role("button", name="Submit").click()

    wait_until(Judgment.objects.exists, reason="nothing was stored")
    assert [each["mood"] for each in stored()] == ["bad"]


def test_keys_of_the_page_work_in_a_frame_except_while_typing(desk: Callable[..., Page]) -> None:
    page = desk(build_rows(TURKLE.replace("SCRIPT", ""), TEXTS))
    address = page.url
    frame = frame_of(page)

    frame.locator("textarea").fill("")
    page.keyboard.type("gs?")
    expect(frame.locator("textarea")).to_have_value("gs?")
    frame.locator("#text").click()
    page.keyboard.press("?")
    expect(page.locator("#choices-and-keys")).to_be_visible()
    page.keyboard.press("Escape")
    frame.locator("#text").click()
    page.keyboard.press("s")
    expect(page.locator("#skip-reason")).to_be_focused()
    page.keyboard.press("Escape")
    frame.get_by_label("Good").check()
    page.keyboard.press("Enter")
    page.wait_for_function("before => location.href !== before", arg=address)
    assert [each["mood"] for each in stored()] == ["good"]
    frame = frame_of(ready(page))
    frame.locator("#text").click()
    page.keyboard.press("z")
    page.wait_for_url(address)


def test_frame_opened_as_a_page_shows_nothing(desk: Callable[..., Page], complaints: list[str]) -> None:
    page = desk(build_rows(TURKLE.replace("SCRIPT", ""), TEXTS))
    task, address = page.url, page.locator(".form-frame").evaluate("frame => frame.src")

    refused = page.goto(address)
    assert refused is not None
    assert refused.status == 403
    complaints.clear()
    old = page.request.get(address)  # as a browser that does not say what a request is for
    assert "Lovely" in old.text() or "Sad" in old.text()
    page.route(address, lambda route: route.fulfill(response=old))
    page.goto(address)
    assert page.locator("label").count() == 0
    page.goto(task)
    complaints.clear()


def test_parts_of_a_field_are_marked_with_the_pointer_and_with_keys(desk: Callable[..., Page]) -> None:
    rows = 'topic,docno,source,translation\nt,1,Gut,"Good \U0001f600 day,\nold friend"\n'
    page = desk(build_rows(MARKED, rows))
    address = page.url
    question = page.get_by_role("group", name="Mark the wrong words")
    page.keyboard.press("Enter")  # goes on to what is missing
    expect(state(page)).to_have_text("")
    page.keyboard.press("2")
    page.keyboard.press("4")
    page.get_by_role("group", name="Is it fluent?").get_by_text("Yes").click()

    page.locator(".panel-body h3").select_text()
    question.get_by_role("button", name="Added").click()
    expect(question.get_by_role("status")).to_have_text("First select words of translation.")
    page.locator(".field-text").select_text()
    question.get_by_role("button", name="Added").click()
    question.get_by_role("button", name="Select with keys").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    question.get_by_role("button", name="Omitted").click()
    nothing = question.get_by_role("button", name="No answer")
    expect(nothing.locator("kbd")).to_have_text("8")  # after the choices
    page.keyboard.press("8")
    expect(question.locator(".parts button")).to_have_count(2)
    expect(question.get_by_role("status")).to_have_text("Choose it again to remove all 2 parts.")
    assert_accessible(page)
    page.get_by_role("button", name="Submit").click()

    page.wait_for_function("before => location.href !== before", arg=address)
    [answers] = stored()
    assert answers["wrong"] == [
        {"start": 0, "length": 22, "choice": "added"},
        {"start": 12, "length": 10, "choice": "omitted"},
    ]
