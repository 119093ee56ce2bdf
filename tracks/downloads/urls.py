"""URLs of downloads."""

from django.urls import path

from tracks.downloads import views

urlpatterns = [
    path("tracks/<slug:slug>/downloads/", views.downloads, name="downloads"),
    path("tracks/<slug:slug>/downloads/SHA256SUMS", views.checksums, name="checksums"),
    path("tracks/<slug:slug>/downloads/attach/", views.attach, name="attach"),
    path("tracks/<slug:slug>/downloads/export/", views.export_collection, name="export_collection"),
    path("tracks/<slug:slug>/downloads/log/", views.log, name="fetches"),
    path("tracks/<slug:slug>/downloads/log.csv", views.log_csv, name="fetches_csv"),
    path("tracks/<slug:slug>/downloads/files/<str:file>", views.download_file, name="download"),
    path("tracks/<slug:slug>/downloads/<slug:key>/edit/", views.edit, name="edit_download"),
    path("tracks/<slug:slug>/downloads/<slug:key>/remove/", views.remove, name="remove_download"),
]
