"""Leaderboards in the admin."""

from django.contrib import admin

from scoring.models import Leaderboard
from web.admin import ReadOnly


@admin.register(Leaderboard)
class LeaderboardAdmin(ReadOnly, admin.ModelAdmin[Leaderboard]):
    """Who scored which qrels, and who may see the result."""

    list_display = ["id", "track", "qrels", "status", "release", "released_at", "released_by", "created_at"]
    list_filter = ["track", "status", "release"]
    list_select_related = ["track", "qrels", "released_by"]
    wide_columns = ["statistics", "qrels__report"]
    date_hierarchy = "created_at"
    exclude = ["statistics"]
