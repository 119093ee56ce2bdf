"""A campaign from judging to the leaderboard through the API, by an organizer, a person and a machine."""

import gzip
import re
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assessment.models import Batch
from jobs import services as jobs
from scoring.leaderboards import releases
from tests.helpers.api import api, call
from tests.helpers.factories import make_track
from tests.helpers.runs import zipped
from tests.scoring.conftest import Scene
from web.models import Scope

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
        organizer, "POST", "assign_topics", batch_id, data={"changes": [{"topic": "A.1", "assessor": "zoe"}]}
    )
    ask(organizer, "POST", "assign_topics", batch_id, data={"changes": [{"topic": "A.1", "assessor": "ada"}]})
    ask(organizer, "POST", "share_topics", batch_id, data={"assessors": ["bob"]})
    ask(organizer, "PATCH", "batch", batch_id, data={"name": "First round", "minutes_allotted": 60})
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
    assert (detail["n_judged"], detail["n_units"]) == (0, 9)


def test_assessor_judges_revises_skips_and_undoes(scene: Scene, batch: Batch) -> None:
    ada = api(scene.ada, Scope.READ, Scope.JUDGE)
    task = ask(ada, "POST", "next_task", batch.pk)
    again = ask(ada, "POST", "next_task", batch.pk)
    first = {"choice": "high", "comment": "Proves it.", "seconds": 7, "request_id": str(uuid4())}
    [stored] = ask(ada, "POST", "task_judgments", task["id"], data=first)["results"]
    [repeated] = ask(ada, "POST", "task_judgments", task["id"], data=first)["results"]
    blind = call(ada, "POST", "task_judgments", task["id"], data={"choice": "low", "shown": 0})
    [revised] = ask(ada, "POST", "task_judgments", task["id"], data={"choice": "low", "shown": stored["id"]})[
        "results"
    ]
    wrong = call(ada, "POST", "task_judgments", task["id"], data={"choice": "great"})

    assert again["id"] == task["id"]
    assert task["unit"]["docno"] == "10"
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
    assert {row["docno"]: row["grade"] for row in own} == {"10": 2, "9": 2, "é": 2}
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
    program = Client(headers={"Authorization": f"Bearer {machine['token']['token']}"})
    second = ask(organizer, "POST", "machine_tokens", machine["id"], data={"name": "second", "days": 7})
    ask(organizer, "POST", "revoke_machine_token", machine["id"], second["id"])
    other = Client(headers={"Authorization": f"Bearer {second['token']}"})
    scene.judge(batch, scene.ada, "high", "low", "low")
    for choice in ("high", "medium", "low"):
        task = ask(program, "POST", "next_task", own["id"])
        ask(program, "POST", "task_judgments", task["id"], data={"choice": choice})

    agreement = ask(organizer, "GET", "agreement", slug)
    chosen = {"pool": scene.pool.pk, "machine": machine["id"]}
    preview = ask(organizer, "POST", "preview_qrels", slug, data=chosen)
    version = ask(organizer, "POST", "freeze_qrels", slug, data=chosen | {"sha256": preview["sha256"]})
    people = ask(organizer, "POST", "freeze_qrels", slug, data={"pool": scene.pool.pk})
    changed = call(organizer, "POST", "freeze_qrels", slug, data=chosen | {"sha256": "0" * 64})

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
    released = ask(organizer, "POST", "release_leaderboard", board_id, data={"released_to": "participants"})
    board = ask(member, "GET", "leaderboard", board_id)
    evaluations = ask(member, "GET", "evaluations", board_id)["results"]
    others = ask(organizer, "GET", "evaluations", board_id)["results"]

    assert (answer.status_code, before.status_code) == (202, 404)
    assert (
        released["released_to"],
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


def upload(client: Client, endpoint: str, *arguments: object, content: bytes, **fields: str) -> Any:
    file = SimpleUploadedFile("qrels.txt", content)
    return client.post(reverse(f"api:{endpoint}", args=arguments), {"file": file, **fields})


def run_job(answer: Any) -> None:
    """Run the job that an answer names."""
    jobs.run(int(answer["Location"].rstrip("/").rpartition("/")[2]))


def test_qrels_are_imported_exported_offered_and_archived(scene: Scene, organizer: Client) -> None:
    slug = scene.track.slug

    wrong = upload(organizer, "import_qrels", slug, content=b"A.1 0 10 9\nA.1 0 9\n")
    made = upload(organizer, "import_qrels", slug, content=b"A.1 0 10 3\nA.2 0 9 0\n", name="of 2020")

    assert wrong.status_code == 422
    assert [error["line"] for error in wrong.json()["errors"]] == [1, 2]
    version = made.json()
    assert (made.status_code, version["name"], version["n_judged"]) == (201, "of 2020", 2)
    package = organizer.get(reverse("api:export_qrels", args=[version["id"]]), {"to": "trec"})
    refused = organizer.get(reverse("api:export_qrels", args=[version["id"]]), {"to": "word"})
    assert package.content[:2] == b"PK"
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "to")
    next_year = make_track("next", collection=scene.track.collection)
    offered = ask(organizer, "POST", "offer_qrels", version["id"], data={"track": next_year.slug})
    assert (offered["kind"], offered["released_at"]) == ("qrels", None)
    ask(organizer, "POST", "archive_qrels", version["id"])
    assert ask(organizer, "GET", "qrels_of_track", slug)["results"] == []
    ask(organizer, "POST", "restore_qrels", version["id"])
    assert len(ask(organizer, "GET", "qrels_of_track", slug)["results"]) == 1


