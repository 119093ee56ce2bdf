"""A campaign of BOLT: its pool as XML becomes qrels, and topics are complete when these are released."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from lxml import etree

from assay import samples
from assay.formats.qrels.reader import parse_qrels
from jobs import services as jobs
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.api import api
from tests.helpers.bolt_campaign import Campaign, build_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def bolt(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> Campaign:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    return build_campaign()


@pytest.fixture
def board(bolt: Campaign) -> Leaderboard:
    """A leaderboard that nobody but organizers sees."""
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


def test_judged_pool_in_xml_becomes_qrels(client: Client, bolt: Campaign) -> None:
    address = reverse("pooling:pool_citations", args=[bolt.pool.pk])
    client.force_login(bolt.ada)
    hidden = client.get(address).status_code
    client.force_login(bolt.organizer)

    pool = client.get(address).getvalue()
    listed = client.get(reverse("api:pool_entries", args=[bolt.pool.pk]), {"page_size": 500}).json()[
        "results"
    ]

    assert {row["passage"] for row in listed} == set(bolt.pool.entries.values_list("passage", flat=True))
    cites = list(etree.fromstring(pool).iter("cite"))
    assert hidden == 403
    assert len({cite.get("key") for cite in cites}) == len(cites) == bolt.pool.entries.count()
    assert {cite.text for cite in cites} == set(bolt.pool.entries.values_list("passage", flat=True))
    judged = pool.replace(b"<cite ", b'<cite rel="maybe" ').replace(b'rel="maybe"', b'rel="yes"', 1)
    upload = reverse("scoring:import_qrels", args=["owls"])
    client.post(upload, {"file": SimpleUploadedFile("judged.xml", judged)})
    qrels = bolt.track.qrels.get()
    assert sorted(qrels.entries.values_list("grade", flat=True)) == [1] * (len(cites) - 1) + [2]
    assert set(qrels.entries.values_list("docno")) == set(bolt.pool.entries.values_list("docno"))


def test_unknown_relevance_is_refused_on_its_line(client: Client, bolt: Campaign) -> None:
    client.force_login(bolt.organizer)
    pool = client.get(reverse("pooling:pool_citations", args=[bolt.pool.pk])).getvalue()
    judged = pool.replace(b"<cite ", b'<cite rel="sure" ', 1)

    response = client.post(
        reverse("scoring:import_qrels", args=["owls"]), {"file": SimpleUploadedFile("judged.xml", judged)}
    )

    assert (
        "line 4: grade &#x27;sure&#x27; is not a whole number; use yes, maybe, no"
        in response.content.decode()
    )
    assert not bolt.track.qrels.exists()
