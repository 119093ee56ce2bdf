"""Battles on the site: from the pool to the page of one battle, the qrels, the board of systems and the archive."""

import csv
import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from assay import samples
from assay.formats.declaration import Declaration
from assay.protocols.loader import parse_protocol
from assay_extensions.battles.ratings import rate
from assay_extensions.battles.records import A, B, Battle, as_ragdoll, as_tsv, read_battles
from assessment.judging.services import accept_next
from assessment.models import Batch, Judgment, JudgmentImport
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Pool, Run
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
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
from tests.helpers.judging import accept, judge, make_batch, make_machine
from tests.helpers.remembered import remembered
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import findings_of, load
from tracks.models import Machine, StoredProtocol, Topic, Track

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


def known_text_of(system: str, topic: str) -> Sentences:
    return [(f"Answer of {system} to {topic}.", ["d1"])]


@remembered
def battles_lab(systems: Sequence[str] = SYSTEMS, codes: Sequence[str] = TOPICS) -> Lab:
    """The lab of the worths, or one whose pools have all battles of given systems."""
    is_known = systems is not SYSTEMS
    text = LAB.replace("target = 6", "target = 100") if is_known else LAB
    parsed = parse_protocol(text, name="lab.toml")
    collection = make_collection("segments", name="Segments")
    make_document(collection, "d1", title="", body="<p>Text of the source.</p>")
    track = make_track("arena", name="Arena", collection=collection)
    fields = {"title": parsed.title, "text": text, "digest": parsed.digest}
    track.protocol = StoredProtocol.objects.create(slug=parsed.slug, **fields)
    track.save()
    topics = [make_topic(track, code) for code in codes]
    organizer = make_organizer("olga")
    lab = Lab(track, topics, organizer, make_assessor(track, "ada"))
    for system in systems:
        text_by = known_text_of if is_known else text_of
        submit_file(lab, system, answer_run({topic: text_by(system, topic) for topic in codes}, tag=system))  # type: ignore[arg-type]
    return lab


