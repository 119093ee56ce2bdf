"""Helpers of the tests in a browser."""

from collections.abc import Sequence
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from accounts.models import User

# Only the violations cross to the tests: the rules that hold would be thousands of elements.
RUN = """async (options) => (await axe.run({resultTypes: ["violations"], ...options})).violations
  .flatMap(({id, nodes}) => nodes.map((node) => `${id}: ${node.html}\\n${node.failureSummary}`))"""


def log_in(page: Page, base: str, user: User) -> None:
    """Give a page the session of a user. It spares each test the login form and the page after it."""
    client = Client()
    client.force_login(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": base}])


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """The violations that axe reports about a page: all rules, or only some of them."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    options: dict[str, Any] = {"runOnly": list(rules)} if rules else {}
    faults: list[str] = page.evaluate(RUN, options)
    return faults


def assert_accessible(page: Page, rules: Sequence[str] = ()) -> None:
    """The page violates no rule of axe and does not scroll sideways."""
    faults = violations(page, rules)
    assert not faults, "\n".join([page.url, *faults])
    excess = excess_width(page)
    assert excess <= 0, f"{page.url} is {excess} px too wide"


def excess_width(page: Page) -> int:
    """The pixels by which a page is wider than its window."""
    excess: int = page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return excess
