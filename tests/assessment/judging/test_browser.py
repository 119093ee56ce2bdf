"""The judging page in Chromium: keys, and no loss if the network or the session fails."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from playwright.sync_api import Browser, Page, Route, expect

from accounts.models import User
from assay.html import sanitize
from assessment.batches import services as batch_services
from assessment.models import Judgment, Task
from corpus.models import Document
from pooling.models import PoolEntry
from tests.assessment.conftest import Scene, build_scene
from tests.fixtures import wait_until
from tests.helpers.browser import log_in, on_screens, violations
from tests.helpers.factories import PASSWORD
from tests.helpers.judging import accept, judge
from tracks.models import Topic

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NewPage = Callable[..., Page]
FORMULA = '<span class="math-container" id="q_1">\\sum_{n=1}^\\infty \\frac{1}{n^2}</span>'


@pytest.fixture
def live_scene(transactional_db: None) -> Scene:
    return build_scene()


@pytest.fixture
def desk(live_scene: Scene, live_server: Any, new_page: NewPage) -> Callable[..., Page]:
    return desk_of(live_scene, live_server, new_page)


def desk_of(scene: Any, live_server: Any, new_page: NewPage) -> Callable[..., Page]:
    """Return the function that opens Ada's first task: `desk()`; keywords go to Playwright's context."""

    def open_page(**options: Any) -> Page:
        page = new_page(**options)
        log_in(page, live_server.url, scene.ada)
        page.goto(f"{live_server.url}{accept(scene.batch, scene.ada).get_absolute_url()}")
        return ready(page) if options.get("java_script_enabled", True) else page

    return open_page


def ready(page: Page) -> Page:
    """Wait until the script of the judging page takes keys and clicks."""
    page.wait_for_selector("html[data-judging=ready]", state="attached")
    return page


def state(page: Page) -> Any:
    return page.locator("#state")


def lose_connection(page: Page) -> None:
    """Let a page send nothing any more. Chromium's own offline mode ends while a page is still being closed."""
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('Failed to fetch')); }")


def left(page: Page, address: str) -> None:
    """Wait until the page has left a task."""
    page.wait_for_url(lambda url: url != address)


def stored() -> list[str]:
    return list(Judgment.objects.order_by("pk").values_list("choice", flat=True))


# -- judging


