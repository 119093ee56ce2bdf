"""Generated answers in Chromium: nuggets are assigned and a citation is judged, all by keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from playwright.sync_api import Page, expect

from assessment.models import Judgment
from jobs import services as jobs
from tests.assessment.judging.test_browser import left, ready, state
from tests.helpers.answers import GREEN, answers_lab, pool_answers, submit_answers, write_nuggets
from tests.helpers.browser import assert_accessible, log_in
from tests.helpers.judging import accept, make_batch

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(
    transactional_db: None,
    live_server: Any,
    new_page: Callable[..., Page],
    settings: LazySettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Page:
    """The first task of the topic about tea: its nuggets in the only answer, then the citation of that."""
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    lab = answers_lab()
    write_nuggets(lab)
    submit_answers(lab, "owls")
    batch = make_batch(pool_answers(lab), {lab.ada: [lab.tea]})
    page = new_page()
    log_in(page, live_server.url, lab.ada)
    page.goto(f"{live_server.url}{accept(batch, lab.ada).get_absolute_url()}")
    return ready(page)


def press(page: Page, key: str) -> str:
    """Choose and submit with the keyboard; return the address of the next page."""
    address = page.url
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    left(page, address)
    return page.url


def current() -> list[tuple[str, str]]:
    """The kind of each unit with the choice that counts, in the order of the first judgments."""
    rows = Judgment.objects.filter(is_current=True, track__slug="answers").order_by("task__pk")
    return [(docno.partition(":")[0], choice) for docno, choice in rows.values_list("docno", "choice")]


def test_nuggets_and_a_citation_are_judged_by_keys_also_offline_and_undone(page: Page) -> None:
    assert_accessible(page)
    expect(page.locator("#document-panel")).to_contain_text(GREEN)
    second = press(page, "2")
    ready(page)

    page.context.set_offline(True)
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Not saved yet: no connection.")
    page.context.set_offline(False)
    left(page, second)

    ready(page)
    expect(page.locator("mark")).to_have_text(GREEN)
    expect(page.get_by_text("Full support", exact=True)).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("z")
    page.wait_for_url(second)
    ready(page)
    expect(page.get_by_text("Full support", exact=True)).to_have_count(0)
    press(page, "1")
    ready(page)
    press(page, "1")
    expect(page.get_by_role("heading", level=1)).to_have_text("All judged")

    assert current() == [
        ("nugget", "support"),
        ("nugget", "partial_support"),
        ("citation", "partial_support"),
    ]
