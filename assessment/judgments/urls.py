"""URLs of judgments."""

from django.urls import path

from assessment.judgments import views

urlpatterns = [
    path("tracks/<slug:slug>/judging/export/", views.export, name="export"),
    path("judge/batches/<int:batch_id>/judgments/", views.own_judgments, name="own_judgments"),
    path("judge/batches/<int:batch_id>/judgments.csv", views.judgments_csv, name="judgments_csv"),
]
