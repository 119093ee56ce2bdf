"""URLs of the scoring app."""

from django.urls import include, path

app_name = "scoring"

urlpatterns = [
    path("", include("scoring.qrels.urls")),
    path("", include("scoring.leaderboards.urls")),
    path("", include("scoring.analyses.urls")),
    path("", include("scoring.evaluations.urls")),
    path("", include("scoring.papers.urls")),
    path("", include("scoring.interaction.urls")),
]
