"""Machines judge through the same services, and never mix with people."""

import json
from io import BytesIO
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.services import path_of_link
from assay.errors import Refused
from assay_extensions.machines.site import services
from assay_extensions.machines.work.answers import read_answer
from assay_extensions.machines.work.output import Output
from assay_extensions.machines.work.units import Unit
from assessment.judging import page as tasks
from assessment.judging import selectors as judging_selectors
from assessment.judgments.disagreements import MAIN_ROUND, judgments_of, round_of
from assessment.judgments.selectors import earlier_judgments
from assessment.models import Batch, Judgment
from assessment.planning import services as assignments
from scoring.qrels import services as qrels_services
from tests.assessment.board.test_views import text_of
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge, make_batch, make_machine
from tests.helpers.qrels_pages import freeze_on_page
from tracks.models import Machine

pytestmark = pytest.mark.django_db

CHOICES = ("high", "medium", "low", "not-relevant", "high", "low")


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer("olga"))
    return client


@pytest.fixture
def machine(scene: Scene) -> Machine:
    """It judges all six units: high, medium, low, not relevant, high, low."""
    machine = make_machine(scene.track, make_organizer())
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    for choice in CHOICES:
        judge(accept(batch, machine.assessor.user), choice, comment="As the prompt says.")
    return machine


def test_organizer_adds_a_machine_that_judges_a_pool(scene: Scene, organizer: Client) -> None:
    new = reverse("machines:new_machine", args=[scene.track.slug])
    owner = make_organizer("otto")
    answer = organizer.post(
        new, {"name": "Llama judge", "version": "3.1 70B", "owner": owner.pk, "description": ""}
    )
    [machine] = Machine.objects.all()
    assert answer["Location"] == machine.get_absolute_url()
    organizer.post(reverse("machines:start_machine", args=[machine.pk]), {"pool": scene.pool.pk})

    again = organizer.post(new, {"name": "Llama Judge", "version": "3.1 70b", "owner": owner.pk})
    html = organizer.get(machine.get_absolute_url()).content.decode()

    batch = Batch.objects.get(kind=Batch.Kind.MACHINE)
    assert machine.assessor.user.username == f"llama-judge_3.1-70b@{scene.track.slug}"
    assert (batch.status, batch.topic_assignments.count()) == (Batch.Status.OPEN, 2)
    assert again.status_code == 422
    assert "has a machine Llama Judge 3.1 70b already" in again.content.decode()
    assert "Let it judge the pool" not in html  # it has a batch of the only pool
    plan = organizer.get(reverse("assessment:plan", args=[batch.pk])).content.decode()
    board = organizer.get(reverse("assessment:board", args=[scene.track.slug])).content.decode()
    assert (machine.assessor.user.username in plan, ">bob<" in plan) == (True, False)
    assert "Judged 0 of 6 units" in text_of(board)  # of the batch of people


def test_machine_cannot_log_in(machine: Machine) -> None:
    client = Client()
    user = machine.assessor.user

    client.force_login(user)

    assert client.get(reverse("account")).status_code == 302
    assert Client().get(path_of_link(user)).status_code == 410


def test_machine_judges_only_in_machine_batches_and_people_only_in_others(
    scene: Scene, machine: Machine
) -> None:
    [own] = Batch.objects.filter(kind=Batch.Kind.MACHINE)
    main = make_batch(scene.pool, {}, is_open=False)

    with pytest.raises(Refused, match="is a machine; machines judge in machine batches only"):
        assignments.assign(batch=main, assessor=machine.assessor.user, topics=[scene.first])
    with pytest.raises(Refused, match="is for machines, and bob is a person"):
        assignments.assign(batch=own, assessor=scene.bob, topics=[scene.first])


def test_judgments_of_a_machine_count_for_nothing_of_people(scene: Scene, machine: Machine) -> None:
    task = accept(scene.batch, scene.ada)
    page = tasks.task_page(judging_selectors.tasks_of(scene.ada).get(pk=task.pk), scene.ada, entered={})
    second = make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.ADJUDICATION)
    case = accept(second, scene.bob)

    assert (page.judged, page.total, page.previous, page.earlier) == (0, 6, None, [])
    assert earlier_judgments(case, [case.entry.docno], case.batch.pool.protocol.parsed.judging) == {}
    assert not judgments_of(scene.track, round_of(scene.track, MAIN_ROUND)).exists()
    with pytest.raises(Refused, match="No topic of the pool"):
        qrels_services.freeze_judgments(pool=scene.pool, by=machine.owner)


def test_comments_of_a_machine_are_hidden_until_people_have_judged(
    scene: Scene, machine: Machine, organizer: Client
) -> None:
    [batch] = Batch.objects.filter(kind=Batch.Kind.MACHINE)
    first, second = Judgment.objects.order_by("pk")[:2]
    assert first.docno not in organizer.get(batch.get_absolute_url()).content.decode()

    judge(accept(scene.batch, scene.ada), "high")
    html = organizer.get(batch.get_absolute_url()).content.decode()

    assert first.docno in html
    assert second.docno not in html


def test_agreement_page_compares_each_machine_with_people(
    scene: Scene, machine: Machine, organizer: Client
) -> None:
    for choice in ("high", "low", "low", "not-relevant", "not-relevant", "high"):
        judge(accept(scene.batch, scene.ada), choice)

    page = organizer.get(reverse("assessment:agreement", args=[scene.track.slug])).content.decode()
    tsv = organizer.get(reverse("assessment:agreement_tsv", args=[scene.track.slug, "machines"]))
    own = organizer.get(machine.get_absolute_url()).content.decode()

    # people 3 1 1 0 0 3, the machine 3 2 1 0 3 1: equal on 3 of 6.
    # By chance: 0: 2*1, 1: 2*2, 2: 0*1, 3: 2*2, over 36, so kappa = (0.5 - 10/36) / (1 - 10/36) = 0.308.
    assert "Machines against people" in page
    assert "0.308" in page
    assert "0.308" in own
    lines = [line.split("\t") for line in tsv.content.decode().splitlines()]
    assert lines[1][:4] == ["Llama judge 3.1", "6", "0.5000", "0.3077"]


