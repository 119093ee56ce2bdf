"""URLs of the assessment app."""

from django.urls import include, path

app_name = "assessment"

urlpatterns = [
    path("", include("assessment.tasks.urls")),
    path("", include("assessment.guidelines.urls")),
    path("", include("assessment.keys.urls")),
    path("", include("assessment.statistics.urls")),
    path("", include("assessment.judgments.urls")),
    path("", include("assessment.imports.urls")),
    path("", include("assessment.batches.urls")),
    path("", include("assessment.agreement.urls")),
    path("", include("assessment.machines.urls")),
    path("", include("assessment.board.urls")),
    path("", include("assessment.adjudication.urls")),
    path("", include("assessment.discussions.urls")),
    path("", include("assessment.checks.urls")),
    path("", include("assessment.planning.urls")),
]
