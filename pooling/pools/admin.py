"""Pools in the admin."""

from django.contrib import admin

from pooling.models import Pool
from web.admin import ReadOnly


@admin.register(Pool)
class PoolAdmin(ReadOnly, admin.ModelAdmin[Pool]):
    """Look at pools; they are asked for on the track's pools page."""

    list_display = ["name", "track", "status", "seed", "sha256", "created_by", "created_at"]
    list_filter = ["track", "status"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name"]
    exclude = ["statistics"]
