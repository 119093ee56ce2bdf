"""Store protocols."""

import hashlib

from django.db import transaction

from accounts.models import User
from assay.errors import Refused
from assay.protocols.loader import parse_protocol, shipped_slugs, shipped_text
from tracks.models import StoredProtocol


class ProtocolTaken(Refused):
    """A protocol's slug is in use with other content."""

    title = "This protocol cannot be changed"

    def __init__(self, slug: str) -> None:
        super().__init__(
            f"There is a protocol {slug} with other content, and a track or a pool may rest on it. "
            "A change is a new protocol: give it a new slug."
        )


@transaction.atomic
def store(*, text: str, by: User | None, is_shipped: bool = False) -> StoredProtocol:
    """Take a protocol's TOML into the database; the same bytes again give the row that is there.

    Raises
    ------
    ProtocolError
        The text breaks the schema.
    ProtocolTaken
        Its slug is in use with other content.
    """
    text = text.replace("\r\n", "\n")
    protocol = parse_protocol(text, name="protocol")
    stored, is_new = StoredProtocol.objects.get_or_create(
        slug=protocol.slug,
        defaults={
            "title": protocol.title,
            "text": text,
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "is_shipped": is_shipped,
            "created_by": by,
        },
    )
    if not is_new and stored.text != text:
        raise ProtocolTaken(protocol.slug)
    return stored


def load_shipped() -> list[StoredProtocol]:
    """Store every protocol that comes with Assay; harmless to repeat."""
    return [store(text=shipped_text(slug), by=None, is_shipped=True) for slug in shipped_slugs()]
