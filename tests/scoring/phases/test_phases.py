"""A track with a training split, a blind test split and runs after closing: from pages and programs, and what leaks."""

import json
from collections.abc import Iterable
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from assay.measures.scores import ALL
from assay.protocols.loader import ProtocolError, parse_protocol, shipped_text
from jobs import services as jobs
from jobs.models import Job
from pooling.errors import SubmissionRefused
from pooling.models import Pool, Run
from pooling.pools.selectors import pooled_depths
from pooling.runs import services as run_services
from publishing.archives import services as archives
from scoring.leaderboards import services as leaderboard_services
from scoring.models import PhaseScore, Qrels
from scoring.phases import services
from scoring.qrels.selectors import runs_to_score
from tests.helpers.api import api, call
from tests.helpers.factories import make_deadline
from tests.helpers.judging import make_machine
from tests.publishing.archives.test_services import findings_of, load, rewritten
from tests.scoring.conftest import Scene, build_scene
from tracks.models import Download, Machine, StoredProtocol, Track
from tracks.tracks import services as track_services
from web import times

KINDS = """
[[runs.kind]]
key = "primary"
depth = 3
phase = "test"

[[runs.kind]]
key = "training"
phase = "practice"

[[runs.kind]]
key = "late"
title = "late run"
phase = "later"

[[runs.phase]]
key = "practice"
title = "Practice"
split = "train"
scores = "team"
max_per_day = 2

[[runs.phase]]
key = "test"
split = "test"

[[runs.phase]]
key = "later"
title = "After the campaign"
split = "test"
scores = "everybody"
after_closing = true

"""


def protocol(kinds: str = KINDS) -> str:
    text = shipped_text("arqmath-2020-task1")
    return text[: text.index("[[runs.kind]]")] + kinds.lstrip() + text[text.index("[pool]") :]


@pytest.fixture
def scene(db: None) -> Scene:
    """A.1 is for training; A.10 and A.2 are the test."""
    scene, text = build_scene(), protocol()
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(
        text=text, digest=parse_protocol(text, name="x").digest
    )
    scene.track = Track.objects.select_related("protocol").get(pk=scene.track.pk)
    scene.track.topics.filter(code="A.1").update(split="train")
    scene.track.topics.exclude(code="A.1").update(split="test")
    return scene


def file(topics: Iterable[str], tag: str, ranking: str = "10 9") -> SimpleUploadedFile:
    lines = [
        f"{code}\t{docno}\t{rank}\t{9 - rank}\t{tag}\n"
        for code in topics
        for rank, docno in enumerate(ranking.split(), 1)
    ]
    return SimpleUploadedFile(f"{tag}.tsv", "".join(lines).encode())


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def send(scene: Scene, user: User, kind: str, topics: Iterable[str], tag: str, **options: Any) -> str:
    """The page after a submission: that of the run, or the form with the reason."""
    team = scene.theirs if user == scene.other else scene.ours
    fields = {"team": team.pk, "kind": kind, "made": "automatic", "uses": "both", "action": "submit"}
    address = reverse("pooling:submit", args=[scene.track.slug])
    content = {**fields, "file": file(topics, tag, **options)}
    return unescape(client_of(user).post(address, content, follow=True).content.decode())


def run_jobs() -> None:
    for job in Job.objects.filter(kind=services.SCORE, state=Job.State.QUEUED):
        jobs.run(job.pk)


def practice(scene: Scene) -> None:
    """Score training runs against qrels of all topics, of which only those of the split may count."""
    services.set_qrels(track=scene.track, phase="practice", qrels=scene.qrels(), by=scene.organizer)


def test_training_run_is_scored_at_once_and_reveals_nothing_of_the_test(scene: Scene) -> None:
    practice(scene)

    waiting = send(scene, scene.member, "training", ["A.1"], "first")
    run_jobs()
    send(scene, scene.member, "primary", ["A.10", "A.2"], "blind")
    run_jobs()

    run, blind = Run.objects.get(tag="first"), Run.objects.get(tag="blind")
    page = client_of(scene.member).get(run.get_absolute_url()).content.decode()
    [row] = api(scene.member).get(reverse("api:phase_scores", args=["arq", "practice"])).json()["results"]
    means = row["values"][ALL]
    assert "being scored" in waiting
    assert all(f">{value:.4f}</td>" in page for value in means.values())
    assert (row["run"], row["status"], set(row["values"]), row["n_topics"]) == (
        run.pk,
        "ready",
        {ALL, "A.1"},
        1,
    )
    assert not PhaseScore.objects.filter(run=blind).exists()
    assert "<h2>Scores</h2>" not in client_of(scene.member).get(blind.get_absolute_url()).content.decode()
    assert pooled_depths(scene.track, {"primary": 3}) == {run: 0, blind: 3}
    assert list(runs_to_score(scene.track)) == [blind]
    for user in (scene.other, scene.stranger):
        assert api(user).get(reverse("api:phase_scores", args=["arq", "practice"])).json()["results"] == []
        board = reverse("scoring:phase_file", args=["arq", "practice", "json"])
        assert json.loads(client_of(user).get(board).getvalue()) == []
    listed = {
        each["key"]: each
        for each in api(scene.member).get(reverse("api:phases", args=["arq"])).json()["results"]
    }
    assert (listed["practice"]["qrels"], listed["test"]["is_scoring"]) == (None, False)
    assert api(scene.organizer).get(reverse("api:phases", args=["arq"])).json()["results"][0]["qrels"] == 1


