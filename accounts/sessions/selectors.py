"""The sessions of a user that go on."""

from datetime import datetime
from typing import NamedTuple

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.models import Login, User


class OwnSession(NamedTuple):
    """A session, the login that began it, and when it ends if nobody uses it."""

    login: Login
    ends_at: datetime
    is_current: bool


def sessions_of(user: User, current_key: str | None) -> list[OwnSession]:
    """The sessions in which a user is logged in, latest first. Two queries."""
    logins = {login.session_key: login for login in user.logins.exclude(session_key="")}
    stored = Session.objects.filter(session_key__in=logins, expire_date__gt=timezone.now())
    valid = {user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()}
    going_on = [
        OwnSession(logins[session.session_key], session.expire_date, session.session_key == current_key)
        for session in stored
        if session.get_decoded().get(HASH_SESSION_KEY) in valid
    ]
    return sorted(going_on, key=lambda session: (not session.is_current, -session.login.pk))
