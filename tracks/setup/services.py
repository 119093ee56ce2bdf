"""Create a track with its topics."""

from django.core.files import File
from django.db import transaction

from accounts.models import User
from tracks.models import Track
from tracks.topics import services as topic_services
from tracks.tracks import services as track_services


@transaction.atomic
def create(*, track: Track, topics: "File[bytes] | None" = None, by: User) -> str:
    """Store a new track, and import its topics from a file if there is one: both, or neither.

    Returns the result of the import in a sentence; empty without a file.

    Raises
    ------
    TrackRefused, BadFile, TopicsRefused
        The short name is taken, or the file cannot be used.
    """
    track_services.create(track=track, by=by)
    return topic_services.import_upload(track=track, upload=topics, holds="topics") if topics else ""
