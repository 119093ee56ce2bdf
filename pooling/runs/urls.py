"""URLs of runs."""

from django.urls import path

from pooling.runs import (
    samples,  # noqa: F401 - registers the sample run
    submission_views,
    views,
)
from pooling.runs.changes import views as change_views
from pooling.runs.comparisons import views as comparison_views

urlpatterns = [
    path("tracks/<slug:slug>/runs/", views.runs, name="runs"),
    path("tracks/<slug:slug>/runs/submit/", submission_views.submit, name="submit"),
    path("tracks/<slug:slug>/teams/<int:team_id>/runs/", views.team_runs, name="team_runs"),
    path("runs/<int:run_id>/", views.run, name="run"),
    path("runs/<int:run_id>/file/", views.run_file, name="run_file"),
    path("runs/<int:run_id>/withdraw/", views.withdraw, name="withdraw"),
    path("runs/<int:run_id>/description/", change_views.describe, name="describe"),
    path("runs/<int:run_id>/move/", change_views.move, name="move"),
    path("runs/<int:run_id>/disqualify/", change_views.disqualify, name="disqualify"),
    path("runs/<int:run_id>/reinstate/", change_views.reinstate, name="reinstate"),
    path("runs/<int:run_id>/compare/", comparison_views.choose_other, name="choose_run"),
    path("runs/<int:run_id>/compare/<int:other_id>/", comparison_views.compare, name="compare_runs"),
]
