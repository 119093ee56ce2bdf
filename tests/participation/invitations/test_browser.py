"""An invitation in Chromium: the link is copied, opened and used, and no request carries it on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from accounts.models import User
from tests.helpers.browser import log_in, violations
from tests.pooling.conftest import build_scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_copied_link_registers_a_member_and_is_no_referrer(
    folder: Path, live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = build_scene(folder)
    manager = new_page(permissions=["clipboard-read", "clipboard-write"])
    log_in(manager, live_server.url, scene.member)
    manager.goto(f"{live_server.url}/teams/{scene.ours.pk}/")
    manager.get_by_role("button", name="Make a link").click()
    manager.get_by_role("button", name="Copy link").click()
    manager.get_by_role("button", name="Copied").wait_for()
    link = manager.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{live_server.url}/join/")

    page = new_page(viewport={"width": 390, "height": 800})
    referrers: list[str] = []
    page.on("request", lambda request: referrers.append(request.headers.get("referer", "")))
    page.goto(link)
    assert page.url == f"{live_server.url}/join/"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    fields = {
        "First name": "Eve",
        "Last name": "Ray",
        "E-mail address": "eve@example.org",
        "User name": "eve",
    }
    for label, value in fields.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Password", exact=True).fill("quintic-9-roots")
    page.get_by_role("button", name="Register and accept").click()
    page.get_by_text("You are in the team Ours of ARQ.").wait_for()

    token = link.rstrip("/").rpartition("/")[2]
    assert not any(token in referrer for referrer in referrers)
    assert User.objects.get(username="eve") in scene.ours.members.all()
