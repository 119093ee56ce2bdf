"""The script of all forms in Chromium."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from playwright.sync_api import Dialog, Page, expect

from accounts.audit.services import record
from participation.models import Team
from tests.helpers.browser import assert_accessible, log_in
from tests.helpers.factories import make_organizer, make_protocol, make_track
from tracks.models import Milestone, Track

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_form_asks_before_what_was_typed_in_another_one_is_lost(live_server: Any, browser_page: Page) -> None:
    page, track = browser_page, make_track("rag")
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/{track.slug}/people/")
    questions: list[str] = []

    def refuse(dialog: Dialog) -> None:
        questions.append(dialog.message)
        dialog.dismiss()

    invited = page.locator("form[action$='/invite/']").locator("input:not([type=hidden]), textarea").first
    invited.fill("zoe@example.org")
    page.locator("#id_name").fill("Owls")
    page.once("dialog", refuse)
    page.get_by_role("button", name="Create a team").click()
    expect(invited).to_be_focused()
    assert len(questions) == 1
    assert "will be lost" in questions[0]
    assert not Team.objects.exists()
    invited.fill("")
    page.get_by_role("button", name="Create a team").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Team Owls")

    assert Team.objects.get().name == "Owls"


def test_short_name_follows_from_the_name_until_it_is_typed(live_server: Any, browser_page: Page) -> None:
    make_protocol("trec-adhoc")
    page = browser_page
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/new/")
    name, short = page.get_by_label("Name", exact=True), page.get_by_label("Short name")

    name.fill(" Überprüfte Antworten, 2027!")
    expect(short).to_have_value("uberprufte-antworten-2027")
    short.fill("antworten")
    name.fill("Answers 2027")
    expect(short).to_have_value("antworten")
    short.fill("")
    name.fill("Answers 2028")
    expect(short).to_have_value("answers-2028")
    name.fill("Retrieval of scientific papers for complicated needs")

    expect(short).to_have_value("retrieval-of-scientific-papers-for")


def test_chosen_filter_applies_at_once_and_by_keys_with_its_button(
    live_server: Any, browser_page: Page
) -> None:
    organizer = make_organizer()
    track = make_track()
    with transaction.atomic():
        for action in ("track.opened", "track.closed"):
            record(action=action, track=track, by=organizer)
    page = browser_page
    log_in(page, live_server.url, organizer)
    page.goto(f"{live_server.url}/tracks/{track.slug}/audit-log/")
    chosen, button = page.get_by_label("Action"), page.get_by_role("button", name="Show", exact=True)

    expect(page.locator("tbody tr")).to_have_count(2)
    expect(button).to_be_hidden()
    chosen.select_option("closed the track")
    expect(page.locator("tbody tr")).to_have_text(re.compile("closed the track"))
    page.keyboard.press("Tab")
    chosen.select_option("opened the track")
    expect(page.locator("tbody tr")).to_have_text(re.compile("closed the track"))
    button.click()

    expect(page.locator("tbody tr")).to_have_text(re.compile("opened the track"))


def test_field_says_what_is_accepted_if_its_text_does_not_match(live_server: Any, browser_page: Page) -> None:
    make_protocol("trec-adhoc")
    page = browser_page
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/new/")
    short = page.get_by_label("Short name")
    error = page.locator("#id_slug_help .field-error")

    page.get_by_label("Name", exact=True).fill("Demo 2026")
    short.fill("Demo 2026 !!")
    page.get_by_role("button", name="Create track").click()
    expect(error).to_have_text(short.get_attribute("title") or "a title")
    expect(error).to_contain_text("letters a to z")
    expect(page.locator("main form [role=alert]:visible")).to_be_focused()  # the protocol is missing too
    expect(short).to_have_attribute("aria-invalid", "true")
    short.fill("demo-2026")

    expect(error).to_have_count(0)
    expect(short).not_to_have_attribute("aria-invalid", "true")


def test_error_of_the_browser_replaces_all_lines_of_the_server(
    live_server: Any, browser_page: Page, tmp_path: Path
) -> None:
    track = make_track("rag", status=Track.Status.DRAFT)
    wrong = tmp_path / "topics.xml"
    wrong.write_text("<Topics>\n<Topic/>\n<Topic/>\n</Topics>")
    page = browser_page
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/{track.slug}/import-topics/")
    errors = page.locator("#id_upload_help .field-error")
    page.get_by_label("File", exact=True).set_input_files(wrong)
    page.get_by_role("button", name="Import topics").click()
    expect(errors).to_have_count(2)

    page.get_by_role("button", name="Import topics").click()

    expect(errors).to_have_count(1)
    expect(errors).not_to_contain_text("Topic")


def test_errors_of_a_form_are_listed_with_links_and_go_when_they_are_corrected(
    live_server: Any, browser_page: Page
) -> None:
    """Those that the server finds; the last one needs no list."""
    make_protocol("trec-adhoc")
    make_track("taken")
    page = browser_page
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/new/")
    page.evaluate("document.querySelector('main form').noValidate = true")
    page.get_by_label("Short name").fill("taken")
    page.get_by_role("button", name="Create track").click()
    alert, short = page.locator("main form [role=alert]"), page.get_by_label("Short name")
    expect(alert).to_contain_text("Fields with an error: Name, Short name, Protocol")
    expect(alert).to_be_focused()
    assert_accessible(page)

    alert.get_by_role("link", name="Short name").click()
    expect(short).to_be_focused()
    short.fill("free")
    expect(alert).to_contain_text("Fields with an error: Name, Protocol")
    page.get_by_label("Name", exact=True).fill("Free")

    expect(alert).to_be_hidden()
    expect(page.locator("main form .field-error")).to_have_count(1)


def test_button_of_a_long_form_stays_in_view_and_hides_no_field_with_the_focus(
    live_server: Any, browser_page: Page
) -> None:
    page, track = browser_page, make_track("rag")
    page.set_viewport_size({"width": 390, "height": 740})
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/{track.slug}/edit/")
    button = page.get_by_role("button", name="Save track")

    expect(button).to_be_in_viewport(ratio=1)

    for field in page.locator("main form :is(input, select, textarea):visible").all():
        field.focus()
        place, bar = field.bounding_box(), page.locator(".act-bar").bounding_box()
        assert place
        assert bar
        assert place["y"] + min(place["height"], 40) <= bar["y"], field  # of a text, the line with the caret
    expect(button).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", [390, 1280])
def test_buttons_of_a_short_question_are_right_below_its_card(
    live_server: Any, browser_page: Page, width: int
) -> None:
    page, draft = browser_page, make_track("rag", status=Track.Status.DRAFT)
    page.set_viewport_size({"width": width, "height": 740})
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/{draft.slug}/delete/")

    card = page.locator(".panel", has=page.get_by_role("heading", name="What happens")).bounding_box()
    button = page.get_by_role("button", name="Delete track").bounding_box()

    assert card
    assert button
    assert 16 <= button["y"] - (card["y"] + card["height"]) <= 24
    assert_accessible(page)


def test_errors_in_the_cells_of_a_table_are_listed_too(live_server: Any, browser_page: Page) -> None:
    track = make_track("rag")
    for number in range(1, 4):
        Milestone.objects.create(track=track, title=f"Day {number}", starts_on=date(2027, 1, number))
    page = browser_page
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/rag/deadlines/")
    alert, days = page.locator("main form .errors"), page.locator("input[name^=first-]")
    for number in range(3):
        days.nth(number).fill("")
    page.get_by_role("button", name="Set dates").click()
    expect(alert.get_by_role("link")).to_have_count(3)

    days.first.fill("2027-01-01")
    expect(alert).to_contain_text("Fields with an error: Milestone 2: first day, Milestone 3: first day")
    days.nth(1).fill("2027-01-02")

    expect(alert).to_be_hidden()


def test_date_is_written_as_the_site_writes_it(live_server: Any, new_page: Callable[..., Page]) -> None:
    track = make_track("rag")
    Milestone.objects.create(track=track, title="Topics", starts_on=date(2027, 1, 2))
    page = new_page(locale="en-US")
    log_in(page, live_server.url, make_organizer())
    page.goto(f"{live_server.url}/tracks/rag/deadlines/")
    day, closes = page.locator("[name=first-0]"), page.locator("[name=closes-]")

    expect(day).to_have_value("2027-01-02")
    day.fill("1/3/2027")
    page.get_by_role("button", name="Set dates").click()
    expect(page.locator(".field-error")).to_have_text("Write it as 2026-05-01.")
    day.fill("2027-01-03")
    closes.fill("2036-05-02 17:29")
    page.get_by_role("button", name="Set dates").click()

    expect(page.get_by_text("Dates saved.")).to_be_visible()
    expect(closes).to_have_value("2036-05-02 17:29")
    assert Milestone.objects.get().starts_on == date(2027, 1, 3)
    assert_accessible(page)
