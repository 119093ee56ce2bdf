"""Teams in the admin."""

import pytest
from django.test import Client
from django.urls import reverse

from pooling.models import Team
from tests.helpers.factories import make_organizer, make_track

pytestmark = pytest.mark.django_db


def test_organizer_gives_a_team_its_own_disk_limit(client: Client) -> None:
    client.force_login(make_organizer())
    form = {"track": make_track().pk, "name": "Owls", "max_megabytes": "500"}

    client.post(reverse("admin:pooling_team_add"), form)
    team = Team.objects.get()
    page = client.get(reverse("admin:pooling_team_changelist")).content.decode()
    client.post(reverse("admin:pooling_team_change", args=[team.pk]), {"name": "Owls", "max_megabytes": ""})

    assert "0 kB of 500 MB" in page
    assert team.max_megabytes == 500
    assert Team.objects.get().max_megabytes is None
