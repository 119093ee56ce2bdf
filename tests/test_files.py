"""Every file that the site sends, to visitors and organizers after a release, on pages and through the API.

A program that has a file must be able to ask whether it is still the same. What is made line by line from data that
change has no ETag, and nothing may keep it. What is sent while it is made has an ETag without a digest.
"""

import base64
import hashlib
from collections.abc import Mapping

import pytest
from django.test import Client
from django.urls import resolve

from scoring.leaderboards import services
from tests.helpers.api import api
from tests.scoring.conftest import Scene
from tests.test_access import RELEASED, addresses, empty_refusals, own_files, scene
from tests.test_api_access import build_called, sends_files
from tests.test_api_and_pages import FILES, table

__all__ = ["addresses", "empty_refusals", "own_files", "scene"]  # fixtures

pytestmark = pytest.mark.usefixtures("empty_refusals")
OF_LIVE_DATA = {
    "assessment:differences_csv",
    "assessment:judgments_csv",
    "corpus:disagreements",
    "publishing:documents_zip",
    "machines:export_evidence",
    "scoring:later_runs_file",
    "tracks:fetches_csv",
    "tracks:history_csv",
    "tracks:site_history_csv",
}
STREAMED = {"pooling:pool_contributions", "pooling:pool_member_contributions"}
OPERATIONS_OF_LIVE_DATA = {
    "export_judgments",
    "judged_differently",
    "machine_evidence",
    "team_documents_zip",
    "visual_id_disagreements",
}


def release(scene: Scene) -> None:
    for level in RELEASED:
        board = scene.track.leaderboards.get()
        services.release(leaderboard=board, level=level, by=scene.organizer, reason="A test.")


def files(clients: list[Client], of: Mapping[str, str]) -> dict[str, bool]:
    """The names of the addresses that send files: whether each has an ETag. Each is asked for again with it."""
    has_etag: dict[str, bool] = {}
    for client in clients:
        for name, address in of.items():
            response = client.get(address)
            content = b"".join(response)  # type: ignore[arg-type]
            if response.status_code != 200 or "attachment" not in response.get("Content-Disposition", ""):
                continue
            has_etag[name] = "ETag" in response
            if not has_etag[name]:
                assert "no-store" in response["Cache-Control"], name
                continue
            digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
            known = None if name in STREAMED else f"sha-256=:{digest}:"
            assert response.get("Repr-Digest") == known, name
            again = client.get(address, headers={"If-None-Match": response["ETag"]})
            assert (again.status_code, b"".join(again), again["ETag"]) == (304, b"", response["ETag"]), name  # type: ignore[arg-type]
    return has_etag


def test_files_of_pages_are_known_again(scene: Scene, addresses: dict[str, str]) -> None:
    release(scene)
    organizer = Client()
    organizer.force_login(scene.organizer)

    sent = files([Client(), organizer], {name: addresses[name] for name in table(FILES)})

    assert len(sent) > 30
    assert {name for name, has_etag in sent.items() if not has_etag} == OF_LIVE_DATA


@pytest.mark.usefixtures("own_files")
def test_files_of_the_api_are_known_again() -> None:
    scene = build_called()
    release(scene)
    operations = {name: address for name, address in scene.addresses.items() if sends_files(resolve(address))}

    sent = files([api(None), api(scene.organizer)], operations)

    assert len(sent) > 10
    assert {name for name, has_etag in sent.items() if not has_etag} == OPERATIONS_OF_LIVE_DATA
