"""Questions of a protocol: asked after its grades, checked, stored, shown and exported. BOLT has four."""

import csv
import io
import json
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from assay.errors import Refused
from assessment import errors
from assessment.judgments import services
from assessment.models import Judgment, Task
from corpus.models import Document
from tests.assessment.conftest import Scene, build_scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept

pytestmark = pytest.mark.django_db

ANSWERS = {"trans": "problematic", "chksrc": "yes", "generous": "no"}
JSON = {"HTTP_ACCEPT": "application/json"}


@pytest.fixture
def bolt(db: None) -> Scene:
    """Ada judges with the protocol of BOLT; no document has a language."""
    return build_scene(protocol="bolt-ir-p3")


def submit(task: Task, choice: str, answers: dict[str, Any], **fields: Any) -> Judgment:
    fields = {"request_id": uuid4()} | fields
    return services.submit(task=task, choice=choice, answers=answers, **fields)


def post(scene: Scene, task: Task, **fields: str) -> Any:
    client = Client()
    client.force_login(scene.ada)
    values = {"choice": "yes", "comment": "", "request_id": str(uuid4()), "seconds": "", "shown": "0"}
    return client.post(task.get_absolute_url(), values | fields, **JSON)


def as_fields(answers: dict[str, str]) -> dict[str, str]:
    return {f"answer-{key}": answer for key, answer in answers.items()}


def page_of(scene: Scene, task: Task) -> Any:
    client = Client()
    client.force_login(scene.ada)
    return client.get(task.get_absolute_url())


def test_page_asks_each_question_after_its_grades(bolt: Scene) -> None:
    page = page_of(bolt, accept(bolt.batch, bolt.ada))

    questions = page.context["questions"]
    assert [(shown.question.key, shown.question.after) for shown in questions] == [
        ("trans", ("yes", "maybe")),
        ("chksrc", ("yes", "maybe")),
        ("dialect", ("yes", "maybe", "no")),
        ("generous", ("yes", "maybe")),
    ]
    assert "How good is the English passage as a translation?" in page.content.decode()
    assert [choice.label for choice in questions[0].choices][:2] == ["Acceptable", "Problematic"]


def test_answers_are_stored_with_the_judgment_and_shown_again(bolt: Scene) -> None:
    task = accept(bolt.batch, bolt.ada)

    assert post(bolt, task, **as_fields(ANSWERS)).status_code == 200

    assert Judgment.objects.get().answers == ANSWERS
    shown = {shown.question.key: shown.text for shown in page_of(bolt, task).context["questions"]}
    assert shown == ANSWERS | {"dialect": ""}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"choice": "maybe"}, "Answer “How good is the English passage as a translation?”"),
        (
            as_fields(ANSWERS | {"trans": "superb"}),
            "Use acceptable, problematic, not-acceptable, not-applicable.",
        ),
        (as_fields(ANSWERS) | {"choice": "no"}, "or Mandarin Chinese: take its answer back."),
        (
            as_fields({"generous": "no"}) | {"choice": "no"},
            "“Did you give yes or maybe generously?” is asked only after Yes or Maybe: take its answer back.",
        ),
    ],
)
def test_missing_unknown_and_unasked_answers_are_refused(
    bolt: Scene, fields: dict[str, str], message: str
) -> None:
    Document.objects.update(language="cmn")
    answer = post(bolt, accept(bolt.batch, bolt.ada), **fields)

    assert answer.status_code == 422
    assert message in answer.json()["detail"]
    assert not Judgment.objects.exists()


def test_no_question_is_asked_after_other_grades(bolt: Scene) -> None:
    assert post(bolt, accept(bolt.batch, bolt.ada), choice="no").status_code == 200

    assert Judgment.objects.get().answers == {}


