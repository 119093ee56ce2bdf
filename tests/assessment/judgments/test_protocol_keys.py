"""Keys of a protocol that concern judging change what the pages do.

`assay/protocols/test_effects.py` names the test of each key; those of other keys are where their pages have tests.
"""

import csv
import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from assay_extensions.machines.work.answers import BadAnswer, read_answer
from assay_extensions.machines.work.batches import rules_of
from assessment.models import Batch
from tests.assessment.conftest import Scene, build_scene
from tests.assessment.planning.test_grid import hidden
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.judging import accept, judge, judge_all, make_batch

pytestmark = pytest.mark.django_db


def client_of(user: object) -> Client:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client


def change(scene: Scene, old: str, new: str) -> None:
    """Replace a line of the protocol of the scene."""
    stored = scene.track.protocol
    assert old in stored.text
    stored.text = stored.text.replace(old, new)
    stored.save(update_fields=["text"])


def assert_replaced(scene: Scene, old: str, new: str, before: str, after: str) -> None:
    """Assert that a change of the protocol replaces a part of the page that judges."""
    address, ada = accept(scene.batch, scene.ada).get_absolute_url(), client_of(scene.ada)
    first = ada.get(address).content.decode()

    change(scene, old, new)

    second = ada.get(address).content.decode()
    assert [before in html for html in (first, second)] == [True, False]
    assert [after in html for html in (first, second)] == [False, True]


@pytest.mark.parametrize(
    ("protocol", "old", "new", "before", "after"),
    [
        ("arqmath-2020-task1", 'key = "high"', 'key = "top"', 'value="high"', 'value="top"'),
        ("arqmath-2020-task1", 'label = "High"', 'label = "Top"', ">High<", ">Top<"),
        ("arqmath-2020-task1", "Sufficient to answer", "Fit to answer", "Sufficient to", "Fit to answer"),
        ("arqmath-2020-task1", 'shortcut = "3"', 'shortcut = "q"', 'data-key="3"', 'data-key="q"'),
        ("arqmath-2020-task1", 'key = "do-not-know"', 'key = "no"', 'value="do-not-know"', 'value="no"'),
        ("arqmath-2020-task1", 'label = "Do not know"', 'label = "No idea"', ">Do not know<", ">No idea<"),
        ("arqmath-2020-task1", "You cannot tell", "Nobody can tell", "You cannot tell", "Nobody can tell"),
        ("arqmath-2020-task1", 'shortcut = "u"', 'shortcut = "q"', 'data-key="u"', 'data-key="q"'),
        ("bolt-ir-p3", 'key = "trans"', 'key = "words"', "answer-trans", "answer-words"),
        ("bolt-ir-p3", "Did you consult", "Did you read", "Did you consult", "Did you read"),
        ("bolt-ir-p3", '"Problematic"', '"Doubtful"', "Problematic", "Doubtful"),
    ],
    ids=[
        *(f"grade.{key}" for key in ("key", "label", "definition", "shortcut")),
        *(f"non_answer.{key}" for key in ("key", "label", "definition", "shortcut")),
        *(f"question.{key}" for key in ("key", "label", "choice.label")),
    ],
)
def test_choices_and_questions_of_the_page_are_those_of_the_protocol(
    protocol: str, old: str, new: str, before: str, after: str
) -> None:
    assert_replaced(build_scene(protocol), old, new, before, after)


@pytest.mark.parametrize(("after", "status"), [('after = ["yes", "maybe"]', 422), ('after = ["maybe"]', 302)])
def test_questions_are_asked_after_the_grades_that_they_name(after: str, status: int) -> None:
    scene = build_scene("bolt-ir-p3")
    change(scene, 'after = ["yes", "maybe"]', after)
    form = {"choice": "yes", "comment": "", "request_id": str(uuid4()), "shown": "0"}

    answer = client_of(scene.ada).post(accept(scene.batch, scene.ada).get_absolute_url(), form)

    assert answer.status_code == status


def test_value_of_a_grade_is_the_grade_of_the_judgment(scene: Scene) -> None:
    change(scene, "value = 3", "value = 7")
    form = {"choice": "high", "comment": "", "request_id": str(uuid4()), "shown": "0"}

    client_of(scene.ada).post(accept(scene.batch, scene.ada).get_absolute_url(), form)

    file = client_of(make_organizer()).get(reverse("assessment:judgments_csv", args=[scene.batch.pk]))
    [row] = csv.DictReader(StringIO(b"".join(file).decode("utf-8-sig")))
    assert (row["choice"], row["grade"]) == ("high", "7")


@pytest.mark.parametrize(("value", "status"), [("true", 422), ("false", 302)])
def test_needs_comment_refuses_a_non_answer_without_one(scene: Scene, value: str, status: int) -> None:
    change(scene, "needs_comment = true", f"needs_comment = {value}")
    task = accept(scene.batch, scene.ada)
    form = {"choice": "do-not-know", "comment": "", "request_id": str(uuid4()), "shown": "0"}

    answer = client_of(scene.ada).post(task.get_absolute_url(), form)

    assert answer.status_code == status
    assert task.judgments.exists() == (status == 302)


