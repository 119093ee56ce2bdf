"""Pages of a user's account: its password and access tokens, and other ways to log in than a password."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.messages.views import SuccessMessageMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache

from accounts import services
from accounts import tokens as access_tokens
from accounts.access import AuthenticatedRequest, login_required, secret_address, user_action
from accounts.forms import LinkForm, NewPasswordForm, PasswordForm, TokenForm
from accounts.models import User
from accounts.selectors import tokens_of
from web.forms import refusals_in
from web.pages import FORM_PAGE, read_and_post, site_of
from web.throttling import limited
from web.translation import translated, translated_for_assessors

BACKEND = "accounts.backends.SiteBackend"
BY_LINK = "logged_in_by_link_at"


class LogIn(auth_views.LoginView):
    """The login page. Everyone."""

    template_name = "accounts/login.html"


class PasswordChange(SuccessMessageMixin[PasswordChangeForm], auth_views.PasswordChangeView):
    """Change your own password. Everyone who has logged in; soon after a login link without the old password."""

    template_name = "form_page.html"
    extra_context = FORM_PAGE | {
        "heading": gettext_lazy("Change your password"),
        "button": gettext_lazy("Change password"),
        "crumbs": [(gettext_lazy("Your account"), reverse_lazy("account"))],
        "style": "narrow-form panel",
    }
    success_url = reverse_lazy("account")
    success_message = gettext_lazy("Your password was changed.")

    def get_form_class(self) -> Any:
        used_at = self.request.session.get(BY_LINK, 0)
        is_recent = time.time() - used_at < settings.PASSWORD_RESET_TIMEOUT
        return NewPasswordForm if is_recent else partial(PasswordForm, request=self.request)

    def form_valid(self, form: Any) -> HttpResponse:
        self.request.session.pop(BY_LINK, None)
        return super().form_valid(form)


@translated
@never_cache
@read_and_post
@limited("login_link")
def request_link(request: HttpRequest) -> HttpResponse:
    """Request an e-mail with a login link. Everyone; the page does not show whether an account exists."""
    form = LinkForm(request.POST if request.method == "POST" else None)
    is_sent = settings.SENDS_MAIL and form.is_valid()
    if is_sent:
        services.request_links(name=form.cleaned_data["name"].strip(), site=site_of(request))
    return render(
        request,
        "accounts/request_link.html",
        {"form": form, "is_sent": is_sent, "sends_mail": settings.SENDS_MAIL},
    )


def greet(request: HttpRequest) -> HttpResponse:
    """Go to the account of somebody who came by a login link and may soon set a password without the old one."""
    request.session[BY_LINK] = time.time()
    text = gettext("You are logged in. You can now set a new password without the old one.")
    messages.success(request, text)
    return redirect("account")


def enter_by_link(request: HttpRequest, user: User) -> HttpResponse:
    """Log the user of a link in."""
    login(request, user, backend=BACKEND)
    return greet(request)


@translated
@read_and_post
@secret_address
def use_link(
    request: HttpRequest,
    user_id: int,
    token: str,
    enter: Callable[[HttpRequest, User], HttpResponse] = enter_by_link,
) -> HttpResponse:
    """Log in with a link, by a button: programs that look at the links of an e-mail use up nothing. Everyone."""
    if request.method == "POST":
        user = services.use_link(user_id=user_id, token=token)
        if user is not None:
            return enter(request, user)
    else:
        user = services.user_of_link(user_id=user_id, token=token)
    return render(request, "accounts/login_link.html", {"holder": user}, status=200 if user else 410)


def locked(request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any]) -> HttpResponse:
    """The page after ten wrong passwords, called by django-axes. Everyone."""
    address = getattr(request, "axes_ip_address", None)
    services.note_lockout(
        username=str(credentials.get("username", "")), address=address, site=site_of(request)
    )
    return render(request, "accounts/locked.html", {"sends_mail": settings.SENDS_MAIL}, status=429)


@translated_for_assessors
@read_and_post
@login_required
def tokens(request: AuthenticatedRequest) -> HttpResponse:
    """The user's tokens, and the form that creates one. Its text is shown once. Everyone who has logged in."""
    user, new = request.user, None
    form = TokenForm(request.POST if request.method == "POST" else None, user=user)
    if form.is_valid():
        stated = {name: form.cleaned_data[name] for name in ("name", "scopes", "track")}
        with refusals_in(form):
            new = access_tokens.create(user=user, expires_at=form.expires_at, **stated)
    context = {"tokens": tokens_of(user), "form": TokenForm(user=user) if new else form, "new": new}
    return render(request, "accounts/tokens/tokens.html", context)


@translated_for_assessors
@user_action
def revoke_token(request: AuthenticatedRequest, token_id: int) -> HttpResponse:
    """Revoke a token. Its user only."""
    token = get_object_or_404(tokens_of(request.user), pk=token_id)
    access_tokens.revoke(token=token)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect("tokens")
