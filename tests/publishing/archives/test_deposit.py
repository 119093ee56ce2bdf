"""Deposits at a service with the API of Zenodo: here a small imitation of it, over HTTP."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from assay.archive.contents import Reader
from assay.cli.main import main
from tests.publishing.archives.conftest import Campaign

AUTHOR = "Ada Lovelace https://orcid.org/0000-0002-1825-0097"


@dataclass
class Zenodo:
    """The deposits of one user, as https://developers.zenodo.org describes them."""

    url: str = ""
    deposits: dict[int, dict[str, Any]] = field(default_factory=dict)
    contents: dict[tuple[int, str], bytes] = field(default_factory=dict)

    def new(self) -> dict[str, Any]:
        number = 101 + len(self.deposits)
        self.deposits[number] = {
            "id": number,
            "submitted": False,
            "files": [],
            "metadata": {"prereserve_doi": {"doi": f"10.5072/zenodo.{number}", "recid": number}},
            "links": {"html": f"{self.url}/deposit/{number}", "bucket": f"{self.url}/api/files/b{number}"},
        }
        return self.deposits[number]

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if match := re.fullmatch(r"/api/files/b(\d+)/(.+)", path):
            return self._store(int(match[1]), match[2], body)
        match = re.fullmatch(r"/api/deposit/depositions/(?:(\d+)(?:/(actions|files)/(\w+))?)?", path)
        assert match, path
        if match[1] is None:
            return 201, self.new()
        deposit = self.deposits[int(match[1])]
        if match[2] == "files":
            deposit["files"] = [each for each in deposit["files"] if each["id"] != match[3]]
            return 204, None
        if match[2] == "actions":
            return self._act(deposit, match[3])
        if method == "PUT":
            metadata = json.loads(body)["metadata"]
            if metadata["license"] == "unheard-of":
                problem = {"field": "metadata.license", "message": "Not a valid choice."}
                return 400, {"status": 400, "message": "Validation error.", "errors": [problem]}
            deposit["metadata"] |= metadata | {"prereserve_doi": deposit["metadata"]["prereserve_doi"]}
        return 200, deposit

    def _store(self, number: int, name: str, body: bytes) -> tuple[int, Any]:
        self.contents[number, name] = body
        self.deposits[number]["files"].append({"id": f"f{len(self.contents)}", "filename": name})
        return 201, {"checksum": f"md5:{hashlib.md5(body, usedforsecurity=False).hexdigest()}"}

    def _act(self, deposit: dict[str, Any], action: str) -> tuple[int, Any]:
        if action == "publish":
            deposit |= {"submitted": True, "doi": deposit["metadata"]["prereserve_doi"]["doi"]}
            return 202, deposit
        assert action == "newversion"
        draft = self.new()
        draft["files"] = list(deposit["files"])
        links = deposit["links"] | {"latest_draft": f"{self.url}/api/deposit/depositions/{draft['id']}"}
        return 201, deposit | {"links": links}


@pytest.fixture
def zenodo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zenodo]:
    state = Zenodo()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, content = 401, {"message": "Unauthorized"}
            if self.headers["Authorization"] == "Bearer secret":
                status, content = state.answer(self.command, self.path, body)
            data = b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 -- the names of the standard library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("ASSAY_DEPOSIT_TOKEN", "secret")
        Thread(target=server.serve_forever, daemon=True).start()
        yield state
        server.shutdown()


