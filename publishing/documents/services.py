"""Store, change and remove the documents of teams. Decision: ADR 22."""

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.db.models import QuerySet

from accounts.audit import services as audit
from accounts.models import User
from assay.archive.files import PIECE, Writer
from assay.digests import sha256_of_file
from assay.errors import Refused
from assay.html.sanitize import without_controls
from jobs.files import storage
from participation.models import Team, TeamDocument
from tracks.models import Track
from tracks.tracks import services as track_services
from web.pages import MEGABYTE

MOST = 20  # documents of a team
MAGIC = b"%PDF-"
HEAD = "file\tteam\ttitle\tname\tpublic"  # of the list in a ZIP file

document_refused = partial(Refused, code="document-refused", title="The document was not stored")


def upload(
    *,
    team: Team,
    file: BinaryIO,
    file_name: str,
    title: str,
    word: str,
    is_public: bool,
    by: User,
    on_stored: Callable[[TeamDocument], object] = lambda _: None,
) -> TeamDocument:
    """Store a PDF of a team. `word` is that of a document that the protocol asks for: an earlier one is replaced.

    `on_stored` is called with the document in the transaction that stores it.

    Raises Refused.
    """
    n_bytes = _checked_size(file)
    values = {"size": n_bytes, "sha256": sha256_of_file(file), "name": without_controls(file_name)[-200:]}
    file.seek(0)
    with storage.storing() as store:
        name = store("documents", File(file))
        with transaction.atomic():
            track = track_services.lock(team.track_id)
            # Refuse a document that the protocol does not ask for, and too many
            owed = track.protocol.parsed.runs.documents
            if word and word not in owed:
                accepted = ", ".join(owed) or "none"
                raise document_refused(f"The protocol asks for no document “{word}”. Accepted: {accepted}.")
            if team.files.exclude(word=word or None).count() >= MOST:
                raise document_refused(
                    f"{team} has {MOST} documents, the most that a team may have. Remove one first."
                )
            storage.claim(name)
            earlier = team.files.filter(word=word).first() if word else None
            document = earlier or TeamDocument(team=team, word=word)
            if earlier is not None:
                storage.discard([str(earlier.file)])
            for field, value in {**values, "file": name, "uploaded_by": by, "is_public": is_public}.items():
                setattr(document, field, value)
            document.title = _checked_title(title or track.protocol.parsed.runs.documents.get(word, ""))
            document.save()
            details = {"team": str(team), "sha256": document.sha256, "public": is_public}
            audit.record(
                action="document.uploaded", subject=document.title, track=track, details=details, by=by
            )
            on_stored(document)
    return document


def _checked_size(file: BinaryIO) -> int:
    """The number of bytes of a PDF.

    Raises Refused.
    """
    n_bytes, most = file.seek(0, 2), settings.TEAM_DOCUMENT_MAX_BYTES
    file.seek(0)
    if n_bytes > most:
        raise document_refused(
            f"The file has {n_bytes / MEGABYTE:,.1f} MB; use a file of at most {most // MEGABYTE:,} MB."
        )
    if file.read(len(MAGIC)) != MAGIC:
        raise document_refused("The file is not a PDF: it does not begin with %PDF-. Upload a PDF.")
    file.seek(0)
    return n_bytes


def _checked_title(title: str) -> str:
    title = " ".join(without_controls(title).split())[:200]
    if not title:
        raise document_refused("Enter a title, such as that of the paper.")
    return title


@transaction.atomic
def change(*, document: TeamDocument, title: str, is_public: bool) -> TeamDocument:
    """Set the title of a document, and whether it is public after a release to everyone."""
    track = track_services.lock(document.team.track_id)
    before = TeamDocument.objects.get(pk=document.pk)
    document.title, document.is_public = _checked_title(title), is_public
    document.save(update_fields=["title", "is_public"])
    if differences := audit.changes(before, document, ["title", "is_public"]):
        audit.record(action="document.changed", subject=document.title, track=track, details=differences)
    return document


@transaction.atomic
def remove(*, document: TeamDocument) -> None:
    """Delete a document with its file."""
    track = track_services.lock(document.team.track_id)
    storage.discard([str(document.file)])
    details = {"team": str(document.team), "sha256": document.sha256}
    TeamDocument.objects.filter(pk=document.pk).delete()
    audit.record(action="document.removed", subject=document.title, track=track, details=details)


def pieces(document: TeamDocument) -> Iterator[bytes]:
    with document.file.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


class _Sink(io.RawIOBase):
    """Holds what is written until it is taken. It cannot be rewound, so a ZIP file is written from start to end."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._written += content
        return len(content)

    def taken(self) -> bytes:
        content = bytes(self._written)
        self._written.clear()
        return content


def zipped(track: Track, documents: QuerySet[TeamDocument]) -> Iterator[bytes]:
    """The pieces of a ZIP file of documents, with a list of their teams and titles, and `SHA256SUMS`.

    A document is looked up when its turn comes: teams may replace and remove documents during a long download. PDFs
    are compressed already, so the ZIP file stores them as they are.
    """
    sink = _Sink()
    writer, lines = Writer(cast("BinaryIO", sink), f"{track.slug}-documents", level=0), [HEAD]
    for document_id in list(documents.order_by("pk").values_list("pk", flat=True)):
        for document in documents.filter(pk=document_id):
            path = f"team-{document.team_id}/{document.pk}.pdf"
            for _ in writer.adding(path, pieces(document)):
                yield sink.taken()
            names = (document.team.name, document.title, document.name)
            lines.append("\t".join([path, *names, "yes" if document.is_public else "no"]))
    writer.add("documents.tsv", ["".join(f"{line}\n" for line in lines).encode()])
    writer.close()
    yield sink.taken()
