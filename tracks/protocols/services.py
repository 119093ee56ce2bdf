"""Store protocols."""

from typing import NamedTuple

from django.db import transaction
from django.db.models import ProtectedError

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assay.protocols.loader import parse_protocol, shipped_slugs, shipped_text
from jobs.files.deletion import check_unused, delete_unused, still_used
from tracks.models import StoredProtocol


@transaction.atomic
def store(*, text: str, by: User | None, is_shipped: bool = False, slug: str = "") -> StoredProtocol:
    """Store the TOML of a protocol. If the same text is stored already, return its row.

    Args:
        slug: the slug of the row, if it is not that of the file.

    Raises:
        ProtocolError: The text does not match the schema.
        Refused: Another protocol has the same slug.
    """
    text = text.replace("\r\n", "\n")
    protocol = parse_protocol(text, name="protocol")
    stored, is_new = StoredProtocol.objects.get_or_create(
        slug=slug or protocol.slug,
        defaults={
            "title": protocol.title,
            "text": text,
            "digest": protocol.digest,
            "is_shipped": is_shipped,
            "created_by": by,
        },
    )
    if not is_new and stored.text != text:
        raise Refused(
            f"There is already a protocol {protocol.slug} with different content, which a track or a pool may use. "
            "Give the changed protocol a new slug.",
            code="protocol-taken",
            title="This protocol cannot be changed",
        )
    if is_new and not is_shipped:
        audit.record(action="protocol.added", subject=stored, details={"sha256": stored.digest}, by=by)
    return stored


@transaction.atomic
def store_of_archive(*, text: str, by: User) -> StoredProtocol:
    """Store a protocol of an archive, whose text must stay as it is.

    Another release of Assay may ship another text under its slug. Then the row has a slug of its own.
    """
    protocol = parse_protocol(text, name="protocol")
    others = StoredProtocol.objects.filter(slug=protocol.slug).exclude(text=text)
    return store(text=text, by=by, slug=protocol.edition if others.exists() else "")


def check_deletion(protocol: StoredProtocol) -> None:
    """Refuse to delete a protocol that ships with Assay, or that a track, a pool or qrels use.

    Raises:
        Refused: It is one of these.
    """
    if protocol.is_shipped:
        raise still_used(f"{protocol} ships with Assay, so it cannot be deleted.")
    check_unused(protocol)


@transaction.atomic
def delete(*, protocol: StoredProtocol, by: User) -> None:
    """Delete a protocol that nothing uses. Its slug is free again.

    Raises:
        Refused: As `check_deletion`.
    """
    current = StoredProtocol.objects.select_for_update().get(pk=protocol.pk)
    check_deletion(current)
    audit.record(action="protocol.deleted", subject=str(current), details={"sha256": current.digest}, by=by)
    delete_unused(current)


class Loaded(NamedTuple):
    """The stored rows of the shipped protocols. `kept` are those whose text is not the shipped one."""

    current: list[StoredProtocol]
    kept: list[StoredProtocol]


@transaction.atomic
def load_shipped() -> Loaded:
    """Store every protocol that ships with Assay. Repeating it changes nothing.

    A protocol that an earlier version of Assay shipped with another text is replaced, unless a track, a pool or qrels
    use it. What they use is kept, and so is a protocol of an organizer with the same slug.
    """
    stored = [_load(slug) for slug in shipped_slugs()]
    current = [row for row in stored if row.text == shipped_text(row.slug)]
    return Loaded(current, kept=[row for row in stored if row not in current])


def _load(slug: str) -> StoredProtocol:
    text = shipped_text(slug)
    outdated = StoredProtocol.objects.select_for_update().filter(slug=slug).exclude(text=text).first()
    if outdated is not None:
        if not outdated.is_shipped:
            return outdated
        try:
            with transaction.atomic():
                outdated.delete()
        except ProtectedError:  # a track, a pool or qrels use it
            return outdated
    return store(text=text, by=None, is_shipped=True)
