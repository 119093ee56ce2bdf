"""Registers the admin pages of this app with Django, which looks for them here."""

from tracks.protocols.admin import StoredProtocolAdmin
from tracks.topics.admin import TopicAdmin, TopicImportAdmin
from tracks.tracks.admin import TrackAdmin

__all__ = ["StoredProtocolAdmin", "TopicAdmin", "TopicImportAdmin", "TrackAdmin"]
