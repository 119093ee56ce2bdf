"""Previews and work by a link in Chromium: keys and buttons of a preview, and a guest from link to revocation."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from assessment.batches import services as batch_services
from assessment.joining import services
from assessment.joining.selectors import link_page
from assessment.models import Batch, Judgment, Task
from participation.invitations.services import Terms
from tests.assessment.judging.test_browser import PHONE, ready, state
from tests.fixtures import wait_until
from tests.helpers.browser import assert_accessible, log_in
from tests.helpers.row_scenes import MARKED, TURKLE, RowScene, build_rows

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SELECT_TRANSLATION = """() => {
  const text = document.querySelector("#document-panel [data-field=translation]").firstChild;
  window.getSelection().setBaseAndExtent(text, 0, text, 4);
}"""
TEXTS = "topic,docno,text\nt,1,Lovely\nt,2,Sad\n"


def open_batch(scene: RowScene) -> Batch:
    batch = batch_services.create(pool=scene.pool, name="Crowd", judges=2, is_shared=True, by=scene.organizer)
    return batch_services.open_for_judging(batch=batch)


def test_preview_can_be_tried_with_keys_and_stores_nothing(
    new_page: Callable[..., Page], live_server: Any
) -> None:
    scene, page = build_rows(), new_page()
    batch = open_batch(scene)
    log_in(page, live_server.url, scene.bob)
    page.goto(f"{live_server.url}/judge/")
    page.get_by_role("link", name="Preview Crowd").click()
    ready(page)

    expect(state(page)).to_have_text("This is a preview: nothing is stored.")
    assert_accessible(page)
    page.keyboard.press("2")
    expect(page.get_by_role("group", name="Which errors?")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.locator("#submit")).to_be_disabled()
    assert page.evaluate("() => localStorage.length") == 0
    assert not Task.objects.filter(batch=batch).exists()
    page.get_by_role("button", name="Accept and start").click()
    page.wait_for_url("**/judge/tasks/*/")
    expect(page.locator("#submit")).to_be_enabled()


def test_phone_marks_parts_of_a_field_in_a_preview_and_has_no_help_for_keys(
    new_page: Callable[..., Page], live_server: Any
) -> None:
    scene, page = build_rows(MARKED), new_page(**PHONE)
    batch = open_batch(scene)
    log_in(page, live_server.url, scene.organizer)
    page.goto(f"{live_server.url}{reverse('assessment:preview', args=[batch.pk])}")
    ready(page)

    page.get_by_text("Some", exact=True).tap()
    page.get_by_text("Term", exact=True).tap()
    question = page.get_by_role("group", name="Mark the wrong words")
    expect(question.locator(".by-keys, .by-keys-help").filter(visible=True)).to_have_count(0)
    page.evaluate(SELECT_TRANSLATION)
    question.get_by_role("button", name="Omitted").tap()
    expect(question.locator(".parts button")).to_have_text(["Omitted: Good ×"])
    question.locator(".parts button").tap()

    expect(question.locator(".parts button")).to_have_count(0)
    assert_accessible(page)
    assert page.evaluate("() => localStorage.length") == 0


def test_guest_judges_a_template_by_a_link_until_it_is_revoked(
    new_page: Callable[..., Page], live_server: Any
) -> None:
    scene = build_rows(TURKLE.replace("SCRIPT", ""), TEXTS)
    batch = open_batch(scene)
    link = services.create(batch=batch, terms=Terms(max_uses=3), asks_name=True, by=scene.organizer)
    page = new_page(**PHONE)
    page.goto(link_page(batch, live_server.url).address)
    start = page.url

    assert_accessible(page)
    page.get_by_role("link", name="See a unit first").click()
    expect(page.frame_locator(".form-frame").locator("#text")).to_have_text("Lovely")
    page.get_by_role("link", name="Back").click()
    page.wait_for_url(start)  # not on the page that goes
    page.get_by_label("Name or code").fill("Worker 7")
    page.get_by_role("button", name="Accept and start").click()
    assert_accessible(page)
    page.get_by_role("button", name="Start judging").click()
    ready(page)
    page.frame_locator(".form-frame").get_by_label("Good").check()
    page.locator("#submit").click()
    wait_until(lambda: Judgment.objects.filter(batch=batch).count() == 1)
    expect(page.frame_locator(".form-frame").locator("#text")).to_have_text("Sad")
    services.revoke(link=link)
    page.frame_locator(".form-frame").get_by_label("Bad").check()
    page.locator("#submit").click()

    expect(state(page)).to_contain_text("The organizer has ended it, or its time is over.")
    assert Judgment.objects.filter(batch=batch, is_current=True).count() == 1
