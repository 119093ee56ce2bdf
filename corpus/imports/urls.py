"""Addresses of the import pages; `corpus.urls` takes them in."""

from django.urls import path

from corpus import import_views

urlpatterns = [
    path("imports/", import_views.imports, name="imports"),
    path("imports/new/", import_views.start_import, name="start_import"),
    path("imports/<int:job_id>/", import_views.import_job, name="import"),
    path("collections/<slug:slug>/imports/", import_views.collection_imports, name="collection_imports"),
    path("tracks/<slug:slug>/import-topics/", import_views.import_topics, name="import_topics"),
]
