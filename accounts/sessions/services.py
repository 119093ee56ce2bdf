"""Record logins, announce those from an unknown browser or network, and end sessions. Decision: ADR 21.

Django says by signals who has logged in and who has failed, whichever page it was. The log of the server has the
addresses of failures; the audit log, which is kept for good, has none.
"""

import logging
from typing import Any

from django.contrib.auth import user_logged_in, user_login_failed
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import Login, User
from accounts.services import end_sessions
from web.pages import site_of
from web.throttling import HOUR, count, network_of

logger = logging.getLogger(__name__)

LOGIN = "login"  # in a session: the id of the login that began it
BEGUN = "begun"  # in a session: when that was, in seconds since 1970
MOST_FAILED = 20  # failures of an account in an hour that the audit log keeps: nobody can fill it
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = ("Windows", "Android", "iPhone", "iPad", "Mac OS", "CrOS", "Linux")


def connect() -> None:
    """Connect the functions below, once for each process."""
    user_logged_in.connect(_note)
    user_login_failed.connect(_note_failure)


def browser_of(request: HttpRequest) -> str:
    """The browser and the system of a request without their versions, as far as it names them: `Firefox on Linux`."""
    named = request.headers.get("User-Agent", "")
    browser = next((name for word, name in BROWSERS if f"{word}/" in named), "")
    system = next((name for name in SYSTEMS if name in named), "")
    return " on ".join(filter(None, (browser, system)))


@transaction.atomic
def _note(request: HttpRequest, user: User, **_: object) -> None:
    if not request.method:  # no page was sent, as when a program of the server makes a session
        return
    place = {"browser": browser_of(request), "address": network_of(request)}
    earlier = list(user.logins.values("browser", "address").distinct())
    login = Login.objects.create(user=user, **place)
    request.session[LOGIN], request.session[BEGUN] = login.pk, int(login.at.timestamp())
    audit.record(action="login.succeeded", subject=user, details={"page": _page(request)}, by=user)
    if earlier and place not in earlier and user.email:
        letters.post(kind="accounts.login", data={"login": login.pk}, site=site_of(request))


@transaction.atomic
def _note_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **_: object) -> None:
    """Record a wrong password for an account. Other names are not: somebody may have typed a password there."""
    user = User.objects.filter(username=str(credentials.get("username") or "")).first()
    if request is None or user is None:
        return
    logger.warning("login failed: account %s from %s", user.pk, network_of(request))
    if count(f"failed-logins:{user.pk}", HOUR) <= MOST_FAILED:
        audit.record(action="login.failed", subject=user, details={"page": _page(request)})


def _page(request: HttpRequest) -> str:
    """The name of the address of a request: the address itself may contain a secret."""
    return (request.resolver_match.view_name if request.resolver_match else "") or ""


@transaction.atomic
def end(*, login: Login) -> None:
    """End the session that a login began. Ending it again changes nothing."""
    if Session.objects.filter(session_key=login.session_key).delete()[0]:
        details = {"begun": login.at.isoformat(timespec="minutes")}
        audit.record(action="session.ended", subject=login.user, details=details)


@transaction.atomic
def end_all(*, user: User) -> None:
    """End all sessions of a user. A page keeps its own one with `update_session_auth_hash`."""
    end_sessions(user=user)
    audit.record(action="sessions.ended", subject=user)


def delete_old() -> None:
    """Delete logins whose session is over, and that are too old to tell whether the next one is from a new place."""
    Login.objects.filter(at__lt=timezone.now() - Login.KEPT).exclude(
        session_key__in=Session.objects.values("session_key")
    ).delete()
