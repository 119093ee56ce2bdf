"""URLs of clusterings."""

from django.urls import path

from corpus.clusterings import views

urlpatterns = [
    path("collections/<slug:slug>/clustering/", views.start_clustering, name="start_clustering"),
    path(
        "collections/<slug:slug>/clustering/disagreements.csv", views.disagreements_file, name="disagreements"
    ),
]
