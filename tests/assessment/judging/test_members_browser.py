"""A formula pool in the browser, from its preview to its judgments."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from assessment.judging import page as task_selectors
from assessment.models import Batch, Judgment
from corpus.models import Document
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, PoolMember
from pooling.pools import services as pool_services
from tests.assessment.judging.test_browser import PHONE, SMALL_TARGETS, height, left, ready
from tests.helpers.browser import assert_accessible, log_in, on_screens
from tests.helpers.factories import PASSWORD, make_assessor
from tests.helpers.formula_scene import FormulaScene, build_formula_scene
from tests.helpers.judging import accept, make_batch

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NARROW = {"viewport": {"width": 400, "height": 800}}


@pytest.fixture
def scene(
    transactional_db: None, tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> FormulaScene:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    scene = build_formula_scene()
    scene.submit("abacus-1", [4 * i for i in range(8)] + [1, 5])
    scene.submit("base-1", [0, 1, 3], team=1)
    return scene


@pytest.fixture
def enter(live_server: Any, new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Logs a user in and returns their page."""

    def open_page(user: User, **options: Any) -> Page:
        page = new_page(base_url=live_server.url, reduced_motion="reduce", **options)
        log_in(page, live_server.url, user)
        return page

    return open_page


def built(scene: FormulaScene) -> Pool:
    pool = Pool.objects.get()
    assert pool.job_id is not None
    jobs.run(pool.job_id)
    pool.refresh_from_db()
    return pool


BY_WIDTH = ["scrollable-region-focusable", "target-size"]  # rules of axe that depend on the width of a page


def assert_accessible_at_each_width(page: Page) -> None:
    wide = page.viewport_size
    assert wide is not None
    for size, rules in ((NARROW["viewport"], BY_WIDTH), (wide, [])):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        assert_accessible(page, rules)


def test_organizer_previews_builds_and_browses_a_formula_pool(
    scene: FormulaScene, enter: Callable[..., Page]
) -> None:
    page = enter(scene.organizer)
    page.goto(f"/tracks/{scene.track.slug}/pools/")
    page.click("text=Preview size and cost")
    expect(page.locator(".job")).to_contain_text("Waiting for a worker")  # the page starts it by itself
    page.fill("[name=budget]", "0.05")
    page.click("button:has-text('Show')")
    for job in Job.objects.filter(state=Job.State.QUEUED):
        jobs.run(job.pk)
    page.reload()
    expect(page.locator("#main")).to_contain_text("is enough for depth 2")
    assert_accessible_at_each_width(page)

    page.click("text=Build with depth 2")
    expect(page.locator("[name=depth_primary]")).to_have_value("2")
    assert_accessible_at_each_width(page)
    page.click("main button:has-text('Build')")
    page.wait_for_url("**/pools/*/")
    pool = built(scene)
    page.goto(pool.get_absolute_url())
    expect(page.locator(".stats").first).to_contain_text(re.compile(r"Units\s*4\b.*Topics\s*2\b", re.DOTALL))
    assert_accessible_at_each_width(page)

    page.goto(f"/pools/{pool.pk}/topics/B.1/")
    page.wait_for_selector("html[data-math=done]", state="attached")
    assert_accessible_at_each_width(page)
    entry = page.locator("article.entry", has_text="v0")
    expect(entry.locator("li.member")).to_have_count(5)
    expect(entry.locator(".member .is-marked")).to_have_count(5)
    entry.locator("text=instances in total").click()
    expect(page.get_by_role("heading", name="Instances that are not shown")).to_be_visible()
    assert_accessible_at_each_width(page)
    page.goto(f"/pools/{pool.pk}/depths/")
    assert_accessible_at_each_width(page)


@pytest.fixture
def batch(scene: FormulaScene) -> Batch:
    ada = make_assessor(scene.track, "ada")
    pool_services.request(track=scene.track, name="Pool 1", seed=7, depth={}, by=scene.organizer)
    return make_batch(built(scene), {ada: [scene.topic]})


def open_task(enter: Callable[..., Page], batch: Batch, **options: Any) -> Page:
    ada = User.objects.get(username="ada")
    page = enter(ada, **options)
    page.goto(accept(batch, ada).get_absolute_url())
    return ready(page)


def test_units_are_judged_with_the_keyboard_alone(batch: Batch, enter: Callable[..., Page]) -> None:
    page = open_task(enter, batch)
    n_units = batch.pool.entries.filter(topic__code="B.1").count()

    for _ in range(n_units):
        address = page.url
        # Hidden content of a panel must scroll with it; otherwise the focus moves the page out of sight.
        assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
        for _ in range(page.locator(".instance").count()):
            page.keyboard.press("2")
        page.keyboard.press("Enter")
        left(page, address)
        if "/tasks/" in page.url:
            ready(page)

    expect(page.get_by_role("heading", level=1)).to_have_text("All judged")
    shown = PoolMember.objects.filter(entry__pool=batch.pool, entry__topic__code="B.1", position__gt=0)
    judged = Judgment.objects.values_list("docno", flat=True)
    assert sorted(judged) == sorted(shown.values_list("docno", flat=True))
    assert set(Judgment.objects.values_list("choice", flat=True)) == {"medium"}


