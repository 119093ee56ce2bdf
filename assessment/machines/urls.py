"""URLs of machines."""

from django.urls import path

from assessment.machines import views

urlpatterns = [
    path("tracks/<slug:slug>/machines/", views.machines, name="machines"),
    path("tracks/<slug:slug>/machines/new/", views.new, name="new_machine"),
    path("judge/machines/<int:machine_id>/", views.machine, name="machine"),
    path("judge/machines/<int:machine_id>/start/", views.start, name="start_machine"),
    path("judge/machines/<int:machine_id>/tokens/", views.create_token, name="machine_token"),
    path(
        "judge/machines/<int:machine_id>/tokens/<int:token_id>/revoke/",
        views.revoke_token,
        name="revoke_machine_token",
    ),
]
