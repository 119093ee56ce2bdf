"""Grades of a machine in a topic are corrected at once: judgments are appended, and the earlier ones stay."""

from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from assay_extensions.machines.site import services
from assay_extensions.machines.site.corrections import SOURCE
from assessment.batches import services as batch_services
from assessment.models import Batch, Judgment
from tests.assessment.conftest import Scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge, make_machine
from tests.helpers.qrels_pages import freeze_on_page
from tracks.models import Machine

pytestmark = pytest.mark.django_db

CHOICES = ("high", "medium", "low", "not-relevant", "high", "low")
REASON = "It graded the question."


@pytest.fixture
def machine(scene: Scene) -> Machine:
    machine = make_machine(scene.track, make_organizer("olga"))
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    for choice in CHOICES:
        judge(accept(batch, machine.assessor.user), choice)
    return machine


@pytest.fixture
def client(machine: Machine) -> Client:
    client = Client()
    client.force_login(machine.owner)
    return client


def batch_of(machine: Machine) -> Batch:
    return Batch.objects.get(kind=Batch.Kind.MACHINE)


def address_of(machine: Machine) -> str:
    return reverse("machines:correct", args=[machine.pk, batch_of(machine).pk])


def current(machine: Machine) -> list[tuple[str, str]]:
    """Topic and choice of the judgments that count, in the order of the pool."""
    own = Judgment.objects.filter(assessor=machine.assessor.user, is_current=True)
    rows = own.order_by("topic__code", "task__entry__position")
    return list(rows.values_list("topic__code", "choice"))


def confirm(client: Client, preview: Any, **changed: str) -> Any:
    """Press the button of a preview."""
    form, page = preview.context["form"], preview.context["confirmation"]
    sent = {name: form[name].value() for name in form.fields} | {"remarks": page.remarks}
    return client.post(preview.request["PATH_INFO"], sent | changed, follow=True)


def test_every_judgment_of_a_grade_becomes_another_one_after_a_preview(
    scene: Scene, machine: Machine, client: Client
) -> None:
    before = current(machine)
    topic = scene.first
    old = list(Judgment.objects.filter(topic=topic, choice="high").values_list("pk", flat=True))
    fields = {"topic": topic.pk, "before": "high", "after": "low", "reason": REASON, "lines": "", "seen": ""}

    page = client.get(machine.get_absolute_url()).content.decode()
    preview = client.post(address_of(machine), fields)
    untouched = current(machine)
    answer = confirm(client, preview)

    assert (address_of(machine) in page, preview.status_code, untouched) == (True, 200, before)
    n = before.count((topic.code, "high"))
    assert f"{n} judgment" in preview.content.decode()
    assert ("Nothing is done yet" in preview.content.decode(), REASON in preview.content.decode()) == (
        False,
        True,
    )
    assert f"{n} judgment" in answer.content.decode()
    assert current(machine) == [
        (code, "low" if (code, choice) == (topic.code, "high") else choice) for code, choice in before
    ]
    new = Judgment.objects.filter(source=SOURCE)
    assert [judgment.replaces_id for judgment in new.order_by("replaces")] == old
    assert {(row.comment, row.grade, row.assessor_id) for row in new} == {
        (REASON, 1, machine.assessor.user_id)
    }
    event = Event.objects.get(action="machine-grades.corrected")
    assert (event.by, event.details["reason"], event.details["topic"]) == (
        machine.owner,
        REASON,
        topic.code,
    )
    assert event.details["corrected"] == {"high to low": n}
    card = client.get(reverse("machines:card", args=[machine.pk])).content.decode()
    assert f"Organizers corrected {n} grade" in card


