"""Qrels, leaderboards and evaluations in the organizers' workshop: to look at. They are made on their own pages."""

from django.contrib import admin

from corpus.admin import ReadOnly
from scoring.models import Analysis, Evaluation, Leaderboard, Qrels


@admin.register(Qrels)
class QrelsAdmin(ReadOnly, admin.ModelAdmin[Qrels]):
    """Versions, never edited."""

    list_display = ["version", "track", "name", "source", "n_topics", "n_judged", "created_by", "created_at"]
    list_filter = ["track", "source"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name", "sha256"]
    date_hierarchy = "created_at"


@admin.register(Leaderboard)
class LeaderboardAdmin(ReadOnly, admin.ModelAdmin[Leaderboard]):
    """Who has scored what, and who may see it."""

    list_display = ["id", "track", "qrels", "status", "release", "released_at", "released_by", "created_at"]
    list_filter = ["track", "status", "release"]
    list_select_related = ["track", "qrels", "released_by"]
    date_hierarchy = "created_at"


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly, admin.ModelAdmin[Evaluation]):
    """One run of a leaderboard."""

    list_display = ["run", "leaderboard", "n_topics", "n_missing", "run_sha256"]
    list_filter = ["leaderboard__track"]
    list_select_related = ["run__team", "leaderboard__track", "leaderboard__qrels"]
    search_fields = ["run__tag", "run__team__name", "run_sha256"]
    show_full_result_count = False


@admin.register(Analysis)
class AnalysisAdmin(ReadOnly, admin.ModelAdmin[Analysis]):
    """What was found out about a leaderboard, by which seed."""

    list_display = ["id", "leaderboard", "kind", "status", "seed", "created_by", "created_at"]
    list_filter = ["leaderboard__track", "kind", "status"]
    list_select_related = ["leaderboard__track", "leaderboard__qrels", "created_by"]
    date_hierarchy = "created_at"
