"""The rules of runs of a public track, from the API of its site, without a login.

Every request goes to the site of the address; a redirection is an error, and what is read has a limit.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.client.server import PAGE_SIZE, Server, ServerError
from assay.errors import InputError
from assay.formats.runs.rules import characters_of, copies_narratives
from assay.html.sanitize import plain
from assay.protocols.loader import MAX_SIZE, parse_protocol
from assay.protocols.schema import Protocol

SLUG = re.compile(r"[\w-]+")
MAX_ANSWER = 8 * MAX_SIZE  # bytes of one answer, of which the text of a protocol takes most
MAX_PAGE = 64 << 20  # bytes of a page of topics
MAX_TOPICS = 100_000


class PublicTrack(NamedTuple):
    """A track as its participants see it. `unchecked` says what only the site can check, a sentence each."""

    slug: str
    protocol: Protocol
    topics: Sequence[str] | None  # None: they are not public
    narratives: Mapping[str, str]
    characters: Mapping[str, int]  # that answers may have, by topic
    kind: str  # of the runs; empty: not known
    unchecked: Sequence[str]


def site_and_slug(address: str) -> tuple[str, str]:
    """The site and the slug in the address of a page of a track.

    Raises:
        InputError: It is not the address of a track.
    """
    site, _, rest = address.partition("/tracks/")
    slug = rest.partition("/")[0]
    is_site = site.startswith(("http://", "https://")) and not {"?", "#"} & {*site}
    if not is_site or not SLUG.fullmatch(slug) or address.split() != [address]:
        raise InputError(f"{address} is not the address of a track; use https://SITE/tracks/TRACK/")
    return site, slug


def public_track(server: Server, slug: str, kind: str = "") -> PublicTrack:
    """Read a track. `kind` is that of the runs.

    Raises:
        InputError: The protocol cannot be read here, or has no such kind.
        ServerError: The site refuses, cannot be reached, or answers otherwise than Assay.
    """
    try:
        track = _answer(server, f"tracks/{slug}/", MAX_ANSWER)
        stored = _answer(server, f"protocols/{track['protocol']}/", MAX_ANSWER)
        protocol = parse_protocol(str(stored["text"]), name=f"{track['protocol']}.toml")
        kind = _kind(protocol, kind)
        topics = _topics(server, slug)
        return _known(protocol, slug, kind, topics, str(track["collection"] or ""))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise ServerError(f"{server.url}: this is not the API of Assay, or of another version") from None


def _known(
    protocol: Protocol, slug: str, kind: str, topics: Sequence[Mapping[str, Any]], collection: str
) -> PublicTrack:
    unchecked = []
    split, label = protocol.runs.phase_of(kind).split, protocol.runs.answers.characters_label
    if not topics:
        unchecked.append("The topics are not public yet, so any topic passes.")
    if split and topics:
        if in_split := [topic for topic in topics if topic["split"] == split]:
            topics = in_split
        else:
            unchecked.append(
                f"The site does not show which topics are in the split {split}, so all of them pass."
            )
    characters = characters_of({
        str(topic["code"]): str(topic["labels"][label]) for topic in topics if label and topic["labels"].get(label)
    })  # fmt: skip
    if label and topics and not characters:
        unchecked.append("The site does not show the number of characters that an answer may have.")
    narratives = {}
    if copies_narratives(protocol):
        narratives = {
            str(topic["code"]): plain(topic["title"] or topic["body"] or topic["narrative"])
            for topic in topics
        }
    if collection:
        unchecked.append(
            f"Ids are not looked up in the collection {collection}. Log in, and use assay check --track {slug}."
        )
    codes = [str(topic["code"]) for topic in topics] or None
    return PublicTrack(slug, protocol, codes, narratives, characters, kind, unchecked)


def _kind(protocol: Protocol, kind: str) -> str:
    keys = protocol.runs.keys
    if kind and kind not in keys:
        raise InputError(f"--kind: {kind!r} is not a kind of run; use {' or '.join(keys)}")
    if not kind and len(keys) > 1 and any(phase.split for phase in protocol.runs.phases):
        raise InputError(f"give --kind, which decides the topics: {' or '.join(keys)}")
    return kind or (keys[0] if len(keys) == 1 else "")


def _topics(server: Server, slug: str) -> list[Any]:
    topics: list[Any] = []
    cursor = ""
    while True:
        path = f"tracks/{slug}/topics/?page_size={PAGE_SIZE}" + (f"&cursor={cursor}" if cursor else "")
        page = _answer(server, path, MAX_PAGE)
        topics += page["results"]
        if len(topics) > MAX_TOPICS:
            raise ServerError(f"{server.url}: the track has more than {MAX_TOPICS:,} topics")
        if not page["next"]:
            return topics
        # Only the query of the next address is used, so that no request goes to another host.
        [cursor] = re.findall(r"[?&]cursor=([\w%=+/-]+)", page["next"])[:1]


def _answer(server: Server, path: str, most: int) -> Any:
    """The JSON at an address below the path of the API, of at most some bytes."""
    data = bytearray()
    with server.stream("GET", path, {"Accept": "application/json"}) as response:
        for block in response.iter_bytes():
            data += block
            if len(data) > most:
                raise ServerError(f"{response.url}: the answer has more than {most:,} bytes")
    return json.loads(data)
