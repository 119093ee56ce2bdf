"""Rules for logging in through a service, and for the accounts that this makes. Decision: ADR 21.

What is refused leads back to the login page, with a sentence, because the address of the answer contains a code.
"""

from typing import Any, NoReturn

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from accounts.backends import SiteBackend
from accounts.models import IS_PERSON, User
from accounts.signin.records import record
from accounts.views import BACKEND, greet

SENTENCES = {
    "socialaccount/messages/account_connected.txt": gettext_lazy("Connected. You can now log in with it."),
    "socialaccount/messages/account_connected_updated.txt": gettext_lazy("It was connected already."),
    "socialaccount/messages/account_connected_other.txt": gettext_lazy(
        "It belongs to another account of this site."
    ),
    "socialaccount/messages/account_disconnected.txt": gettext_lazy("Disconnected."),
    "mfa/messages/totp_activated.txt": gettext_lazy("The second factor is on."),
    "mfa/messages/totp_deactivated.txt": gettext_lazy("The second factor is off."),
}
CLOSED = gettext_noop("This account is closed. Ask an organizer of your track.")
UNKNOWN = gettext_noop(
    "No account of this site belongs to your login with {provider}. If you have one, log in below with your "
    "user name, and connect {provider} on the page of your account. Otherwise ask for an invitation."
)
TAKEN = gettext_noop(
    "An account of this site has your e-mail address already. Log in below, and connect {provider} on the page "
    "of your account."
)
FOREIGN = gettext_noop(
    "New accounts are for people with a verified e-mail address of {domains}, and {provider} names none of you."
)
FAILED = gettext_noop(
    "The login with {provider} failed. Try again; if it fails again, ask the administrator of this site."
)
CANCELED = gettext_noop("You canceled the login with {provider}.")


def refuse(request: HttpRequest, sentence: str) -> NoReturn:
    """Go back to where somebody began, with a sentence."""
    messages.error(request, sentence)
    raise ImmediateHttpResponse(redirect("sign_in" if request.user.is_authenticated else "login"))


class AccountAdapter(DefaultAccountAdapter):
    """Logs people of the site in, with its sentences."""

    def pre_login(self, request: HttpRequest, user: User, **_: object) -> HttpResponse | None:
        if not SiteBackend().user_can_authenticate(user):
            refuse(request, gettext(CLOSED))
        return None

    def login(self, request: HttpRequest, user: User) -> None:
        login(request, user, backend=BACKEND)

    def post_login(
        self, request: HttpRequest, user: User, *, signal_kwargs: dict[str, Any] | None, **options: Any
    ) -> HttpResponse:
        if (signal_kwargs or {}).get("is_by_link"):
            return greet(request)
        response: HttpResponse = super().post_login(request, user, signal_kwargs=None, **options)
        return response

    def get_login_stages(self) -> list[str]:
        return ["allauth.mfa.stages.AuthenticateStage"] if settings.SECOND_FACTOR else []

    def is_safe_url(self, url: str) -> bool:
        """Return whether an address leads to a page of this site, under the name of the request."""
        request = self.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Show a sentence of ours. What has none is not shown: somebody who has logged in sees that."""
        sentence = message or SENTENCES.get(message_template or "")
        if sentence:
            messages.add_message(request, level, sentence)


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Decides who is who, from what a service says."""

    error_messages = DefaultSocialAccountAdapter.error_messages | {
        "no_password": gettext_lazy(
            "Your account has no password, so you could not log in any more. Log out, log in with a "
            "link, and set a password first."
        )
    }

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: str = AuthError.UNKNOWN, **_: object
    ) -> None:
        is_canceled = error == AuthError.CANCELLED  # prose: allow a name of django-allauth
        sentence = CANCELED if is_canceled else FAILED
        refuse(request, gettext(sentence).format(provider=provider.name))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find the account of somebody who is not connected yet, or prepare a new one.

        Raises:
            ImmediateHttpResponse: There is no account, and none is made.
        """
        if sociallogin.is_existing or sociallogin.state.get("process") == AuthProcess.CONNECT:
            return
        address = verified_address(sociallogin)
        user = user_with(address) if sociallogin.provider.app.settings.get("matches_email") else None
        if user is not None:
            sociallogin.connect(request, user)
            return
        if refusal := why_no_account(address):
            domains = ", ".join(settings.SIGN_IN_ACCOUNTS)
            refuse(request, gettext(refusal).format(provider=sociallogin.provider.name, domains=domains))
        sociallogin.user.email = address  # one that is not verified would be somebody else's, perhaps
        sociallogin.email_addresses.clear()

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> User:
        """As the service names somebody, but no user name that looks like another one: then one is made."""
        user: User = super().populate_user(request, sociallogin, data)
        if User.has_misleading_name(user.username or ""):
            user.username = ""
        return user

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        record("account.created", user, through=sociallogin.provider.name)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return redirect("sign_in").url


def verified_address(sociallogin: SocialLogin) -> str:
    """The e-mail address that a service has verified, or nothing."""
    return next((address.email for address in sociallogin.email_addresses if address.verified is True), "")


def user_with(address: str) -> User | None:
    """The only account with an e-mail address. None of an administrator, and none whose user alone stated the address:
    they connect it themselves.
    """
    users = User.objects.filter(
        email__iexact=address, has_stated_email=False, is_active=True, is_staff=False, **IS_PERSON
    )
    return users[0] if address and len(users[:2]) == 1 else None


def why_no_account(address: str) -> str:
    """The sentence for somebody who gets no account, or nothing."""
    allowed = settings.SIGN_IN_ACCOUNTS
    if allowed == ["nobody"]:
        return UNKNOWN
    if allowed != ["anyone"] and address.rpartition("@")[2].lower() not in allowed:
        return FOREIGN
    is_taken = User.objects.filter(email__iexact=address, has_stated_email=False).exists()
    return TAKEN if address and is_taken else ""
