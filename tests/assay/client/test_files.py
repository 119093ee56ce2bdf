"""Downloads that break off, and names that lead elsewhere."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from assay.client import server as server_module
from assay.client.files import Sent, check_name, fetch
from assay.client.server import REFUSED, Server, ServerError
from assay.errors import InputError

CONTENT = b"0123456789" * 10
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Torn(httpx.SyncByteStream):
    """The first bytes of an answer; then the connection is lost."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self.data
        raise httpx.ReadError("connection lost")


class Site:
    """Sends a file, whole or from the byte that is asked for; the first `n_torn` answers break off after 30 bytes."""

    def __init__(self, *, n_torn: int = 0, content: bytes = CONTENT, has_ranges: bool = True) -> None:
        self.n_torn, self.content, self.has_ranges = n_torn, content, has_ranges
        self.ranges: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.ranges.append(request.headers.get("Range", ""))
        start = int(self.ranges[-1][6:-1]) if self.ranges[-1] and self.has_ranges else 0
        if start >= len(self.content):
            return httpx.Response(416)
        status, rest = 206 if start else 200, self.content[start:]
        if len(self.ranges) <= self.n_torn:
            return httpx.Response(status, stream=Torn(rest[:30]))
        return httpx.Response(status, content=rest)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "FIRST_WAIT", 0.0)


def download(site: Site, target: Path) -> list[int]:
    """Download the file; how many bytes were reported."""
    sizes: list[int] = []
    with Server("https://site.test", "assay_x", transport=httpx.MockTransport(site)) as server:
        fetch(server, "/api/v1/files/f", target, sha256=SHA256, progress=sizes.append)
    return sizes


def test_download_that_breaks_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    site, target = Site(n_torn=2), tmp_path / "f.txt"

    sizes = download(site, target)

    assert target.read_bytes() == CONTENT
    assert site.ranges == ["", "bytes=30-", "bytes=60-"]
    assert sizes == [30, 60, 100]
    assert list(tmp_path.iterdir()) == [target]


def test_upload_that_the_network_loses_is_sent_again_from_its_start(tmp_path: Path) -> None:
    bodies: list[tuple[str, bool]] = []
    sizes: list[int] = []
    run = tmp_path / "run.tsv"
    run.write_bytes(CONTENT)
    replayed = httpx.Response(201, json={"id": 7}, headers={"Idempotency-Replayed": "true"})
    answers = iter([httpx.ReadError("lost"), httpx.Response(503), replayed])

    def handle(request: httpx.Request) -> httpx.Response:
        bodies.append((request.headers["Idempotency-Key"], CONTENT in request.read()))
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with (
        Server("https://site.test", "", transport=httpx.MockTransport(handle)) as server,
        run.open("rb") as file,
    ):
        files = {"file": ("run.tsv", Sent(file, sizes.append))}
        answer = server.upload("tracks/t/runs/", {"kind": "primary"}, files, key="k")

    assert answer == ({"id": 7}, True)
    assert bodies == [("k", True)] * 3
    assert sizes == [100, 100] * 3, "the whole file each time; the second report is at its end"


def test_half_a_file_never_has_the_name_of_the_file_and_is_completed_later(tmp_path: Path) -> None:
    target = tmp_path / "f.txt"

    with pytest.raises(ServerError, match="connection lost"):
        download(Site(n_torn=9, has_ranges=False), target)
    parts = [path.name for path in tmp_path.iterdir()]
    later = Site()
    download(later, target)

    assert parts == [f"f.txt.{SHA256[:12]}.part"]
    assert later.ranges == ["bytes=30-"]
    assert target.read_bytes() == CONTENT


def test_complete_part_needs_no_bytes_and_a_wrong_one_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "f.txt"
    part = tmp_path / f"f.txt.{SHA256[:12]}.part"
    part.write_bytes(b"wrong" * 20)

    with pytest.raises(ServerError, match=r"has another SHA-256 .* nothing was kept"):
        download(Site(), target)
    assert not part.exists()
    part.write_bytes(CONTENT)
    download(Site(), target)

    assert target.read_bytes() == CONTENT


def test_refusal_is_not_repeated_and_another_host_gets_no_token(tmp_path: Path) -> None:
    site = Site(content=b"")

    with Server("https://site.test", "assay_x", transport=httpx.MockTransport(site)) as server:
        for url in ("https://evil.test/f", "//evil.test/f", "http://site.test/f"):
            with pytest.raises(ServerError, match="is not an address of https://site"):
                fetch(server, url, tmp_path / "f", sha256=SHA256, progress=lambda n: None)
    assert not site.ranges
    refusing = httpx.MockTransport(lambda request: httpx.Response(404))
    with (
        Server("https://site.test", "", transport=refusing) as server,
        pytest.raises(ServerError, match="status 404") as error,
    ):
        fetch(server, "/f", tmp_path / "f", sha256=SHA256, progress=lambda n: None)
    assert error.value.exit_status == REFUSED


@pytest.mark.parametrize("name", ["../f", "/etc/f", "a/b", "a\\b", ".ssh", "..", "", "a\nb"])
def test_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not a plain name"):
        check_name(name)


def test_plain_name_is_kept() -> None:
    assert check_name("Aufgaben für 2026.xml") == "Aufgaben für 2026.xml"
