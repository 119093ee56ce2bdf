"""A form that shows the rows of a table is judged as any other unit."""

import json
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assessment.imports import services as import_services
from assessment.models import Judgment
from tests.helpers.api import api, call
from tests.helpers.judging import accept
from tests.helpers.row_scenes import MARKED, TURKLE, build_rows

pytestmark = pytest.mark.django_db
TEXTS = "topic,docno,text\nt,1,Lovely\nt,2,<b>Sad</b> ${docno}\n"


def client_of(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def test_page_has_the_row_with_its_questions_in_their_places() -> None:
    scene = build_rows()
    task = accept(scene.batch, scene.ada)

    html = client_of(scene.ada).get(task.get_absolute_url()).content.decode()

    source = task.entry.docno
    places = [
        html.index(word)
        for word in (f"Caption {source}", 'data-question="adequacy"', 'data-question="fluent"')
    ]
    assert places == sorted(places)
    assert "${" not in html
    assert "<b>" not in html


def test_track_of_rows_offers_nothing_about_runs() -> None:
    scene = build_rows()

    html = client_of(scene.organizer).get(scene.track.get_absolute_url()).content.decode()

    for name in ("tracks:open_track", "pooling:runs", "scoring:leaderboards"):
        assert f'"{reverse(name, args=[scene.track.slug])}"' not in html
    assert reverse("scoring:qrels_list", args=[scene.track.slug]) in html


def test_answers_are_stored_without_a_grade_to_choose() -> None:
    scene = build_rows()
    task = accept(scene.batch, scene.ada)
    ada = client_of(scene.ada)
    form = {
        "choice": "answered", "comment": "", "request_id": str(uuid4()), "shown": "0", "answer-adequacy": "some",
        "answer-errors": "term", "answer-fluent": "yes",
    }  # fmt: skip

    missing = ada.post(task.get_absolute_url(), form | {"answer-fluent": ""})
    stored = ada.post(task.get_absolute_url(), form)

    assert (missing.status_code, stored.status_code) == (422, 302)
    judgment = Judgment.objects.get()
    assert (judgment.choice, judgment.grade) == ("answered", 0)
    assert judgment.answers == {"adequacy": "some", "errors": ["term"], "fluent": "yes"}


def test_program_gets_the_row_and_its_text_and_judges_it() -> None:
    scene = build_rows()
    task, ada = accept(scene.batch, scene.ada), api(scene.ada, "judge")

    unit = call(ada, "get", "task", task.pk).json()["unit"]
    wrong = call(
        ada, "post", "task_judgments", task.pk, data={"choice": "answered", "answers": {"fluent": "maybe"}}
    )
    data = {"choice": "answered", "answers": {"adequacy": "all", "fluent": "no"}}
    stored = call(ada, "post", "task_judgments", task.pk, data=data)

    assert unit["row"]["docno"] == unit["docno"] == task.entry.docno
    assert unit["row"]["source"] in unit["text"]
    assert "${" not in unit["text"]
    assert [question["key"] for question in unit["questions"]] == ["adequacy", "errors", "fluent", "better"]
    assert (wrong.status_code, stored.status_code) == (409, 201)
    assert Judgment.objects.get().answers == data["answers"]


def test_frame_gives_answers_as_they_are_and_questions_check_theirs() -> None:
    scene = build_rows(TURKLE, TEXTS)
    task = accept(scene.batch, scene.ada)
    ada = client_of(scene.ada)
    form = {"choice": "answered", "comment": "", "request_id": str(uuid4()), "shown": "0"}

    refused = [
        ada.post(task.get_absolute_url(), form | {"answers": answers}).status_code
        for answers in (
            '{"mood": ["ugly"]}',
            "{}",
            '{"note": "text"}',
            "[",
            '{"note": ["a\\u0000"]}',
            '{"mood": ["good", "bad"]}',
        )
    ]
    answers = {"mood": ["good"], "why": ["words", "tone"], "note": ["=1"], "probe": [""]}
    stored = ada.post(task.get_absolute_url(), form | {"answers": json.dumps(answers)})

    assert refused == [422] * 6
    assert stored.status_code == 302
    assert Judgment.objects.get().answers == {"mood": "good", "why": ["words", "tone"], "note": "=1"}
    again = ada.get(task.get_absolute_url()).content.decode()
    assert "&quot;mood&quot;: [&quot;good&quot;]" in again


def test_frame_has_a_policy_of_its_own_and_belongs_to_its_assessor() -> None:
    scene = build_rows(TURKLE, TEXTS)
    task = accept(scene.batch, scene.ada)
    address = reverse("assessment:task_frame", args=[task.pk])

    own = client_of(scene.ada).get(address)

    policy = own.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts allow-forms" in policy
    assert "frame-ancestors 'self'" in policy
    assert "connect-src" not in policy
    assert "X-Frame-Options" not in own.headers
    assert ("Lovely" in own.content.decode()) != ("&lt;b&gt;Sad&lt;/b&gt; ${docno}" in own.content.decode())
    assert client_of(scene.bob).get(address).status_code == 404
    assert Client().get(address).status_code == 302
    assert client_of(scene.ada).get(address, headers={"Sec-Fetch-Dest": "document"}).status_code == 403


SENTENCES = 'topic,docno,source,translation\nt,1,Gut,"Good \U0001f600 <b>day</b>,\n$sir$"\n'
TEXT = "Good \U0001f600 <b>day</b>,\n$sir$"


def test_parts_of_a_field_are_marked_checked_and_exported() -> None:
    scene = build_rows(MARKED, SENTENCES)
    task, ada = accept(scene.batch, scene.ada), client_of(scene.ada)
    page = ada.get(task.get_absolute_url()).content.decode()
    form = {
        "choice": "answered", "request_id": str(uuid4()), "shown": "0", "answer-adequacy": "some",
        "answer-errors": "term", "answer-fluent": "yes",
    }  # fmt: skip

    beyond = ada.post(task.get_absolute_url(), form | {"answer-wrong": f"19+{len(TEXT) - 18} = added"})
    stored = ada.post(
        task.get_absolute_url(), form | {"answer-wrong": f"{TEXT.index('$')}+5 = added, 7+3 = omitted"}
    )

    shown = "Good \U0001f600 &lt;b&gt;day&lt;/b&gt;,\n$sir$</span>"
    assert f'<span class="field-text" data-at="0" data-field="translation">{shown}' in page
    assert page.count('data-field="translation"') == 2  # of the text, and of its question
    assert (beyond.status_code, stored.status_code) == (422, 302)
    assert f"not inside the text, which has {len(TEXT)} characters" in beyond.content.decode()
    answers = Judgment.objects.get().answers
    assert [(TEXT[each["start"] :][: each["length"]], each["choice"]) for each in answers["wrong"]] == [
        ("<b>", "omitted"), ("$sir$", "added"),
    ]  # fmt: skip
    unit = call(api(scene.ada, "judge"), "get", "task", task.pk).json()["unit"]
    question = next(each for each in unit["questions"] if each["key"] == "wrong")
    assert (question["field"], question["max_characters"]) == ("translation", len(unit["row"]["translation"]))
    organizer = client_of(scene.organizer)
    export, to = (
        reverse("assessment:export", args=[scene.track.slug]),
        {"names": "codes", "comments": "without"},
    )
    in_columns = b"".join(organizer.get(export, to | {"to": "turkle"})).decode()
    lines = b"".join(organizer.get(export, to | {"to": "jsonl"})).decode()
    assert '"7+3 = omitted|19+5 = added"' in in_columns
    assert json.loads(lines)["answers"] == answers


def test_parts_of_an_imported_file_are_checked_against_the_text() -> None:
    scene = build_rows(MARKED, SENTENCES)
    start = {"start": 19, "length": 5, "choice": "added"}

    reports = []
    for part in (start | {"length": 6}, start):
        answers = {"adequacy": "some", "errors": ["term"], "fluent": "yes", "wrong": [part]}
        row = {"topic": "t", "docno": "1", "assessor": "ada", "choice": "answered", "answers": answers}
        upload = SimpleUploadedFile("judgments.jsonl", json.dumps(row).encode())
        reports.append(import_services.start(track=scene.track, upload=upload, by=scene.organizer).report)

    message = "The part 19+6 in “Mark the wrong words” is not inside the text, which has 24 characters."
    assert [report["complaints"] for report in reports] == [[[1, message]], []]
    assert reports[1]["new"] == 1
