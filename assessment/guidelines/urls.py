"""URLs of guidelines next to a task, and of worked examples."""

from django.urls import path

from assessment.guidelines import views

urlpatterns = [
    path("judge/batches/<int:batch_id>/guidelines/", views.guidelines, name="guidelines"),
    path("judge/batches/<int:batch_id>/guidelines/panel/", views.panel, name="guidelines_panel"),
    path("tracks/<slug:slug>/guidelines/examples/", views.examples, name="examples"),
]
