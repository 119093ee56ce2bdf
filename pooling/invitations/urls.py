"""URLs of invitations."""

from django.urls import path

from pooling.invitations import views

urlpatterns = [
    path("join/", views.join, name="join"),
    path("join/<str:token>/", views.invitation_link, name="invitation_link"),
    path("invitations/<int:invitation_id>/revoke/", views.revoke, name="revoke_invitation"),
]