def test_a_topic_outside_the_track_is_named_with_its_invisible_characters(scene: Scene) -> None:
    content = "A.1 0 10 3\nA\ufeff.2 0 9 1\nA.3 0 9 1\n".encode()
    browser = Client()
    browser.force_login(scene.organizer)
    page = {"file": SimpleUploadedFile("q.txt", content)}

    by_program = upload(api(scene.organizer), "import_qrels", scene.track.slug, content=content)
    by_page = browser.post(reverse("scoring:import_qrels", args=[scene.track.slug]), page)

    message = (
        "2 topics of the file are not in ARQ: “A.3”, “A\\ufeff.2”. Correct the code, or delete the lines."
    )
    assert (by_program.status_code, by_program.json()["detail"]) == (409, message)
    assert (by_page.status_code, message in by_page.content.decode()) == (200, True)
    assert "Choose a file again" in by_page.content.decode(), "the browser has lost it"
    assert "Choose a file again" not in browser.get(by_page.request["PATH_INFO"]).content.decode()
    assert not scene.track.qrels.exists()


def test_qrels_are_imported_compressed_and_from_a_zip_of_finder_or_windows(
    scene: Scene, organizer: Client
) -> None:
    lines = [b"A.1 0 10 %d\n" % grade for grade in (1, 2, 3)]
    packed = [
        gzip.compress(lines[0]),
        zipped(("run/q.txt", lines[1]), ("run/.DS_Store", b"\0"), ("__MACOSX/run/._q.txt", b"\0")),
        zipped(("q\\q.txt", lines[2]), ("q\\desktop.ini", b"[x]")),
    ]
    book = zipped(("[Content_Types].xml", b"<a/>"), ("xl/workbook.xml", b"<a/>"))

    answers = [upload(organizer, "import_qrels", scene.track.slug, content=content) for content in packed]
    refused = upload(organizer, "import_qrels", scene.track.slug, content=book)

    assert [answer.status_code for answer in answers] == [201, 201, 201]
    assert refused.status_code in {400, 422}
    assert "This is an Excel workbook; save it as CSV." in refused.content.decode()


