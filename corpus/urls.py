"""URLs of the corpus app."""

from django.urls import include, path

from corpus.clusterings import views as clusterings
from corpus.imports import views as imports
from corpus.threads import views as threads

app_name = "corpus"

collection_urls = [
    path("", threads.collection_page, name="collection"),
    path("delete/", threads.delete_collection, name="delete_collection"),
    path("find/", threads.find, name="find"),
    path("imports/", imports.collection_imports, name="collection_imports"),
    path("images/<slug:sha256>/", threads.image_file, name="image"),
    path("threads/<path:docno>/", threads.thread_page, name="thread"),
    path("clustering/", clusterings.start_clustering, name="start_clustering"),
    path("clustering/disagreements.csv", clusterings.disagreements_file, name="disagreements"),
    path("formulas/", clusterings.formulas, name="formulas"),
    path("formulas/<path:code>/", clusterings.formula, name="formula"),
    path("find-formula/", clusterings.find_formula, name="find_formula"),
]
urlpatterns = [
    path("imports/", imports.imports, name="imports"),
    path("imports/new/", imports.start_import, name="start_import"),
    path("imports/<int:job_id>/", imports.import_job, name="import"),
    path("collections/", threads.collections_page, name="collections"),
    path("collections/<slug:slug>/", include(collection_urls)),
]
