"""A campaign from judging to the leaderboard through the API, by an organizer, a person and a machine."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from assessment.models import Batch
from jobs import services as jobs
from tests.helpers.api import api, call
from tests.scoring.conftest import Scene
from web.api.scopes import Scope

pytestmark = pytest.mark.django_db


def ask(client: Client, method: str, name: str, *arguments: object, **options: Any) -> Any:
    """The content of an answer of success."""
    response = call(client, method, name, *arguments, **options)
    assert response.status_code < 300, response.content
    return response.json() if response.content else None


@pytest.fixture
def organizer(scene: Scene) -> Client:
    return api(scene.organizer)


@pytest.fixture
def batch(scene: Scene) -> Batch:
    """Ada has one topic of three units."""
    return scene.batch({scene.ada: ["A.1"]})


def test_organizer_creates_plans_opens_and_closes_a_batch(scene: Scene, organizer: Client) -> None:
    slug, content = scene.track.slug, {"pool": scene.pool.pk, "name": "Round 1"}
    made = call(organizer, "POST", "batches_of_track", slug, data=content)
    batch_id = made.json()["id"]
    assert (made.status_code, made["Location"]) == (201, reverse("api:batch", args=[batch_id]))

    refused = call(organizer, "POST", "open_batch", batch_id)
    unknown = call(
        organizer, "POST", "assignments", batch_id, data={"changes": [{"topic": "A.1", "assessor": "zoe"}]}
    )
    ask(organizer, "POST", "assignments", batch_id, data={"changes": [{"topic": "A.1", "assessor": "ada"}]})
    ask(organizer, "POST", "share_topics", batch_id, data={"assessors": ["bob"]})
    ask(organizer, "POST", "edit_batch", batch_id, data={"name": "First round", "minutes_allotted": 60})
    opened = ask(organizer, "POST", "open_batch", batch_id)
    rows = ask(organizer, "GET", "assignments", batch_id)["results"]
    detail = ask(organizer, "GET", "batch", batch_id)
    closed = ask(organizer, "POST", "close_batch", batch_id)

    assert (refused.status_code, refused.json()["code"]) == (409, "no-topics")
    assert (unknown.status_code, "There is no zoe" in unknown.json()["detail"]) == (400, True)
    assert {(row["topic"], row["assessor"]) for row in rows} == {
        ("A.1", "ada"),
        ("A.10", "bob"),
        ("A.2", "bob"),
    }
    assert (opened["status"], opened["name"], closed["status"]) == ("open", "First round", "closed")
    assert (detail["judged"], detail["total"]) == (0, 9)


def test_assessor_judges_revises_skips_and_undoes(scene: Scene, batch: Batch) -> None:
    ada = api(scene.ada, Scope.READ, Scope.JUDGE)
    task = ask(ada, "POST", "next_task", batch.pk)
    again = ask(ada, "POST", "next_task", batch.pk)
    first = {"choice": "high", "comment": "Proves it.", "seconds": 7, "request_id": str(uuid4())}
    [stored] = ask(ada, "POST", "task_judgments", task["id"], data=first)
    [repeated] = ask(ada, "POST", "task_judgments", task["id"], data=first)
    blind = call(ada, "POST", "task_judgments", task["id"], data={"choice": "low", "shown": 0})
    [revised] = ask(ada, "POST", "task_judgments", task["id"], data={"choice": "low", "shown": stored["id"]})
    wrong = call(ada, "POST", "task_judgments", task["id"], data={"choice": "great"})

    assert again["id"] == task["id"]
    assert task["unit"]["document"] == "10"
    assert [grade["key"] for grade in task["unit"]["grades"]] == ["high", "medium", "low", "not-relevant"]
    assert (stored["grade"], stored["id"], revised["grade"]) == (3, repeated["id"], 1)
    assert (blind.status_code, blind.json()["code"]) == (409, "judged-elsewhere")
    assert (wrong.status_code, wrong.json()["code"]) == (409, "unknown-choice")
    second = ask(ada, "POST", "next_task", batch.pk)
    assert ask(ada, "POST", "skip_task", second["id"], data={"reason": "In Russian"})["status"] == "skipped"
    third = ask(ada, "POST", "next_task", batch.pk)
    ask(ada, "POST", "give_back_task", third["id"])
    assert ask(ada, "POST", "undo_judgment", task["id"])["status"] == "accepted"
    assert ask(ada, "POST", "extend_task", task["id"])["id"] == task["id"]
    for _ in range(3):
        task = ask(ada, "POST", "next_task", batch.pk)
        ask(ada, "POST", "task_judgments", task["id"], data={"choice": "medium"})
    assert ask(ada, "POST", "next_task", batch.pk) is None
    own = ask(ada, "GET", "own_judgments", batch.pk)["results"]
    assert {row["document"]: row["grade"] for row in own} == {"10": 2, "9": 2, "é": 2}
    assert not {"is_check", "is_current", "seat"} & set(own[0])  # they would reveal hidden checks


def test_nobody_else_judges_the_task(scene: Scene, batch: Batch) -> None:
    task = ask(api(scene.ada), "POST", "next_task", batch.pk)

    for person in (scene.bob, scene.organizer):
        answer = call(api(person), "POST", "task_judgments", task["id"], data={"choice": "high"})
        assert answer.status_code == 404
    read_only = call(api(scene.ada, Scope.READ), "POST", "next_task", batch.pk)
    assert (read_only.status_code, read_only.json()["code"]) == (403, "missing-scope")


def test_machine_judges_and_gets_its_own_qrels(scene: Scene, organizer: Client, batch: Batch) -> None:
    slug, content = scene.track.slug, {"name": "Llama judge", "version": "3.1", "description": "A prompt."}
    machine = ask(organizer, "POST", "machines", slug, data=content)
    own = ask(organizer, "POST", "start_machine", machine["id"], data={"pool": scene.pool.pk})
    program = Client(headers={"Authorization": f"Bearer {machine['token']['text']}"})
    second = ask(organizer, "POST", "machine_tokens", machine["id"], data={"name": "second", "days": 7})
    ask(organizer, "POST", "revoke_machine_token", machine["id"], second["id"])
    other = Client(headers={"Authorization": f"Bearer {second['text']}"})
    scene.judge(batch, scene.ada, "high", "low", "low")
    for choice in ("high", "medium", "low"):
        task = ask(program, "POST", "next_task", own["id"])
        ask(program, "POST", "task_judgments", task["id"], data={"choice": choice})

    agreement = ask(organizer, "GET", "agreement", slug)
    chosen = {"pool": scene.pool.pk, "machine": machine["id"]}
    preview = ask(organizer, "POST", "preview_qrels", slug, data=chosen)
    version = ask(organizer, "POST", "freeze_qrels", slug, data=chosen | {"digest": preview["digest"]})
    people = ask(organizer, "POST", "freeze_qrels", slug, data={"pool": scene.pool.pk})
    changed = call(organizer, "POST", "freeze_qrels", slug, data=chosen | {"digest": "0" * 64})

    tokens = ask(organizer, "GET", "machine_tokens", machine["id"])["results"]
    assert [(each["name"], bool(each["revoked_at"])) for each in tokens] == [
        ("second", True),
        ("judging", False),
    ]
    assert call(other, "POST", "next_task", own["id"]).status_code == 401
    [compared] = agreement["machines"]
    assert (compared["name"], compared["pair"]["units"], compared["n_judged"]) == ("Llama judge 3.1", 3, 3)
    assert compared["pair"]["agreement"] == pytest.approx(2 / 3)
    assert agreement["pairs"] == []
    assert (version["machine"], people["machine"]) == ("Llama judge 3.1", "")
    assert (preview["n_judged"], version["n_judged"], people["n_judged"]) == (3, 3, 3)
    assert (changed.status_code, changed.json()["code"]) == (409, "judgments-changed")
    assert [row["id"] for row in ask(organizer, "GET", "machines", slug)["results"]] == [machine["id"]]
    listed = ask(organizer, "GET", "judgments", own["id"])["results"]
    assert {row["is_machine"] for row in listed} == {True}


def test_file_of_qrels_has_an_etag_and_is_hidden_before_the_release(scene: Scene, organizer: Client) -> None:
    qrels = scene.qrels()

    response = call(organizer, "GET", "qrels_file", qrels.pk)
    again = call(organizer, "GET", "qrels_file", qrels.pk, headers={"If-None-Match": response["ETag"]})
    detail = ask(organizer, "GET", "qrels", qrels.pk)

    assert response["Content-Type"].startswith("text/tab-separated-values")
    assert (
        response.content
        == b"A.1\t0\t10\t3\nA.1\t0\t9\t0\nA.10\t0\t10\t2\nA.10\t0\t9\t1\nA.2\t0\t10\t0\nA.2\t0\t\xc3\xa9\t2\n"
    )
    assert (again.status_code, again.content) == (304, b"")
    assert detail["qrels"]["sha256"] == qrels.sha256
    assert detail["topics"][0] == {"topic": "A.1", "n": 2, "counts": [1, 0, 0, 1]}
    hidden = call(api(scene.member), "GET", "qrels_file", qrels.pk)
    assert (hidden.status_code, hidden["Content-Type"]) == (404, "application/problem+json")


def test_leaderboard_is_scored_read_and_released(scored: Scene) -> None:
    organizer, member, slug = api(scored.organizer), api(scored.member), scored.track.slug
    answer = call(organizer, "POST", "score_runs", scored.qrels().pk)
    board_id = answer.json()["id"]
    jobs.run(int(answer["Location"].rstrip("/").rpartition("/")[2]))
    before = call(member, "GET", "leaderboard", board_id)
    scored.track.status = "closed"
    scored.track.save()
    released = ask(organizer, "POST", "release_leaderboard", board_id, data={"level": "participants"})
    board = ask(member, "GET", "leaderboard", board_id)
    evaluations = ask(member, "GET", "evaluations", board_id)["results"]
    others = ask(organizer, "GET", "evaluations", board_id)["results"]

    assert (answer.status_code, before.status_code) == (202, 404)
    assert (
        released["release"],
        [row["id"] for row in ask(member, "GET", "leaderboards", slug)["results"]],
    ) == (
        "participants",
        [board_id],
    )
    assert [(row["team"], row["tag"]) for row in board["runs"]] == [("Ours", "good"), ("Theirs", "poor")]
    assert len(board["runs"][0]["scores"]) == len(board["measures"])
    assert [row["tag"] for row in evaluations] == ["good"]  # another team's values by topic are not ours
    assert len(others) == 2
    means = ask(member, "GET", "evaluation", evaluations[0]["id"])["topics"]["all"]
    assert means[board["measures"][0]] == board["runs"][0]["scores"][0]["value"]
