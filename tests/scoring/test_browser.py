"""The scoring pages in Chromium: accessible, usable with the keyboard, and not wider than a phone."""

import re
from collections.abc import Callable, Sequence

import pytest
from django.urls import reverse
from playwright.sync_api import Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from assay_extensions.analyses.site import services as analysis_services
from jobs import services as jobs
from scoring.leaderboards import services as leaderboard_services
from scoring.qrels import services as qrels_services
from tests.helpers.browser import excess_width, log_in, on_screens, violations
from tests.scoring.conftest import Scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "a-run-with-a-rather-long-name-made-of-many-words"
PHONE = ViewportSize(width=360, height=800)


def faults(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Faults that axe reports, plots that are not drawn, and the width beyond the window."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('.plot-area')].every((area) => area.childElementCount)"
    )
    excess = excess_width(page)
    return violations(page, rules) + ([f"{excess} px too wide"] if excess > 0 else [])


@pytest.mark.long
def test_every_page_is_accessible_on_every_screen(
    scored: Scene, live_server: LiveServer, new_page: Callable[..., Page], pytestconfig: pytest.Config
) -> None:
    """Those of participants, which have less on them, in a nightly run only."""
    scored.submit(scored.ours, LONG, "10 9")
    scored.judged("high", "medium", "system-failure", "low")
    frozen = qrels_services.freeze_judgments(
        pool=scored.pool, by=scored.organizer, name="after the first round"
    )
    board = scored.leaderboard(release="participants")
    scored.leaderboard(scored.qrels(b"A.1 0 10 1\nA.2 0 10 2\n", name="students"), release="participants")
    for kind in ("reusability", "topics"):
        jobs.run(analysis_services.request(leaderboard=board, kind=kind, by=scored.organizer).job_id or 0)
    running = leaderboard_services.request(qrels=frozen, by=scored.organizer)
    evaluation, second = (board.evaluations.get(run__tag=tag) for tag in ("good", LONG))
    pages = {
        "topics": [board.pk],
        "topic": [board.pk, "A.1"],
        "compare_leaderboards": [board.pk, scored.track.leaderboards.get(qrels__name="students").pk],
        "compare_runs": [evaluation.pk, second.pk],
    }
    track = "/tracks/arq"
    everybody = [f"{track}/leaderboards/", board.get_absolute_url(), evaluation.get_absolute_url()]
    everybody += [f"{track}/qrels/", board.qrels.get_absolute_url()]
    everybody += [reverse(f"scoring:{name}", args=arguments) for name, arguments in pages.items()]
    organizers = [
        reverse("analyses:reports", args=[board.pk]),
        reverse("papers:tables", args=[scored.track.slug]),
        f"{reverse('papers:comparison')}?track={scored.track.slug}",
        frozen.get_absolute_url(),
        running.get_absolute_url(),
    ]
    organizers += [f"{track}/qrels/freeze/", f"{track}/qrels/import/"]

    reports: dict[tuple[str, int, str], list[str]] = {}
    page = new_page()
    log_in(page, live_server.url, scored.organizer)
    for address in everybody + organizers:
        page.goto(live_server.url + address)
        for width in on_screens(page, (360, "dark"), (1280, "light")):
            reports["olga", width, address] = faults(page, ["color-contrast"] if width == 360 else [])
    if pytestconfig.getoption("--nightly"):
        phone = new_page()
        log_in(phone, live_server.url, User.objects.get(username="mia"))
        for address in everybody:
            phone.goto(live_server.url + address)
            for width in on_screens(phone, (360, "dark")):
                reports["mia", width, address] = faults(phone)

    assert {place: report for place, report in reports.items() if report} == {}