def test_instance_in_a_long_paragraph_opens_with_its_formula_in_view(
    batch: Batch, enter: Callable[..., Page]
) -> None:
    for document in Document.objects.filter(body__contains="<p>"):
        document.body = document.body.replace("<p>", f"<p>{'word ' * 900}").replace(
            "</p>", f"{'word ' * 900}</p>"
        )
        document.save()
    page = open_task(enter, batch)

    formula = page.locator(".instance-excerpt .is-marked").first

    expect(formula).to_be_in_viewport()
    assert page.locator(".instance-excerpt").first.evaluate("box => box.scrollTop") > 0
    assert_accessible(page)


def test_incomplete_unit_is_not_sent(batch: Batch, enter: Callable[..., Page]) -> None:
    page = open_task(enter, batch)
    if page.locator(".instance").count() < 2:  # of the pool's units, some have one instance
        page.keyboard.press("1")
        address = page.url
        page.keyboard.press("Enter")
        left(page, address)
        ready(page)

    page.keyboard.press("3")
    page.click("#submit")

    expect(page.locator("#state")).to_contain_text("Choose for instance 2")
    assert not Judgment.objects.filter(choice="high").exists()


def test_submission_whose_answer_is_lost_is_stored_once(batch: Batch, enter: Callable[..., Page]) -> None:
    page = open_task(enter, batch)
    n = page.locator(".instance").count()
    lost: list[str] = []

    def lose(route: Route) -> None:
        if lost or route.request.method != "POST":
            route.continue_()
            return
        lost.append(route.request.url)
        route.fetch(max_redirects=0)
        route.abort()

    page.route("**/judge/tasks/*/", lose)
    address = page.url
    for _ in range(n):
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    left(page, address)

    assert lost
    assert Judgment.objects.count() == n


def test_judging_page_is_accessible(batch: Batch, enter: Callable[..., Page]) -> None:
    page = open_task(enter, batch)
    page.wait_for_selector("html[data-math=done]", state="attached")

    for _ in on_screens(page):
        assert_accessible(page)


NOT_TOUCHED = """
for (const kind of ["keydown", "pointerdown"]) {
  addEventListener(kind, (event) => {
    if (event.isTrusted && event.pointerType !== "touch") console.error(`${kind} of ${event.pointerType || event.key}`);
  }, true);
}
"""


def test_phone_judges_everything_from_login_to_the_end_by_touch_alone(
    batch: Batch, live_server: Any, new_page: Callable[..., Page]
) -> None:
    page = new_page(base_url=live_server.url, **PHONE)
    page.add_init_script(NOT_TOUCHED)  # an error fails the test
    page.goto("/")
    page.locator(".site-head").get_by_role("link", name="Log in").tap()
    page.locator("[name=username]").fill("ada")  # as a keyboard on the screen does
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Log in").tap()
    page.wait_for_url(lambda url: "/login/" not in url)
    if "/judge/" not in page.url:
        page.goto("/judge/")
    page.get_by_role("button", name="judging").tap()
    ready(page)

    assert height(page, ".answer-bar") <= 800 / 5
    assert page.evaluate(SMALL_TARGETS) == []
    expect(page.locator("main kbd:not(.is-grade)").filter(visible=True)).to_have_count(0)
    assert page.locator("#document-panel").bounding_box()["y"] < 360  # type: ignore[index]
    while "/tasks/" in page.url:
        ready(page)
        address = page.url
        for instance in page.locator(".instance").all():
            instance.get_by_text("Medium", exact=True).tap()
        page.locator("#submit").tap()
        left(page, address)

    expect(page.get_by_role("heading", level=1)).to_have_text("All judged")
    shown = PoolMember.objects.filter(entry__pool=batch.pool, entry__topic__code="B.1", position__gt=0)
    judged = Judgment.objects.filter(choice="medium").values_list("docno", flat=True)
    assert sorted(judged) == sorted(shown.values_list("docno", flat=True))
    page.close()  # with its script


def test_each_choice_is_described_by_its_definition(batch: Batch, enter: Callable[..., Page]) -> None:
    page = open_task(enter, batch)
    choices = task_selectors.choices_of(batch.pool.protocol, User.objects.get(username="ada"))

    for instance in page.locator(".instance").all():
        for choice in choices:
            radio = instance.get_by_role("radio", name=choice.label, exact=True)
            expect(radio).to_have_accessible_description(re.compile(re.escape(choice.definition)))


def test_choices_survive_a_reload(batch: Batch, enter: Callable[..., Page]) -> None:
    page = open_task(enter, batch)
    page.keyboard.press("3")

    page.reload()
    ready(page)

    expect(page.locator("#state")).to_contain_text("Your choices from before are here again")
    expect(page.locator(".instance input:checked")).to_have_count(1)
