"""The judge card of a machine, on pages, in the API, and on leaderboards that rest on it."""

import json
import os
import sys
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer

from accounts.models import Event
from assay import samples
from assay.cli.main import main
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.site import services
from assay_extensions.machines.site.models import JudgeRecord
from assay_extensions.machines.tests.test_evidence_pages import text_of
from assay_extensions.machines.tests.test_leases import EVIDENCE, Process, ids, judgment
from scoring.leaderboards.services import release
from scoring.models import Leaderboard
from tests.helpers.api import api, call, make_token
from tests.helpers.factories import make_organizer
from tests.helpers.judging import make_machine
from tests.scoring.conftest import Scene, build_scene
from tracks.models import Machine
from web.models import Scope

PROBES = {
    "protocol": "arqmath-2020-task1",
    "n_units": 9,
    "probes": [
        {"probe": "words", "title": "The words of the topic are added three times", "n": 9}
        | {"higher": 4, "lower": 0, "unanswered": 1, "is_weakness": True},
        {"probe": "swapped", "title": "The documents have each other's text", "n": 8}
        | {"higher": 1, "lower": 2, "unanswered": 0, "is_weakness": True},
        {"probe": "repeat", "title": "The same request again", "n": 9}
        | {"higher": 0, "lower": 0, "unanswered": 0, "is_weakness": False},
    ],
}
UNCOUNTED = {"tokens_in": None, "tokens_out": None, "cost": None, "currency": ""}


@pytest.fixture
def scene(db: None) -> Scene:
    return build_scene()


@pytest.fixture
def machine(scene: Scene) -> Machine:
    """People gave 3, 2 and 1; the machine gave 3, 3 and 0."""
    scene.judged("high", "medium", "low")
    machine = make_machine(scene.track, make_organizer())
    process = Process(machine, services.start(machine=machine, pool=scene.pool, by=machine.owner))
    lease = process.lease(9)
    tasks = {(task["unit"]["topic"], task["unit"]["docno"]): task["id"] for task in lease["tasks"]}
    judged = scene.pool.batches.exclude(kind="machine").get().judgments.select_related("topic")
    people = {(row.topic.code, row.docno): row.choice for row in judged}
    theirs = {"high": "high", "medium": "high", "low": "not-relevant"}
    process.judge(
        lease,
        [
            judgment(tasks[unit], theirs[key], evidence=EVIDENCE if n else EVIDENCE | UNCOUNTED)
            for n, (unit, key) in enumerate(people.items())
        ],
    )
    assert len(ids(lease)) >= 3
    return machine


def test_card_has_agreement_leniency_and_cost(scene: Scene, machine: Machine) -> None:
    client = Client()
    client.force_login(scene.organizer)
    card = call(api(scene.organizer), "get", "machine_card", machine.pk).json()

    assert card["tested_on"] == {"n_units": 3, "n_topics": card["tested_on"]["n_topics"], "n_shared": 3}
    assert card["agreement"]["equal"] == pytest.approx(1 / 3)
    assert card["agreement"]["leniency"] == pytest.approx(0.0)
    assert card["by_grade"] == [
        {"grade": 1, "n_units": 1, "n_equal": 0, "n_higher": 0, "n_lower": 1, "mean": 0.0},
        {"grade": 2, "n_units": 1, "n_equal": 0, "n_higher": 1, "n_lower": 0, "mean": 3.0},
        {"grade": 3, "n_units": 1, "n_equal": 1, "n_higher": 0, "n_lower": 0, "mean": 3.0},
    ]
    assert card["replies"] == {
        "n": 3,
        "n_unreadable": 0,
        "n_refused": 0,
        "n_without_tokens": 1,
        "tokens_in": 1800,
        "tokens_out": 10,
    }
    assert card["costs"] == [{"amount": "0.0024", "currency": "USD"}]
    assert (card["judge"], card["probes"], card["owner"]) == (None, None, machine.owner.username)
    page = text_of(client.get(reverse("machines:card", args=[machine.pk])))
    assert "It judged 3 units" in page
    assert "Leniency 0.000: the mean" in page
    assert "Not probed." in page
    assert "1,800 tokens in and 10 out. 1 reply does not report its tokens" in page
    assert "0.0024 USD" in page


