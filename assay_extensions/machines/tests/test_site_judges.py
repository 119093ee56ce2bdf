"""The site lets a machine judge in a job: with a model that its operator lists, or with a trained classifier."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from assay.errors import Refused
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.judge_files.prompts import read_template
from assay_extensions.machines.site import cards, judges, services
from assay_extensions.machines.site import jobs as machine_jobs
from assay_extensions.machines.site.models import Hold, Lease, ReplyEvidence
from assay_extensions.machines.site.transport import PublicTransport
from assay_extensions.machines.tests.fake_model import FakeModel, fake_model, refused, said
from assessment.models import Batch, Judgment, Task
from jobs import services as jobs
from jobs.models import Job
from server import environment
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import accept, judge, make_machine
from tracks.models import Machine

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine(scene: Scene) -> Machine:
    return make_machine(scene.track, make_organizer("olga"))


@pytest.fixture
def batch(scene: Scene, machine: Machine) -> Batch:
    return services.start(machine=machine, pool=scene.pool, by=machine.owner)


@pytest.fixture
def model(settings: Any, monkeypatch: pytest.MonkeyPatch, machine: Machine) -> Iterator[FakeModel]:
    settings.WEBHOOKS_OVER_HTTP = settings.WEBHOOKS_TO_PRIVATE_ADDRESSES = True
    monkeypatch.setenv("FAKE_KEY", "secret")
    with fake_model(lambda request: said("M: 1. T: 1.\n##final score: 2")) as fake:
        settings.JUDGE_ADDRESSES = {fake.address: "FAKE_KEY"}
        record = Judge("Fake", "1", "fake-1", address=fake.address, key_variable="SECRET_KEY").record()
        judges.register(machine=machine, record=record, by=machine.owner)
        yield fake


def run(machine: Machine, batch: Batch) -> Job:
    job = machine_jobs.request(machine=machine, batch=batch, by=machine.owner)
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def test_job_judges_a_batch_with_the_key_of_the_operator(
    model: FakeModel, machine: Machine, batch: Batch
) -> None:
    job = run(machine, batch)

    assert (job.state, job.done, job.total) == (Job.State.DONE, 6, 6), job.error
    assert {(row.grade, row.assessor_id) for row in Judgment.objects.all()} == {(2, machine.assessor.user_id)}
    assert (ReplyEvidence.objects.count(), set(model.keys)) == (6, {"Bearer secret"})
    assert not Hold.objects.exists()


def test_job_goes_on_where_an_attempt_was_killed(model: FakeModel, machine: Machine, batch: Batch) -> None:
    job = machine_jobs.request(machine=machine, batch=batch, by=machine.owner)
    killed = machine_jobs.leases.take(batch=batch, machine=machine, n=4, seconds=600, job_id=job.pk)
    assert killed is not None

    jobs.run(job.pk)

    assert Judgment.objects.count() == 6


def test_unreadable_replies_are_skipped_and_the_job_ends(
    model: FakeModel, machine: Machine, batch: Batch
) -> None:
    model.answer = lambda request: said("no idea")

    job = run(machine, batch)

    assert job.result is not None
    assert (job.state, job.result["skipped"]) == (Job.State.DONE, 6)
    assert Task.objects.filter(status="skipped").exclude(skip_reason="").count() == 6
    assert set(ReplyEvidence.objects.values_list("parse_status", flat=True)) == {"unreadable"}


def test_redirected_address_is_refused(model: FakeModel, machine: Machine, batch: Batch) -> None:
    model.answer = lambda request: refused(302, Location="http://169.254.169.254/")

    job = run(machine, batch)

    assert job.state == Job.State.FAILED
    assert "redirects to another address" in job.error
    assert not Judgment.objects.exists()


@pytest.mark.parametrize(
    "host", ["localhost", "127.1", "0x7f.1", "[::ffff:10.0.0.1]", "169.254.169.254", "[::]", "192.168.0.1"]
)
def test_address_in_a_private_network_is_refused_when_it_is_connected_to(host: str) -> None:
    with httpx.Client(transport=PublicTransport()) as client, pytest.raises(Refused, match="private"):
        client.post(f"https://{host}:1/v1/chat/completions", json={})


def test_address_that_the_operator_does_not_list_is_refused(
    settings: Any, model: FakeModel, machine: Machine, batch: Batch
) -> None:
    settings.JUDGE_ADDRESSES = {"https://other.example.org/v1": ""}

    client = Client()
    client.force_login(machine.owner)
    page = client.get(machine.get_absolute_url()).content.decode()

    assert f"The setting JUDGE_ADDRESSES of this site does not list {model.address}." in page
    assert "Let the site judge" not in page
    with pytest.raises(Refused, match="does not list"):
        run(machine, batch)
    model.address = "https://other.example.org/v1"
    record = Judge("Fake", "1", "fake-1", address=model.address).record()
    judges.register(machine=machine, record=record, by=machine.owner)
    listed = client.get(machine.get_absolute_url()).content.decode()
    assert "Let the site judge" in listed
    assert "does not list" not in listed


def test_template_that_the_site_does_not_have_is_refused(
    settings: Any, machine: Machine, batch: Batch
) -> None:
    settings.JUDGE_ADDRESSES = {"https://models.example.org/v1": ""}
    record = Judge("Fake", "1", "fake-1", address="https://models.example.org/v1").record()
    own = record | {"template": "/etc/passwd", "template_sha256": read_template("graded").sha256}
    judges.register(machine=machine, record=own, by=machine.owner)

    with pytest.raises(Refused, match="does not have the template"):
        run(machine, batch)


def test_machine_without_a_judge_and_batch_with_a_job_are_refused(
    model: FakeModel, scene: Scene, machine: Machine, batch: Batch
) -> None:
    other = make_machine(scene.track, make_organizer("otto"), version="2")
    machine_jobs.request(machine=machine, batch=batch, by=machine.owner)

    with pytest.raises(Refused, match="judges the batch"):
        machine_jobs.request(machine=machine, batch=batch, by=machine.owner)
    with pytest.raises(Refused, match="no registered judge"):
        machine_jobs.request(machine=other, batch=batch, by=machine.owner)


def test_trained_classifier_judges_from_the_page(scene: Scene, machine: Machine, batch: Batch) -> None:
    for choice in ("high", "not-relevant", "high", "not-relevant", "high", "high"):
        judge(accept(scene.batch, scene.ada), choice)
    record = Judge("Classifier", "1", "text-classifier", provider="assay").record()
    judges.register(machine=machine, record=record, by=machine.owner)
    client = Client()
    client.force_login(make_organizer("otto"))
    page = client.get(machine.get_absolute_url()).content.decode()
    assert "Let the site judge" in page

    answer = client.post(reverse("machines:run_machine", args=[machine.pk]), {"batch": batch.pk})
    assert answer.status_code == 302, answer.content.decode()
    job = Job.objects.get(kind="machines.judge")
    jobs.run(job.pk)

    judged = Judgment.objects.filter(assessor=machine.assessor.user)
    skipped = Task.objects.filter(assessor=machine.assessor.user, status="skipped")
    assert judged.count() + skipped.count() == 6
    assert judged.exists()
    assert not Lease.objects.filter(holds__isnull=False).exists()


def test_setting_names_addresses_and_variables_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_ADDRESSES", "https://a.example.org/v1/=KEY_A, http://b.example.org")
    addresses = {"https://a.example.org/v1": "KEY_A", "http://b.example.org": ""}
    assert environment.judge_addresses("JUDGE_ADDRESSES", over_http=True) == addresses
    with pytest.raises(ImproperlyConfigured, match="WEBHOOKS_OVER_HTTP"):
        environment.judge_addresses("JUDGE_ADDRESSES", over_http=False)
    monkeypatch.setenv("JUDGE_ADDRESSES", "https://a.example.org=sk-123")
    with pytest.raises(ImproperlyConfigured, match="MODELS_KEY"):
        environment.judge_addresses("JUDGE_ADDRESSES", over_http=True)


@pytest.mark.parametrize(
    ("declared", "of_file", "family"),
    [("gpt", "", "gpt"), ("gpt", "GPT", "gpt"), ("gpt", "llama", "gpt"), ("", "llama", "llama")],
)
def test_judge_file_keeps_the_declared_family(
    machine: Machine, client: Client, declared: str, of_file: str, family: str
) -> None:
    Machine.objects.filter(pk=machine.pk).update(family=declared)
    record = Judge("Fake", "1", "fake-1", address="https://a.example.org/v1", family=of_file).record()
    if of_file == "llama" and declared:
        with pytest.raises(Refused, match="Its family is llama, and that of the machine is gpt"):
            judges.register(machine=machine, record=record, by=machine.owner)
    else:
        judges.register(machine=machine, record=record, by=machine.owner)
        client.force_login(machine.owner)
        page = client.get(machine.get_absolute_url()).content.decode()
        assert f"<dt>Family</dt><dd>{family}</dd>" in page
        machine.refresh_from_db()
        assert (cards.card_of(machine).judge or {})["family"] == family
    assert Machine.objects.get(pk=machine.pk).family == family