def test_question_mark_opens_the_definitions_and_keys_before_a_choice(desk: Callable[..., Page]) -> None:
    page = desk()
    dialog = page.get_by_role("dialog", name="Choices and keys")

    page.keyboard.press("?")
    expect(dialog.get_by_text("Sufficient to answer the complete question")).to_be_visible()
    expect(dialog.get_by_text("Skip the task")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

    assert not page.locator("[name=choice]:checked").count()
    assert not violations(page)


def test_everything_is_judged_with_the_keyboard_alone(desk: Callable[..., Page]) -> None:
    page = desk()
    topics = [page.locator("#main").get_attribute("data-topic")]

    for key in "321032":
        address = page.url
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        left(page, address)
        if "/tasks/" in page.url:
            ready(page)
            topics.append(page.locator("#main").get_attribute("data-topic"))
            expect(page.locator(".new-topic")).to_be_visible(visible=topics[-1] != topics[-2])

    expect(page.get_by_role("heading", level=1)).to_have_text("All judged")
    assert len(set(topics)) > 1
    assert stored() == ["high", "medium", "low", "not-relevant", "high", "medium"]
    assert all(seconds is not None for seconds in Judgment.objects.values_list("seconds", flat=True))


def test_submit_is_near_the_grades_on_a_wide_screen_and_the_document_is_in_sight_at_a_large_zoom(
    desk: Callable[..., Page],
) -> None:
    page = desk(viewport={"width": 1920, "height": 1080})
    last, submit = (page.locator(name).last.bounding_box() for name in (".choices label", "#submit"))
    assert last is not None
    assert submit is not None
    assert 0 < submit["x"] - last["x"] - last["width"] < 40

    page.set_viewport_size({"width": 640, "height": 360})  # 1280 × 720 at 200 %
    page.goto(page.url)
    ready(page)
    tops = [
        page.locator(name).evaluate("e => e.getBoundingClientRect().top")
        for name in ("#document-panel", "#judgment")
    ]
    assert 0 <= tops[0] < tops[1] - 90


def test_grade_submits_by_one_key_or_click_if_the_assessor_wants_that_and_the_time_is_hidden(
    live_scene: Scene, desk: Callable[..., Page]
) -> None:
    ada = User.objects.filter(pk=live_scene.ada.pk)
    ada.update(grade_submits=True, shows_time_left=False)
    page = desk()
    expect(page.get_by_text("A key or a click on a choice submits.")).to_be_visible()
    expect(page.locator("#time-left")).to_be_hidden()

    for act in (lambda: page.keyboard.press("3"), lambda: page.locator("label[for=choice-low]").click()):
        address = page.url
        act()
        left(page, address)
        ready(page)
    address = page.url
    page.get_by_label("High").focus()
    page.keyboard.press("ArrowRight")  # moves in the group; a screen reader reads each choice
    page.keyboard.press("z")
    left(page, address)
    ready(page)
    assert stored() == ["high", "low"]
    Task.objects.filter(status=Task.Status.ACCEPTED).update(expires_at=timezone.now() + timedelta(minutes=5))
    page.reload()
    expect(page.locator("#time-left")).to_have_text("5 min for this task")


def test_double_click_on_submit_stores_one_judgment(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url

    page.get_by_text("Medium", exact=True).click()
    page.locator("#submit").dblclick()
    left(page, address)

    assert stored() == ["medium"]
    assert Task.objects.count() == 2


def test_keys_with_modifiers_and_typing_choose_nothing(desk: Callable[..., Page]) -> None:
    page = desk()

    for key in ("Control+2", "Alt+2", "Meta+2"):
        page.locator("#document-panel").press(key)
    page.get_by_label("Comment").press_sequentially("103u\n2")

    expect(page.locator("input[name=choice]:checked")).to_have_count(0)
    expect(page.get_by_label("Comment")).to_have_value("103u\n2")
    assert stored() == []


def test_own_keys_do_everything_one_task_at_a_time(live_scene: Scene, desk: Callable[..., Page]) -> None:
    User.objects.filter(pk=live_scene.ada.pk).update(judging_keys={"grade-1": "j", "undo": "q"})
    page = desk()
    first = page.url

    page.keyboard.press("s")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.get_by_role("switch", name="Take the next task at once").press("Space")
    wait_until(lambda: not User.objects.get(pk=live_scene.ada.pk).accepts_next)
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    expect(page.locator("input[name=choice]:checked")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.keyboard.type("q: on the spot")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/stored/")

    expect(page.get_by_text("Stored: High for topic A.1")).to_be_visible()
    page.keyboard.press("q")
    page.wait_for_url(first)
    ready(page)
    expect(page.get_by_text("You have undone your judgment High")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/stored/")
    page.keyboard.press("n")
    page.wait_for_url("**/tasks/*/")
    ready(page)
    page.keyboard.press("s")
    page.keyboard.type("not my field")
    page.keyboard.press("Enter")
    page.wait_for_url("**/stored/")

    assert list(Judgment.objects.order_by("pk").values_list("choice", "comment", "is_current")) == [
        ("high", "q: on the spot", False),
        ("high", "q: on the spot", True),
    ]
    assert Task.objects.get(status=Task.Status.SKIPPED).skip_reason == "not my field"


def test_keys_can_be_switched_off(live_scene: Scene, desk: Callable[..., Page]) -> None:
    User.objects.filter(pk=live_scene.ada.pk).update(uses_shortcuts=False)
    page = desk()

    page.keyboard.press("3")
    expect(page.locator("input[name=choice]:checked")).to_have_count(0)
    expect(page.locator("#submit")).to_have_text("Submit", use_inner_text=True)
    page.get_by_label("Comment").focus()
    expect(page.locator("#submit")).to_have_text("Submit Ctrl+Enter", use_inner_text=True)

    address = page.url
    page.get_by_role("radio", name="High").focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.locator("#submit").press("Enter")
    left(page, address)
    assert stored() == ["medium"]


def test_submit_without_a_choice_explains_what_is_missing(desk: Callable[..., Page]) -> None:
    page = desk()

    page.keyboard.press("Enter")

    expect(state(page)).to_have_text("Choose a grade, or one of the other choices.")
    expect(page.locator("fieldset.choices")).to_be_focused()  # and none of the grades
    assert stored() == []


def test_a_non_answer_requires_a_comment(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url

    page.get_by_text("Do not know", exact=True).click()
    expect(page.locator("#comment-state")).to_have_text("required: say why")
    page.locator("#submit").click()
    expect(state(page)).to_have_text("“Do not know” needs a comment that says why.")
    expect(page.get_by_label("Comment")).to_be_focused()
    assert stored() == []

    page.keyboard.type("beyond me")
    page.locator("#submit").click()
    left(page, address)
    assert list(Judgment.objects.values_list("choice", "comment")) == [("do-not-know", "beyond me")]


def test_definition_of_the_choice_is_shown(desk: Callable[..., Page]) -> None:
    page = desk()

    page.keyboard.press("3")

    expect(page.locator("#meaning")).to_have_text("Sufficient to answer the complete question on its own.")


def test_back_shows_the_earlier_judgment_and_lets_it_be_changed(desk: Callable[..., Page]) -> None:
    page = desk()
    first = page.url
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    left(page, first)
    second = ready(page).url

    page.go_back()
    page.wait_for_url(first)
    ready(page)
    expect(page.get_by_role("radio", name="Low")).to_be_checked()
    expect(page.get_by_text("You judged this Low at")).to_be_visible()
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.wait_for_url(second)

    assert stored() == ["low", "high"]
    assert Judgment.objects.get(is_current=True).choice == "high"


def test_form_works_without_scripts(live_scene: Scene, live_server: Any, new_page: NewPage) -> None:
    task = accept(live_scene.batch, live_scene.ada)
    page = new_page(java_script_enabled=False)
    log_in(page, live_server.url, live_scene.ada)
    page.goto(f"{live_server.url}/judge/")
    page.get_by_role("button", name="Resume topic A.1").click()
    assert page.url.endswith(task.get_absolute_url())

    page.get_by_text("System failure", exact=True).click()
    page.locator("#submit").click()
    expect(state(page)).to_have_text("“System failure” needs a comment that says why.")
    page.get_by_label("Comment").fill("no formulas")
    page.locator("#submit").click()
    page.wait_for_url(lambda url: not url.endswith(task.get_absolute_url()))

    assert stored() == ["system-failure"]


# -- the next task in the same page


def typeset_ahead(page: Page) -> None:
    """Wait until the formulas of the page, and of the texts that follow, are typeset."""
    page.wait_for_selector("html[data-math=done]", state="attached")


PREPARED = """() => {
  window.prepared = document.querySelector(".panel-ahead");
  const text = window.prepared.querySelector("[tabindex]");
  text.focus();
  return [window.prepared.querySelectorAll(".katex").length, document.activeElement === text];
}"""
MARK_LATE = """() => {
  const real = katex.render;
  katex.render = (latex, box, options) => {
    real(latex, box, options);
    box.firstChild.dataset.late = "";
  };
}"""


def test_next_task_takes_over_what_was_typeset_ahead_unless_the_document_changed(
    live_scene: Scene, desk: Callable[..., Page]
) -> None:
    Document.objects.update(body=f'<p tabindex="0">{FORMULA}</p>')
    changed = PoolEntry.objects.get(topic=live_scene.first, position=2).document
    page = desk()
    page.evaluate("window.isSamePage = true")
    shown = page.locator("#document-panel .panel-body .post-body")

    typeset_ahead(page)
    assert page.evaluate(PREPARED) == [1, False], "it takes no focus"
    page.evaluate(MARK_LATE)
    address = page.url
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    left(page, address)

    expect(shown.locator(".katex:not([data-late])")).to_have_count(1)
    expect(page.locator("#document-panel")).to_be_focused()
    assert page.title().startswith("Topic A.1")
    assert page.evaluate("window.isSamePage")
    assert page.evaluate("document.querySelector('#document-panel .panel-body') === window.prepared")

    Document.objects.filter(pk=changed.pk).update(body="<p>Corrected.</p>")
    address = page.url
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    left(page, address)

    expect(shown).to_have_text("Corrected.")
    assert stored() == ["high", "medium"]


# -- nothing is lost


def test_judgment_made_offline_is_saved_when_the_network_returns(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url

    page.context.set_offline(True)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet: no connection.")
    assert (page.url, stored()) == (address, [])
    page.context.set_offline(False)
    left(page, address)

    assert stored() == ["medium"]


def test_judgment_left_unsent_in_a_closed_tab_is_saved_by_the_next_page(
    desk: Callable[..., Page], live_server: Any
) -> None:
    page = desk()
    lose_connection(page)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet")
    context = page.context
    page.close()
    assert stored() == []

    context.new_page().goto(f"{live_server.url}/judge/")

    wait_until(lambda: stored() == ["medium"], reason="the desk sends what was left")


def test_reload_while_offline_work_waits_submits_it(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    page.route(
        "**/tasks/*/", lambda route: route.abort() if route.request.method == "POST" else route.fallback()
    )
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet")

    page.unroute("**/tasks/*/")
    page.reload()
    left(page, address)

    assert stored() == ["low"]


LOSE_FIRST = """() => {
  const real = window.fetch;
  window.fetch = async (address, options) => {
    const answer = await real(address, options);
    if (options?.method !== "POST" || sessionStorage.lost) return answer;
    sessionStorage.lost = address;
    throw new TypeError("lost");
  };
}"""


def lose_first_answer(page: Page) -> None:
    """Let the first submission reach the server, but lose its answer."""
    page.evaluate(LOSE_FIRST)


def test_submission_whose_answer_is_lost_is_stored_once(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    lose_first_answer(page)
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    left(page, address)

    assert page.evaluate("sessionStorage.lost").endswith(urlsplit(address).path)
    assert stored() == ["high"]


def test_choice_changed_after_a_lost_answer_revises_what_was_stored(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    lose_first_answer(page)
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet")
    page.keyboard.press("1")
    page.locator("#submit").click()
    left(page, address)

    assert stored() == ["high", "low"]
    assert Judgment.objects.get(is_current=True).choice == "low"


def test_server_error_keeps_the_judgment_and_tries_again(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    failed: list[str] = []

    def fail_first(route: Route) -> None:
        if route.request.method != "POST" or failed:
            route.fallback()
            return
        failed.append(route.request.url)
        route.fulfill(status=500, body="broken")

    page.route("**/tasks/*/", fail_first)
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet: the server had a problem.")
    left(page, address)

    assert stored() == ["not-relevant"]


def test_expired_session_keeps_the_choice_and_saves_it_after_a_login_in_another_tab(
    desk: Callable[..., Page], live_scene: Scene
) -> None:
    page = desk()
    address = page.url
    Session.objects.all().delete()

    page.keyboard.press("u")
    page.keyboard.type("needs topology")
    page.locator("#submit").click()
    expect(state(page)).to_contain_text("Not saved: you are logged out.")
    with page.context.expect_page() as opened:
        state(page).get_by_role("link", name="Log in in a new tab").click()
    tab = opened.value
    tab.locator("[name=username]").fill(live_scene.ada.username)
    tab.locator("[name=password]").fill(PASSWORD)
    tab.locator("main").get_by_role("button", name="Log in").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("You are logged in again")
    page.bring_to_front()
    left(page, address)

    assert list(Judgment.objects.values_list("choice", "comment")) == [("do-not-know", "needs topology")]


def test_changed_csrf_token_is_renewed_without_the_assessor_noticing(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    page.context.clear_cookies(name="csrftoken")

    page.keyboard.press("3")
    page.keyboard.press("Enter")
    left(page, address)

    assert stored() == ["high"]


def test_unsubmitted_choice_and_comment_survive_a_reload(desk: Callable[..., Page]) -> None:
    page = desk()
    page.keyboard.press("2")
    page.get_by_label("Comment").fill("a draft")

    page.reload()
    ready(page)

    expect(page.get_by_role("radio", name="Medium")).to_be_checked()
    expect(page.get_by_label("Comment")).to_have_value("a draft")
    expect(state(page)).to_contain_text("It is not submitted yet.")
    assert stored() == []


def test_draft_is_removed_once_it_is_submitted(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    left(page, address)
    ready(page)

    kept = page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('assay.'))")

    assert kept == []


def test_change_of_a_task_judged_in_another_window_is_refused_once(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    judge(Task.objects.get(), "low")

    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("You judged this “Low” in another window")
    expect(page.get_by_role("radio", name="High")).to_be_checked()
    assert stored() == ["low"]
    page.keyboard.press("Enter")
    left(page, address)

    assert stored() == ["low", "high"]


def test_batch_closed_meanwhile_keeps_the_first_submission(
    desk: Callable[..., Page], live_scene: Scene
) -> None:
    page = desk()
    batch_services.close(batch=live_scene.batch)

    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judge/")

    expect(page.get_by_text("Your judgment is saved.")).to_be_visible()
    assert stored() == ["high"]


def test_refused_revision_shows_the_reason_and_keeps_the_choice(
    desk: Callable[..., Page], live_scene: Scene
) -> None:
    page = desk()
    first = page.url
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    left(page, first)
    page.goto(first)
    ready(page)
    batch_services.close(batch=live_scene.batch)

    page.keyboard.press("3")
    page.keyboard.press("Enter")

    expect(state(page)).to_contain_text("is closed, so your judgment did not change")
    expect(page.get_by_role("radio", name="High")).to_be_checked()
    assert stored() == ["low"]


def test_unsent_work_of_one_person_is_not_sent_by_another_on_the_same_computer(
    desk: Callable[..., Page], live_scene: Scene, live_server: Any
) -> None:
    page = desk()
    lose_connection(page)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet")
    context = page.context
    page.close()
    context.clear_cookies()

    other = context.new_page()
    log_in(other, live_server.url, live_scene.bob)
    other.goto(f"{live_server.url}/judge/")
    other.wait_for_load_state("networkidle")
    assert stored() == []
    expect(other.locator("#outbox")).to_be_hidden()

    context.clear_cookies()
    log_in(other, live_server.url, live_scene.ada)
    other.goto(f"{live_server.url}/judge/")
    wait_until(lambda: stored() == ["medium"], reason="it is sent when Ada is back")
    assert Judgment.objects.get().assessor == live_scene.ada


# -- how it looks


def test_pages_are_accessible(desk: Callable[..., Page], live_server: Any, live_scene: Scene) -> None:
    page = desk()
    page.keyboard.press("u")
    pages = [page.url, f"{live_server.url}/judge/"]
    pages += [
        f"{live_server.url}/judge/batches/{live_scene.batch.pk}/{name}/"
        for name in ("judgments", "guidelines", "done")
    ]

    for address in pages:
        if page.url != address:
            page.goto(address)
        for _ in on_screens(page):
            assert violations(page) == [], address


def test_wide_page_scrolls_its_panels_not_itself(desk: Callable[..., Page]) -> None:
    Document.objects.update(body="<p>A long answer.</p>" * 200)
    page = desk(viewport={"width": 1280, "height": 800})

    page.keyboard.press("End")

    page.wait_for_function("() => document.getElementById('document-panel').scrollTop > 0")
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    expect(page.locator("#submit")).to_be_in_viewport(ratio=1)


def test_narrow_page_keeps_the_bar_at_its_foot_and_never_scrolls_sideways(desk: Callable[..., Page]) -> None:
    Document.objects.update(body="<p>A long answer.</p>" * 100 + f"<pre><code>{'x' * 400}</code></pre>")
    page = desk(viewport={"width": 320, "height": 700})
    submit = page.locator("#submit")

    expect(submit).to_be_in_viewport(ratio=1)
    top = submit.bounding_box()
    page.evaluate("window.scrollTo(0, document.body.scrollHeight / 2)")
    page.wait_for_function("() => window.scrollY > 0")

    expect(submit).to_be_in_viewport(ratio=1)
    assert submit.bounding_box() == top
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.get_by_text("Not relevant", exact=True).click()
    submit.click()
    wait_until(lambda: stored() == ["not-relevant"])


PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
SMALL_TARGETS = """() => [...document.querySelectorAll("main :is(button, summary, textarea, label.btn, .task-links a)")]
  .filter((each) => each.getClientRects().length && !each.matches(".visually-hidden"))
  .map((each) => [each.textContent.trim(), each.getBoundingClientRect().height])
  .filter(([, height]) => height < 44)"""


def height(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["height"]


def test_phone_shows_the_document_first_and_is_used_by_touch_alone(desk: Callable[..., Page]) -> None:
    Topic.objects.update(body="<p>A long question.</p>" * 40)
    Document.objects.update(body="<p>A long answer.</p>" * 40)
    page = desk(**PHONE)
    first, topic = page.url, page.locator("#topic-panel .panel-body")

    assert height(page, ".answer-bar") <= 800 / 5
    assert height(page, "#topic-panel .panel-body") <= 128  # four lines
    assert page.locator("#document-panel").bounding_box()["y"] < 360  # type: ignore[index]
    assert page.evaluate(SMALL_TARGETS) == []
    numbers = page.locator("main kbd").filter(visible=True)  # of the grades; no other key is shown
    expect(numbers).to_have_text(["3", "2", "1", "0"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    page.locator("#put-aside summary").tap()
    for part in page.locator(".put-aside-menu :is(button, input:not([type=hidden]))").all():
        expect(part).to_be_in_viewport(ratio=1)
    page.locator("#put-aside summary").tap()
    page.get_by_role("button", name="Whole topic").tap()
    expect(topic.get_by_text("A long question.").last).to_be_visible()
    assert height(page, "#topic-panel .panel-body") > 800
    page.get_by_text("Medium", exact=True).tap()
    page.locator("#submit").tap()
    left(page, first)
    ready(page)
    page.get_by_role("button", name="Undo the last judgment").tap()
    page.wait_for_url(first)
    ready(page)
    page.get_by_text("Do not know", exact=True).tap()
    page.locator("#submit").tap()
    expect(state(page)).to_contain_text("needs a comment")
    assert height(page, ".answer-bar") <= 800 / 5

    assert stored() == ["medium"]
    assert violations(page) == []


def test_links_and_grades_are_one_row_each_on_every_phone(desk: Callable[..., Page]) -> None:
    page = desk()

    for width in on_screens(page, (320, "light"), (360, "light"), (390, "light")):
        links = [link.bounding_box() for link in page.locator(".task-links > li").all()]
        assert len(links) == 5
        assert len({box["y"] for box in links if box}) == 1, width
        grades = [grade.bounding_box() for grade in page.locator(".choice:not(.is-other) label").all()]
        assert len({box["y"] for box in grades if box}) == 1, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_narrow_list_of_own_judgments_scrolls_inside_itself(desk: Callable[..., Page]) -> None:
    page = desk(viewport={"width": 320, "height": 700})
    first = page.url
    page.get_by_text("Not relevant", exact=True).click()
    page.locator("#submit").click()
    left(page, first)

    page.locator(".task-links .menu > summary").click()
    page.get_by_role("link", name="My judgments").click()

    expect(page.get_by_role("heading", name="My judgments")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_bar_does_not_move_when_choices_and_messages_change(desk: Callable[..., Page]) -> None:
    page = desk(viewport={"width": 1280, "height": 800})
    boxes = [page.locator("#submit").bounding_box()]

    for act in (
        lambda: page.keyboard.press("3"),
        lambda: page.keyboard.press("x"),
        lambda: page.locator("#submit").click(),
    ):
        act()
        boxes.append(page.locator("#submit").bounding_box())

    expect(state(page)).not_to_be_empty()
    assert boxes == boxes[:1] * 4


def test_formulas_are_rendered_in_question_and_answer(live_scene: Scene, desk: Callable[..., Page]) -> None:
    Topic.objects.update(body=f"<p>{FORMULA}</p>", title=f"On {FORMULA}")
    Document.objects.update(body=f"<p>{FORMULA}</p>")

    page = desk()

    expect(page.locator("#topic-panel .katex")).to_have_count(2)
    expect(page.locator("#document-panel .panel-body .katex")).to_have_count(1)


def test_hostile_posts_and_comments_stay_harmless(
    live_scene: Scene, desk: Callable[..., Page], live_server: Any
) -> None:
    attack = (
        "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'><svg onload='window.hit = 3'></svg>"
        "<a href='javascript:window.hit = 4'>click</a><iframe src='https://evil.example/'></iframe>"
        "<style>body { display: none }</style><form action='https://evil.example/'><button>Submit</button></form>"
    )
    clean = sanitize.clean_body(attack)
    Document.objects.update(body=clean)
    Topic.objects.update(body=clean, title=sanitize.clean_title(attack))
    task = accept(live_scene.batch, live_scene.ada)
    judge(task, "do-not-know", attack)

    page = desk()
    expect(page.locator("#submit")).to_be_visible()
    expect(page.get_by_role("button", name="Submit")).to_have_count(1)
    page.goto(f"{live_server.url}/judge/batches/{live_scene.batch.pk}/judgments/")
    expect(page.get_by_text("<script>window.hit = 1</script>")).to_have_count(2)  # title and comment

    assert page.evaluate("window.hit") is None


@pytest.mark.parametrize("other_browser", ["firefox", "webkit"], indirect=True)
def test_unit_is_judged_with_keys_in_firefox_and_webkit(
    live_scene: Scene, live_server: Any, other_browser: Browser
) -> None:
    page = other_browser.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{live_server.url}/login/")
    page.get_by_role("button", name="Log in").click()  # a missing name is said
    expect(page.locator("#id_username")).to_be_focused()
    page.fill("#id_username", live_scene.ada.username)
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "/login/" not in url)

    page.goto(f"{live_server.url}{accept(live_scene.batch, live_scene.ada).get_absolute_url()}")
    address = ready(page).url
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    left(page, address)
    violated = violations(ready(page))

    assert len(stored()) == 1
    assert (faults, violated) == ([], [])
