"""Submitting a run in Chromium: check, report, repaired file, submission, withdrawal."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from jobs import services as jobs
from jobs.models import Job
from participation.models import Team
from pooling.models import Run
from pooling.pools import previews
from pooling.pools import services as pool_services
from tests.helpers.browser import assert_accessible, log_in, on_screens
from tests.helpers.runs import BROKEN, GOOD, run_bytes
from tests.pooling.conftest import Scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "bad.tsv").write_bytes(BROKEN["score NaN"].make())
    (tmp_path / "windows.tsv").write_bytes(GOOD.replace(b"\n", b"\r\n"))
    return tmp_path


def test_run_is_submitted_after_a_report_and_withdrawn(
    scene: Scene, enter: Callable[..., Page], files: Path
) -> None:
    page = enter(scene.member)
    page.goto("/tracks/arq/runs/")
    page.click("text=Submit runs")
    for button in ("Check only", "Submit"):  # a missing file is said, where it is missing
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.locator("#id_file")).to_be_focused()
        expect(page.locator("#id_file[aria-invalid]")).to_have_accessible_description(
            re.compile(r"^Choose a file\.")
        )
        page.locator("#id_tag").focus()
    expect(page.locator("#submission")).to_be_empty()

    page.focus("#id_file")
    page.set_input_files("#id_file", files / "bad.tsv")
    expect(page.locator("#id_tag")).to_have_value("run-1")
    expect(page.locator("#run-form .field-error")).to_have_count(0)
    page.get_by_text("Description, models and ir_metadata").click()
    page.fill("#id_description", "my long words")
    page.click("button:has-text('Submit')")
    expect(page.locator("#submission")).to_contain_text("score “NaN” is not a finite number")
    expect(page.locator("#id_description")).to_have_value("my long words")
    assert page.evaluate("document.getElementById('id_file').files[0].name") == "bad.tsv"
    assert not Run.objects.exists()

    page.set_input_files("#id_file", files / "windows.tsv")
    page.click("text=Check only")
    expect(page.locator("#submission")).to_contain_text("windows.tsv can be submitted")
    with page.expect_download() as download:
        page.click("text=Download the repaired file")
    assert Path(download.value.path()).read_bytes().startswith(b"A.1\t101\t1\t9.875\trun-1\n")

    page.click("button:has-text('Submit')")
    page.wait_for_url("**/runs/*/")
    expect(page.locator("h1")).to_have_text("run-1")
    (files / "again.tsv").write_bytes(run_bytes(n=3))
    page.click("text=Submit another run")
    page.set_input_files("#id_file", files / "again.tsv")
    expect(page.locator("#id_tag")).to_have_value("run-1")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("#submission")).to_contain_text("already has a run with the tag run-1")
    expect(page.locator("#id_tag")).to_be_focused()
    expect(page.locator("#id_tag[aria-invalid]")).to_have_accessible_description(
        re.compile("^Your team .* already has a run with the tag run-1")
    )
    for _ in on_screens(page):
        assert_accessible(page)
    page.click("text=Replace run-1 with this file")
    page.wait_for_url("**/runs/*/")
    assert list(Run.objects.order_by("pk").values_list("status", "file_name")) == [
        ("withdrawn", "windows.tsv"),
        ("submitted", "again.tsv"),
    ]
    page.click("summary:has-text('More')")
    page.click("text=Withdraw run…")
    page.click("button:has-text('Withdraw run')")
    page.wait_for_url(f"**/tracks/arq/teams/{scene.ours.pk}/runs/")
    assert not Run.objects.exclude(status="withdrawn").exists()


def test_field_with_an_error_gets_the_focus(scene: Scene, enter: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "good.tsv").write_bytes(GOOD)
    scene.submit(tmp_path / "good.tsv")  # without a run there is no form
    page = enter(scene.organizer)
    page.goto("/tracks/arq/pools/new/")
    page.fill("#id_name", "P")
    page.fill("#id_seed", "-1")
    page.evaluate("document.querySelector('#id_seed').form.noValidate = true")

    page.locator("#id_seed").press("Enter")

    expect(page.locator("main .field-error")).to_be_visible()
    expect(page.locator("#id_seed")).to_be_focused()


def test_several_files_are_chosen_at_once_and_answered_one_by_one(
    scene: Scene, enter: Callable[..., Page], files: Path
) -> None:
    (files / "other.tsv").write_bytes(run_bytes(tag="other", first=101))
    page = enter(scene.member)
    page.goto("/tracks/arq/runs/submit/")

    page.set_input_files("#id_file", [files / "windows.tsv", files / "bad.tsv", files / "other.tsv"])
    expect(page.locator(".run-row")).to_have_count(3)
    expect(page.locator("[data-row='3'] input[name$=tag]")).to_have_value("other")
    page.select_option("[data-row='3'] select[name$=kind]", "alternate")
    page.click("button:has-text('Submit')")

    expect(page.locator("#submission .message.success")).to_have_count(2)
    expect(page.locator("#submission")).to_contain_text("bad.tsv was not accepted")
    expect(page.locator(".run-row")).to_have_count(2)  # the accepted file is not sent again
    assert {run.tag: run.kind for run in Run.objects.all()} == {"run-1": "primary", "other": "alternate"}


def test_tag_that_somebody_types_is_not_replaced_by_that_of_the_file(
    scene: Scene, enter: Callable[..., Page], files: Path
) -> None:
    page = enter(scene.member)
    page.goto("/tracks/arq/runs/submit/")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/runs/submit/start/", hold)

    page.set_input_files("#id_file", files / "windows.tsv")
    expect(page.locator("#run-form[aria-busy]")).to_be_visible()
    page.focus("#id_tag")
    held[0].continue_()
    expect(page.locator("#run-form:not([aria-busy])")).to_be_visible()
    page.keyboard.type("mine")

    expect(page.locator("#id_tag")).to_have_value("mine")


def test_organizer_uploads_the_runs_of_all_teams_at_once(
    scene: Scene, enter: Callable[..., Page], tmp_path: Path
) -> None:
    (tmp_path / f"{scene.ours.name}-1.tsv").write_bytes(run_bytes(tag="first"))
    (tmp_path / "2.tsv").write_bytes(run_bytes(tag=f"{scene.theirs.name}_second", first=101))
    (tmp_path / "nameless.tsv").write_bytes(run_bytes(tag="third", first=102))
    page = enter(scene.organizer)
    page.goto("/tracks/arq/runs/submit/")

    page.set_input_files("#id_file", sorted(tmp_path.glob("*.tsv")))
    teams = page.locator("select[name$=team]")
    expect(teams).to_have_count(3)
    expect(page.locator("#run-form:not([aria-busy])")).to_be_visible()
    chosen = {
        row.locator("input[name$=tag]").input_value(): row.locator("select[name$=team]").input_value()
        for row in page.locator(".run-row").all()
    }
    nameless = page.locator(".run-row").filter(has=page.locator("select[name$=team]:invalid"))
    nameless.locator("select[name$=team]").select_option(label=scene.theirs.name)
    page.click("button:has-text('Submit')")

    expect(page.locator("#submission .message.success")).to_have_count(3)
    assert set(chosen.values()) == {str(scene.ours.pk), str(scene.theirs.pk), ""}
    assert {run.tag: run.team for run in Run.objects.all()} == {
        "first": scene.ours,
        f"{scene.theirs.name}_second": scene.theirs,
        "third": scene.theirs,
    }
    expect(page.get_by_role("link", name="See the runs")).to_be_visible()


def test_teams_are_recognized_without_case_spaces_and_punctuation(
    scene: Scene, enter: Callable[..., Page], tmp_path: Path
) -> None:
    names = ["Math Dowsers", "Dowsers", "zb-MATH", "math", "IR Lab", "irlab"]
    made = {name: Team.objects.create(track=scene.track, name=name) for name in names}
    expected = {
        "MathDowsers-1": made["Math Dowsers"].pk,  # the longest, not Dowsers
        "run_of_MATH-DOWSERS2": made["Math Dowsers"].pk,
        "zbMATH_task1": made["zb-MATH"].pk,
        "aftermath": "",  # no whole word
        "ir-lab": "",  # two teams are spelled alike
        "dowsers-zbmath": "",  # two teams are named
    }
    for n, name in enumerate(expected):
        (tmp_path / f"{name}.tsv").write_bytes(run_bytes(tag=f"t{n}"))
    page = enter(scene.organizer)
    page.goto("/tracks/arq/runs/submit/")

    page.set_input_files("#id_file", [tmp_path / f"{name}.tsv" for name in expected])

    for n, team in enumerate(expected.values()):
        row = page.locator(".run-row").nth(n)
        expect(row.locator("input[name$=tag]")).to_have_value(f"t{n}")
        expect(row.locator("select[name$=team]")).to_have_value(str(team))


def test_failed_upload_is_reported(
    scene: Scene,
    live_server: Any,
    _chromium: Browser,  # noqa: PT019 - its value is used
    files: Path,
) -> None:
    context = _chromium.new_context(
        base_url=live_server.url
    )  # not `new_page`, which fails on errors in the console: htmx logs the failure
    page = context.new_page()
    log_in(page, live_server.url, scene.member)
    page.goto("/tracks/arq/runs/submit/")
    page.set_input_files("#id_file", files / "windows.tsv")

    page.route("**/runs/submit/", lambda route: route.fulfill(status=413, body="too large"))
    page.click("text=Check only")

    expect(page.locator("#submission")).to_contain_text("The file is larger than this site accepts")
    context.close()


def test_pages_are_accessible_and_do_not_overflow(
    scene: Scene, enter: Callable[..., Page], files: Path, tmp_path: Path
) -> None:
    for i in range(4):
        path = tmp_path / f"{i}.tsv"
        path.write_bytes(
            run_bytes(n=6, first=100 + i, tag=f"a-system-with-a-rather-long-name-{i}").replace(b"\n", b"\r\n")
        )
        run = scene.submit(path)
    pool = pool_services.request(track=scene.track, name="Pool 1", seed=7, depth={}, by=scene.organizer)
    assert pool.job is not None
    page = enter(scene.organizer)

    page.goto(f"/pools/{pool.pk}/")
    expect(page.locator(".job")).to_contain_text("Waiting for a worker")
    check_page(page)
    jobs.run(pool.job.pk)
    expect(page.locator("text=Overlap between runs").first).to_be_visible()  # the page reloads by itself
    preview = "/tracks/arq/pools/preview/"
    typed: list[str] = []

    def held(route: Route) -> None:
        """Type while the request that begins the job is under way."""
        page.get_by_label("Hours of judging").fill("12")
        typed.append("12")
        route.continue_()

    page.route("**/preview/compute/", held)
    page.goto(preview)
    expect(page.locator(".job")).to_contain_text("Waiting for a worker")  # it begins by itself
    expect(page.get_by_label("Hours of judging")).to_have_value("12")  # and leaves what is typed
    assert typed
    jobs.run(Job.objects.filter(kind=previews.KIND).get().pk)
    page.goto(preview)
    expect(page.locator(".plot svg text").filter(has_text="the protocol")).to_have_count(1)
    for address in (
        f"/pools/{pool.pk}/",
        "/tracks/arq/pools/",
        "/tracks/arq/pools/new/",
        preview,
        "/tracks/arq/runs/",
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/withdraw/",
        "/tracks/arq/runs/submit/",
    ):
        page.goto(address)
        check_page(page)
    page.select_option("#id_team", label=scene.ours.name)
    page.set_input_files("#id_file", files / "bad.tsv")
    page.click("text=Check only")
    expect(page.locator("#submission .complaints").first).to_be_visible()
    check_page(page)


def check_page(page: Page) -> None:
    """The page is accessible on a wide light screen and on a narrow dark one, and never too wide."""
    for _ in on_screens(page, (1280, "light"), (360, "dark")):
        # plots follow the width of the window
        page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert_accessible(page, ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
