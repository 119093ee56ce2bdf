"""Leaderboards by a machine: what they say about it, and about runs that use a model of its family."""

import csv
import json
import re
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.formats.runs.metadata import header
from participation.teams import services as team_services
from pooling.models import Run
from scoring.leaderboards import services as leaderboard_services
from scoring.leaderboards.releases import hindrances
from scoring.models import Leaderboard, Qrels
from tests.helpers.api import api
from tests.helpers.factories import make_track
from tests.helpers.judging import make_machine
from tests.scoring.conftest import QRELS, Scene
from tracks.models import Machine, Topic, Track

FAMILY = "Llama"


@pytest.fixture
def board(scored: Scene) -> Leaderboard:
    """A leaderboard of two runs, one of which declares a model of the family of the judge."""
    board = scored.leaderboard()
    machine = make_machine(scored.track, scored.organizer)
    Machine.objects.filter(pk=machine.pk).update(family=FAMILY)
    Qrels.objects.filter(pk=board.qrels_id).update(machine=machine, machine_name=str(machine))
    Run.objects.filter(tag="good").update(models_used="reranker-2; llama; 90 tokens\nbm25")
    Track.objects.update(status="closed")
    return Leaderboard.objects.get(pk=board.pk)


@pytest.fixture
def organizer(scored: Scene) -> Client:
    client = Client()
    client.force_login(scored.organizer)
    return client


def test_pages_mark_runs_of_the_family_of_the_judge(board: Leaderboard, organizer: Client) -> None:
    page = organizer.get(board.get_absolute_url()).content.decode()
    address = f"{board.get_absolute_url()}?show=other-families"
    others = organizer.get(address).content.decode()
    evaluation = board.evaluations.get(run__tag="poor")
    pages = [
        reverse("scoring:topics", args=[board.pk]),
        evaluation.get_absolute_url(),
        reverse("scoring:classes", args=[board.pk]),
    ]

    assert f"judged by {board.qrels.machine_name} · Assay</title>" in page
    assert f"<h1>Leaderboard, judged by {board.qrels.machine_name}</h1>" in " ".join(page.split())
    assert page.count("judge's family</span>") == 1
    assert f'href="{address}"' in page
    assert "judge's family</span>" not in others
    assert "poor" in others
    for other in pages:
        assert f'href="{address}"' in organizer.get(other).content.decode(), other


def test_files_mark_them_too(board: Leaderboard, organizer: Client) -> None:
    def file(kind: str) -> str:
        answer = organizer.get(reverse("scoring:leaderboard_file", args=[board.pk, kind]))
        assert f"-leaderboard-{board.pk}.machine.{kind}" in answer["Content-Disposition"]
        return answer.getvalue().decode()

    rows = {row["run"]: row["judge's family"] for row in csv.DictReader(StringIO(file("csv")))}
    marked = {run["run"]: run["judge_family"] for run in json.loads(file("json"))["runs"]}
    api = organizer.get(reverse("api:leaderboard", args=[board.pk])).json()

    assert rows == {"good": "yes", "poor": "no"}
    assert marked == {"good": True, "poor": False}
    assert "F: of the family of the machine that judged, Llama." in file("tex")
    assert {row["tag"]: row["is_of_judge_family"] for row in api["runs"]} == marked


def test_people_and_other_families_are_not_marked(board: Leaderboard, organizer: Client) -> None:
    Machine.objects.update(family="gpt")
    assert "judge's family</span>" not in organizer.get(board.get_absolute_url()).content.decode()
    Qrels.objects.update(machine=None, machine_name="")
    page = organizer.get(board.get_absolute_url()).content.decode()
    file = organizer.get(reverse("scoring:leaderboard_file", args=[board.pk, "tsv"]))

    assert "judged by" not in page
    assert "judge's family" not in file.getvalue().decode()
    assert ".machine" not in file["Content-Disposition"]


