"""URLs of imports of judgments."""

from django.urls import path

from assessment.imports import views

urlpatterns = [
    path("tracks/<slug:slug>/judging/imports/", views.imports, name="imports"),
    path("judge/imports/<int:import_id>/", views.import_judgments, name="import"),
    path("judge/imports/<int:import_id>/run/", views.run_import, name="run_import"),
    path("judge/imports/<int:import_id>/discard/", views.discard_import, name="discard_import"),
]
