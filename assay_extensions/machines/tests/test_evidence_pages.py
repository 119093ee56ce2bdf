"""The judge of a machine, and what its model replied, on pages and in the API."""

import json
import re
from html import unescape
from importlib.resources import files
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from accounts.models import Event
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.judge_files.prompts import read_template
from assay_extensions.machines.site import services
from assay_extensions.machines.site.models import JudgeRecord, ReplyEvidence
from assay_extensions.machines.tests.test_leases import EVIDENCE, Process, ids, judgment
from assessment.models import Judgment
from tests.assessment.conftest import Scene
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer
from tests.helpers.judging import make_machine
from tracks.models import Machine

pytestmark = pytest.mark.django_db

FILE = b"""name = "Fake judge"
version = "1"
model = "fake-1"
family = "fake"
address = "https://models.example.org/v1"
key_variable = "FAKE_KEY"
[decoding]
temperature = 0.0
"""


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer("olga"))
    return client


@pytest.fixture
def machine(scene: Scene) -> Machine:
    return make_machine(scene.track, make_organizer())


@pytest.fixture
def judged(scene: Scene, machine: Machine) -> Machine:
    """It judged a unit of each topic and skipped one."""
    process = Process(machine, services.start(machine=machine, pool=scene.pool, by=machine.owner))
    lease = process.lease(4)
    first, second, _, fourth = ids(lease)
    process.judge(
        lease,
        [
            judgment(first, evidence=EVIDENCE),
            judgment(
                fourth, "low", evidence=EVIDENCE | {"reply": "a <b>low</b> score: 1", "probabilities": None}
            ),
        ],
        [
            {
                "task": second,
                "evidence": EVIDENCE | {"parse_status": "unreadable", "reply": "hm", "cost": None},
            }
        ],
    )
    return machine


def text_of(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", unescape(answer.content.decode())).split())


def upload(client: Client, machine: Machine, content: bytes = FILE, template: bytes = b"") -> Any:
    files = {"judge": BytesIO(content)} | ({"template": BytesIO(template)} if template else {})
    for name, file in files.items():
        file.name = f"{name}.toml"
    return client.post(reverse("machines:register_judge", args=[machine.pk]), files, follow=True)


def test_organizer_registers_a_judge_file(organizer: Client, machine: Machine) -> None:
    page = text_of(upload(organizer, machine))

    template = read_template("graded")
    assert "fake-1" in page
    assert "key in FAKE_KEY" in page
    assert template.sha256[:8] in page
    assert JudgeRecord.objects.get().judge == Judge(
        "Fake judge",
        "1",
        "fake-1",
        family="fake",
        address="https://models.example.org/v1",
        key_variable="FAKE_KEY",
        decoding=JudgeRecord.objects.get().judge.decoding,
    )
    assert Event.objects.filter(action="machine.judge").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name = 7", "line 1"),
        (FILE.replace(b"https://models", b"https://user:secret@models"), "key or a password"),
        (
            FILE.replace(b"model =", b'template = "/etc/passwd"\nmodel ='),
            "upload its template /etc/passwd too",
        ),
        (b"\xff", "not UTF-8"),
    ],
)
def test_wrong_judge_file_is_refused_with_a_reason(
    organizer: Client, machine: Machine, content: bytes, says: str
) -> None:
    answer = upload(organizer, machine, content)

    assert (answer.status_code, says in text_of(answer)) == (422, True)
    assert not JudgeRecord.objects.exists()


def test_own_template_is_kept_with_its_digest(organizer: Client, machine: Machine) -> None:
    own = (
        files("assay_extensions.machines.judge_files") / "prompts" / "graded.toml"
    ).read_bytes() + b"\n# ours\n"

    upload(organizer, machine, FILE.replace(b"model =", b'template = "ours/mine.toml"\nmodel ='), own)

    stored = JudgeRecord.objects.get()
    assert (stored.template_text.encode(), stored.record["template"]) == (own, "ours/mine.toml")
    assert stored.record["template_sha256"] != read_template("graded").sha256


def test_judge_cannot_change_once_the_machine_judged(
    organizer: Client, scene: Scene, machine: Machine
) -> None:
    upload(organizer, machine)
    process = Process(machine, services.start(machine=machine, pool=scene.pool, by=machine.owner))
    path, record = f"/api/v1/machines/{machine.pk}/judge/", JudgeRecord.objects.get().record
    lease = process.lease(1)
    process.judge(lease, [judgment(ids(lease)[0])])

    same = process.client.put(path, record, format="json")
    other = process.client.put(path, record | {"model": "fake-2"}, format="json")

    assert (same.status_code, other.status_code) == (200, 409)
    assert "model: 'fake-1', not 'fake-2'" in other.json()["detail"]


