"""URLs of the live board."""

from django.urls import path

from assessment.board import views

urlpatterns = [
    path("tracks/<slug:slug>/board/", views.board, name="board"),
    path("judge/judgments/<int:judgment_id>/return/", views.return_non_answer, name="return_non_answer"),
    path("tracks/<slug:slug>/board/differences/", views.differences, name="differences"),
    path("tracks/<slug:slug>/board/differences.csv", views.differences_file, name="differences_csv"),
    path("tracks/<slug:slug>/board/<slug:table>.tsv", views.board_file, name="board_tsv"),
]
