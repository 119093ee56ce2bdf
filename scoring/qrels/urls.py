"""Addresses of qrels."""

from django.urls import path

from scoring.qrels import views

urlpatterns = [
    path("tracks/<slug:slug>/qrels/", views.qrels_list, name="qrels_list"),
    path("tracks/<slug:slug>/qrels/freeze/", views.freeze, name="freeze"),
    path("tracks/<slug:slug>/qrels/import/", views.import_qrels, name="import_qrels"),
    path("qrels/<int:qrels_id>/", views.qrels, name="qrels"),
    path("qrels/<int:qrels_id>/qrels.tsv", views.qrels_file, name="qrels_file"),
    path("qrels/<int:qrels_id>/export/", views.export, name="qrels_export"),
    path("qrels/<int:qrels_id>/judgments.zip", views.judgments, name="qrels_judgments"),
    path("qrels/<int:qrels_id>/offer/", views.offer, name="offer_qrels"),
    path("qrels/<int:qrels_id>/archive/", views.archive, name="archive_qrels"),
    path("qrels/<int:qrels_id>/score/", views.score, name="score"),
]
