"""Records of what people do with their ways to log in, in the audit log; and no login past a second factor.

django-allauth says both by signals, after its own transactions.
"""

from collections.abc import Callable
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.socialaccount import signals as connections
from django.conf import settings
from django.contrib.auth import logout, user_logged_in
from django.db import transaction
from django.http import HttpRequest

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused


@transaction.atomic
def record(action: str, user: User, **details: str) -> None:
    """Record what a user did."""
    audit.record(action=action, subject=user, details=details, by=user)


def connect() -> None:
    """Connect the functions below, once for each process."""
    connections.social_account_added.connect(_connected)
    connections.social_account_removed.connect(_disconnected)
    if settings.SECOND_FACTOR:
        from allauth.mfa import signals  # noqa: PLC0415 - it is not installed otherwise

        for signal, action, kind in (
            (signals.authenticator_added, "second-factor.added", "totp"),  # recovery codes come with it
            (signals.authenticator_removed, "second-factor.removed", "totp"),
            (signals.authenticator_reset, "recovery-codes.renewed", ""),
            (signals.authenticator_used, "recovery-code.used", "recovery_codes"),
            (signals.authentication_failed, "code.refused", ""),  # after five, the account waits
        ):
            signal.connect(_recording(action, kind), weak=False)
        user_logged_in.connect(_refuse_without_code)


def _connected(sociallogin: Any, **_: object) -> None:
    record("account.connected", sociallogin.user, to=sociallogin.account.provider)


def _disconnected(socialaccount: Any, **_: object) -> None:
    record("account.disconnected", socialaccount.user, provider=socialaccount.provider)


def _recording(action: str, kind: str) -> Callable[..., None]:
    """A receiver that records an action with an authenticator of a kind, or of any."""

    def receive(user: User, authenticator: Any = None, **_: object) -> None:
        if not kind or authenticator.type == kind:
            record(action, user)

    return receive


def _refuse_without_code(request: HttpRequest, user: User, **_: object) -> None:
    """End a session that began without the second factor of its user, whichever page began it."""
    methods = {used["method"] for used in get_authentication_records(request, user)}
    if "mfa" not in methods and user.authenticator_set.filter(type="totp").exists():  # type: ignore[attr-defined]
        logout(request)
        raise Refused(
            "Your account has a second factor. Log in on the login page, with your code.",
            code="second-factor-missing",
            title="Log in with your code",
        )
