"""URLs of the pooling app."""

from django.urls import include, path

app_name = "pooling"

urlpatterns = [
    path("", include("pooling.runs.urls")),
    path("", include("pooling.publications.urls")),
    path("", include("pooling.pools.urls")),
    path("", include("pooling.clones.urls")),
    path("", include("pooling.teams.urls")),
    path("", include("pooling.invitations.urls")),
    path("", include("pooling.requests.urls")),
    path("", include("pooling.people.urls")),
    path("", include("pooling.interaction.urls")),
]
