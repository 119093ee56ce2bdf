"""Times of an archive."""

from datetime import datetime

from django.utils.dateparse import parse_datetime

from archives.errors import LoadRefused


def moment_of(text: str) -> datetime:
    """A time in ISO 8601.

    Raises
    ------
    LoadRefused
        It is not a time with a zone.
    """
    try:
        moment = parse_datetime(text)
    except ValueError:  # a time that no calendar has
        moment = None
    if moment is None or moment.tzinfo is None:
        raise LoadRefused(f"“{text[:40]}” is not a time with a zone.")
    return moment
