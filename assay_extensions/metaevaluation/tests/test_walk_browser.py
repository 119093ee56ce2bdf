"""A whole track of judges in Chromium: runs without names, submissions, a board, its release, and a visitor."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from assay_extensions.metaevaluation.site.models import JudgeBoard
from assay_extensions.metaevaluation.tests.test_boards import qrels, scores
from assay_extensions.metaevaluation.tests.test_judges import zipped
from jobs import services as jobs
from tests.helpers.browser import assert_accessible, log_in, on_screens
from tests.scoring.conftest import Scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.nightly]


@pytest.fixture
def enter(live_server: LiveServer, new_page: Callable[..., Page]) -> Callable[..., Page]:
    def entered(user: User | None = None) -> Page:
        page = new_page(base_url=live_server.url, reduced_motion="reduce")
        if user is not None:
            log_in(page, live_server.url, user)
        return page

    return entered


def look(page: Page) -> None:
    for _ in on_screens(page):
        assert_accessible(page)


def press(page: Page, name: str) -> None:
    page.locator("main").get_by_role("button", name=name).last.click()


def blinded_names(scene: Scene, organizer: Page) -> dict[str, str]:
    """The pseudonyms of runs by tag, after a release without names."""
    organizer.goto("/tracks/arq/blinding/")
    press(organizer, "Look for names")
    for _ in range(2):  # the second time with decisions
        organizer.wait_for_load_state()
        jobs.run(type(scene.track).objects.get().blinding.job_id)
        organizer.goto("/tracks/arq/blinding/")
        for select in organizer.locator("select[name^='decision ']").all():
            select.select_option("replace")
        if organizer.get_by_role("link", name="Download package").count():
            break
        press(organizer, "Save and make the package")
    expect(organizer.get_by_role("link", name="Download package")).to_be_visible()
    return dict(type(scene.track).objects.get().blinding.blind.runs)


def test_track_of_judges(scored: Scene, enter: Callable[..., Page], tmp_path: Path) -> None:
    scored.submit(scored.theirs, "middling", "9 10 é")
    scored.leaderboard()
    organizer = enter(scored.organizer)
    names = blinded_names(scored, organizer)
    by_judge = {names[tag]: value for tag, value in (("good", 0.9), ("middling", 0.1), ("poor", 0.5))}
    good, bad = tmp_path / "made.zip", tmp_path / "bad.qrels.txt"
    good.write_bytes(zipped(qrels_txt=qrels(3, 0, 2), eval_txt=scores("COVERAGE", **by_judge)))
    bad.write_bytes(qrels(3, 0, 7))

    organizer.goto("/tracks/arq/judges/")
    look(organizer)
    organizer.get_by_role("link", name="Accept judges").click()
    organizer.fill("#id_closes", "2099-05-01T12:00")
    look(organizer)
    press(organizer, "Save")
    expect(organizer.locator("main")).to_contain_text("Judges are accepted until 2099-05-01 12:00 AoE")

    member = enter(scored.member)
    member.goto(f"/tracks/arq/teams/{scored.ours.pk}/runs/")
    member.get_by_text("More", exact=True).click()
    member.get_by_role("link", name="Judges").click()
    member.get_by_role("link", name="Submit judgments").click()
    member.fill("#id_tag", "made")
    member.set_input_files("#id_file", bad)
    press(member, "Submit judgments")
    expect(member.locator(".field-error").first).to_contain_text("line 3: grade: got 7; use 0, 1, 2, 3")
    look(member)
    member.set_input_files("#id_file", good)
    press(member, "Submit judgments")
    expect(member.locator("h1")).to_have_text("made")
    look(member)

    organizer.goto("/tracks/arq/judges/")
    organizer.get_by_role("link", name="Compare judges").click()
    look(organizer)
    press(organizer, "Compare judges")
    expect(organizer.locator("h1")).to_have_text("Board of judges")
    board = JudgeBoard.objects.get()
    assert board.job_id is not None
    jobs.run(board.job_id)
    organizer.reload()
    look(organizer)
    order = organizer.locator("main tbody tr").all_inner_texts()
    assert ["qrels" in order[0], "COVERAGE" in order[1]] == [True, True]
    organizer.get_by_role("link", name="made").first.click()
    expect(organizer.get_by_role("heading", name="Confusion")).to_be_visible()
    look(organizer)
    assert enter(scored.member).goto(board.get_absolute_url()).status == 404

    organizer.goto(board.get_absolute_url())
    organizer.get_by_role("link", name="Release to everybody…").click()
    press(organizer, "Release to everybody")
    expect(organizer.locator(".field-error")).to_contain_text("Give a reason to release it anyway.")
    organizer.fill("#id_reason", "Shown at the workshop.")
    look(organizer)
    press(organizer, "Release to everybody")
    expect(organizer.locator("main")).to_contain_text(re.compile("Visible to everybody since"))

    visitor = enter()
    visitor.goto("/tracks/arq/leaderboards/")
    visitor.get_by_role("link", name="Judges of this track").click()
    visitor.locator("main tbody th a").click()
    expect(visitor.locator("main")).to_contain_text("1 judge against qrels version 1")
    look(visitor)
