"""The URL that clones a track."""

from django.urls import path

from pooling.clones import views

urlpatterns = [path("tracks/<slug:slug>/clone/", views.clone_track, name="clone_track")]
