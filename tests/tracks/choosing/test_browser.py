"""Two people decide in a browser: with keys, with undo, on a phone, and what is typeset ahead is shown at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from jobs import services as jobs
from tests.helpers.browser import assert_accessible, log_in, on_screens
from tests.helpers.candidates import LABELS, Choice, make_choice
from tests.helpers.factories import make_topic, make_track
from tracks.choosing import services
from tracks.models import CandidateDecision, Track

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def choice(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Choice:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return make_choice()


def start(page: Page, base: str, user: User) -> None:
    log_in(page, base, user)
    page.goto(f"{base}/tracks/lab/samples/1/decide/")
    expect(page.locator("html[data-choosing=ready]")).to_be_attached()


def docno(page: Page) -> str:
    return page.locator("#candidate-panel .panel-head .mono").inner_text()


def expect_candidate(page: Page, choice: Choice, place: int) -> None:
    row = choice.sample.rows.select_related("candidate").get(position=place)
    expect(page.locator("#candidate-panel .panel-head .mono")).to_have_text(row.candidate.docno)


def press(page: Page, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def test_person_decides_with_keys_and_undoes(
    choice: Choice, live_server: Any, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    start(page, live_server.url, choice.first)
    first = docno(page)

    press(page, "a Enter")
    expect(page.locator("#state")).to_have_text("Choose: Category")
    press(page, "3 4 8 Enter")  # proof, easy, formula
    expect_candidate(page, choice, 2)
    expect(page.locator(".task-progress")).to_have_text("1 of 12")
    expect(page.locator("#candidate-panel .katex").first).to_be_attached()
    assert "katex" in page.locator("#candidate-panel").inner_html()

    press(page, "r Enter")
    expect(page.locator("#state")).to_have_text("Say why you reject it.")
    page.keyboard.type("Too easy")
    press(page, "Enter")
    expect_candidate(page, choice, 3)
    press(page, "u")
    expect_candidate(page, choice, 2)
    expect(page.locator("#reason")).to_have_value("Too easy")
    assert page.locator("#choice-rejected").is_checked()

    stored = CandidateDecision.objects.order_by("pk")
    assert [(each.is_accepted, each.is_current) for each in stored] == [(True, True), (False, False)]
    assert stored[0].candidate.docno == first
    assert stored[0].labels == {"category": "proof", "difficulty": "easy", "dependence": "formula"}


def test_next_candidate_is_shown_typeset_from_what_was_prepared(
    choice: Choice, live_server: Any, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    start(page, live_server.url, choice.second)
    expect(page.locator("html[data-math=done]")).to_be_attached()
    page.evaluate("""() => {
      const { renderMath } = window.assay;
      window.assay.renderMath = (root) => {
        window.unset = root.querySelectorAll("[data-text] .math-container:not([data-math])").length;
        renderMath(root);
      };
    }""")

    press(page, "1 4 7 a Enter")

    expect_candidate(page, choice, 2)
    assert page.evaluate("window.unset") == 0


def test_two_people_disagree_and_one_settles(
    choice: Choice, live_server: Any, new_page: Callable[..., Page]
) -> None:
    first = choice.sample.rows.select_related("candidate").get(position=1).candidate.docno
    services.decide(
        sample=choice.sample, docno=first, is_accepted=False, reason="Off topic", labels={}, by=choice.first
    )
    page = new_page()
    start(page, live_server.url, choice.second)
    expect(page.locator("body")).not_to_contain_text("Off topic")

    press(page, "1 4 7 a Enter")
    expect(page.locator(".task-notes")).to_contain_text("ines rejected")
    page.click("text=Settle it")
    for value in ("proof", "easy", "both", "Accept"):
        page.click(f"label:has-text('{value}')")
    page.fill("#reason", "It has a proof")
    page.click("button:has-text('Settle')")

    expect(page.get_by_text(f"Candidate {first} is settled.")).to_be_visible()
    [(candidate, outcome)] = services.selectors.accepted_candidates(choice.sample)
    assert (candidate.docno, outcome.labels) == (first, LABELS)


def test_lost_connection_loses_no_choice(
    choice: Choice, live_server: Any, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    start(page, live_server.url, choice.first)
    page.route("**/decide/?part", lambda route: route.abort())
    press(page, "1 4 7 a Enter")
    expect(page.locator("#state")).to_contain_text("Not saved: no connection.")
    page.unroute("**/decide/?part")
    press(page, "Enter")

    expect_candidate(page, choice, 2)
    assert CandidateDecision.objects.count() == 1


def test_keys_can_be_switched_off(choice: Choice, live_server: Any, new_page: Callable[..., Page]) -> None:
    User.objects.update(uses_shortcuts=False)
    page = new_page()
    start(page, live_server.url, choice.first)

    press(page, "a 1 4 7 Enter")

    expect(page.locator(".decision-bar kbd")).to_have_count(0)
    assert page.locator("#choice-accepted").is_checked() is False
    assert not CandidateDecision.objects.exists()


def test_pages_are_accessible_and_fit(
    choice: Choice, live_server: Any, new_page: Callable[..., Page]
) -> None:
    docnos = [row.candidate.docno for row in choice.sample.rows.select_related("candidate")]
    for person in (choice.first, choice.second):
        for docno, is_accepted in ((docnos[0], True), (docnos[1], person == choice.first)):
            labels = LABELS if is_accepted else {}
            services.decide(
                sample=choice.sample,
                docno=docno,
                is_accepted=is_accepted,
                reason="Fits",
                labels=labels,
                by=person,
            )
    long = " + ".join(f"x_{{{n}}}" for n in range(40))
    formula = f'<span class="math-container" data-formula-id="q_1" data-display="inline">{long}</span>'
    make_topic(choice.track, "A.1", body=f"<p>{formula}</p>")
    make_track("formulas", protocol="arqmath-2021-task2", status=Track.Status.DRAFT)
    page = new_page()
    start(page, live_server.url, choice.first)
    addresses = [
        *("samples/1/decide/", "samples/1/", f"samples/1/settle/{docnos[1]}/", "candidates/draw/"),
        *("candidates/", "candidates/import/", f"candidate/{docnos[0]}/"),
    ]
    for address in addresses:
        page.goto(f"{live_server.url}/tracks/lab/{address}")
        for _ in on_screens(page, (390, "light"), (1280, "dark")):
            assert_accessible(page)
    page.goto(f"{live_server.url}/tracks/formulas/derive-topics/?source=lab")
    page.wait_for_selector(".katex")
    for _ in on_screens(page, (390, "light"), (1280, "dark")):
        assert_accessible(page)
