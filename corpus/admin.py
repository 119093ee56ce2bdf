"""Registers the admin pages of this app with Django, which looks for them here."""

from corpus.collections.admin import CollectionAdmin
from corpus.imports.admin import ImportAdmin

__all__ = ["CollectionAdmin", "ImportAdmin"]