@pytest.fixture
def lab(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return battles_lab()


def submit_again(lab: Lab, tag: str) -> Run:
    """Submit a run to another track, with an answer to the first topic."""
    team = team_services.create(track=lab.track, name=tag.title(), members=[])
    return run_services.submit(
        track=lab.track,
        team=team,
        by=lab.organizer,
        file=BytesIO(answer_run({"t1": text_of("ants", "t1")}, tag=tag)),
        file_name=f"{tag}.jsonl",
        declared=Declaration(kind="rag"),
    )


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


def scored(lab: Lab, pool: Pool, machine: Machine | None = None) -> Leaderboard:
    qrels = qrels_services.freeze_judgments(pool=pool, by=lab.organizer, machine=machine)
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


def test_answers_are_markdown_where_the_form_of_runs_allows_it(lab: Lab) -> None:
    pool = pooled(lab)
    pool.answers.update(sentences=[["## Owls", []], ["- They **sing**.", ["d1"]]])
    batch = make_batch(pool, {lab.ada: lab.topics})
    client = client_of(lab.ada)
    address = client.post(reverse("assessment:next", args=[batch.pk]))["Location"]

    plain = client.get(address).content.decode()
    text = LAB.replace('["rag-2024"]', '["rag-2026"]')
    StoredProtocol.objects.filter(pk=pool.protocol_id).update(
        text=text, digest=parse_protocol(text, name="x").digest
    )
    shown = client.get(address).content.decode()

    assert "<span>## Owls</span>" in plain
    assert shown.count("<h4>Owls</h4>") == plain.count("<span>## Owls</span>")
    assert "<li>They <strong>sing</strong>. [1]</li>" in shown
    assert "## Owls" not in shown


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
    assert "Without a rating: cats, dogs. A rating needs another system" in " ".join(html.split())
    [address] = re.findall(r'href="(\?prior=[^"]*)"', html)
    rated = client.get(f"{page.request['PATH_INFO']}{address}").content.decode()
    [of_all] = re.findall(r'href="([^"]*/board.csv\?prior=[^"]*)"', rated)
    by_prior = list(csv.DictReader(StringIO(client.get(of_all).content.decode())))
    expected = rate(battles, prior=0.5).groups[0]
    assert "Without a rating" not in rated
    ratings = [expected.rating(n).value for n in range(len(SYSTEMS))]
    assert [float(row["rating"]) for row in by_prior] == pytest.approx(sorted(ratings)[::-1], abs=1e-4)
    assert client.get(page.request["PATH_INFO"], {"prior": "many"}).status_code == 404
    program = reverse("api:battles", args=[board.pk])
    rows = client.get(program, {"prior": "0.5"}).json()["tables"]["board"]
    assert [row["rating"] for row in rows] == pytest.approx(sorted(ratings)[::-1], abs=1e-4)
    refused = client.get(program, {"prior": "many"})
    assert (refused.status_code, "Accepted: 0.5." in refused.content.decode()) == (400, True)
    assert re.search(
        r"<th scope=\"row\">ants</th>\s*<td class=\"num\">1</td>\s*<td class=\"num\">1,140</td>", html
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
    Track.objects.update(names_hidden_until=timezone.now() + timedelta(days=1))
    hidden = [member.get(address).content.decode() for address in addresses[:2]]
    names = ("api:battles", "api:systems", "battles:systems")
    hidden += [member.get(reverse(name, args=[board.pk])).content.decode() for name in names]
    files = [
        client_of(lab.organizer).get(reverse("battles:file", args=[board.pk, form])).content.decode()
        for form in ("arena", "ragdoll")
    ]

    assert [("bats" in text, "anon-r-" in text) for text in hidden] == 5 * [(False, True)]
    assert all(re.search(r"\bants\b", text) for text in hidden), "a team reads its own names"
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


def uploaded(
    client: Client, track: Track, content: str, name: str = "arena.tsv", **place: str
) -> JudgmentImport:
    """A checked file of battles."""
    fields = {
        "batch": "Imported",
        "kind": "main",
        "upload": SimpleUploadedFile(name, content.encode()),
    } | place
    answer = client.post(reverse("assessment:imports", args=[track.slug]), fields)
    assert answer.status_code == 302, answer.content.decode()
    return JudgmentImport.objects.latest("pk")


def imported(client: Client, source: JudgmentImport, assessor: str) -> JudgmentImport:
    """The file, imported as the judgments of an account."""
    page = client.get(source.get_absolute_url()).content.decode()
    [field] = re.findall(r'name="(assessors-\d+)"', page)
    place = {"batch": source.batch, "kind": source.kind}
    client.post(source.get_absolute_url(), {field: assessor, **place})
    source.refresh_from_db()
    assert source.report["complaints"] == []
    client.post(reverse("assessment:run_import", args=[source.pk]))
    source.refresh_from_db()
    return source


@pytest.mark.parametrize("name", ["eight", "never_lost", "two_islands"])
def test_known_battles_are_imported_and_have_the_known_ratings(
    name: str, settings: LazySettings, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    folder = data / "judges/battles"
    content = (folder / f"{name}.tsv").read_text()
    battles = read_battles(content, name).battles
    systems = sorted({system for battle in battles for system in battle.pair})
    lab = battles_lab(tuple(systems), tuple(dict.fromkeys(battle.topic for battle in battles)))
    client = client_of(lab.organizer)
    pool = pooled(lab)

    source = imported(client, uploaded(client, lab.track, content), "ada")
    board = scored(lab, pool)

    assert source.n_imported == len(battles)
    html = client.get(reverse("battles:board", args=[board.pk])).content.decode()
    table = client.get(reverse("battles:board_table", args=[board.pk, "board", "csv"])).content.decode()
    rows = {row["system"]: row for row in csv.DictReader(StringIO(table))}
    known = json.loads((folder / "answers.json").read_text())[name].get("own_exact", {})
    for system, values in known.items():
        assert float(rows[system]["rating"]) == pytest.approx(values["rating"], abs=1e-4)
        error = values["se_by_topic_T_over_T_minus_1"]
        assert float(rows[system]["error"]) == pytest.approx(error, abs=1e-4)
        cells = '</td>\\s*<td class="num">'.join(("1", f"{values['rating']:,.0f}"))
        assert re.search(f'<th scope="row">{system}</th>\\s*<td class="num">{cells}</td>', html)
    assert {row["group"] for row in rows.values()} == {"eight": {"1"}}.get(name, {"1", "2"})
    if name == "never_lost":
        assert rows["A"]["rating"] == ""
        assert "Without a rating: A. A rating needs" in " ".join(html.split())
    if name == "two_islands":
        assert "There are 2 groups of systems that cannot be compared" in html


def test_battles_that_the_track_does_not_have_are_refused_by_line(lab: Lab) -> None:
    client = client_of(lab.organizer)
    pooled(lab)
    head = "topic,model_a,model_b,winner,assessor\n"
    lines = [
        "t1,ants,bats,model_a,ada",
        "t1,bats,ants,model_a,ada",
        "t1,ants,bats,model_a,ada",
        "t9,ants,bats,model_a,ada",
        "t1,ants,emus,model_a,ada",
        "t3,cats,dogs,tie,ada",
        "t2,ants,bats,neither,ada",
    ]

    source = uploaded(client, lab.track, head + "\n".join(lines) + "\n", "arena.csv")
    without_topics = uploaded(client, lab.track, "model_a,model_b,winner\nants,bats,tie\n", "bare.csv")
    no_pool = uploaded(client, lab.track, head + lines[0], "none.csv", kind="training")

    assert source.report["complaints"] == [
        [4, "line 2 has the same battle by ada"],
        [5, "the track has no topic t9"],
        [6, "the track has no run emus"],
        [7, "cats and dogs have the same answer to t3: leave the line out"],
        [8, "winner is 'neither'; expected model_a, model_b, tie, both_bad"],
    ]
    assert client.post(reverse("assessment:run_import", args=[source.pk])).status_code == 409
    assert not Judgment.objects.exists()
    assert "add the column topic" in without_topics.report["complaints"][0][1]
    assert no_pool.is_ready


def test_repeats_and_failed_battles_of_a_program_are_counted_in_the_preview(lab: Lab) -> None:
    client = client_of(lab.organizer)
    pool = pooled(lab)
    battles = [Battle("t1", "ants", "bats", "model_a", "m"), Battle("t1", "bats", "ants", "model_a", "m")]
    failed = json.dumps({"qid": "t1", "assistant_a_run_id": "ants", "status": "failed"}) + "\n"
    machine = make_machine(lab.track, lab.organizer)
    given = {"file": SimpleUploadedFile("judgments.jsonl", (as_ragdoll(battles) + failed).encode())}

    answer = client_of(lab.organizer).post(
        reverse("api:judgment_imports", args=[lab.track.slug]),
        given | {"kind": "machine", "batch": "Program"},
    )
    source = imported(
        client, JudgmentImport.objects.get(pk=answer.json()["id"]), machine.assessor.user.username
    )

    assert answer.json()["report"]["notes"] == [
        "Battles that failed and are left out: 1.",
        "Battles judged again in the other order, which show only how consistent their judge is: 1.",
    ]
    assert source.n_imported == 2
    votes = Judgment.objects.order_by("pk").values_list("is_check", "choice")
    assert {choice for _, choice in votes} == {"first", "second"}
    assert [is_check for is_check, _ in votes] == [False, True]
    board = scored(lab, pool, machine=machine)
    html = client.get(reverse("battles:board", args=[board.pk])).content.decode()
    table = client.get(reverse("battles:board_table", args=[board.pk, "consistency", "csv"])).content.decode()
    assert "judged by the program Llama judge" in html
    [counts] = csv.DictReader(StringIO(table))
    assert (counts["battles"], counts["again"], counts["again_alike"]) == ("1", "1", "0")


def test_people_and_programs_and_other_tracks_are_columns_of_one_table(lab: Lab) -> None:
    """A program likes the worst system, and the other track has nuggets of two runs."""
    client, pool = client_of(lab.organizer), pooled(lab)
    judged(lab, pool)
    people = scored(lab, pool)
    battles = read_battles(
        client.get(reverse("battles:file", args=[people.pk, "tsv"])).content.decode(), "battles.tsv"
    ).battles
    for_dogs = [
        each._replace(winner=A if each.model_a == "dogs" else B, assessor="m")
        for each in battles
        if "dogs" in each.pair
    ]
    machine = make_machine(lab.track, lab.organizer)
    given = [each._replace(assessor="m") for each in battles if "dogs" not in each.pair]
    given += [each for each in for_dogs if each.topic != "t3"]
    source = uploaded(client, lab.track, as_tsv(given), kind="machine")
    imported(client, source, machine.assessor.user.username)
    scored(lab, pool, machine=machine)
    fields = {"protocol": "trec-rag-2024", "collection": lab.track.collection}
    other = lab._replace(track=make_track("answers", name="Answers", **fields))
    make_topic(other.track, "t1")
    runs = [submit_again(other, tag) for tag in ("ants", "emus")]
    by: dict[str, Any] = {"track": other.track, "created_by": other.organizer, "protocol_digest": "0" * 64}
    qrels = Qrels.objects.create(version=1, protocol=other.track.protocol, n_topics=1, n_judged=1, **by)
    nuggets = Leaderboard.objects.create(qrels=qrels, measures=["V_strict", "W"], status="ready", **by)
    for run, value in zip(runs, (0.25, 0.75), strict=True):
        evaluation = nuggets.evaluations.create(run=run, run_sha256="0" * 64, n_topics=1, n_missing=0)
        evaluation.scores.create(topic="all", measure="V_strict", value=value)

    html = client.get(reverse("battles:systems", args=[people.pk])).content.decode()
    fewer = client.get(reverse("battles:systems", args=[people.pk]), {"measure": ["W"]}).content.decode()
    answer = client.get(reverse("api:systems", args=[people.pk])).json()["tables"]
    table = client.get(reverse("battles:systems_file", args=[people.pk, "systems", "csv"])).content.decode()
    member = client_of(User.objects.get(username="member-of-ants"))
    leaderboard_services.release(leaderboard=people, level="participants", reason="a test", by=lab.organizer)
    released = member.get(reverse("api:systems", args=[people.pk])).json()["tables"]

    rows = {row["system"]: row for row in csv.DictReader(StringIO(table))}
    assert [*rows] == ["ants", "bats", "cats", "dogs", "emus"]
    assert rows["ants"]["arena/people/rating"] == "1139.7940"
    assert rows["dogs"]["arena/people/rating"] == rows["emus"]["arena/people/rating"] == ""
    assert rows["ants"]["answers/people/V_strict"] == "0.2500"
    assert [rows["emus"][name] for name in ("team", "answers/people/V_strict")] == ["Emus", "0.7500"]
    assert "by the program Llama judge" in html
    assert [text.count('scope="col" class="num">V_strict') for text in (html, fewer)] == [1, 0]
    [both] = answer["agreement"]
    assert (both["judge"], both["other"]) == ("people", str(machine))
    assert (both["battles"], both["alike"]) == (17, 11), "the program prefers the dogs on two topics"
    assert [*released["systems"][0]] == [
        "system",
        "team",
        *(f"arena/people/{name}" for name in ("rating", "low", "high")),
    ]
    assert released["agreement"] == [], "the program's leaderboard is not released"


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
