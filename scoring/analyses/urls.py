"""Addresses of reports and analyses."""

from django.urls import path

from scoring.analyses import views

urlpatterns = [
    path("tracks/<slug:slug>/agreement/effect/", views.effect, name="effect"),
    path("leaderboards/<int:board_id>/reports/", views.reports, name="reports"),
    path("leaderboards/<int:board_id>/analyze/", views.analyze, name="analyze"),
    path(
        "leaderboards/<int:board_id>/reports/<slug:name>.<table:kind>",
        views.report_table,
        name="report_table",
    ),
    path("analyses/<int:analysis_id>/analysis.json", views.analysis_json, name="analysis_json"),
    path(
        "analyses/<int:analysis_id>/<slug:name>.<table:kind>",
        views.analysis_table,
        name="analysis_table",
    ),
]
