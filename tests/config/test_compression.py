"""Pages and static files are compressed."""

import gzip
from pathlib import Path

import brotli
import pytest
from django.test import Client
from django.urls import reverse

from config.compression import StaticFilesStorage, padded_brotli
from home import documentation
from tests.helpers.factories import make_organizer

pytestmark = pytest.mark.django_db
BROWSER = "gzip, deflate, br, zstd"


@pytest.mark.parametrize(
    ("accepted", "encoding", "unpack"),
    [(BROWSER, "br", brotli.decompress), ("gzip", "gzip", gzip.decompress), ("", "", bytes)],
)
def test_page_is_sent_in_the_best_encoding_that_the_browser_accepts(
    accepted: str, encoding: str, unpack: object
) -> None:
    address, client = "/", Client()
    plain = client.get(address)

    page = client.get(address, headers={"Accept-Encoding": accepted})
    again = client.get(address, headers={"Accept-Encoding": accepted, "If-None-Match": page["ETag"]})

    assert page.get("Content-Encoding", "") == encoding
    assert unpack(page.content) == plain.content
    assert "Accept-Encoding" in page["Vary"]
    assert page["Content-Length"] == str(len(page.content))
    assert page["ETag"].startswith("W/") == bool(encoding)
    assert again.status_code == 304


def test_files_are_sent_as_they_are(client: Client) -> None:
    client.force_login(make_organizer())

    file = client.get(reverse("tracks:site_history_csv"), headers={"Accept-Encoding": BROWSER})

    assert "Content-Encoding" not in file


def test_script_of_the_documentation_is_compressed(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path)
    (tmp_path / "index.html").write_text("The documentation")
    (tmp_path / "search.js").write_text("words " * 1000)

    start, script = (
        client.get(reverse("documentation", args=[name]), headers={"Accept-Encoding": BROWSER})
        for name in ("index.html", "search.js")
    )

    assert "Content-Encoding" not in start, "it is too short"
    assert brotli.decompress(script.content) == b"words " * 1000


@pytest.mark.parametrize("content", [b"", b"<p>a</p>", b"<p>a page</p>\n" * 5000])
def test_length_of_a_compressed_page_is_random(content: bytes) -> None:
    packed = [padded_brotli(content) for _ in range(200)]

    assert {brotli.decompress(each) for each in packed} == {content}
    assert len({len(each) for each in packed}) > 50


def test_static_files_are_compressed_with_brotli_and_gzip(tmp_path: Path) -> None:
    (tmp_path / "base.css").write_text("body {color: red}\n" * 100)

    names = StaticFilesStorage(location=tmp_path).create_compressor().compress(str(tmp_path / "base.css"))

    assert {Path(name).suffix for name in names} == {".br", ".gz"}
