"""Topics with the parts that participants did not see: released with the qrels."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from assay import samples
from assay.formats.qrels.reader import parse_qrels
from jobs import services as jobs
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.api import api
from tests.helpers.bolt_campaign import build_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> Leaderboard:
    """The leaderboard of a campaign of BOLT, which nobody but organizers sees."""
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    bolt = build_campaign()
    columns = parse_qrels(samples.path("bolt-qrels.txt").read_bytes())
    qrels = qrels_services.import_file(track=bolt.track, columns=columns, file_name="q", by=bolt.organizer)
    board = leaderboard_services.request(qrels=qrels, by=bolt.organizer)
    jobs.run(board.job_id or 0)
    board.refresh_from_db()
    return board


def test_complete_topics_come_with_the_release(client: Client, board: Leaderboard) -> None:
    address = reverse("scoring:complete_topics", args=[board.qrels_id])
    endpoint = reverse("api:complete_topics", args=[board.qrels_id])
    before = (client.get(address).status_code, api(None).get(endpoint).status_code)
    seen = client.get(reverse("tracks:topic", args=["owls", "BIR_2"])).content.decode()

    leaderboard_services.release(leaderboard=board, level="public", by=board.created_by, reason="A test.")

    assert before == (404, 404)
    assert "Any animal counts." not in seen
    with ZipFile(BytesIO(client.get(address).content)) as package:
        xml = package.read("owls-topics/owls-topics.xml").decode()
        lines = package.read("owls-topics/owls-topics.jsonl").decode()
    assert "Any animal counts." in xml
    assert '<cite rel="yes"' in xml
    assert "Any animal counts." in lines
    assert address in client.get(board.qrels.get_absolute_url()).content.decode()
    topics = api(None).get(endpoint).json()["results"]
    assert "Any animal counts." in topics[1]["narrative"]
