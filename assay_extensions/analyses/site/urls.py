from django.urls import path

from assay_extensions.analyses.site import views
from tracks.tabs import Page, Section, register
from web.slots import fill

app_name = "analyses"
urlpatterns = [
    path("tracks/<slug:slug>/reliability/", views.newest, name="reliability"),
    path("tracks/<slug:slug>/agreement/effect/", views.newest, {"section": "#section-judges"}, name="effect"),
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

register(
    Page(
        "Reliability",
        "analyses:reliability",
        Section.RESULTS,
        3,
        "reports analyze",
        is_in=lambda track: track.protocol.parsed.takes_runs,
    ),
)

fill("leaderboard-more", "analyses/_more.html")
fill("agreement-pages", "analyses/_effect.html")
