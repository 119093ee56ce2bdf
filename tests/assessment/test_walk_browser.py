"""A track of ARQMath from its first training round to its qrels, as organizer and assessor see it in Chromium."""

from collections.abc import Callable
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import LazySettings
from playwright.sync_api import Page, expect

from accounts.models import User
from assessment.models import Batch, Judgment
from jobs import services as jobs
from pooling.runs import services as run_services
from pooling.teams import services as team_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Analysis, Qrels, QrelsEntry
from tests.assessment.tasks.test_browser import log_in, ready
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import judge_all, make_batch, make_pool
from tracks.models import Track

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


# The tags and classes of a judging page, without what is prepared for the next task and without texts.
SHAPE = """() => [...document.querySelectorAll("main *")]
  .filter((each) => !each.closest("#ahead, .panel-ahead, .math") && each.tagName !== "P")
  .map((each) => each.tagName + "." + each.className).join(" ")"""


def judge_by_keyboard(page: Page, base: str, keys: str) -> list[tuple[str, str, str]]:
    """Start, choose and submit with keys only, until everything is judged; id, shape and count of each task."""
    page.goto(f"{base}/judge/")
    page.get_by_role("button", name="judging").first.press("Enter")
    seen: list[tuple[str, str, str]] = []
    for key in cycle(keys):
        page.wait_for_url("**/judge/**")
        if "/tasks/" not in page.url:
            break
        ready(page)
        address = page.url
        count = page.locator(".task-progress").inner_text().rpartition(",")[2].strip()
        seen.append((address.rstrip("/").rpartition("/")[2], page.evaluate(SHAPE), count))
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url, before=address: url != before)
    return seen


def submit_run(track: Track, name: str, docnos: list[str], *, by: User) -> None:
    """A team's run with one ranking for all topics."""
    lines = [
        f"{code}\t{docno}\t{rank}\t{-rank}\t{name}\n"
        for code in ("A.1", "A.2")
        for rank, docno in enumerate(docnos, 1)
    ]
    run_services.submit(
        track=track,
        team=team_services.create(track=track, name=name),
        by=by,
        file=BytesIO("".join(lines).encode()),
        file_name=f"{name}.tsv",
        declared=run_services.Declaration(kind="primary"),
    )


