"""A second factor: codes of an app on a telephone (TOTP, RFC 6238), and recovery codes that work once each."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from accounts.models import User
from accounts.services import end_sessions
from assay.errors import Refused
from web.api.problems import is_api
from web.caches import needs_cache
from web.forms import StyledForm
from web.translation import translated

FOLDER = "accounts/signin"
BEFORE_SET_UP = {  # the pages that administrators may open without a second factor
    *(
        "mfa_activate_totp",
        "account_reauthenticate",
        "mfa_reauthenticate",
        "logout",
        "documentation",
        "health",
    ),
    *("sign_in", "mfa_index", "sign_in_start", "openid_connect_callback", "account", "password_change"),
}


class Adapter(DefaultMFAAdapter):
    """Keeps the secrets of people encrypted, so that a copy of the database gives no codes."""

    def encrypt(self, text: str) -> str:
        return _ciphers().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return _ciphers().decrypt(encrypted_text.encode()).decode()
        except InvalidToken as error:
            raise Refused(
                gettext(
                    "The secret key of this site was replaced. Ask its administrator to remove your second factor."
                ),
                code="secret-lost",
                title=gettext_noop("Your second factor cannot be checked"),
            ) from error

    def get_totp_label(self, user: User) -> str:
        return user.username


def _ciphers() -> MultiFernet:
    """The first encrypts. Earlier secret keys still decrypt, while SECRET_KEY_FALLBACKS has them."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [hashlib.sha256(f"second factor {key}".encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])


def factor_of(user: User) -> Authenticator | None:
    return Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP).first()


class SecondFactorMiddleware:
    """Sends administrators without a second factor from every page to the one on which they set it up. For programs,
    they have no right of administrators until then (`User.lacks_second_factor`).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        match, user = request.resolver_match, request.user
        if match is None or match.view_name in BEFORE_SET_UP or is_api(request):
            return None
        if not isinstance(user, User) or not user.lacks_second_factor:
            return None
        messages.warning(request, gettext("Administrators need a second factor. Set it up first."))
        return redirect("mfa_activate_totp")


def _code(help_text: Any) -> forms.CharField:
    attributes = {"autocomplete": "one-time-code", "autofocus": True, "autocapitalize": "none"}
    return forms.CharField(
        label=gettext_lazy("Code"),
        help_text=help_text,
        max_length=20,
        widget=forms.TextInput(attrs=attributes),
    )


class CodeForm(StyledForm, AuthenticateForm):
    """The code that somebody enters after the password."""

    code = _code(gettext_lazy("The six digits that your app shows now, or one of your recovery codes."))


class ConfirmForm(StyledForm, ReauthenticateForm):
    """The code that confirms a change."""

    code = _code(gettext_lazy("The six digits that your app shows now, or one of your recovery codes."))


class FirstCodeForm(StyledForm, ActivateTOTPForm):
    """The first code of an app, which shows that it has the key."""

    code = _code(gettext_lazy("The six digits that your app shows now."))


class CodeView(AuthenticateView):
    """The page after the password. Who has given the password and has a second factor."""

    template_name = f"{FOLDER}/code.html"
    form_class = CodeForm

    def _build_forms(self) -> CodeForm:
        """The form: there are no security keys here, the form of which the library would look for too."""
        data = self.request.POST if self.request.method == "POST" else None
        form: CodeForm = self.get_form_class()(data, user=self.stage.login.user)
        self.auth_form, self.webauthn_form = form, None
        return form


class EndsOtherSessions:
    """A page that changes the second factor, and ends the sessions that began under the earlier rule. ADR 21."""

    request: HttpRequest

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)  # type: ignore[misc]  # of the view
            assert isinstance(self.request.user, User)
            end_sessions(user=self.request.user)
            update_session_auth_hash(self.request, self.request.user)
        return response


class SetUpView(EndsOtherSessions, ActivateTOTPView):
    """The page that sets a second factor up. Everyone who has just confirmed who they are."""

    template_name = f"{FOLDER}/set_up.html"
    form_class = FirstCodeForm

    def form_valid(self, form: FirstCodeForm) -> HttpResponse:
        """Store the factor, and count the code as used: no login takes it again."""
        response = super().form_valid(form)
        assert isinstance(self.request.user, User)
        factor = factor_of(self.request.user)
        assert factor is not None
        factor.wrap().validate_code(form.cleaned_data["code"])
        return response


class TurnOffView(EndsOtherSessions, DeactivateTOTPView):
    """The page that turns the second factor off. Who has just given a code."""

    template_name = f"{FOLDER}/turn_off.html"


urlpatterns = [
    path("login/code/", translated(needs_cache(CodeView.as_view())), name="mfa_authenticate"),
    path(
        "account/confirm/code/",
        translated(
            needs_cache(
                ReauthenticateView.as_view(template_name=f"{FOLDER}/confirm.html", form_class=ConfirmForm)
            )
        ),
        name="mfa_reauthenticate",
    ),
    path(
        "account/second-factor/",
        translated(needs_cache(SetUpView.as_view())),
        name="mfa_activate_totp",
    ),
    path(
        "account/second-factor/off/",
        translated(TurnOffView.as_view()),
        name="mfa_deactivate_totp",
    ),
    path(
        "account/recovery-codes/",
        translated(ViewRecoveryCodesView.as_view(template_name=f"{FOLDER}/recovery_codes.html")),
        name="mfa_view_recovery_codes",
    ),
    path(
        "account/recovery-codes/new/",
        translated(GenerateRecoveryCodesView.as_view(template_name=f"{FOLDER}/new_codes.html")),
        name="mfa_generate_recovery_codes",
    ),
]