def test_release_of_a_machine_needs_a_human_sample_or_a_reason(
    scored: Scene, board: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"{board.qrels.machine_name}; no person judged." in " ".join(hindrances(board))
    scored.judged("high", "low")

    assert "people judged only 2 of its units, fewer than 30" in " ".join(hindrances(board))
    monkeypatch.setattr("scoring.leaderboards.releases.SAMPLE", 2)
    assert "machine" not in " ".join(hindrances(board))


def test_page_and_release_say_which_qrels_of_people_and_of_a_machine_are_used_and_newer(
    scored: Scene, board: Leaderboard, organizer: Client
) -> None:
    def shown(of_board: Leaderboard) -> list[str]:
        """The sentence on the page and in the question before the release."""
        release = f"{reverse('scoring:release', args=[of_board.pk])}?level=public"
        pages = [organizer.get(address) for address in (of_board.get_absolute_url(), release)]
        return re.findall(
            r"These qrels are .* is (?:newer|older)", "".join(page.content.decode() for page in pages)
        )

    name = board.qrels.machine_name
    alone = shown(board)
    of_people = scored.leaderboard()
    newest = shown(of_people)
    later = scored.leaderboard(scored.qrels(QRELS.replace(b"3\n", b"2\n")))
    Qrels.objects.filter(pk=later.qrels_id).update(machine=board.qrels.machine, machine_name=name)
    later.refresh_from_db()

    assert alone == newest == []
    expected = f"These qrels are version 1 by machine {name}; version 2, which no machine judged, is newer"
    assert shown(board) == [expected] * 2
    expected = f"These qrels are version 2, which no machine judged; version 3 by machine {name} is newer"
    assert shown(of_people) == [expected] * 2
    expected = f"These qrels are version 3 by machine {name}; version 2, which no machine judged, is older"
    assert shown(later) == [expected] * 2
    leaderboard_services.release(leaderboard=of_people, level="public", by=scored.organizer, reason="A test.")
    release = organizer.get(f"{reverse('scoring:release', args=[later.pk])}?level=public").content.decode()
    assert "everybody can compare the two. They have different judges." in release
    assert "correct the older ones" not in release
    assert "These qrels are" not in Client().get(of_people.get_absolute_url()).content.decode()


def test_values_by_topic_class_and_operation_are_marked(board: Leaderboard, organizer: Client) -> None:
    Topic.objects.filter(code="A.1").update(labels={"type": "proof"})

    for name, arguments in (("topics_file", ["csv"]), ("topics_file", ["tsv"]), ("classes_file", [])):
        file = organizer.get(reverse(f"scoring:{name}", args=[board.pk, *arguments]))
        delimiter = "\t" if "tsv" in arguments else ","
        rows = list(csv.DictReader(StringIO(file.getvalue().decode()), delimiter=delimiter))
        assert {(row["run"], row["judge's family"]) for row in rows} == {("good", "yes"), ("poor", "no")}
    listed = organizer.get(reverse("api:evaluations", args=[board.pk])).json()["results"]
    assert {row["tag"]: row["is_of_judge_family"] for row in listed} == {"good": True, "poor": False}


def test_later_runs_are_marked_by_the_models_that_they_state(
    board: Leaderboard, organizer: Client, scored: Scene
) -> None:
    leaderboard_services.release(leaderboard=board, level="public", by=scored.organizer, reason="A test.")
    team = team_services.create(track=make_track("arq-2"), name="Owls", members=[scored.stranger])
    client = Client()
    client.force_login(scored.stranger)
    address = reverse("scoring:later_runs", args=[board.pk])

    def send(tag: str, models: str, content: bytes = b"") -> str:
        lines = b"".join(b"%s\t10\t1\t1\t%s\n" % (code, tag.encode()) for code in (b"A.1", b"A.10", b"A.2"))
        file = SimpleUploadedFile(f"{tag}.tsv", content + lines)
        data = {"team": team.pk, "file": file, "models_used": models}
        return client.post(address, data, follow=True).content.decode()

    refused = send("wrong", "a, b")
    send("other", "bm25")
    page = send("same", "", header({"method.models": "reranker; llama"}))
    listed = api(scored.stranger).get(reverse("api:later_runs", args=[board.pk])).json()["results"]

    assert "without commas" in refused
    assert page.count("judge's family</span>") == 1
    stated = {row["tag"]: (row["models_used"], row["is_of_judge_family"]) for row in listed}
    assert stated == {"other": ("bm25", False), "same": ("reranker; llama", True)}
