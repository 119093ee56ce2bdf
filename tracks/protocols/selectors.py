"""Stored protocols."""

from django.db.models import QuerySet

from tracks.models import StoredProtocol


def protocols() -> QuerySet[StoredProtocol]:
    """Every stored protocol, by slug."""
    return StoredProtocol.objects.all()