def test_page_of_a_phase_refreshes_by_itself_while_runs_are_scored(scene: Scene) -> None:
    address = reverse("scoring:phase", args=[scene.track.slug, "practice"])
    practice(scene)
    empty = client_of(scene.organizer).get(address).content.decode()
    send(scene, scene.member, "training", ["A.1"], "first")

    run = Run.objects.get(tag="first").get_absolute_url()
    pages = [client_of(user).get(address).content.decode() for user in (scene.member, scene.other)]
    waiting = client_of(scene.member).get(run).content.decode()
    run_jobs()
    scored = [client_of(scene.member).get(each).content.decode() for each in (address, run)]

    assert ["hx-trigger" in page for page in (empty, *pages, waiting)] == [False, True, False, True]
    assert not [page for page in scored if "hx-trigger" in page]
    assert ["m-gold" in scored[0], "confidence interval" in scored[0]] == [True, False], "a single topic"
    assert "No runs yet." in empty
    assert "No runs that you see here yet: each team sees its scores at once." in pages[1]


def test_topics_of_a_phase_are_listed_once_they_are_released(scene: Scene) -> None:
    address = reverse("api:phases", args=["arq"])
    assert Client().get(address).json()["results"][0]["topics"] == ["A.1"]
    Download.objects.create(track=scene.track, kind=Download.Kind.TOPICS, created_by=scene.organizer)

    assert Client().get(address).json()["results"][0]["topics"] == []
    assert api(scene.organizer).get(address).json()["results"][0]["topics"] == ["A.1"]


def test_run_has_the_topics_of_the_split_of_its_phase(scene: Scene) -> None:
    wrong, right = (
        send(scene, scene.member, "training", topics, "t") for topics in (["A.1", "A.2"], ["A.1"])
    )

    assert "unknown topic “A.2”" in wrong
    assert "The topics of the track (1), such as A.1" in wrong
    assert "A.10" not in wrong
    assert "t is submitted for Ours" in right


def test_daily_limit_is_stated_and_enforced_for_pages_and_programs(scene: Scene) -> None:
    make_deadline(scene.track, closes_at=9 * 86_400, zone="Pacific/Auckland")
    page = client_of(scene.member)

    first, second, third = (send(scene, scene.member, "training", ["A.1"], tag, ranking=tag) for tag in "abc")
    by_program = api(scene.member).post(
        reverse("api:runs", args=["arq"]), {"file": file(["A.1"], "d", "d"), "kind": "training"}
    )
    by_organizer = send(scene, scene.organizer, "training", ["A.1"], "e", ranking="e")
    page.post(reverse("pooling:withdraw", args=[Run.objects.get(tag="a").pk]))
    withdrawn = send(scene, scene.member, "training", ["A.1"], "f", ranking="f")
    stated = page.get(reverse("pooling:submit", args=["arq"])).content.decode()
    of_team = page.get(reverse("pooling:team_runs", args=["arq", scene.ours.pk])).content.decode()

    words = "Practice: 2 of 2 runs today, next day from "
    assert ["is submitted" in answer for answer in (first, second, by_organizer)] == [True] * 3
    assert all(f"Ours cannot submit another run today: {words}" in answer for answer in (third, withdrawn))
    assert (by_program.status_code, words in by_program.json()["detail"]) == (409, True)
    assert all(words in text and "Pacific/Auckland" in text for text in (stated, of_team))
    assert "is submitted" in send(scene, scene.member, "primary", ["A.2"], "g")


