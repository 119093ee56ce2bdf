"""Test collections in the forms of other tools, from a track and into a track."""

import json
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from accounts.models import User
from assay_extensions.exchange.content import Zipped
from assay_extensions.exchange.registry import FORMS, read
from corpus.models import Collection, Document
from jobs import services as jobs
from jobs.models import Job
from publishing.models import Archive, LoadedArchive
from scoring.models import Qrels, QrelsEntry
from tests.helpers.api import api, call
from tests.helpers.factories import make_collection, make_organizer
from tests.scoring.conftest import build_scene
from tracks.models import Topic, Track
from tracks.protocols.services import load_shipped

pytestmark = pytest.mark.django_db
CORPUS = [{"_id": f"d{n}", "title": f"Owls {n}", "text": "Owls, a < b & $x^2$"} for n in range(3)]
QUERIES = [
    {"_id": "T1", "text": "owls", "metadata": {"narrative": "a < b"}},
    {"_id": "T2", "text": "a harbor"},
]


def beir(qrels: str = "T1\td0\t1\nT1\td9\t0\nT2\td1\t0\n", corpus: Any = CORPUS) -> bytes:
    """The ZIP file of a small collection of BEIR."""
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        for name, rows in (("corpus", corpus), ("queries", QUERIES)):
            archive.writestr(f"owls/{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        archive.writestr("owls/qrels/test.tsv", "query-id\tcorpus-id\tscore\n" + qrels)
    return file.getvalue()


@pytest.fixture
def organizer(db: None) -> User:
    load_shipped()
    return make_organizer("oscar")


def load(client: Client, content: bytes, **fields: str) -> LoadedArchive:
    """Upload a collection through the API, and run its job."""
    upload = SimpleUploadedFile("owls.zip", content)
    form = encode_multipart(BOUNDARY, {"file": upload, "protocol": "trec-adhoc", **fields})
    answer = call(client, "POST", "load_archive", data=form, content_type=MULTIPART_CONTENT)
    assert answer.status_code == 202, answer.content
    loaded = LoadedArchive.objects.get(pk=answer.json()["id"])
    jobs.run(loaded.job_id)  # type: ignore[arg-type]
    loaded.refresh_from_db()
    return loaded


def test_collection_of_beir_becomes_a_track_and_leaves_in_every_form(
    organizer: User, client: Client, tmp_path: Path
) -> None:
    track = load(api(organizer), beir()).track
    assert track is not None

    assert (track.slug, track.status, track.protocol.slug) == ("owls", Track.Status.DRAFT, "trec-adhoc")
    assert Collection.objects.get() == track.collection
    assert Collection.objects.get().counts["documents"] == 3
    assert "a &lt; b &amp;" in Document.objects.get(docno="d1").body
    assert list(Topic.objects.values_list("code", "title", "narrative")) == [
        ("T1", "owls", "a &lt; b"), ("T2", "a harbor", ""),
    ]  # fmt: skip
    assert Qrels.objects.get().name == "test"
    assert Qrels.objects.get().report["unknown_documents"]["n"] == 1
    assert QrelsEntry.objects.count() == 3
    track.status = Track.Status.CLOSED
    track.save()
    client.force_login(organizer)
    for form in FORMS:
        client.post("/tracks/owls/archives/", {"form": form, "license": "MIT", "authors": "Ada"})
        archive = Archive.objects.latest("pk")
        jobs.run(archive.job_id)  # type: ignore[arg-type]
        page = client.get("/tracks/owls/archives/").content.decode()
        assert "3 documents, 2 topics," in page
        assert "1 line left out: topic or document not in the collection" in " ".join(page.split())
        archive.refresh_from_db()
        with archive.file.open("rb") as file:
            again = read(Zipped(file, "owls.zip"))  # type: ignore[arg-type]
            assert [each.docno for each in again.documents()] == ["d0", "d1", "d2"]
            assert next(iter(again.documents())).text == "Owls, a < b & $x^2$"
            assert [topic.query for topic in again.topics] == ["owls", "a harbor"]
            assert len(again.qrels["test"].grade) == 2  # one document is not in the collection
        with archive.file.open("rb") as file, Zipped(file, "owls.zip").opened("README.md") as card:  # type: ignore[arg-type]
            text = card.read()
            assert b"- Authors: Ada" in text
            assert b"- License: MIT" in text


def test_commands_write_and_load_a_collection(organizer: User, tmp_path: Path) -> None:
    (tmp_path / "owls.zip").write_bytes(beir())

    call_command("load_archive", tmp_path / "owls.zip", protocol="trec-adhoc", slug="birds", by="oscar")
    Track.objects.update(status=Track.Status.CLOSED)
    call_command("archive_track", "birds", tmp_path / "out.zip", form="beir", by="oscar")

    with (tmp_path / "out.zip").open("rb") as file:
        assert Zipped(file, "out.zip").names >= {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (beir(qrels="T1\td0\t1\nT1\td1\t7\n"), "Grade 7 is not in trec-adhoc"),
        (beir(corpus=[{"_id": "d0", "text": "a"}, {"text": "b"}]), "corpus.jsonl, line 2: _id is missing"),
        (beir(qrels="T9\td0\t1\n"), "no topic of the qrels test is among its topics"),
    ],
)
def test_collection_with_an_error_leaves_nothing(organizer: User, content: bytes, message: str) -> None:
    loaded = load(api(organizer), content)

    assert loaded.status == LoadedArchive.Status.FAILED
    assert message in Job.objects.get().error
    assert not Track.objects.exists()
    assert not Collection.objects.exists()


def test_wrong_uploads_are_refused_at_once(
    organizer: User, client: Client, archive_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(organizer)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    protocol = str(Track.protocol.field.related_model.objects.get(slug="trec-adhoc").pk)  # type: ignore[attr-defined]
    for content, fields, message in (
        (
            archive_file.read_bytes(),
            {"protocol": protocol},
            "is no test collection: it needs documents.jsonl and",
        ),
        (beir(), {}, "is not an archive of a track"),
    ):
        page = client.post("/archives/load/", {"upload": SimpleUploadedFile("x.zip", content), **fields})
        assert message in page.content.decode()
    assert not LoadedArchive.objects.exists()


def test_track_that_does_not_fit_a_form_is_refused(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    scene = build_scene()
    client.force_login(scene.organizer)

    def refusal(**fields: object) -> str:
        answer = client.post("/tracks/arq/archives/", fields)
        assert answer.status_code == 409
        return answer.content.decode()

    Track.objects.update(collection=None)
    assert "has no collection" in refusal(form="beir")
    Track.objects.update(collection=make_collection("posts"))
    assert "has no qrels yet" in refusal(form="beir")
    scene.qrels()
    assert "Only Assay&#x27;s own archive has judgments" in refusal(form="beir", has_names="on")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install -r requirements-parquet.txt" in refusal(form="hugging-face")
    assert not Archive.objects.exists()
