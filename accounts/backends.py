"""The user of a request, by session or by token, and the permissions of administrators. Decision: ADR 21."""

import time
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts import tokens
from accounts.models import Login, Token, User
from accounts.selectors import (
    JUDGED_OF_ACCOUNT,
    ROLES_OF_ACCOUNT,
    judged_in,
    lacks_second_factor,
    roles_in,
)
from accounts.sessions.services import BEGUN, LOGIN
from web.api.throttles import count_guess, refuse_guesses
from web.statements import Prepared

_ACCOUNT = Prepared(
    lambda pk: User.objects.filter(pk=pk).annotate(role_rows=ROLES_OF_ACCOUNT, judged_rows=JUDGED_OF_ACCOUNT)
)
_SESSION = Prepared(lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now))
PRECISION = 0.05  # of the time after which a session ends that nobody uses
MAX_NAME = 150  # characters of a user name
SCHEME = "Bearer"


class SessionStore(db.SessionStore):
    """Django's store with its own way to read. A session ends when nobody uses it, and some time after its login."""

    _expires_at: datetime | None = None

    def _get_session_from_db(self) -> Session | None:
        session = _SESSION.first(key=self.session_key, now=timezone.now())
        if session is None:
            self._session_key = None
        else:
            self._expires_at = session.expire_date
        return session

    def get_session_cookie_age(self) -> int:
        """The seconds for which the session lasts from now on, if nobody uses it."""
        idle: int = settings.SESSION_COOKIE_AGE
        left = self.get(BEGUN, time.time()) + settings.SESSION_MAX_SECONDS - time.time()
        return max(min(idle, int(left)), 0)

    def go_on(self) -> None:
        """Put off the end of a session that is in use. It is stored only now and then."""
        age = self.get_session_cookie_age()
        if self._expires_at and (self._expires_at - timezone.now()).total_seconds() < age * (1 - PRECISION):
            self.setdefault(BEGUN, int(time.time()))  # of one that began with an earlier version
            self.modified = True

    def save(self, must_create: bool = False) -> None:
        super().save(must_create)
        if login := self.get(LOGIN):
            kept = Login.objects.filter(pk=login).exclude(session_key=self.session_key)
            kept.update(session_key=self.session_key)


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The submitted user name, for which django-axes counts wrong passwords: short enough to be stored."""
    entered = request.POST if credentials is None else credentials
    return str(entered.get("username") or "")[:MAX_NAME]


class SiteBackend(ModelBackend):
    """Gives administrators every permission on our apps. The admin of each model decides which rows they get."""

    def get_user(self, user_id: int) -> User | None:
        """The user of a session, with their roles. Every request needs it."""
        user = _ACCOUNT.first(pk=user_id)
        if user is None or not self.user_can_authenticate(user):
            return None
        user.known_roles = roles_in(vars(user)["role_rows"])
        user.known_judged = judged_in(vars(user)["judged_rows"])
        user.lacks_second_factor = lacks_second_factor(user)
        return user

    def user_can_authenticate(self, user: Any) -> bool:
        """Active people only: a machine has tokens for the API, and who judges by a link has pages of one batch."""
        is_person = not (getattr(user, "is_machine", False) or getattr(user, "guest_until", None))
        return super().user_can_authenticate(user) and is_person

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        is_own = getattr(user_obj, "is_administrator", False) and perm.split(".")[0] in settings.OWN_APPS
        return is_own or super().has_perm(user_obj, perm, obj)

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        is_own = getattr(user_obj, "is_administrator", False) and app_label in settings.OWN_APPS
        return is_own or super().has_module_perms(user_obj, app_label)


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`. A token in an address is not accepted: addresses get into logs."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        """The user and the token; None if the request has no such header.

        Raises:
            AuthenticationFailed: The token is not valid.
            Throttled: It is not valid, and too many wrong tokens came from this address.
        """
        words = get_authorization_header(request).decode("latin-1").split()
        if not words or words[0].lower() != SCHEME.lower():
            return None
        token = tokens.use(text=words[1]) if len(words) == 2 else None
        if token is None:  # a right token is never refused for the guesses of others behind its address
            refuse_guesses(request._request)
            count_guess(request._request)
            raise AuthenticationFailed("This token is wrong, expired or revoked.", code="invalid-token")
        token.user.lacks_second_factor = lacks_second_factor(token.user)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="Assay"'
