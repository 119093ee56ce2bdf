"""Prompts, replies and grades of machines are for organizers: no page or operation gives them to others."""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client

from accounts.models import User
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.site import services
from assay_extensions.machines.site.models import JudgeRecord
from assay_extensions.machines.tests.test_leases import EVIDENCE, Process, ids, judgment
from participation.teams import services as team_services
from tests.assessment.conftest import Scene
from tests.helpers.api import api
from tests.helpers.factories import make_organizer, make_user
from tests.helpers.judging import accept, make_machine
from tracks.models import Machine

LINK = re.compile(r'href="(/[^"#]*)')
LEFT_OUT = ("/static/", "/help/", "/logout", "/api/v1/docs", "/i18n/")
SECRETS = ("Secret judge", "secret reply", "secret template", "secret-model")


@pytest.fixture
def machine(scene: Scene) -> Machine:
    """A machine that judged units which people judge too. All that it wrote is secret."""
    machine = make_machine(scene.track, make_organizer(), name="Secret judge")
    JudgeRecord.objects.create(
        machine=machine,
        record=Judge("Secret judge", "1", "secret-model").record(),
        template_text="secret template",
        created_by=machine.owner,
    )
    process = Process(machine, services.start(machine=machine, pool=scene.pool, by=machine.owner))
    lease = process.lease(6)
    evidence = EVIDENCE | {"reply": "secret reply, final score: 3"}
    process.judge(
        lease, [judgment(task, "high", comment="secret reply", evidence=evidence) for task in ids(lease)]
    )
    return machine


def pages_of(user: User | None, start: str) -> Iterator[tuple[str, str]]:
    """The pages that a person reaches by links."""
    client = Client()
    if user is not None:
        client.force_login(user)
    waiting, seen = [start], {start}
    while waiting and len(seen) < 400:
        address = waiting.pop(0)
        answer = client.get(address)
        if answer.status_code != 200:
            continue
        text = (
            b"".join(answer).decode("utf-8", "replace")
            if answer.streaming
            else answer.content.decode("utf-8", "replace")
        )
        yield address, text
        for link in map(unescape, LINK.findall(text)):
            if link not in seen and not link.startswith(LEFT_OUT):
                seen.add(link)
                waiting.append(link)


@pytest.mark.parametrize("role", ["assessor", "member", "visitor"])
def test_nobody_but_organizers_finds_what_a_machine_wrote(scene: Scene, machine: Machine, role: str) -> None:
    user = {"assessor": scene.ada, "member": make_user("mia"), "visitor": None}[role]
    if role == "member":
        team_services.create(track=scene.track, name="Owls", members=[user])  # type: ignore[list-item]
    if role == "assessor":
        accept(scene.batch, scene.ada)

    pages = dict(pages_of(user, "/")) | dict(pages_of(user, f"/tracks/{scene.track.slug}/"))

    assert len(pages) > 3
    assert {secret: address for address, text in pages.items() for secret in SECRETS if secret in text} == {}


def test_tasks_of_people_have_nothing_of_a_machine(scene: Scene, machine: Machine) -> None:
    client = api(scene.ada)
    task = client.post(f"/api/v1/batches/{scene.batch.pk}/next/").content.decode()
    rest = [
        client.get(address).content.decode()
        for address in (
            f"/api/v1/batches/{scene.batch.pk}/",
            f"/api/v1/tracks/{scene.track.slug}/judgments/",
            f"/api/v1/tracks/{scene.track.slug}/agreement/",
            f"/api/v1/tracks/{scene.track.slug}/batches/",
            f"/api/v1/machines/{machine.pk}/judge/",
            f"/api/v1/machines/{machine.pk}/evidence/",
        )
    ]

    assert '"unit"' in task
    assert [secret for text in (task, *rest) for secret in SECRETS if secret in text] == []


def test_organizers_find_it(machine: Machine) -> None:
    pages = dict(pages_of(machine.owner, machine.get_absolute_url()))

    assert any("secret reply" in text for text in pages.values())
