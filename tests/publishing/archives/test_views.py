"""The pages of archives."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from jobs import services as jobs
from publishing.models import Archive, LoadedArchive
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer
from tracks.models import Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client, db: None) -> Client:
    client.force_login(make_organizer("oscar"))
    return client


def test_an_upload_becomes_a_track_and_is_archived_again(organizer: Client, archive_file: Path) -> None:
    upload = SimpleUploadedFile("campaign_of_2026.zip", archive_file.read_bytes())
    answer = organizer.post("/archives/load/", {"upload": upload, "slug": "again"})
    loaded = LoadedArchive.objects.get()
    assert "campaign_<wbr>of_<wbr>2026<wbr>.zip</a>" in organizer.get("/archives/load/").content.decode()
    jobs.run(loaded.job_id)

    page = organizer.get(answer["Location"]).content.decode()
    assert "Go to the track" in page
    assert "built again with seed 3" in page
    form = {"form": "archive", "authors": "Olga\nOtto", "license": "CC BY 4.0", "url": "example.org"}
    organizer.post("/tracks/again/archives/", form)
    archive = Archive.objects.get()
    assert (archive.url, archive.has_names) == ("https://example.org", False)
    building = organizer.get("/tracks/again/archives/").content.decode()
    assert "An archive is being made." in building
    assert 'hx-trigger="every 2s"' in building
    jobs.run(archive.job_id)
    ready = organizer.get("/tracks/again/archives/", headers={"HX-Request": "true"})
    page = organizer.get("/tracks/again/archives/").content.decode()
    assert (ready["HX-Refresh"], ready.content) == ("true", b"")
    assert f"{archive} is ready." in page
    assert "hx-trigger" not in page
    assert f'<a href="/archives/{archive.pk}/file/">{archive}</a>' in page
    assert "CC BY 4.0" in page  # offered for the next one
    file = organizer.get(f"/archives/{archive.pk}/file/")
    assert b"".join(file.streaming_content).startswith(b"PK")  # type: ignore[attr-defined]
    archive.refresh_from_db()
    again = Track.objects.filter(slug="again")
    again.update(names_hidden_until=datetime(2099, 5, 1, 12, tzinfo=UTC))
    hidden = organizer.post(f"/archives/{archive.pk}/offer/")
    assert hidden.status_code == 409
    assert "hides them until 2099-05-01 12:00" in hidden.content.decode()
    again.update(names_hidden_until=None)
    offered = organizer.post(f"/archives/{archive.pk}/offer/")
    [row] = Track.objects.get(slug="again").downloads.filter(name=f"{archive}")
    assert (offered["Location"], row.sha256, row.released_at) == (
        f"/tracks/again/downloads/{row.pk}/edit/",
        archive.sha256,
        None,
    )
    heading = re.search("<h1>(.*?)</h1>", organizer.get(offered["Location"]).content.decode(), re.DOTALL)
    assert heading
    assert heading[1].strip() == f"<bdi>{row.name}</bdi>"
    assert organizer.post(f"/archives/{archive.pk}/offer/").status_code == 409
    organizer.post(f"/archives/{archive.pk}/delete/")
    assert "No archives yet" in organizer.get("/tracks/again/archives/").content.decode()


def test_a_refused_upload_says_why_and_leaves_nothing(organizer: Client) -> None:
    upload = SimpleUploadedFile("campaign.zip", b"something else")
    page = organizer.post("/archives/load/", {"upload": upload}).content.decode()

    assert "campaign.zip: The file is not a zip archive." in page
    assert not LoadedArchive.objects.exists()


def test_a_draft_cannot_be_archived(organizer: Client, archive_file: Path) -> None:
    upload = SimpleUploadedFile("campaign.zip", archive_file.read_bytes())
    organizer.post("/archives/load/", {"upload": upload})
    jobs.run(LoadedArchive.objects.get().job_id)
    Track.objects.update(status=Track.Status.DRAFT)

    answer = organizer.post("/tracks/arq/archives/", {"form": "archive"})

    assert answer.status_code == 409
    assert "is a draft" in answer.content.decode()


def test_archive_is_loaded_made_again_and_deleted(archive_file: Path) -> None:
    client = api(make_organizer("oscar"))
    file = SimpleUploadedFile("campaign.zip", archive_file.read_bytes())
    form = encode_multipart(BOUNDARY, {"file": file, "slug": "again"})

    loading = call(client, "POST", "load_archive", data=form, content_type=MULTIPART_CONTENT)
    jobs.run(int(loading["Location"].split("/")[-2]))
    loaded = client.get(loading.json()["url"]).json()
    making = call(client, "POST", "archives", "again", data={"authors": "Olga", "url": "example.org"})
    jobs.run(int(making["Location"].split("/")[-2]))
    made = client.get(making.json()["url"]).json()
    content = call(client, "GET", "archive_file", made["id"])

    assert (loading.status_code, making.status_code) == (202, 202)
    assert (loaded["status"], loaded["track"]) == ("loaded", "again")
    assert loaded["findings"]
    assert not any(part["problem"] for part in loaded["findings"])
    assert (made["status"], made["counts"]["leaderboards"]) == ("ready", 1)
    assert len(b"".join(content)) == made["n_bytes"]
    assert call(client, "DELETE", "archive", made["id"]).status_code == 204
    assert not Archive.objects.exists()
