"""Addresses of published runs, documents of teams, and archives."""

from django.urls import include, path

from publishing.archives import views as archives
from publishing.documents import views as documents
from publishing.models import Archive
from publishing.published_runs import views as published_runs
from tracks.tabs import Page, Section, register, rows_of_track

app_name = "publishing"

track_urls = [
    path("runs/published/", published_runs.publication, name="publication"),
    path("runs/published/archive/", published_runs.archive_file, name="published_runs"),
    path("runs/published/publish/", published_runs.publish, name="publish_runs"),
    path("runs/published/withdraw/", published_runs.withdraw, name="withdraw_publication"),
    path("teams/<int:team_id>/consent/", published_runs.consent, name="consent"),
    path("documents/", documents.documents_page, name="documents"),
    path("documents.zip", documents.documents_zip, name="documents_zip"),
    path("archives/", archives.archives, name="archives"),
]
urlpatterns = [
    path("teams/<int:team_id>/documents/", documents.upload_document, name="upload_document"),
    path("documents/<int:document_id>/", documents.change_document, name="change_document"),
    path("documents/<int:document_id>/remove/", documents.remove_document, name="remove_document"),
    path("documents/<int:document_id>/file/", documents.document_file, name="document_file"),
    path("archives/<int:archive_id>/file/", archives.archive_file, name="archive_file"),
    path("archives/<int:archive_id>/offer/", archives.offer, name="offer_archive"),
    path("archives/<int:archive_id>/delete/", archives.delete, name="delete_archive"),
    path("archives/load/", archives.load, name="load_archive"),
    path("archives/fetch/", archives.fetch, name="fetch_collection"),
    path("archives/loaded/<int:loaded_id>/", archives.loaded_page, name="loaded_archive"),
    path("tracks/<slug:slug>/", include(track_urls)),
]

register(
    Page(
        "Archive",
        "publishing:archives",
        Section.RESULTS,
        4,
        "delete_archive",
        rows_of_track(Archive.objects.all()),
    ),
)