def test_machine_has_its_own_qrels_marked_in_every_file(
    scene: Scene, machine: Machine, organizer: Client
) -> None:
    page = organizer.get(freeze_on_page(organizer, scene.pool, machine=machine.pk)).content.decode()
    judge(accept(scene.batch, scene.ada), "low")
    freeze_on_page(organizer, scene.pool, machine="")
    own, people = scene.track.qrels.order_by("version")

    assert (own.n_judged, own.machine, people.n_judged, people.machine) == (6, machine, 1, None)
    assert "Qrels version 1 by machine Llama judge 3.1" in page
    file = organizer.get(reverse("scoring:qrels_file", args=[own.pk]))
    assert f"qrels.{scene.track.slug}.v1.machine.tsv" in file["Content-Disposition"]
    package = organizer.get(reverse("scoring:qrels_export", args=[own.pk]), {"to": "trec"}).content
    assert b"README" in package
    assert own.entries.filter(docno=people.entries.get().docno).exists()


def test_exports_of_judgments_have_machines_only_if_asked(
    scene: Scene, machine: Machine, organizer: Client
) -> None:
    judge(accept(scene.batch, scene.ada), "low")
    url = reverse("assessment:export", args=[scene.track.slug])
    options = {"to": "csv", "names": "codes", "comments": "with"}

    without, with_machines = (
        b"".join(organizer.get(url, options | {"machines": machines}))  # type: ignore[call-overload]
        for machines in ("without", "with")
    )

    assert b"machine" not in without
    assert without.count(b"\n") == 2
    assert with_machines.count(b",machine,") == 6
    assert f"llama-judge_3.1@{scene.track.slug}".encode() in with_machines


def test_import_refuses_a_person_in_a_machine_batch(
    scene: Scene, machine: Machine, organizer: Client
) -> None:
    docno = scene.pool.entries.filter(topic=scene.first).earliest("position").docno
    lines = ["topic,docno,assessor,grade", f"A.1,{docno},ada,3"]
    file = BytesIO("\n".join(lines).encode())
    file.name = "judgments.csv"
    data = {"upload": file, "batch": "From a file", "kind": "machine", "pool": scene.pool.pk}

    answer = organizer.post(reverse("assessment:imports", args=[scene.track.slug]), data, follow=True)

    assert "ada is a person, and the batch “From a file” is of kind machine" in answer.content.decode()


def test_file_of_assay_judge_is_imported_as_judgments_of_the_machine(
    scene: Scene, organizer: Client, tmp_path: Path
) -> None:
    machine = make_machine(scene.track, make_organizer())
    rules = scene.track.protocol.parsed.judging
    path = tmp_path / "judgments.jsonl"
    with Output(path, assessor=machine.assessor.user.username, batch="From files") as output:
        for entry in scene.pool.entries.select_related("topic"):
            line = json.dumps({"topic": entry.topic.code, "docno": entry.docno, "grade": 2})
            answer = read_answer(line.encode(), topic=entry.topic.code, docno=entry.docno, rules=rules)
            output.add(
                Unit(entry.topic.code, entry.docno, 1),
                answer,
                label=answer.choice.label,
                left="",
                seconds=1.2,
            )
    with path.open("rb") as file:
        data = {"upload": file, "batch": "Imported", "kind": "main", "pool": scene.pool.pk}
        page = organizer.post(reverse("assessment:imports", args=[scene.track.slug]), data)

    organizer.post(f"{page['Location']}run/")

    batch = Batch.objects.get(name="From files")
    assert (batch.kind, batch.judgments.filter(assessor=machine.assessor.user).count()) == (
        Batch.Kind.MACHINE,
        6,
    )


def test_machine_judges_with_a_token_that_is_shown_once(
    scene: Scene, machine: Machine, organizer: Client
) -> None:
    create = reverse("machines:machine_token", args=[machine.pk])
    page = organizer.post(create, {"name": "GPU server", "days": 30}).content.decode()
    token = machine.assessor.user.tokens.get()

    again = organizer.post(create, {"name": "GPU server", "days": 30})
    organizer.post(reverse("machines:revoke_machine_token", args=[machine.pk, token.pk]))

    token.refresh_from_db()
    assert token.shown in page
    assert token.scopes == ["read", "judge"]
    assert (again.status_code, token.is_valid) == (422, False)
    assert "revoked" in organizer.get(machine.get_absolute_url()).content.decode()


def test_number_of_queries_does_not_grow_with_the_machines(
    scene: Scene, machine: Machine, organizer: Client
) -> None:
    def add(version: str) -> None:
        other = make_machine(scene.track, machine.owner, version=version)
        batch = services.start(machine=other, pool=scene.pool, by=machine.owner)
        judge(accept(batch, other.assessor.user), "low")

    address = reverse("machines:machines", args=[scene.track.slug])
    add("3.2")
    organizer.get(address)
    with CaptureQueriesContext(connection) as of_one:
        organizer.get(address)
    add("3.3")
    add("3.4")

    with CaptureQueriesContext(connection) as of_three:
        html = organizer.get(address).content.decode()

    assert "Llama judge 3.3" in html
    assert len(of_three) == len(of_one)