def test_headings_of_a_table_stay_in_sight_on_a_phone(
    scored: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    board = scored.leaderboard(release="public")
    page = new_page(viewport={"width": 360, "height": 120})
    page.goto(f"{live_server.url}{board.get_absolute_url()}?columns=all")

    box = page.locator(".scroll").first
    box.evaluate("box => box.scrollTo(300, 40)")
    offsets = box.evaluate(
        """box => ["thead", "thead th:nth-child(2)", "tbody tr:last-child th"].map(name => {
            const place = box.querySelector(name).getBoundingClientRect(), frame = box.getBoundingClientRect();
            return [place.left - frame.left - box.clientLeft, place.top - frame.top - box.clientTop].map(Math.round);
        })"""
    )

    assert box.evaluate("box => [box.scrollLeft, box.scrollTop]") == [300, 40]
    assert offsets[0] == [-300, 0], "the headings of columns are above the rows"
    assert offsets[1] == [0, 0], "and that of the runs above their names"
    assert offsets[2][0] == 0, "the name of the run is at the left edge"


def test_the_leaderboard_is_sorted_by_keyboard(
    scored: Scene, live_server: LiveServer, browser_page: Page
) -> None:
    board = scored.leaderboard(release="public")
    browser_page.goto(live_server.url + board.get_absolute_url())
    runs = browser_page.locator(".board tbody th")
    assert runs.locator("a").all_inner_texts() == ["good", "poor"]

    browser_page.locator("thead").get_by_role("link", name="nDCG'").focus()
    browser_page.keyboard.press("Enter")
    browser_page.wait_for_url("**?sort=**")

    assert runs.locator("a").all_inner_texts() == ["poor", "good"]
    assert browser_page.locator("[aria-sort=ascending]").inner_text().startswith("nDCG'")


def test_menus_close_by_escape_and_outside_and_a_digest_is_copied_whole(
    scored: Scene, live_server: LiveServer, browser_page: Page
) -> None:
    board = scored.leaderboard(release="public")
    browser_page.goto(live_server.url + board.get_absolute_url())
    menu = browser_page.locator("details.menu", has_text="Download")
    is_open = []
    for close in (lambda: browser_page.keyboard.press("Escape"), lambda: browser_page.locator("h1").click()):
        menu.locator("summary").click()
        is_open.append(menu.get_attribute("open"))
        close()
        is_open.append(menu.get_attribute("open"))
    browser_page.get_by_role("button", name="Copy", exact=True).first.click()
    browser_page.get_by_role("button", name="Copied").wait_for()

    assert is_open == ["", None, "", None]
    assert browser_page.evaluate("getSelection().toString()") == board.qrels.sha256


def test_form_whose_answer_is_a_file_says_so(
    scored: Scene, live_server: LiveServer, browser_page: Page
) -> None:
    qrels = scored.leaderboard(release="public").qrels
    browser_page.goto(live_server.url + reverse("scoring:qrels_export", args=[qrels.pk]))
    status = browser_page.get_by_role("status")
    assert status.text_content() == ""

    with browser_page.expect_download():
        browser_page.get_by_role("button", name="Download zip").click()

    assert status.text_content() == "Your browser is downloading the file."


def test_plots_are_drawn_and_saved_without_inline_styles(
    scored: Scene, live_server: LiveServer, browser_page: Page
) -> None:
    complaints: list[str] = []
    browser_page.on("console", lambda message: complaints.append(message.text))
    board = scored.leaderboard(release="public")
    browser_page.goto(live_server.url + board.get_absolute_url())
    curves, means = browser_page.locator("figure.plot").all()
    browser_page.get_by_text("Plot of the table").click()

    assert means.locator("svg text").filter(has_text="good").count() == 1
    browser_page.goto(f"{live_server.url}{board.get_absolute_url()}?show=best")  # a single value
    curves, means = browser_page.locator("figure.plot").all()
    browser_page.get_by_text("Plot of the table").click()
    numbers = [
        float(text) for text in means.locator("svg text").all_text_contents() if re.fullmatch(r"[\d.]+", text)
    ]
    assert max(numbers) == 1
    assert curves.locator("svg text").filter(has_text="Recall").count() == 1
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with browser_page.expect_download() as download:
            means.get_by_role("button", name=kind.upper()).click()
        assert download.value.suggested_filename == f"arq-leaderboard.{kind}"
        assert download.value.path().read_bytes().startswith(start)
    means.locator(".plot-area").hover()
    assert means.locator("svg text").filter(has_text="95 % interval").count() == 1
    assert complaints == []


def test_plots_on_a_phone_keep_the_ends_of_long_names(
    scored: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    for number in (1, 2):
        scored.submit(scored.ours, f"{LONG}-{number}", f"10 {number}")
    board = scored.leaderboard(release="public")
    page = new_page(viewport=PHONE)
    page.goto(live_server.url + board.get_absolute_url())
    curves, means = page.locator("figure.plot").all()
    page.get_by_text("Plot of the table").click()

    for plot in (curves, means):
        shortened = plot.locator("svg text").filter(has_text="…")
        expect(shortened).to_have_count(2)
        names = shortened.all_text_contents()
        assert {name[-2:] for name in names} == {"-1", "-2"}
        assert {LONG.startswith(name.partition("…")[0]) for name in names} == {True}
    assert means.locator("svg text").get_by_text("good", exact=True).count() == 1


def test_board_of_many_measures_shows_those_that_fit(
    scored: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    stored = scored.track.protocol
    stored.text = stored.text.replace('"judged@10"]', '"judged@10", "RR", "Rprec", "P@5", "P@10"]')
    stored.save(update_fields=["text"])
    board = scored.leaderboard(release="public")
    page = new_page()
    log_in(page, live_server.url, scored.organizer)
    page.goto(live_server.url + board.get_absolute_url())

    for width in (1280, 1440, 1920):
        page.set_viewport_size(ViewportSize(width=width, height=800))
        board_width = page.locator(".board").evaluate("(table) => table.offsetWidth")
        assert board_width <= page.locator(".scroll:has(> .board)").evaluate("(box) => box.clientWidth")
    expect(page.get_by_role("link", name="All columns")).to_be_visible()


def test_phone_shows_the_main_score_next_to_the_run_and_two_rows_of_navigation(
    scored: Scene, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    board = scored.leaderboard(release="public")
    page = new_page(viewport=PHONE)
    log_in(page, live_server.url, scored.organizer)

    page.goto(live_server.url + board.get_absolute_url())

    score = page.locator(".board tbody td.num:visible").nth(1).bounding_box()
    tabs, tab = (page.locator(name).bounding_box() for name in (".phases", ".phases ul [aria-current]"))
    assert score
    assert tabs
    assert tab
    assert score["x"] + score["width"] <= PHONE["width"]
    assert tabs["y"] + tabs["height"] < PHONE["height"] / 3
    assert tabs["height"] < 4 * tab["height"], "the phases, and the pages of this one"
    assert 0 <= tab["x"] <= PHONE["width"] - tab["width"]
    assert page.locator(".board").get_by_text("Ours, primary").is_visible()
