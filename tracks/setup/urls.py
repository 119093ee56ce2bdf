"""URLs that create and edit tracks."""

from django.urls import path

from tracks.setup import views

urlpatterns = [
    path("tracks/new/", views.new_track, name="new_track"),
    path("tracks/<slug:slug>/edit/", views.edit_track, name="edit_track"),
]