def assert_accessible(page: Page) -> None:
    """No violations in both themes, and no scrolling sideways."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_selector(f"html[data-bs-theme={scheme}]", state="attached")
        results = Axe().run(page)
        assert not results.response["violations"], f"{page.url}\n{results.generate_report()}"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url


def test_track_is_judged_from_training_to_qrels(
    live_server: Any,
    new_page: Callable[..., Page],
    monkeypatch: pytest.MonkeyPatch,
    settings: LazySettings,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)  # the test runs the jobs
    settings.MEDIA_ROOT = tmp_path
    base, olga = live_server.url, make_organizer("olga")
    track = make_track("walk", protocol="arqmath-2021-task1")
    topics = [make_topic(track, code) for code in ("A.1", "A.2")]
    ada, bob = make_assessor(track, "ada"), make_assessor(track, "bob")
    pool = make_pool(track, dict.fromkeys(topics, 2))
    office, desk = new_page(), new_page()
    log_in(office, base, olga)
    log_in(desk, base, ada)

    def create(button: str) -> Batch:
        """Press the button that creates a batch, and open the batch."""
        office.get_by_role("button", name=button).click()
        office.get_by_role("button", name="Open batch").click()
        expect(office.get_by_text("is open. Its assessors")).to_be_visible()
        return Batch.objects.latest("pk")

    # Two rounds of training; the assessors agree on half of the units, then on all.
    for number, grades in enumerate(("30", "33"), 1):
        office.goto(f"{base}/tracks/walk/judging/")
        office.get_by_role("link", name="plan a training round").click()
        expect(office.get_by_label("Name of the batch")).to_have_value(f"Training round {number}")
        office.get_by_label("Units of each topic").fill("1")
        for box in office.get_by_role("group", name="Topics").get_by_role("checkbox").all():
            box.check()
        batch = create("Create training round")
        judge_by_keyboard(desk, base, grades)
        judge_all(batch, bob, "high")
        office.goto(f"{base}/tracks/walk/agreement/?round=batch-{batch.pk}")
        expect(office.get_by_role("row", name="A.1").first).to_contain_text("100 %")
        expect(office.get_by_role("row", name="A.2").first).to_contain_text("100 %" if number == 2 else "0 %")
        office.goto(f"{base}{batch.get_absolute_url()}")
        office.get_by_role("button", name="Close batch").click()

    # The main round: Ada judges A.1, Bob A.2. Each also gets a unit of the other whose grade is known, and a repeat.
    main = make_batch(pool, {ada: [topics[0]], bob: [topics[1]]}, name="Main round")
    office.goto(f"{base}/tracks/walk/gold/")
    known = "".join(f"{entry.topic.code} 0 {entry.docno} 2\n" for entry in pool.entries.all())
    upload = {"name": "known.qrels", "mimeType": "text/plain", "buffer": known.encode()}
    office.get_by_label("File").set_input_files(upload)  # type: ignore[arg-type]
    office.get_by_role("button", name="Import known grades").click()
    expect(office.get_by_text("Imported 4 known grades")).to_be_visible()
    office.goto(f"{base}{main.get_absolute_url()}")
    office.get_by_role("link", name="Hidden checks").click()
    office.get_by_label("Units with known grades").fill("50")
    office.get_by_label("Repeats of own units").fill("50")
    office.get_by_label("Units between").fill("1")
    office.get_by_role("button", name="Save hidden checks").click()
    expect(office.get_by_role("row", name="ada")).to_contain_text("0 of 1")
    seen = judge_by_keyboard(desk, base, "2000")  # her own units get 2 and 0, wherever the checks come
    checks = set(main.tasks.filter(is_check=True, assessor=ada).values_list("pk", flat=True))
    assert (len(seen), len(checks & {int(task) for task, *_ in seen})) == (4, 2)
    # The first task is never a check; its page is the only one that is not put in the place of another.
    assert len({shape for _, shape, _ in seen[1:]}) == 1, "a check looks like any other task"
    assert [count for *_, count in seen] == [f"{n} of 4 in total" for n in range(4)]
    judge_all(main, bob, "medium")

    # Each judges a topic of the other, as the protocol's rule proposes. Bob disagrees with Ada about one unit.
    office.goto(f"{base}/tracks/walk/judging/")
    office.get_by_role("link", name="plan a dual batch").click()
    dual = create("Create dual batch")
    assert set(dual.topic_assignments.values_list("topic__code", "assessor__username")) == {
        ("A.1", "bob"),
        ("A.2", "ada"),
    }
    judge_by_keyboard(desk, base, "2")
    judge_all(dual, bob, "medium")

    # The board, agreement and the disagreement, which Ada settles.
    office.goto(f"{base}/tracks/walk/board/")
    expect(office.locator("#board")).to_contain_text("of 16 units judged")
    assert_accessible(office)
    office.get_by_role("link", name="Same document, other grade").click()
    assert_accessible(office)
    office.goto(f"{base}/tracks/walk/agreement/")
    assert_accessible(office)
    office.get_by_role("link", name="Hidden checks").click()
    office.get_by_role("link", name="bob").click()
    expect(office.get_by_role("row", name="bob")).to_contain_text("100 %")
    expect(office.get_by_role("img", name="share of answers to hidden checks")).to_be_visible()
    assert_accessible(office)
    office.goto(f"{base}/tracks/walk/agreement/")
    office.get_by_role("link", name="Show disagreements").click()
    expect(office.get_by_text("1 unit.")).to_be_visible()
    assert_accessible(office)
    office.get_by_role("link", name="Make an adjudication batch").click()
    office.get_by_label("ada").check()
    create("Create batch")
    judge_by_keyboard(desk, base, "3")

    # The adjudication counts before both judgments, and training does not count.
    office.goto(f"{base}/tracks/walk/qrels/freeze/")
    office.get_by_role("button", name="Freeze qrels").click()
    office.wait_for_url(lambda url: not url.endswith("/freeze/"))
    disputed = Judgment.objects.get(batch__kind=Batch.Kind.ADJUDICATION)
    frozen = {row.docno: row.grade for row in QrelsEntry.objects.all()}
    assert len(frozen) == 4
    assert frozen[disputed.docno] == 3
    assert sorted(frozen.values()) == [2, 2, 2, 3]

    # What the disagreement does to the leaderboard.
    for name, docnos in (("forth", list(frozen)), ("back", list(frozen)[::-1])):
        submit_run(track, name, docnos, by=olga)
    board = leaderboard_services.request(qrels=Qrels.objects.get(), by=olga)
    jobs.run(board.job_id)  # type: ignore[arg-type]
    office.goto(f"{base}/tracks/walk/agreement/effect/")
    section = office.get_by_role("region", name="The same runs with the grades of either judge")
    section.get_by_role("button", name="Start the analysis").click()
    jobs.run(Analysis.objects.get().job_id)  # type: ignore[arg-type]
    office.reload()
    expect(section.get_by_role("row", name="first judge second judge")).to_have_count(1)
    assert_accessible(office)