def test_day_is_that_of_the_zone_of_the_track(scene: Scene) -> None:
    make_deadline(scene.track, closes_at=9 * 86_400, zone="AoE")
    now = times.now()
    start = now.astimezone(times.zone_of("AoE")).replace(hour=0, minute=0, second=0, microsecond=0)
    declared = run_services.Declaration(kind="training")
    submission = {"track": scene.track, "team": scene.ours, "by": scene.member, "declared": declared}

    for n, moment in enumerate((start - timedelta(seconds=1), start, start)):
        run_services.submit(
            **submission, file=file(["A.1"], f"r{n}", f"{n}").file, file_name="r", arrived_at=moment
        )
    with pytest.raises(SubmissionRefused, match="2 of 2 runs today"):
        run_services.submit(**submission, file=file(["A.1"], "r9", "9").file, file_name="r", arrived_at=now)

    assert Run.objects.filter(kind="training").count() == 3


def test_runs_after_closing_are_scored_apart_and_open_nothing(scene: Scene) -> None:
    send(scene, scene.member, "primary", ["A.10", "A.2"], "good")
    early = send(scene, scene.other, "late", ["A.10", "A.2"], "early")
    track_services.close(track=scene.track)
    board = scene.leaderboard()
    with pytest.raises(Refused, match="Release a leaderboard against them to everybody"):
        services.set_qrels(track=scene.track, phase="later", qrels=board.qrels, by=scene.organizer)
    scene.leaderboard(board.qrels, release="public")
    services.set_qrels(track=scene.track, phase="later", qrels=board.qrels, by=scene.organizer)

    accepted = send(scene, scene.other, "late", ["A.10", "A.2"], "late", ranking="10 é")
    refused = send(scene, scene.member, "primary", ["A.10"], "more")
    run_jobs()

    visitor, address = Client(), reverse("scoring:phase", args=["arq", "later"])
    page = visitor.get(address).content.decode()
    csv = visitor.get(reverse("scoring:phase_file", args=["arq", "later", "csv"])).getvalue().decode()
    tex = visitor.get(reverse("scoring:phase_file", args=["arq", "later", "tex"])).getvalue().decode()
    assert "late run runs are accepted from the closing of the track" in early
    assert "late is submitted" in accepted
    assert "after the closing of the track" in accepted
    assert "ARQ does not accept runs: the track is closed" in refused
    assert Track.objects.get(pk=scene.track.pk).status == Track.Status.CLOSED
    assert ["confidence interval (Student" in page, 'class="iv">' in page, "m-ci" in page] == [
        True,
        True,
        True,
    ]
    assert ["Theirs" in page, "Theirs,late,After the campaign,late run," in csv] == [True, True]
    assert "submitted after the closing of the track; they are in no pool" in tex
    assert list(runs_to_score(scene.track).values_list("tag", flat=True)) == ["good"]
    assert (
        api(scene.other).get(reverse("api:run", args=[Run.objects.get(tag="late").pk])).json()["phase"]
        == "later"
    )

    Track.objects.update(names_hidden_until=times.now() + timedelta(days=1))
    scores = reverse("api:phase_scores", args=["arq", "later"])
    under_pseudonyms = [
        *(visitor.get(address).content.decode(), api(scene.member).get(scores).content.decode()),
        visitor.get(reverse("scoring:phase_file", args=["arq", "later", "json"])).getvalue().decode(),
    ]
    assert [("Theirs" in text, "anon-r-" in text) for text in under_pseudonyms] == 3 * [(False, True)]
    assert "Theirs" in api(scene.other).get(scores).content.decode()
    assert api(scene.member).get(f"{scores}?team=Theirs").json()["results"] == []

    machine = make_machine(scene.track, scene.organizer)
    Machine.objects.update(family="Llama")
    Qrels.objects.update(machine=machine, machine_name=str(machine))
    Run.objects.filter(tag="late").update(models_used="reranker; llama")
    marked = visitor.get(reverse("scoring:phase_file", args=["arq", "later", "tex"])).getvalue().decode()
    assert visitor.get(address).content.decode().count("judge's family</span>") == 1
    assert "F: of the family of the machine that judged, Llama." in marked
    rows = api(scene.other).get(scores).json()["results"]
    assert {row["tag"]: row["is_of_judge_family"] for row in rows} == {"late": True}

    for each in scene.track.leaderboards.all():
        leaderboard_services.release(leaderboard=each, level="hidden", by=scene.organizer)
    Track.objects.update(names_hidden_until=None)
    assert "Theirs" not in visitor.get(address).content.decode()


def test_times_of_a_kind_limit_runs_after_closing(scene: Scene) -> None:
    make_deadline(scene.track, closes_at=-3600)
    make_deadline(scene.track, "late", closes_at=3600)

    accepted = send(scene, scene.member, "late", ["A.2"], "one")
    scene.track.deadlines.filter(kind="late").update(closes_at=times.now() - timedelta(minutes=1))
    refused = send(scene, scene.member, "late", ["A.2"], "two", ranking="9")

    assert "one is submitted" in accepted
    assert "late run runs closed on" in refused
    assert Track.objects.get(pk=scene.track.pk).status == Track.Status.CLOSED


