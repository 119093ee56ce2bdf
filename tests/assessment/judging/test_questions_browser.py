"""Questions of a protocol in Chromium: by keyboard, offline, by touch, and without scripts."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from assessment.models import Judgment
from corpus.models import Document
from tests.assessment.conftest import Scene, build_scene
from tests.assessment.judging.test_browser import PHONE, desk_of, height, left, ready, state
from tests.assessment.judgments.test_protocol_keys import change, form_scene
from tests.fixtures import wait_until
from tests.helpers.browser import assert_accessible, log_in
from tests.helpers.judging import accept

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def bolt(transactional_db: None) -> Scene:
    scene = build_scene(protocol="bolt-ir-p3")
    Document.objects.update(language="arz")
    return scene


@pytest.fixture
def desk(bolt: Scene, live_server: Any, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens Ada's first task."""
    return desk_of(bolt, live_server, new_page)


def stored() -> list[dict[str, str]]:
    return list(Judgment.objects.order_by("pk").values_list("answers", flat=True))


def question(page: Page, name: str) -> Any:
    return page.get_by_role("group", name=name)


def test_questions_are_answered_with_the_keyboard_also_offline(desk: Callable[..., Page]) -> None:
    page = desk()
    address = page.url
    trans = question(page, "How good is the English passage")
    expect(trans).to_be_hidden()

    page.keyboard.press("y")
    expect(trans).to_be_visible()
    expect(trans.get_by_text("1 Acceptable")).to_be_visible()
    keys = page.locator(".question kbd").filter(visible=True)
    expect(keys).to_have_text(list("1234567890"))  # each question has its own, before its turn
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(state(page)).to_have_text("Answer “Did you consult the source text?”")
    page.keyboard.press("5")
    page.keyboard.press("8")
    page.keyboard.press("n")
    expect(trans).to_be_hidden()
    page.keyboard.press("m")
    expect(page.get_by_role("radio", name="Problematic")).to_be_checked()
    page.context.set_offline(True)
    page.keyboard.press("9")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet: no connection.")
    page.context.set_offline(False)
    left(page, address)

    assert stored() == [{"trans": "problematic", "chksrc": "yes", "dialect": "no", "generous": "yes"}]
    page.goto(address)
    ready(page)
    expect(page.get_by_role("radio", name="Problematic")).to_be_checked()
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    left(page, address)
    assert stored()[1:] == [{"dialect": "no"}]  # asked of every Arabic citation


def test_questions_share_keys_when_they_run_out(bolt: Scene, desk: Callable[..., Page]) -> None:
    """The keys of the first question are then those of another one while that is the current one."""
    more = "".join(f'  {{ key = "odd-{n}", label = "Odd {n}" }},\n' for n in range(21))
    change(bolt, '  { key = "not-applicable"', more + '  { key = "not-applicable"')
    page = desk()
    page.keyboard.press("y")
    trans, fourth = question(page, "How good is the English passage"), question(page, "generously")
    doubtful = trans.get_by_role("radio", name="Problematic")
    taken = [each.get_attribute("data-answer-key") for each in trans.get_by_role("radio").all()]
    no = fourth.get_by_role("radio", name="No")
    assert no.get_attribute("data-answer-key") in taken

    page.keyboard.press(doubtful.get_attribute("data-answer-key"))
    for each in (question(page, "consult the source"), question(page, "Egyptian")):
        page.keyboard.press(each.get_by_role("radio", name="Yes").get_attribute("data-answer-key"))
    page.keyboard.press(no.get_attribute("data-answer-key"))
    page.keyboard.press("Enter")

    wait_until(lambda: len(stored()) == 1)
    assert stored() == [{"trans": "problematic", "chksrc": "yes", "dialect": "yes", "generous": "no"}]


def test_answers_survive_a_reload(desk: Callable[..., Page]) -> None:
    page = desk()
    page.keyboard.press("y")
    page.keyboard.press("3")

    page.reload()
    ready(page)

    expect(page.get_by_role("radio", name="Not acceptable")).to_be_checked()
    expect(state(page)).to_contain_text("It is not submitted yet.")


