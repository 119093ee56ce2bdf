"""Collections in the admin."""

from django.contrib import admin

from corpus.models import Collection
from web.admin import Undeletable


@admin.register(Collection)
class CollectionAdmin(Undeletable, admin.ModelAdmin[Collection]):
    list_display = ["name", "slug", "status", "created_at"]
    search_fields = ["name", "slug"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["status", "counts"]
