"""URLs of the people of a track."""

from django.urls import path

from pooling.people import views

urlpatterns = [
    path("tracks/<slug:slug>/people/", views.people, name="people"),
    path("tracks/<slug:slug>/people/add/", views.add, name="add_people"),
    path("tracks/<slug:slug>/people/invite/", views.invite, name="invite_person"),
    path("tracks/<slug:slug>/people/groups/", views.set_groups, name="set_groups"),
    path("tracks/<slug:slug>/people/<int:user_id>/remove/", views.remove_assessor, name="remove_assessor"),
    path("tracks/<slug:slug>/people/team/", views.create_team, name="create_team"),
    path("tracks/<slug:slug>/people/<int:user_id>/link/", views.make_link, name="make_login_link"),
]