@pytest.mark.parametrize(("level", "n"), [(1, 0), (2, 3), (3, 0)])
def test_binary_from_divides_the_grades_into_two_classes(scene: Scene, level: int, n: int) -> None:
    change(scene, "binary_from = 2", f"binary_from = {level}")
    for _ in range(3):
        judge(accept(scene.batch, scene.ada), "medium")
    judge_all(make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL), scene.bob, "low")
    organizer = client_of(make_organizer())

    agreement = organizer.get(reverse("assessment:agreement", args=[scene.track.slug])).content.decode()
    disagreements = organizer.get(
        reverse("assessment:disagreements", args=[scene.track.slug]), {"rule": "threshold"}
    )

    assert f"relevant from grade {level} on" in agreement
    assert disagreements.context["rows"].paginator.count == n


@pytest.mark.parametrize(("protocol", "judges"), [("arqmath-2020-task1", 1), ("ntcir-10-math", 2)])
def test_judges_is_the_number_of_assessors_of_a_unit(protocol: str, judges: int) -> None:
    scene = build_scene(protocol)
    organizer = client_of(make_organizer())
    people = [scene.ada, scene.bob, make_assessor(scene.track, "cleo")]
    draft = make_batch(scene.pool, {}, is_open=False)
    share = {"action": "share", "assessors": [person.pk for person in people]}

    preview = organizer.post(reverse("assessment:plan", args=[draft.pk]), share)
    organizer.post(reverse("assessment:change_plan", args=[draft.pk]), hidden(preview.content.decode()))

    for topic in (scene.first, scene.second):
        assert draft.topic_assignments.filter(topic=topic).count() == judges


# -- questions of every kind

QUESTIONS = """
[[judging.question]]
key = "stance"
label = "Stance"
choice = [
  { key = "pro", label = "Pro", definition = "Argues for it.", shortcut = "q" },
  { key = "con", label = "Con" },
]

[[judging.question]]
key = "errors"
label = "Which errors?"
kind = "any-of"
after = ["stance:con"]
after_all = ["relevant"]
at_least = 2
at_most = 2
choice = [{ key = "a", label = "A" }, { key = "b", label = "B" }, { key = "c", label = "C" }]

[[judging.question]]
key = "seconds"
label = "How long?"
kind = "number"
min = 1
max = 60
unit = "sec"
required = false
help = "Count from the title."

[[judging.question]]
key = "why"
label = "Why?"
kind = "text"
max_characters = 12
required = false

[[judging.question]]
key = "order"
label = "Best first"
kind = "ranking"
after = ["topic.size:long"]
at_most = 2
choice = [{ key = "x", label = "X" }, { key = "y", label = "Y" }, { key = "z", label = "Z" }]

[qrels]
"""


def form_scene() -> Scene:
    """Ada judges with a protocol that has questions of every kind; the first topic is long."""
    scene = build_scene("trec-adhoc")
    change(scene, "[qrels]\n", QUESTIONS)
    text = scene.track.protocol.text
    assert "[topics]" not in text
    change(scene, "[runs]\n", '[topics.labels]\nsize = ["long", "short"]\n\n[runs]\n')
    scene.first.labels = {"size": "long"}
    scene.first.save(update_fields=["labels"])
    return scene


@pytest.fixture
def form(db: None) -> Scene:
    return form_scene()


def answer(scene: Scene, **answers: object) -> tuple[int, str, dict[str, object]]:
    """The status of a submission, what is wrong with it, and what is stored."""
    task = accept(scene.batch, scene.ada)
    fields = {f"answer-{key}": value for key, value in answers.items() if key != "choice"}
    fields |= {"choice": answers.get("choice", "relevant"), "request_id": str(uuid4()), "shown": "0"}
    response = client_of(scene.ada).post(task.get_absolute_url(), fields, HTTP_ACCEPT="application/json")
    stored = task.judgments.first()
    return response.status_code, response.json().get("detail", ""), stored.answers if stored else {}


