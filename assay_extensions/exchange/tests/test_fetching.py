"""Data sets of ir_datasets on the site: which may be fetched, what one becomes, and what ends it."""

import os
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from accounts.models import User
from assay_extensions.exchange.tests.test_registry import written
from corpus.models import Document
from jobs import services as jobs
from jobs.models import Job
from publishing.models import LoadedArchive
from scoring.models import Qrels, QrelsEntry
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer
from tracks.models import StoredProtocol, Topic, Track
from tracks.protocols.services import load_shipped

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(find_spec("ir_datasets") is None, reason="ir_datasets is not installed"),
]
PLUGIN = """
import sys
sys.path.append({folder!r})
import owls
import ir_datasets
import time

class Slow(ir_datasets.Dataset):
    def docs_iter(self):
        time.sleep(600)

class Large(ir_datasets.Dataset):
    def docs_iter(self):
        (ir_datasets.util.home_path() / "download").write_bytes(bytes(2_000_000))
        time.sleep(600)

class Offline(ir_datasets.Dataset):
    def docs_iter(self):
        raise ConnectionError("no answer from data.example.org")

parts = ir_datasets.load("owls/test")
for name, kind in (("slow", Slow), ("large", Large), ("offline", Offline)):
    ir_datasets.registry.register("owls/" + name, kind(parts))
"""


@pytest.fixture
def organizer(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> User:
    """An organizer of a site whose ir_datasets knows the collection of owls and a few that fail."""
    settings.IR_DATASETS, settings.VAR_DIR = ["owls/*", "vaswani"], tmp_path / "var"
    plugin = tmp_path / "plugin"
    folder = written("ir-datasets", tmp_path / "owls")
    plugin.mkdir()
    (plugin / "sitecustomize.py").write_text(PLUGIN.format(folder=str(folder)))
    monkeypatch.syspath_prepend(str(plugin))
    load_shipped()
    return make_organizer("oscar")


def fetch(client: Client, dataset: str, protocol: str = "trec-adhoc") -> LoadedArchive:
    """Ask the API for a data set, and run the job."""
    answer = call(client, "POST", "fetch_collection", data={"dataset": dataset, "protocol": protocol})
    assert answer.status_code == 202, answer.content
    loaded = LoadedArchive.objects.get(pk=answer.json()["id"])
    jobs.run(loaded.job_id)  # type: ignore[arg-type]
    loaded.refresh_from_db()
    return loaded


def is_clean(folder: Path) -> bool:
    return not list((folder / "var" / "fetched").iterdir())


def test_data_set_becomes_a_track_as_a_folder_of_beir_does(organizer: User, tmp_path: Path) -> None:
    loaded = fetch(api(organizer), "owls/test")

    track = loaded.track
    assert track is not None, Job.objects.get().error
    assert (track.slug, track.status, track.protocol.slug) == ("owls-test", Track.Status.DRAFT, "trec-adhoc")
    assert (loaded.name, loaded.file, len(loaded.sha256)) == ("ir_datasets:owls/test", "", 64)
    assert track.collection is not None
    assert track.collection.counts["documents"] == 3
    assert "Owls sing" in Document.objects.get(docno="d1").body
    assert list(Topic.objects.values_list("code", "title")) == [("T.1", "owls at night"), ("T.2", "harbor")]
    assert Qrels.objects.get().track == track
    assert list(QrelsEntry.objects.values_list("docno", "grade")) == [("d1", 1)]
    assert is_clean(tmp_path)


def test_page_and_command_fetch_too(organizer: User, client: Client) -> None:
    client.force_login(organizer)
    protocol = StoredProtocol.objects.get(slug="trec-adhoc").pk
    form = {"fetch-dataset": "owls/test", "fetch-slug": "birds", "fetch-protocol": protocol}

    answer = client.post("/archives/fetch/", form)
    page = client.get(answer["Location"]).content.decode()
    jobs.run(Job.objects.get().pk)
    call_command("load_archive", "ir_datasets:owls/test", protocol="trec-adhoc", slug="more", by="oscar")

    assert "Load ir_datasets:owls/test" in page
    assert set(Track.objects.values_list("slug", flat=True)) == {"birds", "more"}


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("owls/none", "ir_datasets has no data set 'owls/none'"),
        ("owls/offline", "ir_datasets:owls/offline cannot be read: no answer from data.example.org"),
        ("owls/large", "has more than 1 MB with its downloads (IR_DATASETS_MAX_MB), and was not fetched."),
    ],
)
def test_failure_is_said_and_leaves_nothing(
    organizer: User, tmp_path: Path, dataset: str, message: str, settings: Any
) -> None:
    settings.IR_DATASETS_MAX_BYTES = 1024 * 1024

    loaded = fetch(api(organizer), dataset)

    assert loaded.status == LoadedArchive.Status.FAILED
    assert message in Job.objects.get().error
    assert not Track.objects.exists()
    assert is_clean(tmp_path)


def test_canceled_job_ends_the_process(organizer: User, tmp_path: Path) -> None:
    """The process has its own folder in its environment, by which it is known."""

    def cancel() -> None:
        while not processes_in(tmp_path):
            time.sleep(0.1)
        jobs.cancel(job=Job.objects.get(), by=organizer)
        connection.close()

    thread = threading.Thread(target=cancel)
    thread.start()
    loaded = fetch(api(organizer), "owls/slow")
    thread.join()

    assert loaded.status == LoadedArchive.Status.FAILED
    assert processes_in(tmp_path) == []
    assert is_clean(tmp_path)


def processes_in(folder: Path) -> list[str]:
    """The ids of the processes that fetch into a folder."""
    word = f"IR_DATASETS_HOME={folder}".encode()
    return [each.parent.name for each in Path("/proc").glob("[0-9]*/environ") if word in _environment(each)]


def _environment(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.stat().st_uid == os.getuid() else b""
    except OSError:
        return b""


def test_site_fetches_only_what_its_setting_names(organizer: User, client: Client, settings: Any) -> None:
    client.force_login(organizer)
    form = {"fetch-dataset": "msmarco-passage", "fetch-protocol": StoredProtocol.objects.first().pk}  # type: ignore[union-attr]
    asked = {"dataset": "msmarco-passage", "protocol": "trec-adhoc"}
    message = "This site may not fetch msmarco-passage. The setting IR_DATASETS allows owls/*, vaswani."

    assert message in client.post("/archives/fetch/", form).content.decode()
    assert call(api(organizer), "POST", "fetch_collection", data=asked).json()["detail"] == message
    with pytest.raises(CommandError, match="may not fetch msmarco-passage"):
        call_command("load_archive", "ir_datasets:msmarco-passage", protocol="trec-adhoc", by="oscar")
    settings.IR_DATASETS = []
    assert "with the setting <code>IR_DATASETS</code>" in client.get("/archives/load/").content.decode()
    assert call(api(organizer), "POST", "fetch_collection", data=asked).status_code == 409
    assert (
        "with the setting <code>IR_DATASETS</code>" in client.post("/archives/fetch/", form).content.decode()
    )
    assert not LoadedArchive.objects.exists()
