"""URLs of guidelines."""

from django.urls import path

from tracks.guidelines import views

urlpatterns = [
    path("tracks/<slug:slug>/guidelines/", views.guidelines, name="guidelines"),
    path("tracks/<slug:slug>/guidelines/edit/", views.edit, name="edit_guidelines"),
    path("tracks/<slug:slug>/guidelines/versions/", views.versions, name="guidelines_versions"),
    path("tracks/<slug:slug>/guidelines/versions/<int:number>/", views.version, name="guidelines_version"),
    path(
        "tracks/<slug:slug>/guidelines/changes/<int:old>/<int:new>/", views.changes, name="guidelines_changes"
    ),
]
