"""Evaluations in the admin."""

from django.contrib import admin

from scoring.models import Evaluation
from web.admin import ReadOnly


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly, admin.ModelAdmin[Evaluation]):
    """One run of a leaderboard."""

    list_display = ["run", "leaderboard", "n_topics", "n_missing"]
    list_filter = ["leaderboard__track"]
    list_select_related = ["run__team", "leaderboard__track", "leaderboard__qrels"]
    search_fields = ["run__tag", "run__team__name", "run_sha256"]
    wide_columns = ["curves", "leaderboard__statistics", "leaderboard__qrels__report"]
    show_full_result_count = False
    exclude = ["curves"]
