"""Qrels in the admin, to read. Organizers freeze or import them on the qrels page of the track."""

from django.contrib import admin

from scoring.models import Qrels
from web.admin import ReadOnly


@admin.register(Qrels)
class QrelsAdmin(ReadOnly, admin.ModelAdmin[Qrels]):
    """Versions, never edited."""

    list_display = ["version", "track", "name", "source", "n_topics", "n_judged", "created_by", "created_at"]
    list_filter = ["track", "source"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name", "sha256"]
    wide_columns = ["report"]
    date_hierarchy = "created_at"
    exclude = ["report"]
