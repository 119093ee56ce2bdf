"""Analyses in the admin."""

from django.contrib import admin

from scoring.models import Analysis
from web.admin import ReadOnly


@admin.register(Analysis)
class AnalysisAdmin(ReadOnly, admin.ModelAdmin[Analysis]):
    """Results of analyses, with their seeds."""

    list_display = ["id", "leaderboard", "kind", "status", "seed", "created_by", "created_at"]
    list_filter = ["leaderboard__track", "kind", "status"]
    list_select_related = ["leaderboard__track", "leaderboard__qrels", "created_by"]
    wide_columns = ["result", "leaderboard__statistics", "leaderboard__qrels__report"]
    date_hierarchy = "created_at"
    exclude = ["result"]
