"""What changes protocols, tracks and their people. Every door (page, admin, command) calls these."""

import hashlib
from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from corpus.errors import Refused
from corpus.models import Assessor, StoredProtocol, Track, User
from protocols.loader import parse_protocol, shipped_slugs, shipped_text

SETTLED = {"slug", "protocol", "collection"}  # of a track, once it has been opened


class ProtocolTaken(Refused):
    """A protocol's slug is in use with other content."""

    title = "This protocol cannot be changed"

    def __init__(self, slug: str) -> None:
        super().__init__(
            f"There is a protocol {slug} with other content, and a track or a pool may rest on it. "
            "A change is a new protocol: give it a new slug."
        )


class TrackRefused(Refused):
    """A change of a track that its state does not allow."""


@transaction.atomic
def store_protocol(*, text: str, by: User | None, is_shipped: bool = False) -> StoredProtocol:
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


def load_shipped_protocols() -> list[StoredProtocol]:
    """Store every protocol that comes with Assay; harmless to repeat."""
    return [store_protocol(text=shipped_text(slug), by=None, is_shipped=True) for slug in shipped_slugs()]


def lock_track(track_id: int) -> Track:
    """The track with its protocol, locked until the transaction ends; rows that point to it may still be made.

    Whoever opens or closes it, takes or withdraws a run, makes a pool, or numbers qrels goes one after another.
    """
    tracks = Track.objects.select_for_update(no_key=True, of=("self",)).select_related("protocol")
    return tracks.get(pk=track_id)


@transaction.atomic
def edit_track(*, track: Track, changed: Collection[str]) -> Track:
    """Keep what was changed of a track, and nothing else: its status may be changing at the same time.

    Raises
    ------
    TrackRefused
        The track has been opened, and runs may have been checked against what would change.
    """
    current = lock_track(track.pk)
    settled = SETTLED & set(changed) if current.status != Track.Status.DRAFT else set()
    if settled:
        what = ", ".join(sorted(settled))
        raise TrackRefused(
            f"{current} has been opened, and runs were checked against it: its {what} cannot change."
        )
    if changed:
        track.save(update_fields=list(changed))
    return track


@transaction.atomic
def open_track(*, track: Track) -> Track:
    """Let the teams submit runs.

    Raises
    ------
    TrackRefused
        The track has no topics, or its closing time has passed.
    """
    current = lock_track(track.pk)
    if not current.topics.exists():
        raise TrackRefused(f"{current} has no topics yet. Import its topic file first.")
    if current.closes_at is not None and current.closes_at <= timezone.now():
        raise TrackRefused(f"The closing time of {current} has passed. Set a later one, or none, first.")
    current.status = Track.Status.OPEN
    current.save(update_fields=["status"])
    return current


@transaction.atomic
def close_track(*, track: Track) -> Track:
    """Take no more runs, and let none be withdrawn."""
    current = lock_track(track.pk)
    if current.status == Track.Status.DRAFT:
        raise TrackRefused(f"{current} is a draft: it has not been opened, so it cannot be closed.")
    current.status = Track.Status.CLOSED
    current.save(update_fields=["status"])
    return current


@transaction.atomic
def add_assessor(*, track: Track, user: User) -> Assessor:
    """Let a person judge for a track.

    Raises
    ------
    TrackRefused
        The person is a member of one of the track's teams.
    """
    check_assessor(track=lock_track(track.pk), user=user)
    assessor, _ = Assessor.objects.get_or_create(track=track, user=user)
    return assessor


def check_group(*, track: Track, group: str) -> None:
    """Refuse a group of assessors that the track's protocol does not name; none is always allowed."""
    groups = track.protocol.parsed.judging.groups
    if group and group not in groups:
        accepted = f"use {', '.join(groups)}" if groups else "the protocol has none; leave it empty"
        raise TrackRefused(f"“{group}” is not a group of assessors of {track.protocol.slug}: {accepted}.")


def check_assessor(*, track: Track, user: User) -> None:
    """Refuse a member of one of the track's teams: nobody judges what their own team found.

    Raises
    ------
    TrackRefused
        The person is a member of one of the track's teams.
    """
    if user.teams.filter(track=track).exists():
        raise TrackRefused(f"{user} is a member of a team of {track}, so cannot judge for it.")


def set_shortcuts(*, user: User, is_on: bool) -> None:
    """Let a person judge with single keys, or not."""
    User.objects.filter(pk=user.pk).update(uses_shortcuts=is_on)
