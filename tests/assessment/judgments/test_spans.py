"""Marked parts of a document: what is stored, what is refused, and what programs and files have of it."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from assay.formats.judgments.reader import parse_judgments
from assay.html.sanitize import clean_body, plain
from assessment.imports import services as import_services
from assessment.models import Judgment
from corpus.models import Document
from tests.assessment.conftest import Scene, build_scene
from tests.assessment.judgments.test_protocol_keys import (
    change,
    client_of,
    judgments_of_csv,
    judgments_of_lines,
)
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept

pytestmark = pytest.mark.django_db

BODY = clean_body(
    "<p>Ham &amp; <em>eggs</em> \U0001f600 cost $x^2$ if x &lt; y. They are sold in the  shop.</p><p>A second one.</p>"
)
SPAN = """
[[judging.question]]
key = "wrong"
label = "Mark the wrong words"
kind = "span"
after = ["relevant"]
at_least = 1
at_most = 4
choice = [{ key = "added", label = "Added" }, { key = "omitted", label = "Omitted" }]

[qrels]
"""


def span_scene() -> Scene:
    """Ada marks parts of relevant documents, which have a formula and a character outside the first plane."""
    scene = build_scene("trec-adhoc")
    change(scene, "[qrels]\n", SPAN)
    Document.objects.update(body=BODY)
    return scene


@pytest.fixture
def marking(db: None) -> Scene:
    return span_scene()


def part(words: str, choice: str) -> dict[str, Any]:
    return {"start": plain(BODY).index(words), "length": len(words), "choice": choice}


def submit(scene: Scene, wrong: str, choice: str = "relevant") -> tuple[int, str, Judgment | None]:
    task = accept(scene.batch, scene.ada)
    fields = {"choice": choice, "answer-wrong": wrong, "request_id": str(uuid4()), "shown": "0"}
    response = client_of(scene.ada).post(task.get_absolute_url(), fields, HTTP_ACCEPT="application/json")
    return response.status_code, response.json().get("detail", ""), task.judgments.first()


def test_parts_are_stored_in_order_and_shown_again(marking: Scene) -> None:
    formula, eggs = part("cost $x^2$", "omitted"), part("eggs", "added")
    field = ",".join(f"{each['start']}+{each['length']}={each['choice']}" for each in (formula, eggs))

    status, _, stored = submit(marking, field)

    assert stored is not None
    assert (status, stored.answers) == (200, {"wrong": [eggs, formula]})
    page = client_of(marking.ada).get(stored.task.get_absolute_url()).content.decode()
    assert 'value="6+4 = added, 13+10 = omitted"' in page
    assert '<em><span data-at="6">eggs</span></em>' in page
    assert 'data-at="18" data-length="5">x^2</span>' in page
    own = client_of(marking.ada).get(reverse("assessment:own_judgments", args=[marking.batch.pk]))
    assert "Added 6+4, Omitted 13+10" in own.content.decode()
    [counts] = client_of(make_organizer()).get(marking.batch.get_absolute_url()).context["question_counts"]
    assert counts.answers == [("Added", 1), ("Omitted", 1)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("", "Answer “Mark the wrong words”"),
        ("6-4 = added", "“6-4 = added” in “Mark the wrong words” is not a start, a length and a choice"),
        ("6+4 = new", "“new” is not an answer to “Mark the wrong words” Use added, omitted."),
        ("6+0 = added", "The part 6+0 in “Mark the wrong words” has no character"),
        ("66+9 = added", "is not inside the text, which has 74 characters."),
        ("6+4 = added, 8+4 = added", "The part 8+4 in “Mark the wrong words” overlaps another part"),
        (",".join(f"{n}+1 = added" for n in range(5)), "takes 1 to 4 marked parts of the text; there are 5."),
    ],
)
def test_parts_that_cannot_be_in_the_text_are_refused(marking: Scene, wrong: str, message: str) -> None:
    assert len(plain(BODY)) == 74

    status, detail, stored = submit(marking, wrong)

    assert (status, stored) == (422, None)
    assert message in detail


def test_parts_with_different_choices_may_overlap(marking: Scene) -> None:
    assert submit(marking, "6+4 = added, 6+4 = omitted, 8+4 = omitted")[0] == 422
    assert submit(marking, "6+4 = added, 8+4 = omitted")[0] == 200


def test_document_without_text_has_nothing_to_mark(marking: Scene) -> None:
    Document.objects.update(body="")

    refused, kept = submit(marking, "0+1 = added"), submit(marking, "")

    assert refused[0] == 422
    assert kept[0] == 200


def test_programs_and_files_have_the_parts(marking: Scene) -> None:
    client, answers = api(marking.ada), {"wrong": [part("eggs", "added")]}
    task = call(client, "POST", "next_task", marking.batch.pk).json()
    [question] = task["unit"]["questions"]

    refused, kept = (
        call(client, "POST", "task_judgments", task["id"], data={"choice": "relevant", "answers": given})
        for given in ({"wrong": [{"start": 70, "length": 9, "choice": "added"}]}, answers)
    )

    assert (question["kind"], question["max_characters"]) == ("span", len(task["unit"]["text"]))
    assert task["unit"]["text"] == plain(BODY)
    assert "is not inside the text, which has 74 characters." in refused.json()["detail"]
    assert kept.json()["results"][0]["answers"] == answers
    for to, read in (("csv", judgments_of_csv), ("jsonl", judgments_of_lines)):
        file = call(
            api(make_organizer()), "GET", "export_judgments", marking.track.slug, QUERY_STRING=f"to={to}"
        )
        assert read(b"".join(file).decode("utf-8-sig"))["answers"] == answers


def test_exported_file_is_read_again_with_its_parts(marking: Scene) -> None:
    submit(marking, "6+4 = added, 8+4 = omitted")
    [judgment] = Judgment.objects.all()

    for to in ("csv", "jsonl"):
        file = call(
            api(make_organizer()), "GET", "export_judgments", marking.track.slug, QUERY_STRING=f"to={to}"
        )
        [row] = parse_judgments(b"".join(file), name=f"judgments.{to}").rows
        assert row.answers == judgment.answers


def test_parts_of_an_imported_file_are_inside_the_text_of_the_document(marking: Scene) -> None:
    submit(marking, "6+4 = added")
    judgment = Judgment.objects.get()
    row = {
        "topic": judgment.topic.code, "docno": judgment.docno, "assessor": "bob", "choice": "relevant", "batch": "New",
    }  # fmt: skip
    beyond, inside = (
        row | {"answers": {"wrong": [{"start": 70, "length": n, "choice": "added"}]}} for n in (9, 4)
    )

    for given, complaints in ((beyond, 1), (inside, 0)):
        upload = SimpleUploadedFile("judgments.jsonl", json.dumps(given).encode())
        source = import_services.start(track=marking.track, upload=upload, kind="dual", by=make_organizer())
        assert source.report["n_complaints"] == complaints, source.report
