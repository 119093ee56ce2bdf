"""URLs of imports of runs."""

from django.urls import path

from pooling.imports import views

urlpatterns = [
    path("tracks/<slug:slug>/runs/import/", views.imports, name="run_imports"),
    path("run-imports/<int:run_import_id>/", views.run_import, name="run_import"),
    path("run-imports/<int:run_import_id>/submit/", views.submit, name="import_runs"),
    path("run-imports/<int:run_import_id>/discard/", views.discard, name="discard_run_import"),
]
