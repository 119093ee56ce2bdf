"""Creating a batch on the site."""

import pytest
from django.test import Client
from django.urls import reverse

from assessment.models import Batch
from pooling.models import Pool
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_organizer
from tests.helpers.judging import make_pool

pytestmark = pytest.mark.django_db


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


def test_without_a_ready_pool_the_page_says_what_to_do(scene: Scene, organizer: Client) -> None:
    Pool.objects.update(status=Pool.Status.BUILDING)

    html = organizer.get(reverse("assessment:new_batch", args=[scene.track.slug])).content.decode()

    assert "No pool of this track is ready yet" in html
