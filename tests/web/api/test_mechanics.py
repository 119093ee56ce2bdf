"""Mechanics of all endpoints: problems, pages, ETags and repeated requests."""

import base64
import gzip
import hashlib
import json
import re
import uuid
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections
from django.test import Client
from django.urls import reverse

from jobs.models import Job
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_track, make_user
from tests.helpers.judging import make_project_import, make_team
from web.api import idempotency
from web.models import KeptAnswer

pytestmark = pytest.mark.django_db
PROBLEM = "application/problem+json"


def make_job(**fields: object) -> Job:
    return Job.objects.create(**{"kind": "tests.work", "title": "Work"} | fields)


def test_errors_are_problems() -> None:
    client = api(make_organizer())
    job = make_job()
    responses = {
        401: Client().get("/api/v1/jobs/"),
        404: client.get("/api/v1/jobs/999999/"),
        405: client.put("/api/v1/jobs/"),
        406: client.get("/api/v1/jobs/", headers={"Accept": "text/html"}),
        409: call(client, "POST", "retry_job", job.pk),
        400: client.get("/api/v1/jobs/?page_size=0"),
    }

    for status, response in responses.items():
        members = response.json()
        assert (response.status_code, response["Content-Type"]) == (status, PROBLEM)
        assert members["status"] == status
        assert members["type"] == f"/help/reference/api.html#status-{status}"
        assert members["detail"].endswith(".")
    assert responses[409].json()["code"] == "refused"
    assert "Only a failed job can be restarted" in responses[409].json()["detail"]


@pytest.mark.parametrize("path", ["/api/v1/nothing/", "/api/v1/jobs", "/api/v1/jobs/1%00/"])
def test_address_without_endpoint_is_a_problem(path: str) -> None:
    client = Client(enforce_csrf_checks=True)

    for response in (client.get(path), client.post(path)):
        assert response.status_code in {400, 404}
        assert response["Content-Type"] == PROBLEM


def test_endpoint_lists_the_methods_that_it_has() -> None:
    response = Client().options("/api/v1/tracks/")

    assert (response.status_code, response["Content-Type"]) == (405, PROBLEM)
    assert response["Allow"] == "GET, POST, HEAD"


@pytest.mark.parametrize(
    "query", ["sort=1", "cursor=x", "cursor=cD1hYmM%3D", "cursor=cD0lMDA%3D", "page_size=501"]
)
def test_parameter_that_would_be_ignored_is_an_error(query: str) -> None:
    make_job()

    response = api(make_organizer()).get(f"/api/v1/jobs/?{query}")

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == query.partition("=")[0]


def test_pages_contain_each_row_once() -> None:
    jobs = {make_job().pk for _ in range(5)}
    client = api(make_organizer())
    ids, url = [], "/api/v1/jobs/?page_size=2"

    while url:
        page = client.get(url).json()
        ids += [job["id"] for job in page["results"]]
        make_job()  # newer rows shift nothing
        url = page["next"]

    assert ids == sorted(jobs, reverse=True)


def test_unchanged_content_is_not_sent_again() -> None:
    client, job = api(make_organizer()), make_job()
    first = call(client, "GET", "job", job.pk)

    same = call(client, "GET", "job", job.pk, headers={"If-None-Match": first["ETag"]})
    job.state = Job.State.DONE
    job.save()
    other = call(client, "GET", "job", job.pk, headers={"If-None-Match": first["ETag"]})

    assert (same.status_code, same.content) == (304, b"")
    assert (other.status_code, other.json()["status"]) == (200, "done")
    assert "no-store" in first["Cache-Control"]


def repeat(client: Client, job: Job, key: str) -> object:
    return call(client, "POST", "retry_job", job.pk, headers={"Idempotency-Key": key})


def test_repeated_request_gets_the_answer_of_the_first() -> None:
    client, job = api(make_organizer()), make_job(state=Job.State.FAILED)
    other = make_job(state=Job.State.FAILED)
    key = str(uuid.uuid4())

    first, second, reused = repeat(client, job, key), repeat(client, job, key), repeat(client, other, key)

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == second.json()
    assert first["Location"] == second["Location"] == f"/api/v1/jobs/{job.pk}/"
    assert second["Idempotency-Replayed"] == "true"
    assert (reused.status_code, reused.json()["code"]) == (422, "key-reused")


