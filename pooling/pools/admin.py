"""Pools in the admin."""

from django.contrib import admin

from pooling.models import Pool
from web.admin import ReadOnly


@admin.register(Pool)
class PoolAdmin(ReadOnly, admin.ModelAdmin[Pool]):
    """Shows pools. Organizers request them on the pools page of the track."""

    list_display = ["name", "track", "status", "seed", "created_by", "created_at"]
    list_filter = ["track", "status"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name"]
    exclude = ["statistics"]