def test_board_is_in_archives_verified_and_loaded(scene: Scene, tmp_path: Path) -> None:
    Pool.objects.update(status=Pool.Status.FAILED)  # that of the scene has no statistics
    practice(scene)
    send(scene, scene.member, "training", ["A.1"], "first")
    run_jobs()
    Run.objects.update(answers={"models": "BM25"})
    archive = archives.request(track=scene.track, by=scene.organizer)
    jobs.run(archive.job_id or 0)
    archive.refresh_from_db()
    path = tmp_path / "track.zip"
    with archive.file.open("rb") as made:
        path.write_bytes(made.read())

    findings = {finding.part: finding for finding in findings_of(path)}
    load(path, scene.organizer, "again")

    wrong = rewritten(path, lambda name, data: data.replace(b"\t1.0", b"\t0.5") if "phases" in name else data)
    again = {finding.part: finding.problem for finding in findings_of(wrong)}
    stored, loaded = PhaseScore.objects.order_by("pk")
    assert (findings["phase practice"].problem, findings["phase practice"].content[:6]) == ("", "1 run,")
    assert "computed again 1.0" in again["phase practice"]
    assert (loaded.values, loaded.n_topics, loaded.board.qrels.version) == (stored.values, 1, 1)
    assert [loaded.run.tag, loaded.board.track.slug] == ["first", "again"]
    assert loaded.run.answers == {"models": "BM25"}


def test_organizer_chooses_the_qrels_and_nobody_else(scene: Scene) -> None:
    qrels, address = scene.qrels(), reverse("scoring:score_phase", args=["arq", "practice"])
    send(scene, scene.member, "training", ["A.1"], "first")

    forbidden = client_of(scene.member).post(address, {"version": qrels.version})
    answer = client_of(scene.organizer).post(address, {"version": qrels.version}, follow=True)
    run_jobs()
    put = call(api(scene.organizer), "put", "phase_qrels", "arq", "test", data={"version": 1})
    page = client_of(scene.member).get(reverse("scoring:phase", args=["arq", "practice"])).content.decode()

    assert forbidden.status_code == 403
    assert "The runs of Practice are scored against qrels version 1." in answer.content.decode()
    assert (put.status_code, "has no board of its own; use practice, later" in put.json()["detail"]) == (
        409,
        True,
    )
    assert ["first" in page, "Score runs of the phase" in page] == [True, False]
    assert PhaseScore.objects.get().status == PhaseScore.Status.READY


def test_track_without_topics_of_a_split_does_not_open(scene: Scene) -> None:
    scene.track.topics.update(split="test")

    with pytest.raises(Refused, match="The phase Practice is about the split “train”, and no topic"):
        track_services.check_opening(scene.track)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'phase = "practice"',
            'phase = "x"',
            "runs.kind[2].phase: 'x' is not a phase of the protocol; use practice, ",
        ),
        ('key = "later"\n', 'key = "practice"\n', "runs.phase[3].key: 'practice' is the key of two phases"),
        ('key = "later"\n', 'key = "La ter"\n', "runs.phase[3].key: 'La ter' is not accepted"),
        ('title = "Practice"', 'title = " "', "runs.phase[1].title: ' ' is not one line of text"),
        ("max_per_day = 2", "max_per_day = 0", "runs.phase[1].max_per_day: 0 is below 1"),
        ('split = "train"\n', "", "runs.phase[1].split: missing; scores at once are about a split"),
        (
            'split = "train"',
            'split = "test"',
            "runs.phase[1].split: the phase test would have the same topics",
        ),
        (
            'key = "test"\nsplit = "test"',
            'key = "test"',
            "runs.phase[1].split: the phase test would have the same",
        ),
        (
            'scores = "everybody"\n',
            "",
            "runs.phase[3].scores: runs after closing are on a board of their own",
        ),
        (
            'phase = "later"',
            'phase = "later"\ndepth = 2',
            "runs.phase[3].scores: runs with scores at once are in no",
        ),
        ('title = "late run"\nphase = "later"', "", "runs.phase[3]: no kind of run belongs to it"),
    ],
)
def test_wrong_phases_are_refused_with_key_and_reason(old: str, new: str, complaint: str) -> None:
    assert old in KINDS

    with pytest.raises(ProtocolError) as refusal:
        parse_protocol(protocol(KINDS.replace(old, new)), name="lab.toml")

    assert complaint in str(refusal.value)