def test_refused_request_may_be_tried_again_with_its_key() -> None:
    client, job = api(make_organizer()), make_job()
    refused = repeat(client, job, "k").status_code
    Job.objects.update(state=Job.State.FAILED)

    assert (refused, repeat(client, job, "k").status_code) == (409, 202)


def test_keys_of_two_users_are_different() -> None:
    first, second = make_job(state=Job.State.FAILED), make_job(state=Job.State.FAILED)

    statuses = [repeat(api(make_organizer()), job, "k").status_code for job in (first, second)]

    assert statuses == [202, 202]


@pytest.mark.parametrize("key", ["", "é", "x" * 256])
def test_key_must_be_short_text(key: str) -> None:
    assert repeat(api(make_organizer()), make_job(), key.encode().decode("latin-1")).status_code == 400


def test_request_that_runs_already_is_refused() -> None:
    olga, job = make_organizer(), make_job(state=Job.State.FAILED)
    other = connections.create_connection("default")
    original = idempotency.connection
    idempotency.connection = other  # type: ignore[assignment]
    try:
        with idempotency.Key(olga.pk, "k", digest="", secrets=()).locked():
            idempotency.connection = original  # type: ignore[assignment]
            response = repeat(api(olga), job, "k")
            idempotency.connection = other  # type: ignore[assignment]
    finally:
        idempotency.connection = original  # type: ignore[assignment]
        other.close()

    assert (response.status_code, response.json()["code"]) == (409, "in-progress")
    assert response["Retry-After"] == "1"


def test_expired_answers_are_deleted() -> None:
    client, job = api(make_organizer()), make_job(state=Job.State.FAILED)
    repeat(client, job, "k")
    KeptAnswer.objects.update(expires_at="2020-01-01T00:00Z")

    idempotency.delete_expired()

    assert not KeptAnswer.objects.exists()


def test_stranger_sees_only_their_jobs() -> None:
    sam = make_user("sam")
    own, other = make_job(created_by=sam), make_job()
    client = api(sam)

    listed = [job["id"] for job in call(client, "GET", "jobs").json()["results"]]

    assert listed == [own.pk]
    assert call(client, "GET", "job", other.pk).status_code == 404
    assert call(client, "POST", "retry_job", own.pk).status_code == 403


def test_list_is_searched_for_each_word() -> None:
    client = api(make_organizer())
    for title in ("Import Owls", "Build a pool of owls", "Build another"):
        make_job(title=title)

    def titles(query: str) -> list[str]:
        return [row["title"] for row in call_list(client, query).json()["results"]]

    assert titles("search=OWLS") == ["Build a pool of owls", "Import Owls"]
    assert titles("search=owls+build&status=queued") == ["Build a pool of owls"]
    assert titles("search=100%25") == []
    refused = call_list(client, "search=" + "+".join("abcdefghijk"))
    assert refused.json()["errors"][0]["message"] == "More than 10 words."


def call_list(client: Client, query: str) -> Any:
    return client.get(f"/api/v1/jobs/?{query}")


def test_answer_has_the_digest_of_its_content() -> None:
    answer = api(make_organizer()).get("/api/v1/jobs/")

    digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    assert answer["Repr-Digest"] == f"sha-256=:{digest}:"


@pytest.mark.parametrize("bad", ["\0", "\ud800", "x\udfff"])
@pytest.mark.parametrize("place", ["key", "nested key", "value", "value of a list", "whole"])
def test_text_that_cannot_be_stored_is_an_error_wherever_it_is(place: str, bad: str) -> None:
    imported = make_project_import(make_organizer())
    contents: dict[str, Any] = {
        "key": {bad: "x"},
        "nested key": {"titles": {bad: "x"}},
        "value": {"titles": {"x": bad}},
        "value of a list": {"accounts": [{"x": [bad]}]},
        "whole": bad,
    }

    client = api(imported.created_by)
    answer = call(client, "PATCH", "project_import", imported.pk, data=contents[place])

    assert (answer.status_code, answer["Content-Type"]) == (400, PROBLEM)
    assert "a character that cannot be stored: NUL" in answer.json()["errors"][0]["message"]


