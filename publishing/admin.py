"""Archives in the admin, to read."""

from django.contrib import admin

from publishing.models import Archive, LoadedArchive
from web.admin import ReadOnly


@admin.register(Archive)
class ArchiveAdmin(ReadOnly, admin.ModelAdmin[Archive]):
    track_way = "track"
    list_display = ["__str__", "track", "status", "size", "created_by", "created_at"]
    list_filter = ["status"]
    list_select_related = ["track", "created_by"]


@admin.register(LoadedArchive)
class LoadedArchiveAdmin(ReadOnly, admin.ModelAdmin[LoadedArchive]):
    list_display = ["name", "status", "track", "created_by", "created_at"]
    list_filter = ["status"]
    list_select_related = ["track", "created_by"]
