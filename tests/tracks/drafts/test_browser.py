"""The editor of protocols in Chromium: a lab makes its own protocol without TOML, and the pages are accessible."""

import re
import tomllib

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from tests.helpers.browser import assert_accessible, log_in, on_screens
from tests.helpers.factories import make_organizer, make_protocol
from tracks.models import ProtocolDraft, StoredProtocol

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CHANGE = (
    "(field, text) => { field.value = text; field.dispatchEvent(new Event('change', { bubbles: true })); }"
)
MOST_CLICKS = 25  # of a person who makes a protocol with own columns, two questions and two measures


class Person:
    """Clicks, and counts the clicks. Typing needs a click into the field, if it has no focus yet."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, place: Locator) -> None:
        self.clicks += 1
        place.click()

    def type(self, field: Locator, text: str) -> None:
        if not field.evaluate("field => field === document.activeElement"):
            self.click(field)
        field.fill(text)
        field.blur()

    def choose(self, field: Locator, value: str) -> None:
        self.clicks += 2  # opens the list, and chooses
        field.select_option(value)

    def section(self, name: str) -> None:
        self.click(self.page.locator("#sections").get_by_role("link", name=re.compile(f"^{name}")))
        expect(self.page.locator("legend.h2")).to_have_text(name)


@pytest.mark.nightly
def test_lab_makes_its_protocol_without_toml(live_server: LiveServer, browser_page: Page) -> None:
    make_protocol("trec-adhoc")
    page, base = browser_page, live_server.url
    page.set_viewport_size({"width": 1280, "height": 800})
    log_in(page, base, make_organizer())
    page.goto(f"{base}/protocol/new/")
    person, state = Person(page), page.locator("#state")

    person.click(page.get_by_role("button", name=re.compile("TREC ad hoc")))
    person.type(page.get_by_label("Title", exact=True), "Math lab 2027")
    expect(page.get_by_label("Name in addresses")).to_have_value("math-lab-2027")
    expect(page.get_by_role("button", name="Add protocol")).to_be_in_viewport(ratio=1)
    person.section("Topics")
    person.click(page.get_by_role("link", name="Next section: Runs"))
    expect(page.locator("legend.h2")).to_have_text("Runs")
    person.click(page.get_by_label("columns that the protocol describes"))
    person.click(page.get_by_label("TREC's six columns"))
    person.click(page.get_by_role("button", name="Add own columns"))
    columns = page.get_by_label("Columns, from left to right")
    expect(columns).to_be_focused()
    person.type(columns, "topic\ndocno\nscore\ntag")
    for n in (1, 2, 3):
        person.type(page.get_by_label("Pool depth").nth(n - 1), "20")
    person.section("Questions")
    for n, question in enumerate(("Is it fluent?", "Is it complete?")):
        person.click(page.get_by_role("button", name="Add question"))
        field = page.get_by_label("Question", exact=True).nth(n)
        expect(field).to_be_focused()
        person.type(field, question)
        person.choose(page.get_by_label("Kind of answer").nth(n), "yes-no")
        expect(state).to_contain_text("no errors")
    person.section("Measures")
    person.type(page.get_by_label("Measure 1", exact=True), "nDCG@10")
    person.type(page.get_by_label("Measure 2", exact=True), "AP")
    expect(state).to_contain_text("no errors")
    person.click(page.get_by_role("link", name="Preview judging page"))
    expect(page.get_by_text("Choose a grade to see 2 questions")).to_be_visible()
    expect(page.get_by_text("Narrative")).to_have_count(0)
    person.click(page.locator("label.choice-button", has_text="Highly relevant"))
    expect(page.get_by_role("group", name="Is it complete?")).to_be_visible()
    person.click(page.get_by_role("link", name="Back"))
    person.click(page.get_by_role("button", name="Add protocol"))
    person.click(page.get_by_role("link", name="Create a track"))

    expect(page.locator("#id_protocol option:checked")).to_have_text("Math lab 2027 (math-lab-2027)")
    made = StoredProtocol.objects.get(slug="math-lab-2027").parsed
    assert person.clicks <= MOST_CLICKS
    assert made.runs.columns is not None
    assert made.runs.columns.order == ("topic", "docno", "score", "tag")
    assert (made.runs.formats, set(made.runs.depths.values())) == (("columns",), {20})
    assert [(each.key, each.kind) for each in made.judging.questions] == [
        ("is-it-fluent", "yes-no"),
        ("is-it-complete", "yes-no"),
    ]
    assert made.scoring.measures[:2] == ("nDCG@10", "AP")


def test_editor_is_accessible_in_each_state_and_loses_no_press(
    live_server: LiveServer, browser_page: Page
) -> None:
    page = browser_page
    begin(page, live_server.url)
    address, state = page.url, page.locator("#state")

    page.goto(f"{address}?section=runs")
    depth = page.get_by_label("Pool depth").first
    depth.fill("20")
    depth.blur()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    depth.fill("30")
    undo.click()  # while the change of its field waits
    expect(depth).to_have_value("100")
    expect(depth).to_be_focused()
    changed = page.locator("#result .fresh").first
    page.goto(f"{address}?section=measures")
    expect(page.locator("#result .here")).to_contain_text("average precision")
    expect(page.locator("#result .here")).to_be_in_viewport()
    page.get_by_role("button", name="Another measure").click()
    added = page.get_by_label("Measure 10")
    expect(added).to_be_focused()
    added.fill("nDCG@10")
    added.blur()
    expect(changed).to_contain_text("nDCG@10")
    expect(changed).to_be_in_viewport()
    page.get_by_role("button", name="Move up Rprec").click()
    expect(page.get_by_label("Measure 1", exact=True)).to_have_value("Rprec")
    page.goto(f"{address}?section=questions&view=changes")
    page.get_by_role("button", name="Add question").click()
    expect(state).to_contain_text("to fill in")
    accessible_on_screens(page)
    page.goto(f"{address}?section=judging&view=text")
    page.get_by_label("TOML", exact=True).fill("slug =")
    expect(page.get_by_label("Judging page")).to_be_disabled()
    accessible_on_screens(page)
    other = page.context.new_page()
    other.goto(f"{address}?view=text")
    other.get_by_label("TOML", exact=True).fill('slug = "other"')
    expect(other.locator("#state")).to_contain_text("to fill in")
    page.get_by_label("TOML", exact=True).fill('slug = "mine"')
    expect(page.get_by_role("button", name="Take mine")).to_be_visible()
    accessible_on_screens(page)
    page.get_by_role("button", name="Take mine").click()
    expect(page.get_by_label("TOML", exact=True)).to_have_value('slug = "mine"')


def test_form_follows_what_is_chosen_and_loses_no_press(live_server: LiveServer, browser_page: Page) -> None:
    page = browser_page
    begin(page, live_server.url)
    address, state = page.url, page.locator("#state")
    page.goto(f"{address}?section=questions&view=toml")
    add = page.get_by_role("button", name="Add question")

    add.click()
    label = page.get_by_label("Question", exact=True)
    label.fill("Is it fluent?")
    label.blur()
    expect(page.locator(".item > legend > span").first).to_have_text("Is it fluent?")
    expect(page.get_by_role("button", name="Remove Is it fluent?")).to_be_visible()
    choice = page.get_by_label("Label", exact=True)
    expect(choice).to_have_count(2)
    page.get_by_label("Kind of answer").select_option("yes-no")
    expect(choice).to_have_count(0)  # empty ones go with the kind
    page.get_by_label("Kind of answer").select_option("any-of")
    choice.first.fill("Very")
    choice.first.blur()
    expect(page.locator("#result")).to_contain_text('key = "very"')
    page.get_by_label("Kind of answer").select_option("yes-no")
    page.get_by_role("button", name="Remove choices").click()
    expect(state).to_contain_text("no errors")
    add.click()
    page.get_by_label("Is it fluent? No").first.check()
    expect(page.locator("#result")).to_contain_text('after = ["is-it-fluent:no"]')
    add.hover()
    page.mouse.down()
    # It gives the choices of the second question other words, so the form comes again.
    label.nth(0).evaluate(CHANGE, "Is it good?")
    expect(page.locator("#result")).to_contain_text('label = "Is it good?"')
    page.mouse.up()
    expect(label).to_have_count(3)

    text = ProtocolDraft.objects.get().text
    assert 'after = ["is-it-fluent:no"]' in text
    assert "choice" not in tomllib.loads(text)["judging"]["question"][0]


def test_editor_keeps_what_is_typed_while_another_change_is_saved(
    live_server: LiveServer, browser_page: Page
) -> None:
    page = browser_page
    begin(page, live_server.url)
    title, slug = page.get_by_label("Title", exact=True), page.get_by_label("Name in addresses")
    held: list[Route] = []
    page.route("**/change/", lambda route: held.append(route), times=1)  # noqa: PLW0108 - gets attributes

    with page.expect_request("**/change/"):
        title.fill("Lab three")
        title.blur()
    slug.fill("lab-four")
    with page.expect_response("**/change/"):
        held[0].continue_()
    expect(page.locator("#title")).to_have_text("Lab three")
    expect(slug).to_have_value("lab-four")
    slug.blur()
    expect(page.locator("#state")).to_contain_text("no errors")
    expect(page.locator("#revision")).to_have_value("2")
    page.reload()
    expect(slug).to_have_value("lab-four")
    title.fill("Lab five")
    title.blur()
    expect(slug).to_have_value("lab-four")


def test_add_protocol_goes_to_the_first_error(live_server: LiveServer, browser_page: Page) -> None:
    page = browser_page
    begin(page, live_server.url)
    address, add = page.url, page.get_by_role("button", name="Add protocol")
    depth, toml = page.get_by_label("Pool depth").first, page.get_by_label("TOML", exact=True)

    page.goto(f"{address}?section=runs")
    depth.fill("many")
    add.click()
    expect(depth).to_be_focused()
    expect(depth).to_have_attribute("aria-invalid", "true")
    page.goto(f"{address}?section=judging&view=toml")
    add.click()
    expect(depth).to_be_focused()
    expect(page).to_have_url(f"{address}?section=runs&view=toml#f-runs-kind-1-depth")
    depth.fill("20")
    depth.blur()
    expect(page.locator("#state")).to_contain_text("no errors")
    page.goto(f"{address}?view=text")
    toml.fill("slug =")
    add.click()  # while the text waits
    expect(page.locator("#foot")).to_contain_text("not TOML")
    expect(toml).to_be_focused()
    assert not StoredProtocol.objects.exclude(slug="trec-adhoc").exists()


def begin(page: Page, site: str) -> None:
    """Log an organizer in, who starts a draft from a shipped protocol."""
    make_protocol("trec-adhoc")
    log_in(page, site, make_organizer())
    page.goto(f"{site}/protocol/new/")
    page.get_by_role("button", name=re.compile("TREC ad hoc")).click()
    page.wait_for_url("**/drafts/*/")


def accessible_on_screens(page: Page) -> None:
    for _ in on_screens(page, (1280, "light"), (390, "dark")):
        assert_accessible(page)
