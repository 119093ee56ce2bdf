"""Submitting runs in XML in Chromium."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from participation.teams import services as team_services
from pooling.models import Run
from tests.helpers.factories import make_topic, make_track, make_user
from tests.helpers.form_runs import BOLT_TOPICS, NTCIR_TOPICS, bolt_run, ntcir_run
from tests.pooling.runs.test_browser import check_page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def member_of(slug: str, protocol: str, topics: list[str]) -> User:
    track = make_track(slug, protocol=protocol, collection=None)
    for topic in topics:
        make_topic(track, topic)
    member = make_user("olive")
    team_services.create(track=track, name="Owls", members=[member])
    return member


def test_citations_are_submitted_after_a_report(enter: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_bytes(bolt_run('score="0.9"', 'score="9"').replace(b"evaluation", b"phase2"))
    (tmp_path / "good.xml").write_bytes(bolt_run())
    page = enter(member_of("forum", "bolt-ir-p3", BOLT_TOPICS))
    page.goto("/tracks/forum/runs/submit/")
    check_page(page)

    page.set_input_files("#id_file", tmp_path / "bad.xml")
    expect(page.locator("#id_kind")).to_have_value("phase2")
    page.click("text=Check only")
    expect(page.locator("#submission")).to_contain_text("the score is outside the protocol's range")
    expect(page.locator("#submission")).to_contain_text('<cite score="9"')
    check_page(page)
    page.set_input_files("#id_file", tmp_path / "good.xml")
    page.click("button:has-text('Submit')")
    expect(page.locator("h1")).to_have_text("Owls-evaluation")

    run = Run.objects.get()
    assert (run.tag, run.kind) == ("Owls-evaluation", "evaluation")
    check_page(page)


RESULTS = [
    (ntcir_run().decode(), "ours"),
    ('<results><run runtime="2" run_type="x"><result for="T">', ""),
    ("\ufeff<n:results>\n<n:run runtime=\"2\" runtag='a-b'>", "a-b"),
    ("<result for='T'> a b c\n<hit xref='a' score='1' rank='1' id='x'/>", ""),
]


def test_tag_is_read_from_results(enter: Callable[..., Page], tmp_path: Path) -> None:
    """Also from the start of a file; a file without a tag removes the one that was read from the file before."""
    page = enter(member_of("math", "ntcir-12-wikipedia", NTCIR_TOPICS))
    page.goto("/tracks/math/runs/submit/")
    page.fill("#id_tag", "")
    page.locator("#id_tag").blur()  # while it has the focus, its content is the user's

    for number, (text, tag) in enumerate(RESULTS):
        file = tmp_path / f"{number}.xml"
        file.write_text(text)
        page.set_input_files("#id_file", file)
        expect(page.locator("#id_tag")).to_have_value(tag)
