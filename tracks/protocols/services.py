"""Store protocols."""

from django.db import transaction

from accounts.models import User
from assay.errors import Refused
from assay.protocols.loader import parse_protocol, shipped_slugs, shipped_text
from tracks.models import StoredProtocol


class ProtocolTaken(Refused):
    """Another protocol has the same slug."""

    title = "This protocol cannot be changed"

    def __init__(self, slug: str) -> None:
        super().__init__(
            f"There is already a protocol {slug} with different content, which a track or a pool may use. "
            "Give the changed protocol a new slug."
        )


@transaction.atomic
def store(*, text: str, by: User | None, is_shipped: bool = False) -> StoredProtocol:
    """Store the TOML of a protocol. If the same text is stored already, return its row.

    Raises
    ------
    ProtocolError
        The text does not match the schema.
    ProtocolTaken
        Another protocol has the same slug.
    """
    text = text.replace("\r\n", "\n")
    protocol = parse_protocol(text, name="protocol")
    stored, is_new = StoredProtocol.objects.get_or_create(
        slug=protocol.slug,
        defaults={
            "title": protocol.title,
            "text": text,
            "digest": protocol.digest,
            "is_shipped": is_shipped,
            "created_by": by,
        },
    )
    if not is_new and stored.text != text:
        raise ProtocolTaken(protocol.slug)
    return stored


def load_shipped() -> list[StoredProtocol]:
    """Store every protocol that ships with Assay. Repeating it changes nothing."""
    return [store(text=shipped_text(slug), by=None, is_shipped=True) for slug in shipped_slugs()]
