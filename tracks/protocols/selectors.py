"""Stored protocols and their page."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Prefetch, QuerySet

from accounts.models import User
from assay.protocols.description import facts
from assay.protocols.schema import UNITS, Protocol
from tracks.models import StoredProtocol, Track


@dataclass(frozen=True)
class ProtocolPage:
    """`facts` are pairs of a heading and a description."""

    stored: StoredProtocol
    protocol: Protocol
    facts: list[tuple[str, str]]

    @property
    def rules(self) -> list[tuple[str, str]]:
        """The facts without the choices, which have a table with their definitions."""
        listed = ("Grades", "Non-answers") if self.protocol.judging.given_grades else ()
        return [(heading, words) for heading, words in self.facts if heading not in listed]


def protocols() -> QuerySet[StoredProtocol]:
    """Every stored protocol, by slug."""
    return StoredProtocol.objects.all()


def with_tracks() -> QuerySet[StoredProtocol]:
    """As `protocols`, with the tracks that use each and are no drafts, which everyone sees, as `open_tracks`."""
    tracks = (
        Track.objects.exclude(status=Track.Status.DRAFT).only("slug", "name", "protocol").order_by("name")
    )
    return protocols().prefetch_related(Prefetch("tracks", tracks, to_attr="open_tracks"))


class Card(NamedTuple):
    """A protocol in a list: its grades, and its first measures."""

    stored: StoredProtocol
    grades: str
    measures: Sequence[str]

    @property
    def figures(self) -> str:
        return " · ".join(filter(None, [self.grades and f"Grades {self.grades}", ", ".join(self.measures)]))


def protocol_groups(search: str) -> list[tuple[str, Sequence[Card]]]:
    """The protocols with all words of a search, by what is judged."""
    groups: defaultdict[str, list[Card]] = defaultdict(list)
    for stored in with_tracks():
        protocol = stored.as_written
        card = Card(stored, _grades(protocol), protocol.scoring.all_measures[:3])
        noun = unit_of(protocol)
        words = " ".join([stored.slug, stored.title, protocol.source, noun, card.figures]).lower()
        if all(word in words for word in search.lower().split()):
            groups[noun].append(card)
    order = (*UNITS.values(), "rows of a table")
    return [(f"{noun[0].upper()}{noun[1:]}", groups[noun]) for noun in order if noun in groups]


def _grades(protocol: Protocol) -> str:
    grades = ", ".join(str(grade.value) for grade in protocol.judging.given_grades)
    if protocol.qrels.aggregate == "sum":
        grades += f", added over {protocol.judging.judges} assessors"
    return grades


def unit_of(protocol: Protocol) -> str:
    """Name what is judged, in the plural."""
    return "rows of a table" if protocol.judging.form else UNITS[protocol.unit]


def deletable_by(user: User) -> QuerySet[StoredProtocol]:
    """The protocols that a user may delete if nothing uses them: administrators all, others what they added."""
    return protocols() if user.is_administrator else protocols().filter(created_by=user)


def protocol_page(stored: StoredProtocol) -> ProtocolPage:
    protocol = stored.parsed
    return ProtocolPage(stored, protocol, facts(protocol))
