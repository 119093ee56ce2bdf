"""Archives for programs."""

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from jobs import services as jobs
from publishing.models import Archive
from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer

pytestmark = pytest.mark.django_db


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
    assert len(b"".join(content)) == made["size"]
    assert call(client, "DELETE", "archive", made["id"]).status_code == 204
    assert not Archive.objects.exists()
