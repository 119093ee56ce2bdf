"""URLs of accounts."""

from django.contrib.auth import views as auth_views
from django.urls import path

from accounts import views
from accounts.sessions import views as session_views
from web.translation import translated

urlpatterns = [
    path("login/", translated(views.LogIn.as_view()), name="login"),
    path("login/link/", views.request_link, name="request_link"),
    path("login/link/<int:user_id>/<str:token>/", views.use_link, name="login_link"),
    path("logout/", translated(auth_views.LogoutView.as_view()), name="logout"),
    path("account/password/", translated(views.PasswordChange.as_view()), name="password_change"),
    path("account/sessions/", session_views.sessions, name="sessions"),
    path("account/sessions/<int:login_id>/end/", session_views.end, name="end_session"),
    path("account/sessions/end-others/", session_views.end_others, name="end_other_sessions"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]
