"""Runs, pools and teams for programs."""

import gzip
import time
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import DateTimeField, Func
from django.db.models.functions import Now
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs import services as jobs
from pooling.models import Pool, Run
from pooling.runs import changes, services
from tests.helpers.api import api, call
from tests.helpers.factories import make_user
from tests.scoring.conftest import Scene, build_scene
from tracks.models import Deadline
from web.times import ARRIVAL

pytestmark = pytest.mark.django_db


@pytest.fixture
def scene(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> Scene:
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    settings.MEDIA_ROOT = tmp_path
    return build_scene()


LINES = b"".join(
    f"{code}\t10\t1\t9.5\tgood\n{code}\t9\t2\t8.5\tgood\n".encode() for code in ("A.1", "A.10", "A.2")
)
BROKEN = LINES.replace(b"A.10\t9\t2\t8.5\tgood\n", b"A.10\t9\t2\n")


def submit_raw(client: Client, content: bytes, *, name: str = "runs", query: str = "", **headers: str) -> Any:
    return client.generic(
        "POST",
        f"/api/v1/tracks/arq/runs/{'check/' if name == 'check_run' else ''}?{query or 'kind=primary'}",
        content,
        content_type="application/octet-stream",
        headers=headers,
    )


def submit_form(client: Client, content: bytes, **fields: object) -> Any:
    file = SimpleUploadedFile("mine.tsv", content)
    data = encode_multipart(BOUNDARY, {"kind": "primary", "file": file} | fields)
    return call(client, "POST", "runs", "arq", data=data, content_type=MULTIPART_CONTENT)


def stored(run: Run) -> bytes:
    with run.original.open("rb") as file:
        return bytes(file.read())


def test_member_submits_a_form(scene: Scene) -> None:
    response = submit_form(api(scene.member), LINES, tag="mine", is_manual="true", description="BM25")

    run = Run.objects.get()
    assert response.status_code == 201
    assert response["Location"] == response.json()["url"] == f"/api/v1/runs/{run.pk}/"
    assert (run.team, run.tag, run.is_manual, run.description) == (scene.ours, "mine", True, "BM25")
    assert run.file_name == "mine.tsv"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_member_submits_the_file_itself(scene: Scene, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(LINES)
    response = submit_raw(
        api(scene.member),
        packed,
        query="kind=alternate&team=OURS&uses=text",
        **{"Content-Disposition": 'attachment; filename="b.tsv"'},
    )

    run = Run.objects.get()
    assert response.status_code == 201
    assert (run.kind, run.tag, run.uses, run.file_name) == ("alternate", "good", "text", "b.tsv")
    assert stored(run) == packed


class ClosingBody(BytesIO):
    """The body of a request. The track closes while it is read."""

    def read(self, size: int | None = -1, /) -> bytes:
        Deadline.objects.filter(closes_at__gt=Now()).update(closes_at=StatementTimestamp())
        return super().read(size)


class StatementTimestamp(Func):
    template = "statement_timestamp()"
    output_field = DateTimeField()


def test_run_is_in_time_if_its_upload_began_before_the_deadline(scene: Scene) -> None:
    Deadline.objects.create(track=scene.track, closes_at=timezone.now() + timedelta(hours=1))
    client, address = api(scene.member), "/api/v1/tracks/arq/runs/?kind=primary"
    arrived = {ARRIVAL: time.monotonic()}  # as the server notes it
    body = {"wsgi.input": ClosingBody(LINES), "CONTENT_LENGTH": str(len(LINES)), **arrived}

    in_time = client.generic("POST", address, b"", **body, CONTENT_TYPE="application/octet-stream")
    after = submit_raw(client, LINES.replace(b"good", b"more"))

    deadline = Deadline.objects.get()
    assert in_time.status_code == 201, in_time.json()
    assert not in_time.json()["is_late"]
    assert Run.objects.get().submitted_at < deadline.closes_at <= timezone.now()
    assert (after.status_code, after.json()["code"]) == (409, "submission-refused")


def test_file_with_errors_is_refused_with_its_lines(scene: Scene) -> None:
    response = submit_raw(api(scene.member), BROKEN)

    members = response.json()
    assert (response.status_code, members["code"]) == (422, "run-refused")
    assert response["Content-Type"] == "application/problem+json"
    assert members["errors"][0]["line"] == 4
    assert members["errors"][0]["message"] in members["detail"]
    assert not Run.objects.exists()


def test_check_reports_and_stores_nothing(scene: Scene) -> None:
    client = api(scene.member)
    good, bad = (submit_raw(client, content, name="check_run").json() for content in (LINES, BROKEN))

    assert (good["is_acceptable"], good["n_lines"], good["tag"]) == (True, 6, "good")
    assert not bad["is_acceptable"]
    assert bad["errors"][0]["lines"][0]["number"] == 4
    assert not Run.objects.exists()


def test_refusals_name_the_reason(scene: Scene) -> None:
    client = api(scene.member)
    submit_raw(client, LINES)
    others = api(scene.other)

    again = submit_raw(client, LINES).json()
    taken = submit_raw(others, LINES).json()
    unknown_kind = submit_raw(client, LINES, query="kind=primary&team=theirs").json()
    unknown_field = submit_raw(client, LINES, query="kind=primary&rank=1").json()

    assert (again["status"], again["code"]) == (409, "same-bytes")
    assert (taken["status"], taken["code"]) == (409, "tag-taken")
    assert unknown_kind["errors"] == [{"field": "team", "code": "invalid", "message": "Name one of Ours."}]
    assert unknown_field["errors"][0]["field"] == "rank"


def test_taken_tag_is_an_error_next_to_those_of_the_file_and_its_run_can_be_replaced(scene: Scene) -> None:
    client = api(scene.member)
    submit_raw(client, LINES)

    refused = submit_raw(client, BROKEN, query="kind=primary&tag=good").json()
    checked = submit_raw(client, BROKEN, query="kind=primary&tag=good", name="check_run").json()
    new = submit_raw(client, LINES.replace(b"9.5", b"9.6"), query="kind=primary&replaces=good")
    none = submit_raw(client, LINES, query="kind=primary&tag=new&replaces=missing").json()

    assert [each["code"] for each in refused["errors"]][-1] == "tag-taken"
    assert refused["errors"][0]["line"] == 4
    assert checked["errors"][-1]["code"] == "tag-taken"
    assert checked["errors"][0]["lines"][0]["number"] == 4
    assert new.status_code == 201, new.json()
    assert list(Run.objects.order_by("pk").values_list("status", flat=True)) == ["withdrawn", "submitted"]
    assert (none["status"], "no submitted run “missing” to replace" in none["detail"]) == (409, True)


def test_lost_answer_of_a_submission_is_given_again(scene: Scene) -> None:
    client = api(scene.member)

    first, second = (submit_raw(client, LINES, **{"Idempotency-Key": "k"}) for _ in range(2))
    other = submit_raw(client, LINES + b"A.2\tx\t3\t1\tgood\n", **{"Idempotency-Key": "k"})

    assert first.json() == second.json()
    assert (first.status_code, second["Idempotency-Replayed"]) == (201, "true")
    assert other.status_code == 422
    assert Run.objects.count() == 1


def test_process_killed_after_a_submission_leaves_its_answer(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, submit = api(scene.member), services.submit

    def submit_and_die(**options: Any) -> Run:
        submit(**options)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(services, "submit", submit_and_die)
        with pytest.raises(SystemExit):
            submit_raw(client, LINES, **{"Idempotency-Key": "k"})
    again = submit_raw(client, LINES, **{"Idempotency-Key": "k"})

    assert (again.status_code, again["Idempotency-Replayed"]) == (201, "true")
    assert again.json()["id"] == Run.objects.get().pk
    assert again["Location"] == again.json()["url"]


def test_upload_above_the_limit_is_not_read(scene: Scene, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = settings.ANONYMOUS_UPLOAD_MAX_BYTES = 1024 * 1024
    large = b"x" * (1024 * 1024 + 1)

    with_token = submit_raw(api(scene.member), large)
    without = submit_raw(Client(), large)

    assert (with_token.status_code, without.status_code) == (413, 413)
    assert without["Content-Type"] == with_token["Content-Type"] == "application/problem+json"


def test_team_reads_describes_and_withdraws_its_run(scene: Scene) -> None:
    run = scene.submit(scene.ours, "good", "10 é 9")
    client, others = api(scene.member), api(scene.other)

    before = call(client, "GET", "run", run.pk)
    described = call(client, "PATCH", "run", run.pk, data={"description": "BM25"})
    stale = call(
        client, "PATCH", "run", run.pk, data={"description": "Late"}, headers={"If-Match": before["ETag"]}
    )
    fresh = call(client, "GET", "run", run.pk)
    newest = call(
        client, "PATCH", "run", run.pk, data={"description": "New"}, headers={"If-Match": fresh["ETag"]}
    )
    withdrawn = call(client, "POST", "withdraw_run", run.pk)

    assert before.json()["is_accepting_runs"]
    assert described.json()["description"] == "BM25"
    assert (stale.status_code, stale.json()["code"]) == (412, "precondition-failed")
    assert [change["text"] for change in newest.json()["changes"]] == ["", "BM25"]
    assert withdrawn.json()["status"] == "withdrawn"
    for method, name in (("GET", "run"), ("GET", "run_file"), ("POST", "withdraw_run")):
        assert call(others, method, name, run.pk).status_code == 404


def test_file_and_report_of_a_run(scene: Scene) -> None:
    run = scene.submit(scene.ours, "good", "10 é 9")
    client = api(scene.member)

    file = call(client, "GET", "run_file", run.pk, headers={"Accept": "application/octet-stream"})
    known = call(client, "GET", "run_file", run.pk, headers={"If-None-Match": file["ETag"]})
    report = call(client, "GET", "run_report", run.pk).json()

    assert b"".join(file) == stored(run)
    assert known.status_code == 304
    assert (report["is_acceptable"], report["sha256"]) == (True, run.sha256)


def test_order_of_runs_and_disqualification(scene: Scene) -> None:
    first, second = (scene.submit(scene.ours, tag, "10 é 9 " + tag) for tag in ("a", "b"))
    organizer = api(scene.organizer)

    moved = call(api(scene.member), "POST", "move_run", second.pk, data={"to": "up"})
    wrong = call(api(scene.member), "POST", "move_run", second.pk, data={"to": "aside"})
    early = call(organizer, "POST", "disqualify_run", first.pk, data={"reason": "copied"})
    call(organizer, "POST", "close_track", "arq")
    late = call(organizer, "POST", "disqualify_run", first.pk, data={"reason": "copied"})
    back = call(organizer, "POST", "reinstate_run", first.pk, data={"reason": "a mistake"})

    assert moved.json()["priority"] == 1
    assert wrong.json()["detail"] == "to: “aside” is not accepted. Accepted: up, down."
    assert early.status_code == 409
    assert (late.json()["status"], back.json()["status"]) == ("disqualified", "submitted")


def test_organizer_requests_a_pool_and_reads_where_its_units_come_from(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "x 9 10")
    client = api(scene.organizer)

    requested = call(client, "POST", "pools", "arq", data={"name": "P", "seed": 7, "depth": {"primary": 2}})
    pool = Pool.objects.get(name="P")
    jobs.run(pool.job_id)
    ready = call(client, "GET", "pool", pool.pk).json()
    entries = call(client, "GET", "pool_entries", pool.pk, data=None)
    of_topic = client.get(f"/api/v1/pools/{pool.pk}/entries/?topic=A.2&page_size=1").json()

    assert (requested.status_code, requested["Location"]) == (202, f"/api/v1/jobs/{pool.job_id}/")
    assert (ready["status"], ready["sha256"], ready["depth"]["primary"]) == (
        "ready",
        ready["record"]["sha256"],
        2,
    )
    runs = {
        (entry["topic"], entry["docno"], run["tag"], run["rank"])
        for entry in entries.json()["results"]
        for run in entry["runs"]
    }
    assert ("A.1", "9", "poor", 2) in runs
    assert len(runs) == 12
    assert of_topic["results"][0]["topic"] == "A.2"
    assert of_topic["next"]


def test_refused_pool_is_a_conflict(scene: Scene) -> None:
    client = api(scene.organizer)

    no_runs = call(client, "POST", "pools", "arq", data={"name": "P"})
    unknown = call(client, "POST", "pools", "arq", data={"deepness": 3, "seed": "x", "size": 1})
    no_pool = call(client, "POST", "pools", "arq", data={"name": "P", "tops_up": 999})

    assert (no_runs.status_code, no_runs.json()["code"]) == (409, "pool-refused")
    assert unknown.json()["errors"][0] == {
        "field": "deepness",
        "code": "unknown",
        "message": "Unknown field. Accepted: name, seed, depth, order, max_runs_per_team, tops_up.",
    }
    fields = [error["field"] for error in unknown.json()["errors"]]
    assert fields == ["deepness", "size", "name", "seed"]
    assert no_pool.status_code == 404


def test_organizer_creates_and_changes_a_team(scene: Scene) -> None:
    nora = make_user("nora")
    client = api(scene.organizer)

    created = call(client, "POST", "teams", "arq", data={"name": "New", "members": ["nora"]})
    nobody = call(client, "POST", "teams", "arq", data={"name": "Other", "members": ["nobody"]})
    team = created.json()["id"]
    renamed = call(client, "PATCH", "team", team, data={"name": "Newer", "members": [], "max_megabytes": 5})
    assessor = call(client, "PATCH", "team", team, data={"name": "Newest", "members": ["ada"]})

    assert (created.status_code, created.json()["members"]) == (201, ["nora"])
    assert nobody.json()["errors"][0]["message"] == "There is nobody named nobody."
    assert (renamed.json()["name"], renamed.json()["members"], renamed.json()["max_megabytes"]) == (
        "Newer",
        [],
        5,
    )
    assert assessor.status_code == 409
    assert call(client, "GET", "team", team).json()["name"] == "Newer"
    assert call(api(nora), "GET", "team", team).status_code == 404


def test_lists_make_as_many_queries_for_many_rows(scene: Scene) -> None:
    client = api(scene.organizer)
    counts: dict[str, list[int]] = {}
    for n in range(3):
        run = scene.submit(scene.ours if n else scene.theirs, f"t{n}", f"10 9 d{n}")
        changes.describe(run=run, description=f"text {n}", by=scene.organizer)
        scene.ours.members.add(make_user())
        pool = call(client, "POST", "pools", "arq", data={"name": f"P{n}", "seed": n}).json()
        jobs.run(Pool.objects.get(pk=pool["id"]).job_id)
        lists = [("runs", "arq"), ("pools", "arq"), ("teams", "arq"), ("pool_entries", pool["id"])]
        for name, argument in lists:
            with CaptureQueriesContext(connection) as queries:
                assert call(client, "GET", name, argument).status_code == 200
            counts.setdefault(name, []).append(len(queries))

    assert all(len(set(each[1:])) == 1 for each in counts.values()), counts
