"""Qrels with subtopics, strata or preferences on the site: imported, scored, downloaded and archived."""

import csv
import json
import re
from io import BytesIO, StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from lxml import etree

from assay import samples
from assay.digests import sha256_of
from assay.formats.qrels.reader import GradeScale, format_qrels, parse_qrels
from assay.protocols.measures import parse_measure
from assessment.imports.forms import MappingForm
from assessment.models import Judgment, JudgmentImport
from jobs import services as jobs
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Evaluation, Leaderboard, Qrels, QrelsEntry
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_columns
from tests.helpers.api import api
from tests.helpers.bolt_campaign import Campaign, build_campaign
from tests.helpers.factories import make_organizer
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import findings_of, load
from tests.scoring.conftest import Scene, build_scene
from tests.scoring.test_protocol_keys import change, organizer

pytestmark = pytest.mark.django_db

SUBTOPICS = "A.1 1 10 1\nA.1 2 10 3\nA.1 2 9 1\nA.1 3 \xe9 0\nA.10 1 9 2\n"
STRATA = "A.1 0 10 1 3\nA.1 0 9 2 -1\nA.1 0 \xe9 2 1\nA.10 0 9 1 2\n"
PREFERENCES = "A.1 10 9\nA.1 9 \xe9\nA.10 9 10\n"
KINDS = {
    "alpha_nDCG(rel=1)@5": (SUBTOPICS, "topic, subtopic, docno, grade"),
    "xinfAP(rel=1)": (STRATA, "topic, 0, docno, stratum, grade"),
    "PGC": (PREFERENCES, "topic, winner, loser"),
}


def scene_of(measure: str) -> Scene:
    scene = build_scene()
    change(scene, '"AP(rel=2)\'"', f'"{measure}"')
    stored = scene.track.protocol
    stored.digest = sha256_of(stored.text.encode())
    stored.save(update_fields=["digest"])
    scene.submit(scene.ours, "good", "10 9 \xe9")
    return scene


def send(client: Client, scene: Scene, text: str) -> object:
    file = SimpleUploadedFile("qrels.txt", text.encode())
    return client.post(reverse("scoring:import_qrels", args=[scene.track.slug]), {"file": file})


def tsv(client: Client, version: Qrels) -> str:
    response = client.get(reverse("scoring:qrels_file", args=[version.pk]))
    return (b"".join(response.streaming_content) if response.streaming else response.content).decode()


@pytest.mark.parametrize("measure", KINDS)
def test_file_is_imported_scored_and_downloaded_with_its_parts(measure: str) -> None:
    text, title = KINDS[measure]
    scene = scene_of(measure)
    client = organizer(scene)

    page = client.get(reverse("scoring:import_qrels", args=[scene.track.slug])).content.decode()
    send(client, scene, text)
    version = Qrels.objects.get()
    client.post(reverse("scoring:score", args=[version.pk]))
    board = Leaderboard.objects.get()
    jobs.run(board.job_id)  # type: ignore[arg-type]

    assert title in page
    assert sorted(tsv(client, version).splitlines()) == sorted(text.replace(" ", "\t").splitlines())
    scores = Evaluation.objects.get(leaderboard=board).scores
    assert scores.get(measure=str(parse_measure(measure)), topic="all").value > 0
    assert client.get(board.get_absolute_url()).status_code == 200


@pytest.mark.parametrize("measure", KINDS)
def test_file_is_imported_through_the_api(measure: str) -> None:
    text, _ = KINDS[measure]
    scene = scene_of(measure)
    client, address = api(scene.organizer), reverse("api:import_qrels", args=[scene.track.slug])

    refused = client.post(address, {"file": SimpleUploadedFile("qrels.txt", b"A.1 9\n")})
    made = client.post(address, {"file": SimpleUploadedFile("qrels.txt", text.encode())})
    again = client.get(made.json()["url"] + "file/")

    assert (refused.status_code, refused.json()["errors"][0]["line"]) == (422, 1)
    assert made.status_code == 201
    assert sorted(again.content.decode().splitlines()) == sorted(text.replace(" ", "\t").splitlines())


def test_wrong_line_is_shown_and_nothing_is_stored() -> None:
    scene = scene_of("alpha_nDCG(rel=1)@5")

    response = send(organizer(scene), scene, "A.1 1 10 1\nA.1 1 10 2\n")

    assert b"line 2: document 10 of topic A.1 is already in line 1" in response.content  # type: ignore[attr-defined]
    assert not QrelsEntry.objects.exists()