def test_release_of_older_qrels_names_topics_outside_the_track(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 9")
    version = scene.qrels()
    type(version).objects.filter(pk=version.pk).update(report=version.report | {"unknown_topics": ["A.99"]})
    board = scene.leaderboard(version)

    page = releases.release_page(board, "public")

    assert page.hindrances[0] == "1 topic of the qrels is not in ARQ and counted as 0 in every mean: “A.99”."


def test_leaderboard_is_analyzed_and_released_at_a_set_time(scored: Scene) -> None:
    organizer, board = api(scored.organizer), scored.leaderboard()

    answer = call(organizer, "POST", "analyses", board.pk, data={"kind": "topics"})
    other = call(organizer, "POST", "analyses", board.pk, data={"kind": "compare", "versions": [999]})
    empty = ask(organizer, "GET", "analysis", answer.json()["id"])["result"]
    run_job(answer)

    [listed] = ask(organizer, "GET", "analyses", board.pk)["results"]
    result = ask(organizer, "GET", "analysis", listed["id"])["result"]
    assert (answer.status_code, empty, result["analysis"]) == (202, {}, "topics")
    assert (other.status_code, other.json()["errors"][0]["field"]) == (400, "versions")
    terms = {"released_to": "public", "release_at": "2099-05-01T23:59", "zone": "AoE"}
    past = call(
        organizer, "PUT", "scheduled_release", board.pk, data=terms | {"release_at": "2020-01-01T00:00"}
    )
    nowhere = call(organizer, "PUT", "scheduled_release", board.pk, data=terms | {"zone": "Atlantis"})
    ask(organizer, "PUT", "scheduled_release", board.pk, data=terms)
    assert (past.status_code, nowhere.status_code) == (409, 400)
    assert ask(organizer, "GET", "scheduled_release", board.pk)["release_at"] == "2099-05-02T11:59:00Z"
    ask(organizer, "DELETE", "scheduled_release", board.pk)
    assert call(organizer, "GET", "scheduled_release", board.pk).status_code == 404


def test_batch_gets_checks_a_board_and_returned_non_answers(scene: Scene, organizer: Client) -> None:
    slug, batch = scene.track.slug, scene.batch({scene.ada: ["A.1"], scene.bob: ["A.2"]})
    settings = {"gold_percent": 50, "repeat_percent": 0, "repeat_after": 10}

    scene.judge(batch, scene.bob, "system-failure", "low")
    too_early = call(organizer, "PUT", "checks", batch.pk, data=settings)
    unknown = upload(organizer, "import_known_grades", slug, content=b"A.1 0 nowhere 3\n")
    stored = upload(organizer, "import_known_grades", slug, content=b"A.1 0 10 3\n")
    ask(organizer, "PUT", "checks", batch.pk, data=settings)

    assert (too_early.status_code, too_early.json()["code"]) == (409, "no-gold")
    assert (unknown.status_code, unknown.json()["errors"][0]["line"]) == (422, 1)
    assert (stored.json(), ask(organizer, "GET", "checks", batch.pk)) == ({"n": 1}, settings)
    [unit] = ask(organizer, "GET", "known_grades", slug)["results"]
    ask(organizer, "DELETE", "known_grade", slug, unit["id"])
    assert ask(organizer, "GET", "known_grades", slug)["results"] == []
    board = ask(organizer, "GET", "board", slug)
    assert (board["n_judged"], board["n_unsettled"]) == (2, 1)
    [judgment] = [
        row for row in ask(organizer, "GET", "judgments", batch.pk)["results"] if row["grade"] is None
    ]
    without = call(organizer, "POST", "return_non_answer", judgment["id"], data={})
    ask(organizer, "POST", "return_non_answer", judgment["id"], data={"reason": "It can be read."})
    assert without.status_code == 400
    assert ask(organizer, "GET", "board", slug)["n_judged"] == 1
    event = ask(organizer, "GET", "events")["results"][0]
    assert (event["action"], event["created_by"], event["via"]) == ("judgment.returned", "olga", "api")


def test_training_round_is_discussed_through_the_api(scene: Scene, organizer: Client) -> None:
    batch = scene.batch({scene.ada: ["A.1"], scene.bob: ["A.1"]}, kind=Batch.Kind.TRAINING)
    scene.judge(batch, scene.ada, "high", "low", "low")
    scene.judge(batch, scene.bob, "medium", "low", "low")
    ask(organizer, "POST", "close_batch", batch.pk)

    hidden = call(api(scene.ada), "GET", "discussion", batch.pk)
    ask(organizer, "POST", "share_discussion", batch.pk, data={"discussion": "named"})
    outcome = {"topic": "A.1", "docno": "10", "grade": 3, "text": "It proves it."}
    ask(organizer, "POST", "set_outcome", batch.pk, data=outcome)
    wrong = call(organizer, "POST", "set_outcome", batch.pk, data=outcome | {"grade": 7})

    assert (hidden.status_code, wrong.status_code, wrong.json()["code"]) == (404, 409, "unknown-grade")
    first = ask(api(scene.ada), "GET", "discussion", batch.pk)["results"][0]
    assert (first["docno"], first["agreed_grade"], first["text"]) == ("10", 3, "It proves it.")
    assert sorted(answer["grade"] for answer in first["answers"]) == [2, 3]
    assert ask(organizer, "POST", "add_agreed_grades", scene.track.slug) == {"n": 1}


def test_pool_is_previewed_and_assessors_and_members_leave(scored: Scene) -> None:
    organizer, slug, team = api(scored.organizer), scored.track.slug, scored.ours.pk

    before = ask(organizer, "GET", "preview_pool", slug)
    answer = call(organizer, "POST", "preview_pool", slug, data={"max_runs_per_team": 1})
    run_job(answer)
    after = organizer.get(
        reverse("api:preview_pool", args=[slug]), {"max_runs_per_team": 1, "rate": 36}
    ).json()

    assert (before["status"], before["depths"], answer.status_code) == (None, [], 202)
    assert (after["status"], after["n_runs"]) == ("done", 2)
    assert [row["hours"] for row in after["depths"]] == [row["n"] / 100 for row in after["depths"]]
    refused = call(api(scored.stranger), "PATCH", "team_member", team, "mia", data={"is_contact": True})
    ask(organizer, "PATCH", "team_member", team, "mia", data={"is_contact": True, "may_submit": False})
    ask(api(scored.member), "POST", "leave_team", team)
    assert refused.status_code == 404
    assert "mia" not in ask(organizer, "GET", "team", team)["members"]
    groups = call(organizer, "PUT", "assessor_groups", slug, data={"groups": {"ada": "students"}})
    assert (groups.status_code, "students" in groups.json()["detail"]) == (409, True)
    scored.batch({scored.ada: ["A.1"]})
    ask(organizer, "DELETE", "assessor", slug, "ada")
    assert "ada" not in [row["username"] for row in ask(organizer, "GET", "assessors", slug)["results"]]


def content_of(answer: Any) -> bytes:
    assert answer.status_code == 200
    return b"".join(answer)


def test_programs_get_the_files_of_the_pages(scene: Scene, organizer: Client) -> None:
    first = scene.batch({scene.ada: ["A.1"], scene.bob: ["A.1"]}, kind=Batch.Kind.TRAINING)
    scene.judge(first, scene.ada, "high", "low", "low")
    scene.judge(first, scene.bob, "medium", "low", "low")
    training = {"round": f"batch-{first.pk}"}
    page, slug = Client(), scene.track.slug
    page.force_login(scene.organizer)
    pairs: list[tuple[str, str, list[object], dict[str, str]]] = [
        ("disagreements", "disagreements_csv", [slug], training | {"rule": "any"}),
        ("board_table", "board_tsv", [slug, "assessors"], {}),
        ("judged_differently", "differences_csv", [slug], {}),
        ("check_results", "check_results_tsv", [slug], {}),
        ("export_judgments", "export", [slug], {"to": "jsonl", "names": "codes", "comments": "without"}),
    ]

    files = {}
    for name, of_page, arguments, query in pairs:
        files[name] = content_of(organizer.get(reverse(f"api:{name}", args=arguments), query))
        expected = content_of(page.get(reverse(f"assessment:{of_page}", args=arguments), query))
        assert files[name] == expected, name

    assert files["disagreements"].count(b"A.1,10") == 2  # Ada's grade and Bob's
    assert len(files["export_judgments"].splitlines()) == 6
    assert not re.search(rb"\bada\b", files["export_judgments"])
    named = {"names": "usernames", "comments": "with"}
    address = reverse("api:export_judgments", args=[slug])
    assert content_of(organizer.get(address, named)).count(b"ada") == 3
    wrong = organizer.get(address, {"names": "faces"})
    unknown = organizer.get(reverse("api:disagreements", args=[slug]), {"rule": "worst"})
    missing = organizer.get(reverse("api:board_table", args=[slug, "weeks"]))
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "names")
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (400, "rule")
    assert (missing.status_code, api(scene.ada).get(address).status_code) == (404, 403)