def test_file_changes_its_documents_and_wrong_lines_are_named(
    scene: Scene, machine: Machine, client: Client
) -> None:
    topic = scene.first
    docnos = list(scene.pool.entries.filter(topic=topic).order_by("position").values_list("docno", flat=True))
    other = scene.pool.entries.exclude(topic=topic).select_related("topic").earliest("position")
    before = current(machine)

    def send(*lines: str) -> Any:
        file = BytesIO("\n".join(lines).encode())
        file.name = "corrections.txt"
        return client.post(address_of(machine), {"topic": topic.pk, "file": file, "reason": REASON})

    wrong = send(
        f"{topic.code} {docnos[0]}",
        f"{other.topic.code} {other.docno} 0",
        f"{topic.code} {other.docno} 0",
        f"{topic.code} {docnos[0]} 7",
        f"{topic.code} {docnos[1]} 0",
        f"{topic.code} {docnos[1]} 1",
    )
    same = send(f"{topic.code} {docnos[0]} {Judgment.objects.get(docno=docnos[0]).choice}")
    preview = send(
        "# checked by olga", f"{topic.code} 0 {docnos[0]} 0", "", f"{topic.code} {docnos[1]} medium"
    )
    answer = confirm(client, preview)

    text = wrong.content.decode()
    assert wrong.status_code == 422
    assert "line 1: expected 3 columns (topic docno grade) or 4 as in qrels, got 2 columns." in text
    assert f"line 2: the topic is {other.topic.code}; use {topic.code}" in text
    assert f"line 3: Llama judge 3.1 has no judgment of {other.docno} in topic {topic.code}" in text
    assert "line 4: “7” is not a grade of this protocol; use 3, 2, 1, 0, high" in text
    assert f"line 6: {docnos[1]} is in line 5 already." in text
    assert (same.status_code, "Nothing changes" in same.content.decode()) == (422, True)
    assert "As in the file already: 1 judgment" in preview.content.decode()
    assert "1 judgment of topic" in answer.content.decode()
    assert current(machine) == [(topic.code, "not-relevant"), *before[1:]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"before": "high"}, "Choose one."),
        ({"before": "high", "after": "high"}, "Choose a grade and another one that it becomes, or a file"),
        ({}, "Choose a grade and another one that it becomes, or a file"),
        ({"before": "high", "after": "low", "lines": "A.1 1 0"}, "Choose a grade and another one"),
        ({"before": "high", "after": "low", "reason": ""}, "Fill in this field."),
    ],
)
def test_form_needs_a_rule_or_a_file_and_a_reason(
    scene: Scene, machine: Machine, client: Client, fields: dict[str, str], message: str
) -> None:
    sent = {"topic": scene.first.pk, "reason": REASON} | fields

    answer = client.post(address_of(machine), sent)

    assert (answer.status_code, message in answer.content.decode()) == (422, True)
    assert not Judgment.objects.filter(source=SOURCE).exists()


def test_preview_is_shown_again_if_the_machine_judged_since(
    scene: Scene, machine: Machine, client: Client
) -> None:
    fields = {"topic": scene.first.pk, "before": "high", "after": "low", "reason": REASON}
    preview = client.post(address_of(machine), fields)

    answer = confirm(client, preview, seen="0-0")

    assert (answer.status_code, "Nothing is done yet" in answer.content.decode()) == (422, True)
    assert not Judgment.objects.filter(source=SOURCE).exists()


def test_frozen_qrels_are_a_remark_and_a_closed_batch_is_refused(
    scene: Scene, machine: Machine, client: Client
) -> None:
    freeze_on_page(client, scene.pool, machine=machine.pk)
    fields = {"topic": scene.first.pk, "before": "high", "after": "low", "reason": REASON}

    preview = client.post(address_of(machine), fields)
    unread = confirm(client, preview, remarks="")
    batch_services.close(batch=batch_of(machine))
    closed = client.post(address_of(machine), fields).content.decode()
    grades = [{"docno": Judgment.objects.filter(choice="high", topic=scene.first)[0].docno, "choice": "low"}]
    by_program = _correct(machine, grades)

    assert "Qrels of the machine are frozen: version 1" in preview.content.decode()
    assert (unread.status_code, "Open it again to correct its grades" in closed) == (422, True)
    assert (by_program.status_code, by_program.json()["code"]) == (409, "batch-not-open")
    assert not Judgment.objects.filter(source=SOURCE).exists()


def _correct(machine: Machine, grades: list[dict[str, str]], topic: str = "A.1") -> Any:
    data = {"batch": batch_of(machine).pk, "topic": topic, "grades": grades, "reason": REASON}
    return call(api(machine.owner), "POST", "correct_machine", machine.pk, data=data)


def test_program_corrects_all_or_none(scene: Scene, machine: Machine) -> None:
    first = Judgment.objects.filter(choice="high", topic=scene.first).earliest("pk")
    wanted = {"docno": first.docno, "choice": "0"}

    wrong = _correct(machine, [wanted, {"docno": "unknown", "choice": "low"}])
    elsewhere = _correct(machine, [wanted], topic="A.99")
    answer = _correct(machine, [wanted])
    again = _correct(machine, [wanted])

    assert (wrong.status_code, "grades.1: Llama judge" in wrong.json()["detail"]) == (409, True)
    assert elsewhere.status_code == 400
    [row] = answer.json()["results"]
    assert (row["choice"], row["replaces"], row["source"]) == ("not-relevant", first.pk, SOURCE)
    assert (again.status_code, again.json()["code"]) == (409, "nothing-changes")
