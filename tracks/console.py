"""The parts that management commands of a track share: its slug, the organizer, and refusals as errors of a command."""

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from accounts.models import User
from accounts.selectors import creator_named
from assay.errors import InputError, Refused
from tracks.models import Track
from tracks.tracks.selectors import track_named


def add_track(parser: ArgumentParser) -> None:
    parser.add_argument("track", help="slug of the track")


def add_by(parser: ArgumentParser) -> None:
    parser.add_argument("--by", required=True, metavar="USER", help="username of the organizer")


def track_of(slug: str) -> Track:
    """The track of a slug; CommandError if there is none, or its protocol needs an extension that is missing."""
    track = track_named(slug)
    if track is None:
        raise CommandError(f"There is no track {slug}.")
    with refusals():
        _ = track.protocol.parsed
    return track


def organizer_of(username: str) -> User:
    """The organizer or administrator of a user name; CommandError if there is none."""
    user = creator_named(username)
    if user is None:
        raise CommandError(f"There is no organizer {username}.")
    return user


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what a service or a file refuses into a CommandError."""
    try:
        yield
    except Refused as refusal:
        errors = [str(error["message"]) for error in refusal.errors]
        raise CommandError("\n".join([refusal.message, *errors])) from refusal
    except InputError as error:
        raise CommandError(str(error)) from error
    except UnicodeDecodeError as error:
        raise CommandError("The file is not text in UTF-8.") from error
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be read or written: {error.strerror}.") from error
