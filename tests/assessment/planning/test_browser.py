"""The plans of batches and rounds in Chromium: with the mouse, and without one on a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from assessment.models import Batch, TopicAssignment
from tests.assessment.conftest import build_scene
from tests.helpers.browser import assert_accessible, log_in, on_screens, violations
from tests.helpers.factories import make_organizer, make_topic
from tests.helpers.judging import accept, judge, judge_all, make_batch, make_pool

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_topic_is_dragged_to_another_assessor_and_moved_back_by_touch(
    transactional_db: None, live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = build_scene()
    held = TopicAssignment.objects.filter(batch=scene.batch, topic=scene.first, is_withdrawn=False)
    address = f"{live_server.url}/judge/batches/{scene.batch.pk}/plan/"
    page = new_page()
    log_in(page, live_server.url, make_organizer())

    page.goto(address)
    page.wait_for_selector("#plan[data-ready]")
    row = page.locator(f'tr[data-topic="{scene.first.pk}"]')
    row.evaluate("row => row.scrollIntoView({block: 'center'})")  # a drag at the edge of a window scrolls it
    row.locator(".plan-part").drag_to(row.locator("td").nth(1))
    page.get_by_role("button", name="Make the change").click()
    page.wait_for_selector("#plan[data-ready]")
    assert held.get().assessor == scene.bob

    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("link", name="A.1, bob: 0 of 3 judged. Move").click()
    page.get_by_label("To", exact=True).select_option(str(scene.ada.pk))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    page.locator("#move").get_by_role("button", name="Preview the change").click()
    page.get_by_role("button", name="Make the change").click()
    page.wait_for_selector("#plan[data-ready]")
    assert held.get().assessor == scene.ada


def test_topics_of_rounds_are_found_by_search(
    transactional_db: None, live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = build_scene()
    titles = {f"A.{n}": f"Series of {'cubes' if n % 10 == 0 else 'squares'} {n}" for n in range(3, 61)}
    topics = [make_topic(scene.track, code, title=title) for code, title in titles.items()]
    pool = make_pool(scene.track, dict.fromkeys(topics, 1))
    page = new_page()
    log_in(page, live_server.url, make_organizer())

    page.goto(f"{live_server.url}/pools/{pool.pk}/training/")
    expect(page.get_by_text("7 of 58 topics ticked")).to_be_visible()  # as many as the protocol states
    page.get_by_label("Only topics ticked").check()
    expect(page.get_by_role("row")).to_have_count(1 + 7)
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_label("All topics in sight").uncheck()
    page.get_by_label("Only topics ticked").uncheck()
    page.get_by_label("Search topics").fill("CUBES series")
    page.get_by_label("Search topics").press("Enter")  # sends nothing
    page.get_by_label("All topics in sight").check()
    expect(page.get_by_text("6 of 58 topics ticked")).to_be_visible()
    for _ in on_screens(page):
        assert_accessible(page)
    page.get_by_role("button", name="Create a draft").click()
    page.wait_for_url("**/judge/batches/*/")

    batch = Batch.objects.get(kind=Batch.Kind.TRAINING)
    trained = set(batch.selected.values_list("entry__topic__code", flat=True))
    assert trained == {"A.10", "A.20", "A.30", "A.40", "A.50", "A.60"}


def test_topics_of_a_batch_that_are_left_are_shown_alone(
    transactional_db: None, live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = build_scene()
    for _ in range(3):
        judge(accept(scene.batch, scene.ada))
    page = new_page()
    log_in(page, live_server.url, make_organizer())

    page.goto(f"{live_server.url}/judge/batches/{scene.batch.pk}/")
    expect(page.get_by_text("1 of 2 assignments left to judge")).to_be_visible()
    page.get_by_label("Only assignments left to judge").check()

    rows = page.get_by_role("region", name="Progress by topic").locator("tbody tr:visible")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("A.2")


def test_dual_plan_opens_with_the_topics_that_are_proposed(
    transactional_db: None, live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = build_scene()
    third = make_topic(scene.track, "A.3")
    pool = make_pool(scene.track, {scene.first: 1, scene.second: 1, third: 1})
    done = make_batch(pool, {scene.ada: [scene.first], scene.bob: [scene.second]})
    make_batch(pool, {scene.ada: [third]})  # not judged, and so not proposed
    for assessor in (scene.ada, scene.bob):
        judge_all(done, assessor)
    page = new_page()
    log_in(page, live_server.url, make_organizer())

    page.goto(f"{live_server.url}/pools/{pool.pk}/dual/")
    expect(page.get_by_text("2 of 3 topics with a second assessor")).to_be_visible()
    expect(page.get_by_label("Second assessor of A.3")).to_be_hidden()
    page.get_by_label("Only topics with a second assessor").uncheck()
    page.get_by_label("Second assessor of A.3").select_option("bob")

    expect(page.get_by_text("3 of 3 topics with a second assessor")).to_be_visible()
    page.get_by_label("Search topics").fill("nothing")
    expect(page.get_by_text("None matches the search.")).to_be_visible()
