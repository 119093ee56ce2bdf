"""URLs of agreement."""

from django.urls import path

from assessment.agreement import views

urlpatterns = [
    path("tracks/<slug:slug>/agreement/", views.agreement, name="agreement"),
    path("tracks/<slug:slug>/agreement/disagreements/", views.disagreements, name="disagreements"),
    path(
        "tracks/<slug:slug>/agreement/disagreements.csv", views.disagreements_file, name="disagreements_csv"
    ),
    path("tracks/<slug:slug>/agreement/<slug:name>.tsv", views.agreement_file, name="agreement_tsv"),
]