def test_judge_is_registered_by_its_machine_and_no_other(scene: Scene, machine: Machine) -> None:
    record = Judge("Fake judge", "1", "fake-1", address="https://models.example.org/v1").record()
    path = f"/api/v1/machines/{machine.pk}/judge/"
    other = make_machine(scene.track, make_organizer("otto"), version="2")
    own, foreign, person = APIClient(), APIClient(), APIClient()
    own.force_authenticate(machine.assessor.user)
    foreign.force_authenticate(other.assessor.user)
    person.force_authenticate(scene.ada)

    answers = [client.put(path, record, format="json") for client in (foreign, person, own)]
    wrong = own.put(path, record | {"decoding": {"heat": 1}}, format="json")

    assert [answer.status_code for answer in answers] == [404, 403, 200]
    assert (wrong.status_code, "heat" in wrong.json()["detail"]) == (409, True)
    assert own.get(path).json()["record"] == record


def test_evidence_is_filtered_and_read_one_by_one(organizer: Client, judged: Machine) -> None:
    address = reverse("machines:evidence", args=[judged.pk])

    whole = text_of(organizer.get(address))
    unreadable = text_of(organizer.get(address, {"status": "unreadable"}))
    low = organizer.get(address, {"topic": "A.2", "q": "LOW"})
    first, second, _ = ReplyEvidence.objects.order_by("pk")
    page = organizer.get(reverse("machines:reply", args=[judged.pk, second.pk]))

    assert "3, " in whole
    assert "2,700 in, 15 out" in whole
    assert "0.0024 USD" in whole
    assert ("hm" in unreadable, "final score" in unreadable) == (True, False)
    assert [row.judgment.choice for row in low.context["rows"]] == ["low"]
    assert "a &lt;b&gt;low&lt;/b&gt; score: 1" in page.content.decode()
    assert (page.context["before"], page.context["after"]) == (first.pk, second.pk + 1)
    assert organizer.get(address, {"topic": "B.9"}).status_code == 400


def test_export_has_what_was_sent(organizer: Client, judged: Machine) -> None:
    answer = organizer.get(reverse("machines:export_evidence", args=[judged.pk]))

    rows = [json.loads(line) for line in b"".join(answer).splitlines()]
    stored = Judgment.objects.order_by("pk").first()
    assert stored is not None
    unit = {"batch": stored.batch.name, "topic": "A.1", "docno": stored.docno}
    assert rows[0] == unit | {"judgment": stored.pk, "choice": "high"} | EVIDENCE
    assert [row["choice"] for row in rows] == ["high", "low", None]
    assert Event.objects.filter(action="machine-evidence.exported").exists()


def test_erasing_asks_and_keeps_the_judgments(organizer: Client, judged: Machine) -> None:
    address = reverse("machines:erase_evidence", args=[judged.pk])

    assert "3 replies" in text_of(organizer.get(address))
    assert ReplyEvidence.objects.count() == 3
    organizer.post(address)

    assert (ReplyEvidence.objects.count(), Judgment.objects.count()) == (0, 2)
    assert Event.objects.get(action="machine-evidence.erased").details == {"rows": 3}


def test_api_gives_and_deletes_evidence(judged: Machine) -> None:
    organizer = api(judged.owner)

    lines = b"".join(call(organizer, "GET", "machine_evidence", judged.pk)).splitlines()
    deleted = call(organizer, "DELETE", "machine_evidence", judged.pk)

    assert [json.loads(line)["choice"] for line in lines] == ["high", "low", None]
    assert (deleted.status_code, ReplyEvidence.objects.count()) == (204, 0)


def test_api_refuses_a_job_without_a_judge(judged: Machine) -> None:
    batch = Judgment.objects.earliest("pk").batch

    answer = call(api(judged.owner), "POST", "run_machine", judged.pk, data={"batch": batch.pk})

    assert answer.status_code == 409
    assert "no registered judge" in answer.json()["detail"]


def test_assessors_and_the_machine_never_see_evidence(scene: Scene, judged: Machine) -> None:
    row = ReplyEvidence.objects.first()
    assert row is not None
    pages = [
        reverse("machines:evidence", args=[judged.pk]),
        reverse("machines:export_evidence", args=[judged.pk]),
        reverse("machines:reply", args=[judged.pk, row.pk]),
    ]

    for user in (scene.ada, judged.assessor.user):
        client = Client()
        client.force_login(user)
        assert {client.get(page).status_code for page in pages} <= {302, 403, 404}
