"""Creating and changing teams, also in the admin: each rule and each refusal."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from assay.errors import Refused
from participation.errors import TeamRefused
from participation.models import Team
from participation.teams import services as team_services
from tests.helpers.factories import make_assessor, make_organizer, make_track, make_user
from tests.pooling.conftest import Scene, build_scene
from tracks.assessors import services as assessor_services


def test_assessor_of_the_track_cannot_be_in_a_team(scene: Scene) -> None:
    with pytest.raises(TeamRefused, match="jane is an assessor of ARQ"):
        team_services.set_members(team=scene.ours, members=[scene.member, scene.assessor])
    with pytest.raises(TeamRefused):
        team_services.create(track=scene.track, name="New", members=[scene.assessor])

    assert not Team.objects.filter(name="New").exists()
    assert list(scene.ours.members.all()) == [scene.member]


def test_assessor_of_another_track_can_be_in_a_team(scene: Scene) -> None:
    person = make_assessor(make_track())

    team_services.set_members(team=scene.ours, members=[scene.member, person])

    assert scene.ours.members.count() == 2


@pytest.mark.parametrize("name", ["ours", " OURS ", "", "  ", "bell\a"])
def test_name_of_a_team_must_be_new_and_printable(scene: Scene, name: str) -> None:
    with pytest.raises(TeamRefused):
        team_services.create(track=scene.track, name=name)


@pytest.mark.django_db(transaction=True)
def test_nobody_becomes_member_and_assessor_at_once(folder: Path) -> None:
    scene = build_scene(folder)
    person = make_user("eve")
    start = threading.Barrier(2)
    refused: list[str] = []

    def attempt(action: Any) -> None:
        try:
            start.wait()
            action()
        except Refused as refusal:
            refused.append(refusal.message)
        finally:
            connection.close()

    actions = [
        lambda: team_services.set_members(team=scene.ours, members=[person]),
        lambda: assessor_services.add(track=scene.track, user=person),
    ]
    threads = [threading.Thread(target=attempt, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) == 1


def test_team_is_renamed_unless_the_name_is_taken(scene: Scene) -> None:
    team_services.rename(team=scene.ours, name=" Abacus ")
    scene.ours.refresh_from_db()
    assert scene.ours.name == "Abacus"

    with pytest.raises(TeamRefused, match="already has a team named theirs"):
        team_services.rename(team=scene.ours, name="theirs")


@pytest.mark.django_db
def test_organizer_gives_a_team_its_own_disk_limit(client: Client) -> None:
    client.force_login(make_organizer())
    form = {"track": make_track().pk, "name": "Owls", "max_megabytes": "500"}

    client.post(reverse("admin:participation_team_add"), form)
    team = Team.objects.get()
    page = client.get(reverse("admin:participation_team_changelist")).content.decode()
    client.post(
        reverse("admin:participation_team_change", args=[team.pk]), {"name": "Owls", "max_megabytes": ""}
    )

    assert "0 kB of 500 MB" in page
    assert team.max_megabytes == 500
    assert Team.objects.get().max_megabytes is None
