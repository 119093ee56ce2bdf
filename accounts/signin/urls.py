"""URLs of the other ways to log in. The names are those that django-allauth looks for, where it looks for one.

Its own URLs are not included: this site has no sign-up, no password reset by it, and no page of its e-mail addresses.
"""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from accounts.signin import views
from accounts.views import use_link
from web.caches import needs_cache
from web.translation import translated

urlpatterns: list[URLPattern | URLResolver] = [
    path("login/", translated(views.LogIn.as_view()), name="account_login"),
    path("login/link/<int:user_id>/<str:token>/", use_link, {"enter": views.enter_by_link}),
    path("login/with/<slug:provider_id>/", views.start, name="sign_in_start"),
    path("login/with/<slug:provider_id>/done/", views.finish, name="openid_connect_callback"),
    path("account/ways-to-log-in/", views.ways, name="sign_in"),
    path("account/ways-to-log-in/", views.ways, name="mfa_index"),
    path("account/ways-to-log-in/<int:account_id>/disconnect/", views.disconnect, name="sign_in_disconnect"),
    path("account/confirm/", translated(needs_cache(views.Confirm.as_view())), name="account_reauthenticate"),
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
]
if settings.SECOND_FACTOR:
    urlpatterns.append(path("", include("accounts.signin.second_factor")))
