"""URLs of the corpus app."""

from django.urls import path

from corpus.clusterings import views as clusterings
from corpus.imports import views as imports
from corpus.threads import views as threads

app_name = "corpus"

COLLECTION = "collections/<slug:slug>"

urlpatterns = [
    path("imports/", imports.imports, name="imports"),
    path("imports/new/", imports.start_import, name="start_import"),
    path("imports/<int:job_id>/", imports.import_job, name="import"),
    path("collections/", threads.collections_page, name="collections"),
    path(f"{COLLECTION}/", threads.collection_page, name="collection"),
    path(f"{COLLECTION}/delete/", threads.delete_collection, name="delete_collection"),
    path(f"{COLLECTION}/find/", threads.find, name="find"),
    path(f"{COLLECTION}/imports/", imports.collection_imports, name="collection_imports"),
    path(f"{COLLECTION}/images/<slug:sha256>/", threads.image_file, name="image"),
    path(f"{COLLECTION}/threads/<path:docno>/", threads.thread_page, name="thread"),
    path(f"{COLLECTION}/clustering/", clusterings.start_clustering, name="start_clustering"),
    path(f"{COLLECTION}/clustering/disagreements.csv", clusterings.disagreements_file, name="disagreements"),
    path(f"{COLLECTION}/formulas/", clusterings.formulas, name="formulas"),
    path(f"{COLLECTION}/formulas/<path:code>/", clusterings.formula, name="formula"),
    path(f"{COLLECTION}/find-formula/", clusterings.find_formula, name="find_formula"),
]
