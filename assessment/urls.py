"""Addresses of the assessment room."""

from django.urls import path

from assessment import organizer_views, views

app_name = "assessment"

urlpatterns = [
    path("judge/", views.mine, name="mine"),
    path("judge/back/", views.back_again, name="back"),
    path("judge/batches/<int:batch_id>/next/", views.accept, name="next"),
    path("judge/batches/<int:batch_id>/done/", views.done, name="done"),
    path("judge/batches/<int:batch_id>/judgments/", views.own_judgments, name="own_judgments"),
    path("judge/batches/<int:batch_id>/guidelines/", views.guidelines, name="guidelines"),
    path("judge/assignments/<int:assignment_id>/", views.assignment, name="assignment"),
    path("tracks/<slug:slug>/judging/", organizer_views.judging, name="judging"),
    path("judge/batches/<int:batch_id>/", organizer_views.batch, name="batch"),
    path("judge/batches/<int:batch_id>/open/", organizer_views.open_batch, name="open"),
    path("judge/batches/<int:batch_id>/close/", organizer_views.close_batch, name="close"),
    path("judge/batches/<int:batch_id>/judgments.csv", organizer_views.judgments_csv, name="judgments_csv"),
]
