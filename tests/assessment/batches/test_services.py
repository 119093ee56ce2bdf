"""Batches: each rule and each refusal, and creating one on the site."""

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from assay.errors import Refused
from assessment.batches import services as batch_services
from assessment.models import Batch
from assessment.planning import services as assignment_services
from pooling.models import Pool
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import make_batch, make_pool

pytestmark = pytest.mark.django_db


def test_batch_starts_as_a_draft_without_topics(scene: Scene) -> None:
    organizer = make_organizer()

    batch = batch_services.create(
        pool=scene.pool, name="Round 1", kind="training", minutes_allotted=30, by=organizer
    )

    batch.refresh_from_db()
    assert (batch.status, batch.kind, batch.minutes_allotted, batch.created_by) == (
        "draft",
        "training",
        30,
        organizer,
    )
    assert not batch.topic_assignments.exists()


def test_batch_needs_a_ready_pool(scene: Scene) -> None:
    building = make_pool(scene.track, {}, status=Pool.Status.BUILDING)

    with pytest.raises(Refused, match="is not ready"):
        batch_services.create(pool=building, name="Round 1", by=None)


def test_two_batches_of_a_pool_cannot_share_a_name(scene: Scene) -> None:
    with pytest.raises(Refused, match="already has a batch") as refusal:
        batch_services.create(pool=scene.pool, name=scene.batch.name, by=None)
    assert (refusal.value.code, refusal.value.field) == ("batch-name-taken", "name")
    with pytest.raises(IntegrityError), transaction.atomic():
        Batch.objects.create(pool=scene.pool, name=scene.batch.name)


def test_batch_is_renamed_but_not_to_a_taken_name(scene: Scene) -> None:
    other = make_batch(make_pool(scene.track, {scene.first: 1}), {}, is_open=False, name="Other pool's")
    second = batch_services.create(pool=scene.pool, name="Second", by=None)

    renamed = batch_services.edit(
        batch=scene.batch, name=other.name, minutes_allotted=5, judges=None, is_shared=False
    )

    assert (renamed.name, renamed.minutes_allotted) == (other.name, 5)
    with pytest.raises(Refused, match="already has a batch"):
        batch_services.edit(
            batch=scene.batch, name=second.name, minutes_allotted=5, judges=None, is_shared=False
        )


def test_time_for_a_task_is_at_least_a_minute(scene: Scene) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Batch.objects.filter(pk=scene.batch.pk).update(minutes_allotted=0)


def test_batch_without_topics_cannot_be_opened(scene: Scene) -> None:
    batch = batch_services.create(pool=scene.pool, name="Empty", by=None)

    with pytest.raises(Refused, match="has no assigned topics"):
        batch_services.open_for_judging(batch=batch)


def test_batch_whose_topics_were_all_withdrawn_cannot_be_opened(scene: Scene) -> None:
    batch = make_batch(scene.pool, {scene.bob: [scene.first]}, is_open=False)
    assignment_services.withdraw(batch=batch, assessor=scene.bob, topic=scene.first)

    with pytest.raises(Refused, match="has no assigned topics"):
        batch_services.open_for_judging(batch=batch)


def test_batch_opens_closes_and_opens_again(scene: Scene) -> None:
    closed = batch_services.close(batch=scene.batch)
    assert (closed.status, closed.closed_at is not None) == ("closed", True)

    opened = batch_services.open_for_judging(batch=scene.batch)

    assert (opened.status, opened.closed_at) == ("open", None)


def test_open_batch_is_not_opened_nor_a_closed_one_closed(scene: Scene) -> None:
    with pytest.raises(Refused, match="is open; it cannot be opened"):
        batch_services.open_for_judging(batch=scene.batch)
    batch_services.close(batch=scene.batch)
    with pytest.raises(Refused, match="is closed; it cannot be closed"):
        batch_services.close(batch=scene.batch)


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer())
    return client


def test_pool_is_chosen_when_you_come_from_its_page(scene: Scene, organizer: Client) -> None:
    newer = make_pool(scene.track, {})
    building = make_pool(scene.track, {}, status=Pool.Status.BUILDING)
    address = reverse("assessment:new_batch", args=[scene.track.slug])
    judging = organizer.get(reverse("assessment:judging", args=[scene.track.slug])).content.decode()
    assert f'href="{address}?pool={scene.pool.pk}"' in judging

    html = organizer.get(f"{address}?pool={scene.pool.pk}").content.decode()

    assert f'<option value="{scene.pool.pk}" selected>' in html
    assert f'<option value="{newer.pk}">' in html
    assert f'<option value="{building.pk}"' not in html


def test_batch_is_created_and_leads_to_its_plan(scene: Scene, organizer: Client) -> None:
    address = reverse("assessment:new_batch", args=[scene.track.slug])
    fields = {"pool": scene.pool.pk, "name": "Second round", "kind": "main", "minutes_allotted": 45}

    response = organizer.post(address, fields)
    again = organizer.post(address, fields)

    batch = Batch.objects.get(name="Second round")
    assert response.url == reverse("assessment:plan", args=[batch.pk])
    assert (batch.kind, batch.status, batch.minutes_allotted) == ("main", "draft", 45)
    assert again.status_code == 422
    assert "already exists" in again.content.decode()


def test_batch_is_edited_on_its_page(scene: Scene, organizer: Client) -> None:
    batch_services.create(pool=scene.pool, name="Second", by=None)
    address = reverse("assessment:edit_batch", args=[scene.batch.pk])
    assert address in organizer.get(scene.batch.get_absolute_url()).content.decode()
    assert f'value="{scene.batch.name}"' in organizer.get(address).content.decode()

    taken = organizer.post(address, {"name": "Second", "minutes_allotted": 5})
    none = organizer.post(address, {"name": "Third", "minutes_allotted": 0})
    saved = organizer.post(address, {"name": "Third", "minutes_allotted": 5})

    assert (taken.status_code, none.status_code) == (422, 422)
    assert "already" in taken.content.decode()
    assert saved.headers["Location"] == scene.batch.get_absolute_url()
    scene.batch.refresh_from_db()
    assert (scene.batch.name, scene.batch.minutes_allotted) == ("Third", 5)


def test_without_a_ready_pool_the_page_says_what_to_do(scene: Scene, organizer: Client) -> None:
    Pool.objects.update(status=Pool.Status.BUILDING)

    html = organizer.get(reverse("assessment:new_batch", args=[scene.track.slug])).content.decode()

    assert "No pool is ready yet" in html
    assert f'href="{reverse("pooling:pools", args=[scene.track.slug])}">Go to the pools' in html
