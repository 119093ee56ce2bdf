"""URLs of the corpus app."""

from django.urls import path

from corpus.builds import views as builds
from corpus.clusterings import views as clusterings
from corpus.imports import views as imports
from corpus.threads import views as threads

app_name = "corpus"

COLLECTION = "collections/<slug:slug>"

urlpatterns = [
    path("imports/", imports.imports, name="imports"),
    path("imports/new/", imports.start_import, name="start_import"),
    path("imports/<int:job_id>/", imports.import_job, name="import"),
    path("builds/new/", builds.start_build, name="start_build"),
    path("collections/", threads.collections_page, name="collections"),
    path(f"{COLLECTION}/", threads.collection_page, name="collection"),
    path(f"{COLLECTION}/delete/", threads.delete_collection, name="delete_collection"),
    path(f"{COLLECTION}/build/", builds.build, name="build"),
    path(f"{COLLECTION}/build/again/", builds.change_build, name="change_build"),
    path(f"{COLLECTION}/build/delete/", builds.delete_build, name="delete_build"),
    path(f"{COLLECTION}/build/<str:name>", builds.build_file, name="build_file"),
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
