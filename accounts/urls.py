"""URLs of accounts."""

from django.contrib.auth import views as auth_views
from django.urls import path

from accounts import views

urlpatterns = [
    path("login/", auth_views.LoginView.as_view(template_name="accounts/login.html"), name="login"),
    path("login/link/", views.request_link, name="request_link"),
    path("login/link/<int:user_id>/<str:token>/", views.use_link, name="login_link"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("account/password/", views.PasswordChange.as_view(), name="password_change"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]
