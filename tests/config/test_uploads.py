"""Bodies that are too large are rejected before anything reads them."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User

MEGABYTE = 1024 * 1024
pytestmark = pytest.mark.django_db


def post(client: Client, size: int) -> Any:
    """A request that declares a size. Its body is shorter, and is only read if the request is accepted."""
    return client.generic(
        "POST", "/login/", b"", CONTENT_LENGTH=str(size), **{"wsgi.input": BytesIO(b"x" * 100)}
    )


def test_visitor_may_send_a_form_but_no_file(client: Client) -> None:
    response = post(client, 2 * 1024 * 1024)

    assert response.status_code == 413
    assert "larger than 1 MB" in response.content.decode()


def test_user_may_send_up_to_the_limit(client: Client, settings: Any) -> None:
    client.force_login(User.objects.create(username="pat"))
    settings.UPLOAD_MAX_BYTES = 3 * 1024 * 1024

    assert post(client, 2 * 1024 * 1024).status_code != 413
    assert post(client, 4 * 1024 * 1024).status_code == 413


def test_full_disk_is_named_and_keeps_nothing_of_the_upload(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    client.force_login(User.objects.create(username="pat"))
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    run = SimpleUploadedFile("run.tsv", b"x" * 4 * MEGABYTE)

    with full_disk_after(3 * MEGABYTE):
        response = client.post("/account/", {"file": run})

    assert response.status_code == 507
    assert "The disk of the server is full." in response.content.decode()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def full_disk_after(n_bytes: int) -> Iterator[None]:
    """Let every file of this process that grows beyond a size fail, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_length_that_is_not_a_number_counts_as_zero(client: Client) -> None:
    response = client.generic("POST", "/login/", b"", CONTENT_LENGTH="many")

    assert response.status_code != 413


@pytest.mark.parametrize("size", [10, 3 * 1024 * 1024], ids=["in memory", "in a temporary file"])
def test_file_with_a_very_long_name_is_accepted(client: Client, size: int) -> None:
    client.force_login(User.objects.create(username="pat"))
    named = SimpleUploadedFile("run." + "é" * 250, b"x" * size)

    request = client.post("/login/", {"file": named}).wsgi_request

    assert len(str(request.FILES["file"].name).encode()) <= 200
