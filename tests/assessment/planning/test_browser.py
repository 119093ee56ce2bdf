"""The plan of a batch in Chromium: with the mouse, and without one on a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from assessment.models import TopicAssignment
from tests.assessment.conftest import build_scene
from tests.helpers.browser import log_in, violations
from tests.helpers.factories import make_organizer

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
