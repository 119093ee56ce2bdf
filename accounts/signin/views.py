"""The pages of the other ways to log in. The login page with its form is still the only one."""

from typing import Any

from allauth.account.forms import ReauthenticateForm
from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from allauth.account.utils import get_next_redirect_url, perform_login
from allauth.account.views import ReauthenticateView
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.forms import DisconnectForm
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.base import ProviderException
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.apps import apps
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.forms import AuthenticationForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.crypto import get_random_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from requests import RequestException

import accounts.views
from accounts.access import AuthenticatedRequest, public_page, user_action, user_page
from accounts.models import User
from accounts.selectors import orcids_of
from accounts.signin.provider import OpenIDAdapter, Provider, nonce_of
from web.forms import StyledForm, errors_in
from web.throttling import limited
from web.translation import translated

STATE_LENGTH = 32


def enter(
    request: HttpRequest, user: User, *, method: str, to: str | None = None, **more: Any
) -> HttpResponse:
    """Log somebody in who has proved one factor; first ask for the second one, if the account has it."""
    if request.user.is_authenticated:
        logout(request)
    record_authentication(request, user, method)
    response: HttpResponse = perform_login(request, user, redirect_url=to, signal_kwargs=more)
    return response


def enter_by_link(request: HttpRequest, user: User) -> HttpResponse:
    return enter(request, user, method="link", is_by_link=True)


class LogIn(accounts.views.LogIn):
    """The login page, with the services through which people log in. Everyone."""

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(
            **more, providers=get_adapter(self.request).list_providers(self.request)
        )

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        assert isinstance(user, User)
        return enter(self.request, user, method="password", to=self.get_success_url())


def _provider(request: HttpRequest, provider_id: str) -> Provider:
    try:
        provider: Provider = get_adapter(request).get_provider(request, provider_id)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    return provider


@translated
@require_POST
@never_cache
@limited("sign_in", per_hour=600)
def start(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Go to a service: to log in or, once logged in, to connect it. Everyone.

    The answer is a page, not a redirect: the browser would apply the policy for forms of this site to each address
    to which the service redirects in turn.
    """
    provider, state = _provider(request, provider_id), get_random_string(STATE_LENGTH)
    process = AuthProcess.LOGIN
    if request.user.is_authenticated:
        process = AuthProcess.CONNECT
        raise_if_reauthentication_required(request, app="allauth.socialaccount")
    try:
        address = provider.redirect(
            request,
            process=process,
            next_url=get_next_redirect_url(request),
            state_id=state,
            auth_params={"nonce": nonce_of(state)},
        ).url
    except (ProviderException, RequestException) as error:
        get_adapter(request).on_authentication_error(request, provider, exception=error)
        raise
    context = {"address": address, "provider": provider}
    page = render(request, "accounts/signin/leaving.html", context)
    page["Refresh"] = f"0; url={address}"
    return page


@translated
@public_page
def finish(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Come back from a service. Everyone who went there in this session."""
    _provider(request, provider_id)
    response: HttpResponseBase = OAuth2CallbackView.adapter_view(OpenIDAdapter(request, provider_id))(request)
    return response


@translated
@user_page
def ways(request: AuthenticatedRequest) -> HttpResponse:
    """The services that are connected with an account, and its second factor. Everyone who has logged in."""
    connected = {account.provider: account for account in SocialAccount.objects.filter(user=request.user)}
    providers, factor = get_adapter(request).list_providers(request), None
    if settings.SECOND_FACTOR:
        factors = apps.get_app_config("mfa").get_model("Authenticator")._default_manager
        factor = factors.filter(user_id=request.user.pk, type="totp").first()
    context = {
        "services": [(provider, connected.get(provider.sub_id)) for provider in providers],
        "orcid": orcids_of([request.user.pk]).get(request.user.pk),
        "has_second_factors": settings.SECOND_FACTOR,
        "factor": factor,
    }
    return render(request, "accounts/signin/ways.html", context)


@translated
@user_action
def disconnect(request: AuthenticatedRequest, account_id: int) -> HttpResponse:
    """Disconnect a service. The user of the account only."""
    form = DisconnectForm({"account": account_id}, request=request)
    if form.is_valid():
        form.save()
    else:
        messages.error(request, " ".join(errors_in(form)))
    return redirect("sign_in")


class PasswordForm(StyledForm, ReauthenticateForm):
    """The password that confirms a change."""


class Confirm(ReauthenticateView):
    """Give the password again, before a way to log in is added or removed. Everyone who has logged in."""

    template_name = "accounts/signin/confirm.html"

    def get_form_class(self) -> type[PasswordForm]:
        return PasswordForm
