"""URLs of the interaction."""

from django.urls import path

from pooling.interaction import views

urlpatterns = [
    path("tracks/<slug:slug>/interaction/", views.interaction, name="interaction"),
    path("teams/<int:team_id>/interaction/nominations/", views.nominate, name="nominate"),
    path("teams/<int:team_id>/interaction/page/", views.set_address, name="set_address"),
    path("teams/<int:team_id>/interaction/plan/", views.plan, name="plan_sessions"),
    path("teams/<int:team_id>/interaction/log/", views.log, name="log_sessions"),
    path("teams/<int:team_id>/interaction/data/", views.data, name="interaction_data"),
    path("teams/<int:team_id>/interaction/data/file/", views.data_file, name="interaction_file"),
    path("sessions/<int:nomination_id>/", views.session, name="session"),
    path("sessions/<int:nomination_id>/take-back/", views.take_back, name="take_back_session"),
    path("sessions/<int:nomination_id>/start/", views.start, name="start_session"),
    path("sessions/<int:nomination_id>/end/", views.end, name="end_session"),
]
