"""A track whose protocol needs an extension that is not installed: its pages and endpoints say so, the others work."""

from collections import defaultdict
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import resolve

from jobs import services as jobs
from tests.helpers.api import api
from tests.scoring.conftest import Scene, build_scene
from tests.test_access import Visited, build_visited
from tests.test_api_access import build_called, endpoints
from tracks.models import StoredProtocol
from web.addresses import belongs_to_track, names_job

pytestmark = [pytest.mark.django_db, pytest.mark.long]

NEEDS = b"The protocol arqmath-2020-task1 needs the extension reading, which this site does not have."


@pytest.fixture(autouse=True)
def own_files(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)


def uninstall(scene: Scene) -> None:
    """Store the protocol of the track as if the extension of one of its measures had been uninstalled."""
    stored = scene.track.protocol
    text = 'extensions = ["reading"]\n' + stored.text.replace('"bpref(rel=2)"', '"FirstRank"')
    assert "FirstRank" in text
    StoredProtocol.objects.filter(pk=stored.pk).update(text=text)


def opened(client: Client, scene: Visited) -> dict[int, set[str]]:
    """The names of addresses by the status of the answer. Each 409 names the extension."""
    client.raise_request_exception = False
    names = defaultdict(set)
    for name, address in scene.addresses.items():
        response = client.get(address)
        content = b"".join(response)
        assert response.status_code != 409 or NEEDS in content, name
        names[response.status_code].add(name)
    return names


def outside(names: set[str], scene: Visited) -> set[str]:
    """The addresses that do not belong to a track."""
    matches = {name: resolve(scene.addresses[name]) for name in names}
    return {name for name, match in matches.items() if not belongs_to_track(match) and not names_job(match)}


def test_pages_of_the_track_name_the_extension() -> None:
    scene = build_visited()
    uninstall(scene)
    for user in (scene.organizer, scene.ada, scene.member):
        client = Client()
        client.force_login(user)

        names = opened(client, scene)

        assert names[500] == set()
        assert outside(names[409], scene) <= {"tracks:protocol"}
        assert "tracks:track" in names[409]
        assert {"home", "all_tracks", "tracks:protocols"} <= names[200]
        page = client.get(scene.addresses["tracks:protocols"]).content
        assert b"Needs the extension reading" in page
        assert b"Needs the extension reading" in client.get("/").content


def test_commands_on_the_track_name_the_extension() -> None:
    uninstall(build_scene())

    with pytest.raises(CommandError, match=NEEDS.decode()):
        call_command("export_judgments", "arq", "-")


def test_endpoints_of_the_track_name_the_extension() -> None:
    scene = build_called()
    uninstall(scene)
    read = {name for method, name in endpoints() if method == "GET"}
    scene.addresses = {name: address for name, address in scene.addresses.items() if name in read}

    names = opened(api(scene.organizer), scene)

    assert names[500] == set()
    assert outside(names[409], scene) == set()
    assert {"track", "leaderboard"} <= names[409]
    assert {"tracks", "me"} <= names[200]