def test_answers_of_every_kind_are_stored_as_the_kind_says(form: Scene) -> None:
    given = {"stance": "con", "errors": ["c", "a"], "seconds": "2.50", "why": " It is. ", "order": "y > x"}

    status, _, stored = answer(form, **given)

    kept = {"stance": "con", "errors": ["a", "c"], "seconds": "2.50", "why": "It is.", "order": ["y", "x"]}
    assert (status, stored) == (200, kept)
    page = (
        client_of(form.ada).get(form.batch.tasks.get(status="submitted").get_absolute_url()).content.decode()
    )
    assert 'value="y &gt; x"' in page
    own = client_of(form.ada).get(reverse("assessment:own_judgments", args=[form.batch.pk])).content.decode()
    assert all(words in own for words in ("A, C", "2.50 sec", "It is.", "Y &gt; X"))
    counts = client_of(make_organizer()).get(form.batch.get_absolute_url()).context["question_counts"]
    assert [(each.answers[0], each.n_open) for each in counts] == [
        (("Pro", 0), 0), (("A", 1), 0), (("Answered", 1), 0), (("Answered", 1), 0), (("X", 0), 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "Answer “Stance”"),
        ({"stance": "none"}, "“none” is not an answer to “Stance” Use pro, con."),
        ({"stance": "con"}, "Answer “Which errors?”"),
        ({"stance": "con", "errors": "a"}, "“Which errors?” takes 2 of the choices; there are 1."),
        ({"stance": "con", "errors": "a,b,c"}, "takes 2 of the choices; there are 3."),
        ({"stance": "con", "errors": "a,a"}, "“a” twice; name each choice once."),
        ({"stance": "con", "errors": "a,d"}, "“d” is not an answer to “Which errors?” Use a, b, c."),
        (
            {"stance": "pro", "errors": "a,b"},
            "asked only after “Stance” Con, and if Relevant: take its answer back.",
        ),
        ({"stance": "pro", "seconds": "0"}, "Enter a number of at least 1 and at most 60 sec, such as"),
        ({"stance": "pro", "seconds": "61"}, "“61” is not an answer to “How long?” Enter a number"),
        ({"stance": "pro", "seconds": "1,5"}, "“1,5” is not an answer"),
        ({"stance": "pro", "why": "thirteen long"}, "“Why?” takes at most 12 characters; there are 13."),
        ({"stance": "pro", "order": "x > y > z"}, "takes 1 to 2 of the choices, best first; there are 3."),
        ({"stance": "pro", "order": "x > x"}, "“x” twice"),
        ({"choice": "not-relevant", "stance": "con", "errors": "a,b"}, "take its answer back."),
        ({"choice": "nothing", "stance": "pro"}, "is not a choice of this protocol"),
    ],
)
def test_answers_that_a_question_does_not_take_are_refused(
    form: Scene, answers: dict[str, str], message: str
) -> None:
    order = {} if "order" in answers else {"order": "x"}

    status, detail, stored = answer(form, **(order | answers))

    assert (status, stored) == (422, {})
    assert message in detail


def test_programs_and_files_have_the_same_questions_and_answers(form: Scene) -> None:
    client, given = (
        api(form.ada),
        {"stance": "con", "errors": ["c", "a"], "seconds": 2, "order": [["y", "x"]]},
    )
    task = call(client, "POST", "next_task", form.batch.pk).json()
    questions = {each["key"]: each for each in task["unit"]["questions"]}
    rules = rules_of(task["unit"])
    unit = {"topic": task["unit"]["topic"], "docno": task["unit"]["docno"]}
    line = json.dumps(unit | {"grade": "relevant", "answers": given}).encode()

    by_program = read_answer(line, topic=unit["topic"], docno=unit["docno"], rules=rules).answers
    refused, kept = (
        call(client, "POST", "task_judgments", task["id"], data={"choice": "relevant", "answers": answers})
        for answers in (given | {"errors": "a"}, given)
    )

    stored = {"stance": "con", "errors": ["a", "c"], "seconds": "2", "order": [["y", "x"]]}
    assert (questions["errors"]["kind"], questions["errors"]["after"]) == ("any-of", ["stance:con"])
    assert questions["order"]["after"] == []  # the topic is long
    assert by_program == stored
    assert "is not an answer to “Which errors?” Use a, b, c." in refused.json()["detail"]
    assert kept.json()["results"][0]["answers"] == stored
    for to, read in (("csv", judgments_of_csv), ("jsonl", judgments_of_lines)):
        file = call(
            api(make_organizer()), "GET", "export_judgments", form.track.slug, QUERY_STRING=f"to={to}"
        )
        assert read(b"".join(file).decode("utf-8-sig"))["answers"] == stored
    wrong = json.dumps(unit | {"grade": "relevant", "answers": {"stance": "d"}}).encode()
    with pytest.raises(BadAnswer, match="“d” is not an answer to"):
        read_answer(wrong, topic=unit["topic"], docno=unit["docno"], rules=rules)


def judgments_of_csv(text: str) -> dict[str, Any]:
    [row] = csv.DictReader(StringIO(text))
    return row | {"answers": json.loads(row["answers"])}


def judgments_of_lines(text: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(text)
    return row


def test_question_about_other_topics_is_not_asked(form: Scene) -> None:
    form.first.labels = {"size": "short"}
    form.first.save(update_fields=["labels"])

    refused, kept = answer(form, stance="pro", order="x"), answer(form, stance="pro")

    assert "is asked only after size of the topic is long" in refused[1]
    assert kept[0] == 200


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ('shortcut = "q"', 'shortcut = "w"', 'data-key="q"', 'data-key="w"'),
        ("Argues for it.", "Speaks for it.", "Argues for it.", "Speaks for it."),
        ('unit = "sec"', 'unit = "min."', "at most 60 sec", "at most 60 min."),
        ("Count from", "Measure from", "Count from the title.", "Measure from the title."),
        ('key = "pro"', 'key = "for"', 'value="pro"', 'value="for"'),
    ],
)
def test_page_shows_questions_as_the_protocol_describes_them(
    form: Scene, old: str, new: str, before: str, after: str
) -> None:
    assert_replaced(form, old, new, before, after)