def test_programs_get_the_tables_of_a_leaderboard(scored: Scene) -> None:
    scored.track.topics.update(labels={"difficulty": "easy"})
    board = scored.leaderboard()
    organizer, page = api(scored.organizer), Client()
    page.force_login(scored.organizer)

    for name, of_page, arguments in (
        ("leaderboard_classes", "scoring:classes_file", [board.pk]),
        ("report", "analyses:report_table", [board.pk, "units"]),
    ):
        kind = ["tsv"] if name == "report" else []
        content = content_of(organizer.get(reverse(f"api:{name}", args=arguments)))
        assert content == content_of(page.get(reverse(of_page, args=arguments + kind))), name
        assert content.count(b"\n") > 1
    missing = [("report", [board.pk, "nothing"]), ("leaderboard_groups", [board.pk])]
    answers = [organizer.get(reverse(f"api:{name}", args=arguments)) for name, arguments in missing]
    assert [answer.status_code for answer in answers] == [404, 404]
    member = api(scored.member).get(reverse("api:leaderboard_classes", args=[board.pk]))
    assert member.status_code == 404  # hidden


def test_released_file_is_kept_by_caches(scene: Scene, client: Client) -> None:
    qrels = scene.qrels()
    address = f"/api/v1/qrels/{qrels.pk}/file/"
    scene.submit(scene.ours, "good", "10 11")

    hidden = api(scene.organizer).get(address)
    scene.leaderboard(qrels, release="public")
    released = client.get(address)

    assert "private" in hidden["Cache-Control"]
    assert released["Cache-Control"] == "public, max-age=86400, immutable"
    assert client.get(address, headers={"If-None-Match": released["ETag"]}).status_code == 304


