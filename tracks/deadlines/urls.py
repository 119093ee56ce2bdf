"""URLs of deadlines."""

from django.urls import path

from tracks.deadlines import views

urlpatterns = [
    path("tracks/<slug:slug>/deadlines/", views.deadlines, name="deadlines"),
]
