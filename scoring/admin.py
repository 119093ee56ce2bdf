"""Qrels, leaderboards, evaluations and analyses in the admin: to read, never to edit."""

from django.contrib import admin

from scoring.models import Analysis, Evaluation, Leaderboard, Qrels
from web.admin import ReadOnly


@admin.register(Qrels)
class QrelsAdmin(ReadOnly, admin.ModelAdmin[Qrels]):
    """Versions, never edited."""

    track_way = "track"
    list_display = ["version", "track", "name", "source", "n_topics", "n_judged", "created_by", "created_at"]
    list_filter = ["track", "source"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name", "sha256"]
    wide_columns = ["report"]
    date_hierarchy = "created_at"
    exclude = ["report"]


@admin.register(Leaderboard)
class LeaderboardAdmin(ReadOnly, admin.ModelAdmin[Leaderboard]):
    """The scores of a version of qrels, their author and their visibility."""

    track_way = "track"
    list_display = [
        "__str__",
        "track",
        "qrels",
        "status",
        "release",
        "released_at",
        "released_by",
        "created_at",
    ]
    list_filter = ["track", "status", "release"]
    list_select_related = ["track", "qrels", "released_by"]
    wide_columns = ["statistics", "qrels__report"]
    date_hierarchy = "created_at"
    exclude = ["statistics"]


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly, admin.ModelAdmin[Evaluation]):
    """One run of a leaderboard."""

    track_way = "leaderboard__track"
    list_display = ["run", "leaderboard", "n_topics", "n_missing"]
    list_filter = ["leaderboard__track"]
    list_select_related = ["run__team", "leaderboard__track", "leaderboard__qrels"]
    search_fields = ["run__tag", "run__team__name", "run_sha256"]
    wide_columns = ["curves", "leaderboard__statistics", "leaderboard__qrels__report"]
    show_full_result_count = False
    exclude = ["curves"]


@admin.register(Analysis)
class AnalysisAdmin(ReadOnly, admin.ModelAdmin[Analysis]):
    """Results of analyses, with their seeds."""

    track_way = "leaderboard__track"
    list_display = ["__str__", "leaderboard", "kind", "status", "seed", "created_by", "created_at"]
    list_filter = ["leaderboard__track", "kind", "status"]
    list_select_related = ["leaderboard__track", "leaderboard__qrels", "created_by"]
    wide_columns = ["result", "leaderboard__statistics", "leaderboard__qrels__report"]
    date_hierarchy = "created_at"
    exclude = ["result"]
