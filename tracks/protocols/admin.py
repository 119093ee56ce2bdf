"""Protocols in the admin. They are added on the site."""

from django.contrib import admin

from tracks.models import StoredProtocol
from web.admin import ReadOnly


@admin.register(StoredProtocol)
class StoredProtocolAdmin(ReadOnly, admin.ModelAdmin[StoredProtocol]):
    """Search and view protocols. They are never edited: a changed protocol gets a new slug."""

    list_display = ["slug", "title", "is_shipped", "created_at"]
    list_filter = ["is_shipped"]
    search_fields = ["slug", "title"]
    fields = ["slug", "title", "digest", "is_shipped", "created_by", "text"]
