"""URLs of imports."""

from django.urls import path

from corpus.imports import views

urlpatterns = [
    path("imports/", views.imports, name="imports"),
    path("imports/new/", views.start_import, name="start_import"),
    path("imports/<int:job_id>/", views.import_job, name="import"),
    path("collections/<slug:slug>/imports/", views.collection_imports, name="collection_imports"),
]
