"""A whole dump in one upload: several files, or an archive of them."""

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from corpus.models import Collection, Document, Import
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.articles import tarred, zipped
from tests.helpers.dumps import answer, dump, question, row
from tests.helpers.factories import make_organizer

pytestmark = pytest.mark.django_db

FILES = {
    "math/Comments.xml": dump("comments", row(Id=7, PostId=2, Text="Why?", Score=0)),
    "math/Posts.xml": dump("posts", question(1), answer(2, 1)),
    "math/readme.txt": "%PDF",
}


def upload(client: Client, **files: bytes) -> str:
    """Upload files to a new collection, run the import, and return its page."""
    client.force_login(make_organizer())
    uploads = [SimpleUploadedFile(name.replace("_", "."), content) for name, content in files.items()]
    address = reverse("corpus:start_import")
    answer = client.post(address, {"slug": "math", "upload": uploads}, follow=True)
    if job := Job.objects.first():
        jobs.run(job.pk)
        return client.get(reverse("corpus:import", args=[job.pk])).content.decode()
    return answer.content.decode()


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archive_of_a_dump_is_one_import_in_the_right_order(
    client: Client, pack: Callable[[Mapping[str, str]], bytes]
) -> None:
    page = upload(client, dump_zip=pack(FILES))

    assert [file.name for file in Import.objects.order_by("pk")] == ["Posts.xml", "Comments.xml"]
    assert page.index("1. Posts.xml") < page.index("2. Comments.xml")
    assert "of no known kind: readme.txt" in page
    assert Document.objects.get(docno="2").comments.count() == 1


def test_several_files_are_one_import(client: Client) -> None:
    contents = {name.rpartition("/")[2].replace(".", "_"): text.encode() for name, text in FILES.items()}

    upload(client, **contents)

    assert Document.objects.get(docno="2").comments.count() == 1
    assert Job.objects.count() == 1


def test_archive_that_is_damaged_or_a_bomb_is_refused(
    client: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("Posts.xml", "Comments.xml"):
            archive.writestr(name, b" " * 1_000_000)

    damaged = upload(client, dump_zip=zipped(FILES)[:-30] + b"0" * 30)
    too_large = upload(client, dump_zip=bomb.getvalue())

    assert "<h1>Import files into a collection</h1>" in damaged
    assert not Collection.objects.exists()
    assert "more than 100 times its size" in too_large
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
