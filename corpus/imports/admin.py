"""Imports in the admin, to read."""

from django.contrib import admin

from corpus.models import Import
from web.admin import ReadOnly


@admin.register(Import)
class ImportAdmin(ReadOnly, admin.ModelAdmin[Import]):
    list_display = ["name", "collection", "format", "created_at"]
    list_select_related = ["collection"]
