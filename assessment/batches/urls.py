"""URLs of batches."""

from django.urls import path

from assessment.batches import views

urlpatterns = [
    path("tracks/<slug:slug>/judging/new/", views.new, name="new_batch"),
    path("tracks/<slug:slug>/judging/", views.judging, name="judging"),
    path("judge/batches/<int:batch_id>/", views.batch, name="batch"),
    path("judge/batches/<int:batch_id>/open/", views.open_batch, name="open"),
    path("judge/batches/<int:batch_id>/close/", views.close_batch, name="close"),
]