@pytest.mark.parametrize(
    ("language", "is_asked", "is_needed"), [("arz", True, True), ("cmn", False, False), ("", True, False)]
)
def test_question_for_a_language_follows_the_document(
    bolt: Scene, language: str, is_asked: bool, is_needed: bool
) -> None:
    Document.objects.update(language=language)
    task = accept(bolt.batch, bolt.ada)
    keys = [shown.question.key for shown in page_of(bolt, task).context["questions"]]

    without = post(bolt, task, **as_fields(ANSWERS))
    with_it = post(bolt, task, **as_fields(ANSWERS | {"dialect": "yes"}))

    assert ("dialect" in keys) is is_asked
    assert (without.status_code == 422) is is_needed
    assert (with_it.status_code == 422) is not is_asked


def test_a_question_that_the_protocol_does_not_have_is_refused(bolt: Scene) -> None:
    with pytest.raises(errors.AnswerRefused, match="it has trans, chksrc, dialect, generous"):
        submit(accept(bolt.batch, bolt.ada), "yes", ANSWERS | {"color": "red"})


def test_changed_answer_is_a_new_judgment_that_replaces_the_old_one(bolt: Scene) -> None:
    task = accept(bolt.batch, bolt.ada)
    first = submit(task, "yes", ANSWERS)

    second = submit(task, "yes", ANSWERS | {"generous": "yes"}, shown=first.pk)

    first.refresh_from_db()
    assert (second.replaces, first.is_current, first.answers) == (first, False, ANSWERS)
    assert second.answers["generous"] == "yes"


def test_same_submission_with_other_answers_is_not_a_repetition(bolt: Scene) -> None:
    task, request_id = accept(bolt.batch, bolt.ada), uuid4()
    sent = submit(task, "yes", ANSWERS, request_id=request_id)

    assert submit(task, "yes", {**ANSWERS, "dialect": ""}, request_id=request_id) == sent
    with pytest.raises(Refused, match="already submitted another judgment"):
        submit(task, "yes", ANSWERS | {"chksrc": "no"}, request_id=request_id)


def test_refused_page_without_scripts_keeps_the_answers(bolt: Scene) -> None:
    Document.objects.update(language="cmn")
    task = accept(bolt.batch, bolt.ada)
    client = Client()
    client.force_login(bolt.ada)

    page = client.post(
        task.get_absolute_url(),
        {"choice": "yes", "request_id": str(uuid4()), "answer-trans": "acceptable"},
    )

    assert "Answer “Did you consult the source text?”" in page.content.decode()
    assert page.context["questions"][0].text == "acceptable"


def test_batch_page_counts_the_answers(bolt: Scene) -> None:
    first = accept(bolt.batch, bolt.ada)
    submit(first, "yes", ANSWERS)
    submit(first, "yes", ANSWERS | {"trans": "acceptable"})
    submit(accept(bolt.batch, bolt.ada), "maybe", ANSWERS)
    submit(accept(bolt.batch, bolt.ada), "no", {})
    client = Client()
    client.force_login(make_organizer())

    page = client.get(bolt.batch.get_absolute_url())

    [trans, _, dialect, _] = page.context["question_counts"]
    assert (trans.n_asked, trans.answers[:2], trans.n_open) == (2, [("Acceptable", 1), ("Problematic", 1)], 0)
    assert dialect.n_open == 3  # of the citation with a no, too
    assert "Answers to questions" in page.content.decode()


def test_export_has_the_answers(bolt: Scene) -> None:
    submit(accept(bolt.batch, bolt.ada), "yes", ANSWERS)
    client = Client()
    client.force_login(make_organizer())

    answer = client.get(reverse("assessment:judgments_csv", args=[bolt.batch.pk]))

    text = b"".join(answer).decode("utf-8-sig")
    [row] = csv.DictReader(io.StringIO(text))
    assert (json.loads(row["answers"]), row["guidelines"]) == (ANSWERS, "")


def test_assessor_reads_their_answers_in_words(bolt: Scene) -> None:
    submit(accept(bolt.batch, bolt.ada), "yes", ANSWERS)
    client = Client()
    client.force_login(bolt.ada)

    page = client.get(reverse("assessment:own_judgments", args=[bolt.batch.pk])).content.decode()

    assert "Did you consult the source text?</span> Yes" in page