def test_card_of_a_machine_without_units_that_people_graded_says_so(scene: Scene) -> None:
    machine = make_machine(scene.track, make_organizer())
    client = Client()
    client.force_login(machine.owner)

    page = text_of(client.get(reverse("machines:card", args=[machine.pk])))

    assert "Not known. No unit was graded by people and by this judge" in page
    assert "No replies are kept." in page


def test_report_of_probes_becomes_part_of_the_card(scene: Scene, machine: Machine) -> None:
    card = call(
        api(machine.assessor.user, Scope.JUDGE), "put", "machine_probes", machine.pk, data=PROBES
    ).json()

    assert card["probes"] == PROBES
    assert Event.objects.get(action="machine.probes").details == {"units": 9, "found": ["words", "swapped"]}
    client = Client()
    client.force_login(machine.owner)
    page = text_of(client.get(reverse("machines:card", args=[machine.pk])))
    assert "it can be misled" in page
    assert "added three times 9 4 0 1 weakness" in page
    assert "The documents have each other's text 8 1 2 0 weakness" in page
    assert "The same request again 9 0 0 0 nothing found" in page
    wrong = call(api(machine.owner), "put", "machine_probes", machine.pk, data=PROBES | {"n_units": -1})
    assert wrong.status_code == 400


def test_everyone_who_sees_a_leaderboard_sees_the_card_of_its_machine_without_addresses(
    scene: Scene, machine: Machine
) -> None:
    client = Client()
    client.force_login(machine.owner)
    record = Judge("Made", "1", "made-70b", address="http://10.0.0.7/v1", key_variable="SECRET_NAME").record()
    JudgeRecord.objects.create(machine=machine, record=record, created_by=machine.owner)
    scene.submit(scene.ours, "good", "10 é 9")
    board = scene.leaderboard()
    by_people = reverse("machines:board_card", args=[board.pk])
    assert client.get(by_people).status_code == 404
    board.qrels.__class__.objects.filter(pk=board.qrels_id).update(machine=machine, machine_name=str(machine))
    address = reverse("machines:board_card", args=[board.pk])

    assert Client().get(address).status_code == 404, "not released"
    board.refresh_from_db()
    release(leaderboard=board, level=Leaderboard.Release.PUBLIC, by=scene.organizer, reason="A test.")
    answer = Client().get(address)
    as_json = Client().get(reverse("api:leaderboard_judge", args=[board.pk]))

    assert "made-70b" in text_of(answer)
    for private in ("10.0.0.7", "SECRET_NAME"):
        assert private not in answer.content.decode() + as_json.content.decode()
    assert as_json.json()["judge"]["model"] == "made-70b"
    assert address in Client().get(board.get_absolute_url()).content.decode()


@pytest.mark.django_db(transaction=True)
def test_command_sends_its_report_to_the_site(
    live_server: LiveServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scene = build_scene()
    machine = make_machine(scene.track, make_organizer())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_TOKEN", make_token(machine.assessor.user, Scope.READ, Scope.JUDGE))
    Path("documents.jsonl").write_text('{"docno": "1", "text": "Nothing."}\n')
    Path("pool.tsv").write_text("A.1\t1\t1\n")
    words = [
        "probe",
        "--with",
        f"{sys.executable} {samples.path('judge_by_words.py')}",
        "--protocol",
        "arqmath-2020-task1",
    ]
    words += [
        "--topics",
        str(samples.path("topics.xml")),
        "--units",
        "pool.tsv",
        "--documents",
        "documents.jsonl",
    ]
    words += ["--output", "probes.json", "--quiet", "--server", live_server.url, "--machine", str(machine.pk)]

    assert main(words) == 0

    stored = machine.probes.report
    assert stored["probes"] == json.loads(Path("probes.json").read_text())["probes"]
    assert {row["probe"] for row in stored["probes"] if row["is_weakness"]} == {"words", "copy"}
    monkeypatch.delenv("ASSAY_TOKEN")
    assert "ASSAY_TOKEN" not in os.environ
    assert main(words) == 2
    assert "set the variable ASSAY_TOKEN" in capsys.readouterr().err
