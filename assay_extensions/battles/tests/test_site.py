"""Battles on the site: from the pool to the page of one battle, the qrels, the board of systems and the archive."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from assay import samples
from assay.protocols.loader import parse_protocol
from assay_extensions.battles.ratings import rate
from assay_extensions.battles.records import read_battles
from assessment.judging.services import accept_next
from assessment.models import Batch, Judgment
from jobs import services as jobs
from pooling.models import Pool
from pooling.pools import services as pool_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.answer_runs import Sentences, answer_run
from tests.helpers.answers import submit_file
from tests.helpers.browser import log_in, violations
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
)
from tests.helpers.judging import accept, judge, make_batch
from tests.helpers.remembered import remembered
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import findings_of, load
from tracks.models import StoredProtocol, Topic, Track

pytestmark = pytest.mark.django_db
LAB = samples.path("battles-lab.toml").read_text()
SYSTEMS = ("ants", "bats", "cats", "dogs")  # from the best to the worst
TOPICS = ("t1", "t2", "t3")


class Lab(NamedTuple):
    track: Track
    topics: list[Topic]
    organizer: User
    ada: User


def text_of(system: str, topic: str) -> Sentences:
    """The answer of a system, with its worth in its words. The last two systems answer the last topic alike."""
    worth = min(SYSTEMS.index(system), 2 if topic == "t3" else 3)
    return [(f"Answer of worth {9 - worth} to {topic}.", ["d1"]), ("It cites nothing.", [])]


@remembered
def battles_lab() -> Lab:
    parsed = parse_protocol(LAB, name="lab.toml")
    collection = make_collection("segments", name="Segments")
    make_document(collection, "d1", title="", body="<p>Text of the source.</p>")
    track = make_track("arena", name="Arena", collection=collection)
    fields = {"title": parsed.title, "text": LAB, "digest": parsed.digest}
    track.protocol = StoredProtocol.objects.create(slug=parsed.slug, **fields)
    track.save()
    topics = [make_topic(track, code) for code in TOPICS]
    organizer = make_organizer("olga")
    lab = Lab(track, topics, organizer, make_assessor(track, "ada"))
    for system in SYSTEMS:
        submit_file(lab, system, answer_run({topic: text_of(system, topic) for topic in TOPICS}, tag=system))  # type: ignore[arg-type]
    return lab


@pytest.fixture
def lab(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return battles_lab()


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def pooled(lab: Lab, name: str = "Pool", tops_up: Pool | None = None) -> Pool:
    pool = pool_services.request(
        track=lab.track, name=name, seed=7, depth={}, by=lab.organizer, tops_up=tops_up
    )
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    assert pool.status == Pool.Status.READY, pool.job and pool.job.error
    return pool


def better(lab: Lab, docno: str, pool: Pool) -> str:
    """The choice of somebody who reads the worth of each answer; ants and bats are level on the last topic."""
    worths = []
    for answer in docno.split("|"):
        text = pool.answers.get(digest=answer.removeprefix("answer:")).sentences[0][0]
        worths.append((int(text.split()[3]), text))
    if {worths[0][0], worths[1][0]} == {9, 8} and "t3" in worths[0][1]:
        return "tie"
    return "first" if worths[0] > worths[1] else "second"


def judged(lab: Lab, pool: Pool) -> Batch:
    batch = make_batch(pool, {lab.ada: lab.topics})
    for _ in range(pool.statistics["n"]):
        task = accept(batch, lab.ada)
        judge(task, better(lab, task.entry.docno, pool))
    return batch


def scored(lab: Lab, pool: Pool) -> Leaderboard:
    qrels = qrels_services.freeze_judgments(pool=pool, by=lab.organizer)
    board = leaderboard_services.request(qrels=qrels, by=lab.organizer, seed=1)
    jobs.run(board.job_id or 0)
    board.refresh_from_db()
    assert board.status == Leaderboard.Status.READY, board.job and board.job.error
    return board


def test_pool_draws_battles_of_different_answers(lab: Lab) -> None:
    pool = pooled(lab)

    by_topic = {topic.code: pool.entries.filter(topic=topic).count() for topic in lab.topics}
    assert by_topic == {"t1": 6, "t2": 6, "t3": 3}, "two systems have the same answer to t3"
    assert pool.answers.count() == 11
    page = client_of(lab.organizer).get(pool.get_absolute_url() + "topics/t1/").content.decode()
    assert "Answer of worth 9 to t1." in page


def test_a_battle_is_judged_without_names_by_keys(lab: Lab) -> None:
    batch = make_batch(pooled(lab), {lab.ada: lab.topics})
    client = client_of(lab.ada)
    address = client.post(reverse("assessment:next", args=[batch.pk]))["Location"]

    page = client.get(address).content.decode()
    choice = re.search(r'value="(first|second)"[^>]*data-key="1"', page) or re.search(
        r'name="choice" value="(\w+)"', page
    )
    assert choice is not None
    fields = {"choice": choice[1], "comment": "", "request_id": uuid4(), "seconds": "3", "shown": "0"}
    client.post(address, fields)

    assert "Which answer is better?" in page
    assert page.count("Text of the source.") >= 2
    assert "Sources" in page
    texts = re.sub(r'value="[^"]*"', "", page).lower()
    assert not any(name in texts for name in SYSTEMS)
    assert "answer:" not in texts
    assert Judgment.objects.get().choice == choice[1]
    own = client.get(reverse("assessment:own_judgments", args=[batch.pk])).content.decode()
    assert "Answer of worth" in own
    assert "answer:" not in own


def test_board_rates_systems_and_names_the_one_that_never_lost(lab: Lab) -> None:
    pool = pooled(lab)
    judged(lab, pool)
    board = scored(lab, pool)
    client = client_of(lab.organizer)

    page = client.get(reverse("battles:board", args=[board.pk]))
    battles = read_battles(
        client.get(reverse("battles:file", args=[board.pk, "tsv"])).content.decode(), "battles.tsv"
    ).battles
    table = client.get(reverse("battles:board_table", args=[board.pk, "board", "csv"])).content.decode()

    html = page.content.decode()
    assert len(battles) == 17, "a battle of an answer that two systems wrote counts for both"
    assert {battle.assessor for battle in battles} == {"ada"}
    assert "won or lost everything, or met only systems that did: cats, dogs." in " ".join(html.split())
    assert re.search(
        r"<th scope=\"row\">ants</th>\s*<td class=\"num\">1</td>\s*<td class=\"num\">1140</td>", html
    )
    assert table.splitlines()[1].startswith("ants,1,1139.7940,"), "400 log10(5) above bats: 2.5 of 3 wins"
    assert rate(battles).outcomes.systems == [*SYSTEMS]


def test_board_is_released_with_its_leaderboard_and_battles_are_for_organizers(lab: Lab) -> None:
    pool = pooled(lab)
    judged(lab, pool)
    board = scored(lab, pool)
    member = client_of(User.objects.get(username="member-of-ants"))
    addresses = [
        reverse("battles:board", args=[board.pk]),
        reverse("battles:board_table", args=[board.pk, "differences", "tsv"]),
        reverse("battles:file", args=[board.pk, "arena"]),
    ]

    before = [member.get(address).status_code for address in addresses]
    leaderboard_services.release(leaderboard=board, level="participants", reason="a test", by=lab.organizer)
    after = [member.get(address).status_code for address in addresses]
    overview = member.get(board.get_absolute_url()).content.decode()
    files = [
        client_of(lab.organizer).get(reverse("battles:file", args=[board.pk, form])).content.decode()
        for form in ("arena", "ragdoll")
    ]

    assert before[:2] == [404, 404]
    assert after[:2] == [200, 200]
    assert before[2] == after[2] == 403
    assert addresses[0] in overview
    assert [len(read_battles(file, "battles").battles) for file in files] == [17, 17]


def test_next_pool_has_other_battles_and_the_uncertain_ones_first(lab: Lab) -> None:
    text = LAB.replace("target = 6", "target = 4")
    parsed = parse_protocol(text, name="lab.toml")
    fields = {"title": parsed.title, "text": text, "digest": parsed.digest}
    lab.track.protocol = StoredProtocol.objects.create(slug="four", **fields)
    lab.track.save()
    first = pooled(lab)
    judged(lab, first)

    second = pooled(lab, "Second", tops_up=first)

    docnos = [
        set(pool.entries.filter(topic=lab.topics[0]).values_list("docno", flat=True))
        for pool in (first, second)
    ]
    assert [len(own) for own in docnos] == [4, 2]
    assert not docnos[0] & docnos[1]


def test_archive_has_the_same_board_when_it_is_loaded(lab: Lab, tmp_path: Path) -> None:
    pool = pooled(lab)
    judged(lab, pool)
    board = scored(lab, pool)
    path = written(archive_of(lab.track, lab.organizer), tmp_path)

    findings = findings_of(path)
    load(path, lab.organizer, slug="again")

    assert [finding for finding in findings if not finding.is_right] == []
    again = Leaderboard.objects.get(track__slug="again")
    tables = [
        client_of(lab.organizer).get(reverse("battles:board_table", args=[each.pk, "board", "tsv"])).content
        for each in (board, again)
    ]
    assert tables[0] == tables[1]


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_battle_is_judged_by_keys_and_without_violations(
    lab: Lab, live_server: Any, new_page: Callable[..., Page]
) -> None:
    pool = pooled(lab)
    task = accept(make_batch(pool, {lab.ada: lab.topics}), lab.ada)
    page = new_page(viewport={"width": 1280, "height": 800})
    log_in(page, live_server.url, lab.ada)
    page.goto(live_server.url + task.get_absolute_url())
    page.wait_for_selector("html[data-judging=ready]", state="attached")

    faults = violations(page)
    page.locator("#side-left summary").click()
    expect(page.locator("#side-left").get_by_text("Text of the source.")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(live_server.url + task.get_absolute_url())

    assert faults == []
    first, _ = task.entry.docno.split("|")
    judgment = Judgment.objects.get()
    assert judgment.choice == ("first" if judgment.left == first else "second"), "1 is the answer on the left"
    board_batch = Batch.objects.get()
    while following := accept_next(batch=board_batch, assessor=lab.ada):
        judge(following, better(lab, following.entry.docno, pool))
    board = scored(lab, pool)
    log_in(page, live_server.url, lab.organizer)
    page.goto(live_server.url + reverse("battles:board", args=[board.pk]))
    assert violations(page) == []