def test_frozen_grades_are_not_scored_by_measures_of_subtopics() -> None:
    scene = scene_of("alpha_nDCG(rel=1)@5")
    board = scene.leaderboard(scene.qrels())

    assert board.status == Leaderboard.Status.FAILED
    assert board.job is not None
    assert "the qrels have no subtopics; import a file" in board.job.error


def test_archive_keeps_the_parts(tmp_path: Path) -> None:
    scene = scene_of("alpha_nDCG(rel=1)@5")
    scene.pool.entries.all().delete()
    scene.pool.delete()
    send(organizer(scene), scene, SUBTOPICS)
    scene.leaderboard(Qrels.objects.get(), release="public")

    path = written(archive_of(scene.track, scene.organizer), tmp_path)
    loaded = load(path, make_organizer("other"), slug="again")

    assert all(finding.is_right for finding in findings_of(path))
    versions = Qrels.objects.order_by("pk")
    assert [version.sha256 for version in versions] == 2 * [versions[0].sha256]
    assert QrelsEntry.objects.filter(qrels__track=loaded.track).exclude(parts="").count() == 4


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


def test_means_by_language_condition_are_shown(client: Client, board: Leaderboard) -> None:
    client.force_login(board.created_by)

    page = client.get(reverse("scoring:classes", args=[board.pk])).content.decode()

    assert "Language condition" in page
    assert re.search(r">\s*several\s*<", page)


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


def test_judged_submission_becomes_judgments_whose_answers_go_with_the_qrels(
    client: Client, bolt: Campaign
) -> None:
    """Also with those of an optional question; a citation without `rel` is not judged."""
    filled = b'<cite rel="yes" trans="n.a." chksrc="no" dialect="yes" '
    judged = samples.path("runs/bolt-owls.xml").read_bytes().replace(b"<cite ", filled, 3)
    client.force_login(bolt.organizer)
    place = {"batch": "By hand", "kind": "main"}
    upload = {"upload": SimpleUploadedFile("judged.xml", judged), **place}

    client.post(reverse("assessment:imports", args=["owls"]), upload)
    source = JudgmentImport.objects.get()
    form = MappingForm(source=source)
    [name] = [name for name, (kind, _) in form.words.items() if kind == "assessors"]
    client.post(source.get_absolute_url(), {name: "ada-of-owls", **place})
    client.post(reverse("assessment:run_import", args=[source.pk]))
    qrels = qrels_services.freeze_judgments(pool=bolt.pool, by=bolt.organizer)
    with ZipFile(BytesIO(client.get(reverse("scoring:qrels_judgments", args=[qrels.pk])).content)) as package:
        judgments = package.read("judgments/judgments.csv").decode()
    exported = client.get(reverse("scoring:qrels_export", args=[qrels.pk]), {"to": "bolt"}).content
    by_api = api(bolt.organizer).get(reverse("api:export_qrels", args=[qrels.pk]), {"to": "bolt"}).content
    with ZipFile(BytesIO(exported)) as package:
        xml = package.read("qrels.owls.v1/qrels.xml")

    answers = {"trans": "not-applicable", "chksrc": "no", "dialect": "yes"}
    assert [each.answers for each in Judgment.objects.all()] == 3 * [answers]
    header, *rows = csv.reader(StringIO(judgments))
    assert [json.loads(row[header.index("answers")]) for row in rows] == 3 * [answers]
    cites = {
        cite.get("thread"): dict(cite.attrib)
        for cite in etree.fromstring(xml).iter("cite")
        if cite.get("trans")
    }
    assert {thread: set(cite.items()) >= {*answers.items(), ("rel", "yes")} for thread, cite in cites.items()} == {
        "bolt-eng-DF-1-101": True, "bolt-arz-DF-2-202": True, "bolt-cmn-DF-3-303": True
    }  # fmt: skip
    assert by_api == exported
    again = parse_qrels(xml, grades=GradeScale.of(bolt.track.protocol.parsed))
    assert format_qrels(again) == format_qrels(qrels_columns(qrels))


def test_judged_citation_without_a_place_is_refused_on_its_line(client: Client, bolt: Campaign) -> None:
    client.force_login(bolt.organizer)
    judged = b'<bolt-ir-pool><response number="BIR_1">\n<cite rel="yes" post="p1"/></response></bolt-ir-pool>'
    upload = {"upload": SimpleUploadedFile("judged.xml", judged), "batch": "By hand", "kind": "main"}

    page = client.post(reverse("assessment:imports", args=["owls"]), upload, follow=True).content.decode()

    assert "a judged &lt;cite&gt; needs thread, post, offset and length" in page
    assert not Judgment.objects.exists()
