"""URLs of tracks."""

from django.urls import path

from tracks.tracks import views

urlpatterns = [
    path("tracks/<slug:slug>/", views.track, name="track"),
    path("tracks/<slug:slug>/open/", views.open_track, name="open_track"),
    path("tracks/<slug:slug>/close/", views.close_track, name="close_track"),
]
