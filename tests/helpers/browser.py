"""Helpers of the tests in a browser."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from accounts.models import User

# Only the violations cross to the tests: the rules that hold would be thousands of elements. Contrast takes most of the
# time, and it follows from the styles of a text and of what is behind it: axe measures two of all texts that are alike
# in them. Nothing is loaded ahead, because no page has audio or video.
RUN = """async (options) => {
  const rule = axe._audit.rules.find(({id}) => id === "color-contrast");
  const isMeasured = rule.matches;
  const behind = new Map(), counts = new Map();
  const backgrounds = (element) => {
    if (!element) return "";
    if (!behind.has(element)) {
      const {backgroundColor, backgroundImage, filter, opacity, position} = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, filter, opacity].join(" ");
      const isPlaced = !["static", "relative"].includes(position);
      behind.set(element, backgrounds(element.parentElement)
        + (own === "rgba(0, 0, 0, 0) none none 1" ? "" : own) + (isPlaced ? `.${element.className}` : ""));
    }
    return behind.get(element);
  };
  rule.matches = (element, ...others) => {
    if (!isMeasured.call(rule, element, ...others)) return false;
    const {color, fontSize, fontWeight, textShadow} = getComputedStyle(element);
    const look = [color, fontSize, fontWeight, textShadow, backgrounds(element)].join(";");
    counts.set(look, (counts.get(look) ?? 0) + 1);
    return counts.get(look) <= 2;
  };
  try {
    const {violations} = await axe.run({resultTypes: ["violations"], preload: false, ...options});
    return violations.flatMap(({id, nodes}) => nodes.map((node) => `${id}: ${node.html}\\n${node.failureSummary}`));
  } finally {
    rule.matches = isMeasured;
  }
}"""


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


def on_screens(page: Page, *screens: tuple[int, Literal["light", "dark"]]) -> Iterator[int]:
    """Show an open page on a desktop and on a phone, or on other screens, without loading it again."""
    for width, scheme in screens or ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"html[data-bs-theme={scheme}]", state="attached")
        yield width


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
