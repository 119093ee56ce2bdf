"""A track from its first training round to its qrels, as organizer and assessor see it in Chromium.

The units are formulas, which have several instances. `tests/test_campaign.py` walks with answers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from playwright.sync_api import Page, expect

from accounts.models import User
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.judgments.selectors import members_to_judge
from assessment.models import Batch, Judgment
from jobs import services as jobs
from pooling.models import Pool, PoolEntry, PoolMember
from pooling.pools import services as pool_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Analysis, Qrels, QrelsEntry
from tests.assessment.judging.test_browser import ready
from tests.helpers.browser import log_in, on_screens, violations
from tests.helpers.factories import make_assessor
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.judging import judge, make_batch
from tracks.models import Topic, Track
from web.pages import counted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.nightly]


# The borders of boxes and fields whose contrast with the page is below 3:1 (WCAG 1.4.11), which axe does not check.
FAINT = """() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((each) => each / 255)
      .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const page = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(".form-check-input, .form-control, .form-select")]
    .filter((each) => each.offsetParent && !each.disabled && !each.classList.contains("form-control-plaintext"))
    .map((each) => [each.outerHTML, light(getComputedStyle(each).borderTopColor)])
    .filter(([, border]) => Math.max(page, border) / Math.min(page, border) < 3)
    .map(([html]) => html);
}"""

# The tags and classes of a judging page, without what is prepared for the next task, texts and formulas.
SHAPE = """() => [...document.querySelectorAll("main *")]
  .filter((each) => !each.closest("#ahead, .panel-ahead, .math, .katex") && each.tagName !== "P")
  .map((each) => each.tagName + "." + each.className).join(" ")"""


@dataclass(frozen=True)
class Walk:
    """The start of a walk: a pool of two units for each of two topics."""

    organizer: User
    track: Track
    topics: list[Topic]
    pool: Pool
    documents: list[tuple[str, str]]  # topic and docno of what assessors judge
    submit_runs: Callable[[], object]  # of two teams, in opposite orders


def walk_of_formulas() -> Walk:
    """Each unit has two instances."""
    scene = build_formula_scene(n=6)
    scene.submit("abacus", [0, 1, 4, 5])
    pool = pool_services.request(
        track=scene.track, name="Pool 1", seed=1, depth={"primary": 20}, by=scene.organizer
    )
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    members = PoolMember.objects.filter(entry__pool=pool, position__gt=0)
    documents = list(members.values_list("entry__topic__code", "docno"))
    topics = [scene.topic, scene.other]
    return Walk(
        scene.organizer,
        scene.track,
        topics,
        pool,
        documents,
        lambda: scene.submit("back", [5, 4, 1, 0], team=1),
    )


def judge_all(batch: Batch, assessor: User, choice: str) -> None:
    """Judge all remaining units of the assessor, with one choice for all instances."""
    while task := task_services.accept_next(batch=batch, assessor=assessor):
        if members := members_to_judge(task):
            answers = {member.docno: judgment_services.Answer(choice) for member in members}
            judgment_services.submit_members(task=task, answers=answers, request_id=uuid4())
        else:
            judge(task, choice)


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
        for _ in range(page.locator("main .instance:not(.panel-ahead *)").count() or 1):
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url, before=address: url != before)
    return seen


def assert_accessible(page: Page) -> None:
    """No violations in both themes, which differ in colors, and no scrolling sideways, on a phone neither."""
    for width in on_screens(page, (390, "dark"), (1280, "light")):
        assert violations(page, ["color-contrast"] if width == 390 else []) == [], page.url
        # plots follow the width of the window
        page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_track_is_judged_from_training_to_qrels(
    live_server: Any,
    new_page: Callable[..., Page],
    monkeypatch: pytest.MonkeyPatch,
    settings: LazySettings,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)  # the test runs the jobs
    settings.MEDIA_ROOT = tmp_path
    walk = walk_of_formulas()
    track, topics, pool = walk.track, walk.topics, walk.pool
    base, first, second = live_server.url, topics[0].code, topics[1].code
    of_track = f"{base}/tracks/{track.slug}"
    ada, bob = make_assessor(track, "ada"), make_assessor(track, "bob")
    office, desk = new_page(), new_page()
    log_in(office, base, walk.organizer)
    log_in(desk, base, ada)

    def create(button: str) -> Batch:
        """Press the button that creates a batch, and open the batch."""
        office.get_by_role("button", name=button).click()
        office.get_by_role("button", name="Open batch").click()
        expect(office.get_by_text("is open. Its assessors")).to_be_visible()
        return Batch.objects.latest("pk")

    # Two rounds of training; the assessors agree on half of the units, then on all.
    for number, grades in enumerate(("30", "33"), 1):
        office.goto(f"{of_track}/judging/")
        office.get_by_role("link", name="plan a training round").click()
        expect(office.get_by_label("Name of the batch")).to_have_value(f"Training round {number}")
        for _ in on_screens(office, (1280, "dark"), (1280, "light")):
            assert not office.evaluate(FAINT)
        office.get_by_label("Units of each topic").fill("1")
        for box in office.get_by_role("group", name="Topics").get_by_role("checkbox").all():
            box.check()
        batch = create("Create a draft")
        judge_by_keyboard(desk, base, grades)
        judge_all(batch, bob, "high")
        office.goto(f"{of_track}/agreement/?round=batch-{batch.pk}")
        expect(office.get_by_role("row", name=first).first).to_contain_text("100 %")
        expect(office.get_by_role("row", name=second).first).to_contain_text(
            "100 %" if number == 2 else "0 %"
        )
        office.goto(f"{base}{batch.get_absolute_url()}")
        office.get_by_role("button", name="Close batch").click()

    # The main round: Ada judges the first topic, Bob the second. Each also gets a unit of the other whose grade is
    # known, and a repeat.
    main = make_batch(pool, {ada: [topics[0]], bob: [topics[1]]}, name="Main round")
    office.goto(f"{of_track}/gold/")
    known = "".join(f"{topic} 0 {docno} 2\n" for topic, docno in walk.documents)
    upload = {"name": "known.qrels", "mimeType": "text/plain", "buffer": known.encode()}
    office.get_by_label("File").set_input_files(upload)  # type: ignore[arg-type]
    office.get_by_role("button", name="Import known grades").click()
    expect(office.get_by_text(f"Imported {len(walk.documents)} known grades")).to_be_visible()
    office.goto(f"{base}{main.get_absolute_url()}")
    office.locator("main details.menu summary").click()
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
    office.goto(f"{of_track}/judging/")
    office.get_by_role("link", name="Plan second judgments").click()
    dual = create("Create a draft")
    assert set(dual.topic_assignments.values_list("topic__code", "assessor__username")) == {
        (first, "bob"),
        (second, "ada"),
    }
    judge_by_keyboard(desk, base, "2")
    judge_all(dual, bob, "medium")

    # The board, agreement and the disagreement, which Ada settles.
    office.goto(f"{of_track}/board/")
    office.get_by_role("link", name="All batches").click()
    expect(office.locator("#board")).to_contain_text("of 16 units")
    assert_accessible(office)
    office.get_by_role("link", name="Find inconsistent grades").click()
    assert_accessible(office)
    office.goto(f"{of_track}/agreement/")
    assert_accessible(office)
    office.get_by_role("link", name="Hidden checks").click()
    office.get_by_role("link", name="bob").click()
    expect(office.get_by_role("row", name="bob")).to_contain_text("100 %")
    expect(office.get_by_role("img", name="share of answers to hidden checks")).to_be_visible()
    assert_accessible(office)
    office.goto(f"{of_track}/agreement/")
    office.get_by_role("link", name="Show disagreements").click()
    disputed = Judgment.objects.filter(batch=main, is_current=True, grade=0)  # Bob gave 2
    noun = track.protocol.parsed.judged.noun  # a formula has several instances, each with its own judgments
    expect(office.get_by_text(f"{counted(disputed.count(), noun)}.")).to_be_visible()
    assert_accessible(office)
    office.get_by_role("link", name="Make an adjudication batch").click()
    office.get_by_label("ada").check()
    create("Create a draft")
    judge_by_keyboard(desk, base, "3")

    # The adjudication counts before both judgments, and training does not count.
    office.goto(f"{of_track}/qrels/freeze/")
    office.get_by_role("button", name="Freeze qrels").click()
    office.wait_for_url(lambda url: not url.endswith("/freeze/"))
    frozen = {(row.topic, row.docno): row.grade for row in QrelsEntry.objects.all()}
    [settled] = PoolEntry.objects.filter(tasks__judgments__in=disputed).distinct()
    assert len(frozen) == 4
    assert frozen[first, settled.docno] == 3
    assert sorted(frozen.values()) == [2, 2, 2, 3]

    # What the disagreement does to the leaderboard.
    walk.submit_runs()
    board = leaderboard_services.request(qrels=Qrels.objects.get(), by=walk.organizer)
    jobs.run(board.job_id)  # type: ignore[arg-type]
    office.goto(f"{of_track}/agreement/effect/")
    section = office.get_by_role("region", name="The same runs with the grades of either judge")
    section.get_by_role("button", name="Start the analysis").click()
    jobs.run(Analysis.objects.get().job_id)  # type: ignore[arg-type]
    office.reload()
    expect(section.get_by_role("row", name="first judge second judge")).to_have_count(1)
    assert_accessible(office)
