"""URLs of access tokens."""

from django.urls import path

from accounts.tokens import views

urlpatterns = [
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke, name="revoke_token"),
]
