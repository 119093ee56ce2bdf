"""URLs of the tracks app."""

from django.urls import include, path

app_name = "tracks"

urlpatterns = [
    path("", include("tracks.deadlines.urls")),
    path("", include("tracks.downloads.urls")),
    path("", include("tracks.topics.urls")),
    path("", include("tracks.guidelines.urls")),
    path("", include("tracks.agreements.urls")),
    path("", include("tracks.history.urls")),
    path("", include("tracks.setup.urls")),
    path("", include("tracks.pages.urls")),
    path("", include("tracks.tracks.urls")),
    path("", include("tracks.protocols.urls")),
]
