"""Collections and imports in the admin."""

from django.contrib import admin

from corpus.models import Collection, Import
from web.admin import ReadOnly, Undeletable


@admin.register(Collection)
class CollectionAdmin(Undeletable, admin.ModelAdmin[Collection]):
    list_display = ["name", "slug", "status", "created_at"]
    search_fields = ["name", "slug"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["status", "counts"]


@admin.register(Import)
class ImportAdmin(ReadOnly, admin.ModelAdmin[Import]):
    list_display = ["name", "collection", "format", "created_at"]
    list_select_related = ["collection"]
