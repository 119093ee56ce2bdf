"""A track of ARQMath from its first training round to its qrels, as organizer and assessor see it in Chromium."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from assessment.models import Batch, Judgment
from scoring.models import QrelsEntry
from tests.assessment.tasks.test_browser import log_in, ready
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import judge_all, make_batch, make_pool

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def judge_by_keyboard(page: Page, base: str, keys: str) -> None:
    """Start, choose and submit with keys only, until everything is judged."""
    page.goto(f"{base}/judge/")
    page.get_by_role("button", name="judging").first.press("Enter")
    for key in cycle(keys):
        page.wait_for_url("**/judge/**")
        if "/tasks/" not in page.url:
            break
        ready(page)
        address = page.url
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url, before=address: url != before)


def assert_accessible(page: Page) -> None:
    """No violations in both themes, and no scrolling sideways."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_selector(f"html[data-bs-theme={scheme}]", state="attached")
        results = Axe().run(page)
        assert not results.response["violations"], f"{page.url}\n{results.generate_report()}"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url


def test_track_is_judged_from_training_to_qrels(live_server: Any, new_page: Callable[..., Page]) -> None:
    base = live_server.url
    track = make_track("walk", protocol="arqmath-2021-task1")
    topics = [make_topic(track, code) for code in ("A.1", "A.2")]
    ada, bob = make_assessor(track, "ada"), make_assessor(track, "bob")
    pool = make_pool(track, dict.fromkeys(topics, 2))
    office, desk = new_page(), new_page()
    log_in(office, base, make_organizer("olga"))
    log_in(desk, base, ada)

    def create(button: str) -> Batch:
        """Press the button that creates a batch, and open the batch."""
        office.get_by_role("button", name=button).click()
        office.get_by_role("button", name="Open batch").click()
        expect(office.get_by_text("is open. Its assessors")).to_be_visible()
        return Batch.objects.latest("pk")

    # Two rounds of training; the assessors agree on half of the units, then on all.
    for number, grades in enumerate(("30", "33"), 1):
        office.goto(f"{base}/tracks/walk/judging/")
        office.get_by_role("link", name="plan a training round").click()
        expect(office.get_by_label("Name of the batch")).to_have_value(f"Training round {number}")
        office.get_by_label("Units of each topic").fill("1")
        for box in office.get_by_role("group", name="Topics").get_by_role("checkbox").all():
            box.check()
        batch = create("Create training round")
        judge_by_keyboard(desk, base, grades)
        judge_all(batch, bob, "high")
        office.goto(f"{base}/tracks/walk/agreement/?round=batch-{batch.pk}")
        expect(office.get_by_role("row", name="A.1").first).to_contain_text("100 %")
        expect(office.get_by_role("row", name="A.2").first).to_contain_text("100 %" if number == 2 else "0 %")
        office.goto(f"{base}{batch.get_absolute_url()}")
        office.get_by_role("button", name="Close batch").click()

    # The main round: Ada judges A.1, Bob A.2.
    main = make_batch(pool, {ada: [topics[0]], bob: [topics[1]]}, name="Main round")
    judge_by_keyboard(desk, base, "20")
    judge_all(main, bob, "medium")

    # Each judges a topic of the other, as the protocol's rule proposes. Bob disagrees with Ada about one unit.
    office.goto(f"{base}/tracks/walk/judging/")
    office.get_by_role("link", name="plan a dual batch").click()
    dual = create("Create dual batch")
    assert set(dual.topic_assignments.values_list("topic__code", "assessor__username")) == {
        ("A.1", "bob"),
        ("A.2", "ada"),
    }
    judge_by_keyboard(desk, base, "2")
    judge_all(dual, bob, "medium")

    # The board, agreement and the disagreement, which Ada settles.
    office.goto(f"{base}/tracks/walk/board/")
    expect(office.locator("#board")).to_contain_text("of 16 units judged")
    assert_accessible(office)
    office.get_by_role("link", name="Same document, other grade").click()
    assert_accessible(office)
    office.goto(f"{base}/tracks/walk/agreement/")
    assert_accessible(office)
    office.get_by_role("link", name="Show disagreements").click()
    expect(office.get_by_text("1 unit.")).to_be_visible()
    assert_accessible(office)
    office.get_by_role("link", name="Make an adjudication batch").click()
    office.get_by_label("ada").check()
    create("Create batch")
    judge_by_keyboard(desk, base, "3")

    # The adjudication counts before both judgments, and training does not count.
    office.goto(f"{base}/tracks/walk/qrels/freeze/")
    office.get_by_role("button", name="Freeze qrels").click()
    office.wait_for_url(lambda url: not url.endswith("/freeze/"))
    disputed = Judgment.objects.get(batch__kind=Batch.Kind.ADJUDICATION)
    frozen = {row.docno: row.grade for row in QrelsEntry.objects.all()}
    assert len(frozen) == 4
    assert frozen[disputed.docno] == 3
    assert sorted(frozen.values()) == [2, 2, 2, 3]
