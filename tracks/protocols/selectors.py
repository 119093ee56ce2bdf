"""Stored protocols and their page."""

from dataclasses import dataclass

from django.db.models import QuerySet

from assay.protocols.description import facts
from assay.protocols.schema import Protocol
from tracks.models import StoredProtocol


@dataclass(frozen=True)
class ProtocolPage:
    """`facts` are pairs of a heading and a description."""

    stored: StoredProtocol
    protocol: Protocol
    facts: list[tuple[str, str]]


def protocols() -> QuerySet[StoredProtocol]:
    """Every stored protocol, by slug."""
    return StoredProtocol.objects.all()


def protocol_page(stored: StoredProtocol) -> ProtocolPage:
    protocol = stored.parsed
    return ProtocolPage(stored, protocol, facts(protocol))