@pytest.mark.django_db
def test_an_archive_names_the_doi_that_was_reserved_for_it_and_is_published_with_it(
    campaign: Campaign, zenodo: Zenodo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["archive", "reserve", "--to", zenodo.url]) == 0
    assert "10.5072/zenodo.101 is reserved, in draft 101" in capsys.readouterr().out
    options = {"license": "https://creativecommons.org/licenses/by-sa/4.0/", "url": "https://example.org/arq"}
    path = campaign.file(tmp_path, authors=AUTHOR, doi="10.5072/zenodo.101", **options)
    with Reader.of(path) as reader:
        record = json.loads(reader.read("datacite.json"))
        assert (record["doi"], record["url"]) == ("10.5072/zenodo.101", "https://example.org/arq")
        [creator] = record["creators"]
        assert creator["name"] == "Ada Lovelace"
        assert creator["nameIdentifiers"][0]["nameIdentifier"] == "https://orcid.org/0000-0002-1825-0097"
        assert json.loads(reader.read("metadata.json"))["identifier"] == "https://doi.org/10.5072/zenodo.101"
        assert "doi          = {10.5072/zenodo.101}" in reader.read("CITATION.bib").decode()

    deposit = ["archive", "deposit", "--quiet", str(path), "--to", zenodo.url]
    assert main([*deposit]) == 2
    assert "the archive names the DOI 10.5072/zenodo.101, and draft 102 has 10.5072/zenodo.102" in (
        capsys.readouterr().err
    )
    assert main([*deposit, "--draft", "101", "--community", "clef", "--publish"]) == 0

    assert "Published: https://doi.org/10.5072/zenodo.101" in capsys.readouterr().out
    stored = zenodo.deposits[101]
    assert zenodo.contents[101, path.name] == path.read_bytes()
    assert stored["metadata"]["license"] == "cc-by-sa-4.0"
    assert stored["metadata"]["creators"] == [{"name": "Ada Lovelace", "orcid": "0000-0002-1825-0097"}]
    assert stored["metadata"]["communities"] == [{"identifier": "clef"}]
    assert main([*deposit, "--draft", "101"]) == 1
    assert "deposit 101 is published" in capsys.readouterr().err

    second = campaign.file(tmp_path, license="CC0-1.0").rename(tmp_path / "second.zip")
    deposit[3] = str(second)
    assert main([*deposit, "--new-version-of", "101"]) == 0
    assert [each["filename"] for each in zenodo.deposits[103]["files"]] == ["second.zip"], (
        "not that of version 1"
    )
    assert not zenodo.deposits[103]["submitted"]
    assert zenodo.deposits[103]["metadata"]["creators"] == [{"name": "The organizers of ARQ"}]


@pytest.mark.django_db
def test_what_cannot_be_deposited_is_refused_before_or_by_the_service(
    campaign: Campaign,
    zenodo: Zenodo,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = campaign.file(tmp_path)
    deposit = ["archive", "deposit", "--quiet", str(path), "--to", zenodo.url]
    assert main(deposit) == 2
    assert "the archive states no license: give --license" in capsys.readouterr().err
    assert main([*deposit, "--license", "unheard-of"]) == 1
    assert "Validation error. metadata.license: Not a valid choice." in capsys.readouterr().err
    assert not zenodo.contents
    monkeypatch.setattr(zenodo, "answer", lambda *_: (200, {"id": 1}))
    assert main(["archive", "reserve", "--to", zenodo.url]) == 4
    assert "this service does not answer as Zenodo does: submitted: missing" in capsys.readouterr().err
    monkeypatch.setenv("ASSAY_DEPOSIT_TOKEN", "wrong")
    assert main([*deposit, "--license", "CC BY 4.0"]) == 3
    assert "Unauthorized" in capsys.readouterr().err
    monkeypatch.setenv("ASSAY_DEPOSIT_TOKEN", "")
    assert main(["archive", "reserve", "--to", zenodo.url]) == 2
    assert "in the variable ASSAY_DEPOSIT_TOKEN" in capsys.readouterr().err
    assert main(["archive", "reserve", "--to", "zenodo.org"]) == 2


@pytest.mark.django_db
def test_command_writes_authors_license_and_doi_and_refuses_a_wrong_orcid(
    campaign: Campaign, tmp_path: Path
) -> None:
    slug, file = campaign.scene.track.slug, tmp_path / "named.zip"
    command = ["archive_track", slug, str(file), "--by", campaign.scene.organizer.username]

    with pytest.raises(CommandError, match=r"Line 1: 0000-0002-1825-0098 is no ORCID iD"):
        call_command(*command, "--author", "Ada Lovelace 0000-0002-1825-0098")
    with pytest.raises(CommandError, match=r"Enter a DOI"):
        call_command(*command, "--doi", "zenodo")
    call_command(*command, "--author", AUTHOR, "--license", "CC-BY-4.0", "--doi", "10.5072/zenodo.7")

    with Reader.of(file) as reader:
        assert (reader.index.doi, reader.index.license) == ("10.5072/zenodo.7", "CC-BY-4.0")
