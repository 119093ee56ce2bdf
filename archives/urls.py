"""URLs of archives."""

from django.urls import path

from archives import views

app_name = "archives"

urlpatterns = [
    path("tracks/<slug:slug>/archives/", views.archives, name="archives"),
    path("archives/<int:archive_id>/file/", views.archive_file, name="file"),
    path("archives/<int:archive_id>/delete/", views.delete, name="delete"),
    path("archives/load/", views.load, name="load"),
    path("archives/loaded/<int:loaded_id>/", views.loaded, name="loaded"),
]
