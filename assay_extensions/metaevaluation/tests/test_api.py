"""Judges through the API: what pages do, programs can do."""

from datetime import UTC, datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeRun
from assay_extensions.metaevaluation.tests.test_boards import qrels
from jobs import services as jobs
from scoring.models import Qrels
from tests.helpers.api import api
from tests.helpers.judging import make_machine
from tests.helpers.team_judges import make_judge
from tests.scoring.conftest import Scene

pytestmark = pytest.mark.django_db
JSON = {"content_type": "application/json"}


def path(scene: Scene, name: str, *arguments: object) -> str:
    return reverse(f"api:{name}", args=[scene.track.slug, *arguments])


def test_campaign_of_judges_by_the_api(scored: Scene) -> None:
    scored.submit(scored.theirs, "middling", "9 10 é")
    leaderboard = scored.leaderboard()
    organizer, member, visitor = api(scored.organizer), api(scored.member), api(None)
    assert member.get(path(scored, "judge_call")).status_code == 404
    call = organizer.put(
        path(scored, "judge_call"),
        {"closes_at": "2099-05-01T12:00", "zone": "UTC", "max_per_team": 2},
        **JSON,
    )
    assert (call.status_code, member.get(path(scored, "judge_call")).json()["max_per_team"]) == (200, 2)
    assert JudgeCall.objects.get().closes_at == datetime(2099, 5, 1, 12, tzinfo=UTC)

    sent = {"tag": "made", "file": SimpleUploadedFile("made.qrels", qrels(3, 0, 2)), "description": "a model"}
    made = member.post(path(scored, "judges"), sent)
    assert (made.status_code, made.json()["team"], made.json()["files"][0]["rows"]) == (201, "Ours", 9)
    assert made["Location"] == made.json()["url"]
    formless = {"tag": "bad", "file": SimpleUploadedFile("bad.qrels", qrels(3, 0, 2)), "format": "tot"}
    assert "no file is a table of scores" in member.post(path(scored, "judges"), formless).content.decode()
    wrong = {"tag": "bad", "file": SimpleUploadedFile("bad.qrels", qrels(3, 0, 9))}
    refused = member.post(path(scored, "judges"), wrong)
    assert (refused.status_code, len(refused.json()["errors"])) == (422, 3)
    assert refused.json()["errors"][0]["message"] == "bad.qrels: line 3: grade: got 9; use 0, 1, 2, 3"
    assert [row["tag"] for row in member.get(path(scored, "judges")).json()["results"]] == ["made"]
    assert api(scored.other).get(path(scored, "judges")).json()["results"] == []

    asked = {"leaderboard": leaderboard.pk, "missing": "common", "seed": 7}
    created = organizer.post(path(scored, "judge_boards"), asked, **JSON)
    assert (created.status_code, created.json()["measure"]) == (202, leaderboard.measures[0])
    board = JudgeBoard.objects.get()
    jobs.run(board.job_id)
    shown = organizer.get(path(scored, "judge_board", board.pk)).json()
    (row,) = shown["judges"]
    assert (shown["seed"], shown["missing"], row["source"], row["n_runs"]) == (7, "common", "qrels", 3)
    first = row["coefficients"][0]
    assert (first["name"], first["k"], first["value"]) == ("kendall", None, 1.0)
    assert row["fidelity"]["neither"] == 3
    assert {table["name"] for table in row["tables"]} >= {"agreement", "confusion", "leniency"}
    assert len(row["runs"]) == 3
    assert member.get(path(scored, "judge_board", board.pk)).status_code == 404

    release = {"released_to": "public"}
    hindered = organizer.post(path(scored, "release_judge_board", board.pk), release, **JSON)
    assert (hindered.status_code, hindered.json()["code"]) == (409, "release-hindered")
    organizer.post(path(scored, "release_judge_board", board.pk), release | {"reason": "A test."}, **JSON)
    public = visitor.get(path(scored, "judge_board", board.pk)).json()
    assert (public["released_to"], public["judges"][0]["runs"]) == ("public", [])
    lines = (
        visitor.get(path(scored, "judge_board_file", board.pk), {"to": "tsv"}).content.decode().splitlines()
    )
    assert [line.split("\t")[1] for line in lines] == ["judge", "made"]

    judge = JudgeRun.objects.get()
    withdrawn = member.post(path(scored, "withdraw_judge", judge.pk))
    assert (withdrawn.json()["status"], withdrawn.json()["withdrawn_at"] is None) == ("withdrawn", False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaderboard": 10**6}, "There is no 1000000 here."),
        ({"topics": ["A.7"]}, "not among the topics of ARQ"),
        ({"measure": "P@5"}, "The leaderboard does not have P@5."),
        ({"missing": "guess"}, "Accepted: refuse, common, zero."),
    ],
)
def test_wrong_board_is_refused(scored: Scene, change: dict[str, object], message: str) -> None:
    leaderboard = scored.leaderboard()
    make_judge(scored.ours, scored.member)

    asked = {"leaderboard": leaderboard.pk} | change
    response = api(scored.organizer).post(path(scored, "judge_boards"), asked, **JSON)

    assert response.status_code in (400, 409)
    assert message in response.content.decode()


def test_leaderboard_of_a_machine_is_not_the_truth(scored: Scene) -> None:
    leaderboard = scored.leaderboard()
    Qrels.objects.update(machine=make_machine(scored.track, scored.organizer))

    asked = {"leaderboard": leaderboard.pk}
    response = api(scored.organizer).post(path(scored, "judge_boards"), asked, **JSON)

    assert response.status_code == 400
    assert "Accepted: none." in response.content.decode()
