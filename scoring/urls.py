"""Addresses of the scoring room."""

from django.urls import path, register_converter

from scoring import qrels_views, report_views, views


class TableKind:
    """The ending of a table's file."""

    regex = "tsv|csv"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class BoardKind(TableKind):
    """The ending of a leaderboard's file."""

    regex = "tsv|csv|json|tex"


register_converter(TableKind, "table")
register_converter(BoardKind, "board")

app_name = "scoring"

urlpatterns = [
    path("tracks/<slug:slug>/qrels/", views.qrels_list, name="qrels_list"),
    path("tracks/<slug:slug>/qrels/freeze/", views.freeze, name="freeze"),
    path("tracks/<slug:slug>/qrels/import/", views.import_qrels, name="import_qrels"),
    path("qrels/<int:qrels_id>/", views.qrels, name="qrels"),
    path("qrels/<int:qrels_id>/qrels.tsv", views.qrels_file, name="qrels_file"),
    path("qrels/<int:qrels_id>/export/", qrels_views.export, name="qrels_export"),
    path("qrels/<int:qrels_id>/judgments.zip", qrels_views.judgments, name="qrels_judgments"),
    path("qrels/<int:qrels_id>/score/", views.score, name="score"),
    path("tracks/<slug:slug>/leaderboards/", views.leaderboards, name="leaderboards"),
    path("leaderboards/<int:board_id>/", views.leaderboard, name="leaderboard"),
    path(
        "leaderboards/<int:board_id>/leaderboard.<board:kind>",
        views.leaderboard_file,
        name="leaderboard_file",
    ),
    path("leaderboards/<int:board_id>/topics.<table:kind>", views.topics_file, name="topics_file"),
    path("leaderboards/<int:board_id>/beside/", views.choose_beside, name="choose_beside"),
    path("leaderboards/<int:board_id>/beside/<int:other_id>/", views.beside, name="beside"),
    path("leaderboards/<int:board_id>/topics/", views.topics, name="topics"),
    path("leaderboards/<int:board_id>/topics/<path:code>/", views.topic, name="topic"),
    path("leaderboards/<int:board_id>/reports/", report_views.reports, name="reports"),
    path("leaderboards/<int:board_id>/analyse/", report_views.analyse, name="analyse"),
    path(
        "leaderboards/<int:board_id>/reports/<slug:name>.<table:kind>",
        report_views.report_table,
        name="report_table",
    ),
    path("leaderboards/<int:board_id>/release/", views.release, name="release"),
    path("analyses/<int:analysis_id>/analysis.json", report_views.analysis_json, name="analysis_json"),
    path(
        "analyses/<int:analysis_id>/<slug:name>.<table:kind>",
        report_views.analysis_table,
        name="analysis_table",
    ),
    path("evaluations/<int:evaluation_id>/", views.evaluation, name="evaluation"),
    path("evaluations/<int:evaluation_id>/against/", views.choose_rival, name="choose_rival"),
    path("evaluations/<int:evaluation_id>/against/<int:other_id>/", views.compare, name="compare"),
    path(
        "evaluations/<int:evaluation_id>/scores.<table:kind>", views.evaluation_file, name="evaluation_file"
    ),
]
