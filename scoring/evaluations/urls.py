"""Addresses of evaluations."""

from django.urls import path

from scoring.evaluations import views

urlpatterns = [
    path("evaluations/<int:evaluation_id>/", views.evaluation, name="evaluation"),
    path("evaluations/<int:evaluation_id>/compare/", views.choose_other, name="choose_run"),
    path("evaluations/<int:evaluation_id>/compare/<int:other_id>/", views.compare, name="compare_runs"),
    path(
        "evaluations/<int:evaluation_id>/scores.<table:kind>", views.evaluation_file, name="evaluation_file"
    ),
]