def test_name_of_a_file_that_cannot_be_stored_is_an_error() -> None:
    organizer = make_organizer()
    track = make_track()
    make_team(track)

    answer = api(organizer).post(
        f"/api/v1/tracks/{track.slug}/runs/",
        b"x",
        content_type="application/octet-stream",
        headers={"Content-Disposition": "attachment; filename*=UTF-8''a%00b.zip"},
    )

    assert answer.status_code == 400
    assert "The name of the file has" in answer.json()["detail"]


@pytest.mark.parametrize("depth", [51, 450, 875, 100_000])
@pytest.mark.parametrize("ends", ["[]", ('{"a":', "}")])
def test_json_that_is_nested_too_deeply_is_refused(depth: int, ends: Any) -> None:
    client = api(make_organizer())
    content = ends[0] * depth + ("1" if ends[1] == "}" else "") + ends[1] * depth

    responses = [
        client.post(
            path, content, content_type="application/json", headers={"Idempotency-Key": uuid.uuid4().hex}
        )
        for path in ("/api/v1/tracks/", "/api/v1/tokens/")
    ]

    for response in responses:
        assert response.status_code == 400
        assert response.json()["detail"].startswith("The JSON is nested too deeply")


def test_body_that_is_too_large_is_refused_in_words_of_ours(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 2 * 1024 * 1024, 100
    organizer = make_organizer()
    client = Client(enforce_csrf_checks=True)
    client.force_login(organizer)
    text = {"description": "x" * 3 * 1024 * 1024}

    page = client.post("/tracks/new/", text)
    fields = client.post("/tracks/new/", {f"field-{n}": "x" for n in range(101)})
    programs = [
        Client().post("/login/", text, headers={"Accept": "text/html"}),
        api(organizer).post("/api/v1/tracks/", text, content_type="application/json"),
    ]

    assert page.status_code == 413
    assert "The request has more than 2 MB outside of files." in page.content.decode()
    assert fields.status_code == 413
    assert "The form has more than 100 fields." in fields.content.decode()
    assert [response.status_code for response in programs] == [413, 413]
    assert "MB" in programs[1].json()["detail"]


def test_page_has_the_number_of_all_rows_that_match() -> None:
    for title in ("owl", "owl", "owl", "cat"):
        make_job(title=title)
    client = api(make_organizer())

    first = call_list(client, "search=owl&page_size=2").json()
    second = client.get(first["next"]).json()

    assert [len(page["results"]) for page in (first, second)] == [2, 1]
    assert [first["total"], second["total"], call_list(client, "").json()["total"]] == [3, 3, 4]


def test_json_is_compressed_for_a_program_that_asks_and_its_etag_still_counts() -> None:
    organizer = make_organizer()
    track = make_track(description="owls " * 100)
    client, address = api(organizer), reverse("api:track", args=[track.slug])

    plain = client.get(address)
    small = client.get(address, headers={"Accept-Encoding": "gzip"})
    etag = small["ETag"]
    same = client.get(address, headers={"If-None-Match": etag})
    changed = client.patch(
        address, {"name": "X"}, content_type="application/json", headers={"If-Match": etag}
    )
    late = client.patch(address, {"name": "Y"}, content_type="application/json", headers={"If-Match": etag})

    assert (small["Content-Encoding"], small["ETag"]) == ("gzip", f"W/{plain['ETag']}")
    assert json.loads(gzip.decompress(small.content)) == plain.json()
    digest = base64.b64encode(hashlib.sha256(small.content).digest()).decode()
    assert small["Repr-Digest"] == f"sha-256=:{digest}:"
    assert len(small.content) < len(plain.content)
    assert (same.status_code, changed.status_code, late.status_code) == (304, 200, 412)


def test_answers_say_how_many_requests_are_left(settings: Any) -> None:
    cache.clear()
    settings.API_REQUESTS_PER_MINUTE, settings.API_VISITOR_REQUESTS_PER_MINUTE = 2, 60
    client = api(make_organizer())

    answers = [client.get("/api/v1/jobs/") for _ in range(3)]
    visitor = Client().get("/api/v1/tracks/")

    assert {answer["RateLimit-Policy"] for answer in answers} == {'"user";q=2;w=60'}
    left = [re.fullmatch(r'"user";r=(\d);t=\d+', answer["RateLimit"]) for answer in answers]
    assert [match and match[1] for match in left] == ["1", "0", "0"]
    assert answers[2].status_code == 429
    assert visitor["RateLimit-Policy"] == '"address";q=60;w=60'
