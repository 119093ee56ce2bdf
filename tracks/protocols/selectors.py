"""Stored protocols and their page."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.models import User
from assay.protocols.description import facts
from assay.protocols.schema import UNITS, Protocol
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


def listed_protocols() -> list[tuple[StoredProtocol, str, Sequence[str]]]:
    """Every stored protocol with what is judged and its first measures."""
    return [
        (stored, unit_of(stored.as_written), stored.as_written.scoring.all_measures[:3])
        for stored in protocols()
    ]


def unit_of(protocol: Protocol) -> str:
    """Name what is judged, in the plural."""
    return "rows of a table" if protocol.judging.form else UNITS[protocol.unit]


def deletable_by(user: User) -> QuerySet[StoredProtocol]:
    """The protocols that a user may delete if nothing uses them: administrators all, others what they added."""
    return protocols() if user.is_administrator else protocols().filter(created_by=user)


def protocol_page(stored: StoredProtocol) -> ProtocolPage:
    protocol = stored.parsed
    return ProtocolPage(stored, protocol, facts(protocol))