def test_released_files_of_pages_and_api_are_kept_for_visitors_only(scene: Scene, client: Client) -> None:
    qrels = scene.qrels()
    scene.submit(scene.ours, "good", "10 11")
    board = scene.leaderboard(qrels, release="public")
    addresses = [
        reverse("scoring:leaderboard_file", args=[board.pk, "tsv"]),
        reverse("scoring:qrels_file", args=[qrels.pk]),
        reverse("scoring:classes_file", args=[board.pk]),
        reverse("api:leaderboard_file", args=[board.pk]),
        reverse("api:leaderboard_classes", args=[board.pk]),
    ]
    kept = [client.get(address) for address in addresses]
    again = [
        client.get(address, headers={"If-None-Match": first["ETag"]})
        for address, first in zip(addresses, kept, strict=True)
    ]
    program = api(scene.organizer)
    client.force_login(scene.member)
    of_users = [(program if "/api/" in address else client).get(address) for address in addresses]

    assert {each["Cache-Control"] for each in kept} == {"public, max-age=300"}
    assert not any("Expires" in each for each in kept)
    assert {each.status_code for each in again} == {304}
    assert {each["Cache-Control"] for each in again} == {"public, max-age=300"}
    assert all("no-store" in each["Cache-Control"] for each in of_users)
