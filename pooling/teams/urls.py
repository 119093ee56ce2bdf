"""URLs of teams."""

from django.urls import path

from pooling.teams import views

urlpatterns = [
    path("teams/<int:team_id>/", views.team, name="team"),
    path("teams/<int:team_id>/edit/", views.edit, name="edit_team"),
    path("teams/<int:team_id>/invite/", views.invite, name="invite_member"),
    path("teams/<int:team_id>/leave/", views.leave, name="leave_team"),
    path("teams/<int:team_id>/members/<int:user_id>/", views.change_member, name="change_member"),
]
