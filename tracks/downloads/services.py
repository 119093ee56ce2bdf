"""Attach, release, remove and send downloads, and record who fetched them."""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import BinaryIO

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase

from accounts.access import AnyUser
from accounts.audit import services as audit
from accounts.models import Role, User
from assay.digests import sha256_of_file
from assay.errors import Refused
from jobs.files import storage
from tracks.downloads.contents import Item
from tracks.downloads.selectors import SINGLE, items_for
from tracks.models import Download, Fetch, Track
from tracks.tracks import services as track_services
from web.downloads import download_range, is_first_part, safe_name

ATTACHED = (Download.Kind.COLLECTION, Download.Kind.QRELS, Download.Kind.OTHER)

download_refused = partial(Refused, code="download-refused", title="The downloads were not changed")


@dataclass(frozen=True)
class Release:
    """The audience of a part and its start; without a time, nobody until its release. `zone` is for reading it."""

    audience: str = Download.Audience.EVERYONE
    released_at: datetime | None = None
    zone: str = "UTC"


HIDDEN = Release()


def digest_of(file: BinaryIO) -> tuple[str, int]:
    """The SHA-256 and the size of a file, which is read in pieces."""
    sha256, n_bytes = sha256_of_file(file), file.seek(0, os.SEEK_END)
    file.seek(0)
    return sha256, n_bytes


def attach_file(
    *,
    track: Track,
    kind: str,
    file: BinaryIO,
    name: str,
    description: str = "",
    release: Release = HIDDEN,
    by: User | None,
) -> Download:
    """Attach a file to a track. It is stored before the track is locked.

    Raises:
        Refused: The kind has no files, or the track has a file of that name.
        Refused: The storage is full or does not answer.
    """
    check(track, kind, name)
    sha256, n_bytes = digest_of(file)
    with ExitStack() as stack:
        stored = stack.enter_context(storage.storing())("downloads", File(file))
        stack.enter_context(transaction.atomic())
        track = track_services.lock(track.pk)
        check(track, kind, name)
        storage.claim(stored)
        row = Download(track=track, kind=kind, name=safe_name(name), description=description, created_by=by)
        row.file, row.sha256, row.n_bytes = stored, sha256, n_bytes
        _apply(row, release)
        row.save()
        _record("attached", row, by=by)
    return row


@transaction.atomic
def attach_link(
    *,
    track: Track,
    kind: str,
    url: str,
    name: str,
    sha256: str = "",
    description: str = "",
    release: Release = HIDDEN,
    by: User | None,
) -> Download:
    """Attach a link to a file elsewhere, with its SHA-256 if that is known.

    Raises:
        Refused: As `attach_file`; or the digest is not one.
    """
    track = track_services.lock(track.pk)
    check(track, kind, name)
    sha256 = sha256.strip().lower()
    if sha256 and (len(sha256) != 64 or set(sha256) - set("0123456789abcdef")):
        raise download_refused(
            "The SHA-256 is not accepted: it has 64 digits from 0 to f, as sha256sum prints it.",
            field="sha256",
        )
    row = Download(track=track, kind=kind, url=url, name=safe_name(name), sha256=sha256, created_by=by)
    row.description = description
    _apply(row, release)
    row.save()
    _record("attached", row, by=by)
    return row


def replace_file(*, track: Track, name: str, stored: str, sha256: str, n_bytes: int, by_id: int) -> Download:
    """A stored file becomes that of an export; call it in the transaction that stores the result of the job."""
    storage.claim(stored)
    row = Download.objects.select_for_update(of=("self",)).filter(track=track, name=name).first()
    if row is None:
        row = Download(track=track, kind=Download.Kind.COLLECTION, name=name, created_by_id=by_id)
    elif row.file:
        storage.discard([str(row.file)])
    row.file, row.sha256, row.n_bytes, row.url = stored, sha256, n_bytes, ""
    row.save()
    return row


@transaction.atomic
def edit(
    *,
    download: Download,
    release: Release,
    description: str | None = None,
    text: str | None = None,
    shows_labels: bool | None = None,
) -> Download:
    """Change who gets a part, its start, its description, the text of the instructions, and who sees the labels."""
    track = track_services.lock(download.track_id)
    if shows_labels is not None:
        show_labels(track=track, shows_labels=shows_labels)
    if text is not None and download.kind == Download.Kind.INSTRUCTIONS:
        download.text = text
    if description is not None and download.kind not in SINGLE:
        download.description = description
    _apply(download, release)
    download.save()
    _record("edited", download)
    return download


@transaction.atomic
def show_labels(*, track: Track, shows_labels: bool) -> Track:
    """Show the labels of topics to everyone who sees the topics, or only to organizers and assessors."""
    current = track_services.lock(track.pk)
    if current.shows_labels == shows_labels:
        return current
    current.shows_labels = shows_labels
    current.save(update_fields=["shows_labels"])
    audit.record(action=f"labels.{'shown' if shows_labels else 'hidden'}", subject=current, track=current)
    return current


@transaction.atomic
def remove(*, download: Download) -> None:
    """Remove an attached file or link. The log of its downloads is kept."""
    track_services.lock(download.track_id)
    if download.file:
        storage.discard([str(download.file)])
    _record("removed", download)
    download.delete()


def send(request: HttpRequest, track: Track, item: Item, user: AnyUser) -> HttpResponseBase:
    """The file, or the part that the request asks for. Who fetches it is recorded; once, if the download is resumed."""
    if request.method == "GET" and is_first_part(request):
        by = user if isinstance(user, User) else None
        Fetch.objects.create(track=track, user=by, name=item.name, sha256=item.sha256)

    def read(start: int, stop: int) -> Iterable[bytes]:
        if item.content is not None:
            return [item.content[start:stop]]
        pieces: Iterable[bytes] = default_storage.read_range(item.stored, start, stop)  # type: ignore[attr-defined]
        return pieces

    return download_range(request, item.name, n_bytes=item.n_bytes or 0, sha256=item.sha256, read=read)


def _record(change: str, row: Download, by: User | None = None) -> None:
    released = row.released_at.isoformat() if row.released_at else ""
    details = {"sha256": row.sha256, "audience": row.audience, "released_at": released}
    audit.record(action=f"download.{change}", subject=row, track=row.track, details=details, by=by)


def _apply(row: Download, release: Release) -> None:
    row.audience, row.released_at, row.zone = release.audience, release.released_at, release.zone


def check(track: Track, kind: str, name: str) -> None:
    """Refuse a kind without files, and a name that is taken."""
    name = safe_name(name)
    if kind not in ATTACHED:
        raise download_refused(f"Files cannot be attached as {kind!r}; use {', '.join(ATTACHED)}.")
    organizer = User(pk=0)  # an imaginary one, who sees every file that is made
    organizer.known_roles = {track.pk: Role(track.slug, is_chair=False)}
    if Download.objects.filter(track=track, name=name).exists() or any(
        item.name == name for item in items_for(organizer, track) if item.row is None
    ):
        raise download_refused(
            f"{track} already has a file {name}. Remove it first, or use another name.", field="name"
        )