def test_questions_are_answered_by_touch(desk: Callable[..., Page]) -> None:
    page = desk(color_scheme="dark", **PHONE)
    expect(page.locator(".question:visible")).to_have_count(0)
    place = page.locator("label[for=choice-yes]").bounding_box()
    page.locator("label[for=choice-yes]").tap()
    expect(page.locator(".question:visible")).to_have_count(
        1
    )  # the first question, and the choices did not move
    expect(page.locator(".question:visible .place")).to_have_text("1 of 4")
    assert page.locator("label[for=choice-yes]").bounding_box() == place
    expect(page.locator("#submit")).to_be_visible()
    assert_accessible(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_selector("html[data-bs-theme=light]", state="attached")
    assert_accessible(page)
    assert height(page, ".answer-bar") <= 800 / 4
    page.get_by_text("Not applicable").tap()
    for name in ("consult the source", "Egyptian", "generously"):
        question(page, name).get_by_text("No", exact=True).tap()
    assert height(page, ".answer-bar") <= 800 / 4
    page.locator("#submit").tap()

    wait_until(lambda: len(stored()) == 1)
    assert stored() == [{"trans": "not-applicable", "chksrc": "no", "dialect": "no", "generous": "no"}]


def test_narrow_window_leaves_most_of_its_height_to_the_text(desk: Callable[..., Page]) -> None:
    page = desk(viewport={"width": 390, "height": 800})  # with a mouse

    page.locator("label[for=choice-yes]").click()

    expect(page.locator(".question:visible")).to_have_count(1)
    assert height(page, ".answer-bar") <= 800 / 4
    assert height(page, "#topic-panel .panel-body") <= 128  # four lines
    assert_accessible(page)


def test_questions_work_without_scripts(desk: Callable[..., Page]) -> None:
    page = desk(java_script_enabled=False)
    address = page.url
    page.locator("label[for=choice-no]").click()
    question(page, "Egyptian").get_by_text("No", exact=True).click()
    question(page, "generously").get_by_text("Yes", exact=True).click()
    page.locator("#submit").click()
    expect(state(page)).to_contain_text("is asked only after Yes or Maybe: take its answer back.")
    question(page, "generously").get_by_text("No answer").click()
    page.locator("#submit").click()
    left(page, address)

    assert stored() == [{"dialect": "no"}]


def test_every_kind_of_question_has_keys_and_survives_a_reload(
    live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = form_scene()
    page = new_page()
    log_in(page, live_server.url, scene.ada)
    address = f"{live_server.url}{accept(scene.batch, scene.ada).get_absolute_url()}"
    page.goto(address)
    ready(page)
    page.keyboard.press("1")
    expect(question(page, "Which errors?")).to_be_hidden()
    page.keyboard.press("3")  # the free key of Con; the key of Pro is its own
    for key in "5546":  # B is taken back
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(question(page, "Best first").get_by_role("button", name="X")).to_be_focused()
    expect(state(page)).to_have_text("")  # Enter goes on; nothing is wrong yet
    page.keyboard.press("Enter")
    expect(state(page)).to_have_text("Answer “Best first”")
    for key in "b9ba":  # Z is taken back
        page.keyboard.press(key)
    expect(page.get_by_role("textbox", name="Best first")).to_have_value("x > y")
    page.get_by_role("textbox", name="How long?").fill("61")
    page.get_by_role("textbox", name="Why?").fill("It is.")
    assert_accessible(page)
    page.reload()
    ready(page)
    expect(question(page, "Which errors?").get_by_role("checkbox", checked=True)).to_have_count(2)
    page.get_by_role("textbox", name="How long?").press("Enter")
    expect(state(page)).to_contain_text("Enter a number of at least 1 and at most 60 sec")
    page.get_by_role("textbox", name="How long?").fill("12")
    page.get_by_role("textbox", name="Why?").press("Control+Enter")
    left(page, address)

    answers = {"stance": "con", "errors": ["a", "c"], "seconds": "12", "why": "It is.", "order": ["x", "y"]}
    assert stored() == [answers]


def test_every_kind_of_question_works_without_scripts(
    live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = form_scene()
    page = new_page(java_script_enabled=False)
    log_in(page, live_server.url, scene.ada)
    address = f"{live_server.url}{accept(scene.batch, scene.ada).get_absolute_url()}"
    page.goto(address)
    page.locator("label[for=choice-relevant]").click()
    question(page, "Stance").get_by_text("Con", exact=True).click()
    for error in ("A", "B"):
        question(page, "Which errors?").get_by_text(error, exact=True).click()
    page.get_by_role("textbox", name="Best first").fill("z = x")
    page.locator("#submit").click()
    left(page, address)

    assert stored() == [{"stance": "con", "errors": ["a", "b"], "order": [["z", "x"]]}]
