"""Addresses of the report on the interaction."""

from django.urls import path

from scoring.interaction import views

urlpatterns = [
    path("leaderboards/<int:board_id>/interaction/", views.interaction, name="interaction"),
    path("leaderboards/<int:board_id>/interaction.tsv", views.interaction_tsv, name="interaction_tsv"),
]
