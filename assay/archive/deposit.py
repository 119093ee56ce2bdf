"""Deposits an archive at Zenodo, or at a service with the same API, which registers a DOI for it.

A draft has a reserved DOI, can be changed and deleted, and is seen by its owner only. Once published, neither the files
nor the DOI can be taken back. The API is that of https://developers.zenodo.org: `POST /api/deposit/depositions` makes a
draft, `PUT` to its `links.bucket` stores a file, and `actions/publish` and `actions/newversion` do what they say.
"""

import hashlib
import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from assay.archive.description import KEYWORDS, abstract, author, organizers, title
from assay.archive.records import Index
from assay.client.files import Sent
from assay.client.server import UPLOAD_SECONDS, Server, ServerError
from assay.errors import InputError
from assay.structure import WrongStructure, structured

T = TypeVar("T")

API = "api/deposit/depositions/"
CREATIVE_COMMONS = re.compile(
    r"https?://creativecommons\.org/(licenses|publicdomain)/([a-z-]+)/(\d\.\d)(/.*)?", re.IGNORECASE
)
LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
PIECE = 1 << 20


class Draft(NamedTuple):
    """A deposit. `doi` is reserved until it is published; `page` is where its owner sees it."""

    number: int
    doi: str
    page: str
    bucket: str  # address of its files
    files: Mapping[str, str]  # the id of each file by its name
    is_published: bool


@dataclass(frozen=True)
class _Stored:
    checksum: str


@dataclass(frozen=True)
class _NewerLinks:
    latest_draft: str


@dataclass(frozen=True)
class _Newer:
    links: _NewerLinks


@dataclass(frozen=True)
class _File:
    filename: str
    id: str


@dataclass(frozen=True)
class _Links:
    html: str
    bucket: str = ""  # a published deposit has none


@dataclass(frozen=True)
class _Deposit:
    """The parts that count of a deposit as the service describes it."""

    id: int
    submitted: bool
    links: _Links
    metadata: dict[str, Any]  # its `prereserve_doi` is true, or an object with the DOI
    doi: str | None = None
    files: list[_File] = field(default_factory=list)


class _Body:
    """A file as the content of a request. A repeated request sends it from its beginning."""

    def __init__(self, file: Sent) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        while piece := self._file.read(PIECE):
            yield piece


class Service:
    """A service that takes deposits, with the token of a user. All methods raise `ServerError` if it refuses."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def reserve(self) -> Draft:
        """A new draft without files."""
        return self._draft(self._server.post("", {"metadata": {"prereserve_doi": True}}, is_repeatable=True))

    def opened(self, number: int) -> Draft:
        """An earlier draft."""
        draft = self._draft(self._server.get(str(number)))
        if draft.is_published:
            raise ServerError(
                f"deposit {number} is published, and its files stay as they are: --new-version-of {number} makes a "
                "new version",
                status=409,
            )
        return draft

    def new_version(self, number: int) -> Draft:
        """A draft of a new version of a published deposit. It begins with the files of the old one."""
        answer = self._server.post(f"{number}/actions/newversion", is_repeatable=True)
        draft = _understood(_Newer, answer).links.latest_draft
        return self._draft(self._server.get(self._server.own(draft)))

    def fill(
        self, draft: Draft, path: Path, metadata: Mapping[str, object], progress: Callable[[int], None]
    ) -> None:
        """Describe a draft, and make an archive its only file."""
        self._server.put(str(draft.number), json={"metadata": metadata})
        for name, identity in draft.files.items():
            if name != path.name:
                self._server.delete(f"{draft.number}/files/{identity}")
        with path.open("rb") as file:
            md5 = hashlib.md5(usedforsecurity=False)  # the only digest that the service names
            while piece := file.read(PIECE):
                md5.update(piece)
            file.seek(0)
            stored = self._server.put(
                f"{self._server.own(draft.bucket)}/{quote(path.name, safe='')}",
                content=_Body(Sent(file, progress)),
                headers={"Content-Length": str(path.stat().st_size)},
                timeout=UPLOAD_SECONDS,
            )
        if _understood(_Stored, stored).checksum != f"md5:{md5.hexdigest()}":
            raise ServerError(f"{path.name}: what was stored has another MD5; nothing was published")

    def publish(self, draft: Draft) -> Draft:
        """The deposit with its DOI. It cannot be taken back."""
        return self._draft(self._server.post(f"{draft.number}/actions/publish", is_repeatable=True))

    def _draft(self, answer: object) -> Draft:
        deposit = _understood(_Deposit, answer)
        reserved = deposit.metadata.get("prereserve_doi")
        return Draft(
            number=deposit.id,
            doi=deposit.doi or (str(reserved.get("doi", "")) if isinstance(reserved, dict) else ""),
            page=deposit.links.html,
            bucket="" if deposit.submitted else deposit.links.bucket,
            files={file.filename: file.id for file in deposit.files},
            is_published=deposit.submitted,
        )


def _understood(kind: type[T], answer: object) -> T:
    """The parts of an answer; it is another service if its answer lacks what those of Zenodo have."""
    try:
        return structured(kind, answer, is_open=True)
    except WrongStructure as error:
        raise ServerError(f"this service does not answer as Zenodo does: {error.problems[0]}") from None


def metadata_of(index: Index, *, license: str, communities: Sequence[str]) -> dict[str, Any]:  # noqa: A002
    """The metadata of a deposit, from the index of the archive. An empty `license` is that of the archive.

    Raises:
        InputError: Such services don't know the license.
    """
    names = [author(line) for line in index.authors]
    creators = [{"name": name} | ({"orcid": orcid} if orcid else {}) for name, orcid in names]
    metadata: dict[str, Any] = {
        "title": title(index),
        "upload_type": "dataset",
        "description": "".join(f"<p>{html.escape(part)}</p>" for part in abstract(index).split("\n\n")),
        "creators": creators or [{"name": organizers(index)}],
        "keywords": KEYWORDS,
        "access_right": "open",
        "license": license_id(license or index.license),
        "prereserve_doi": True,
    }
    if index.url:
        metadata["related_identifiers"] = [
            {"identifier": index.url, "relation": "isDocumentedBy", "scheme": "url"}
        ]
    if communities:
        metadata["communities"] = [{"identifier": name} for name in communities]
    return metadata


def license_id(text: str) -> str:
    """The identifier of a license from its name or address, such as cc-by-4.0.

    Raises:
        InputError: It has no identifier that such a service knows.
    """
    if match := CREATIVE_COMMONS.fullmatch(text.strip()):
        kind, name, version = match[1].lower(), match[2].lower(), match[3]
        if kind == "licenses":
            return f"cc-{name}-{version}"
        if name == "zero":
            return f"cc0-{version}"
    identifier = text.strip().lower().replace(" ", "-")
    if not LICENSE.fullmatch(identifier):
        stated = f"“{text}” is not the identifier of a license" if text else "the archive states no license"
        raise InputError(f"{stated}: give --license, such as --license cc-by-4.0")
    return identifier
