"""Addresses of leaderboards."""

from django.urls import path

from scoring.leaderboards import views

urlpatterns = [
    path("tracks/<slug:slug>/leaderboards/", views.leaderboards, name="leaderboards"),
    path("leaderboards/<int:board_id>/", views.leaderboard, name="leaderboard"),
    path(
        "leaderboards/<int:board_id>/leaderboard.<board:kind>",
        views.leaderboard_file,
        name="leaderboard_file",
    ),
    path("leaderboards/<int:board_id>/topics.<table:kind>", views.topics_file, name="topics_file"),
    path("leaderboards/<int:board_id>/compare/", views.choose_other, name="choose_leaderboard"),
    path("leaderboards/<int:board_id>/compare/<int:other_id>/", views.compare, name="compare_leaderboards"),
    path("leaderboards/<int:board_id>/groups/", views.groups, name="groups"),
    path("leaderboards/<int:board_id>/groups.csv", views.groups_file, name="groups_file"),
    path("leaderboards/<int:board_id>/classes/", views.classes, name="classes"),
    path("leaderboards/<int:board_id>/classes.csv", views.classes_file, name="classes_file"),
    path("leaderboards/<int:board_id>/topics/", views.topics, name="topics"),
    path("leaderboards/<int:board_id>/topics/<path:code>/", views.topic, name="topic"),
    path("leaderboards/<int:board_id>/release/", views.release, name="release"),
    path("leaderboards/<int:board_id>/release/cancel/", views.cancel_release, name="cancel_release"),
]
