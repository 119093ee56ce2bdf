"""Change the settings of a user, lock and unlock the login, and delete what is no longer needed."""

from collections.abc import Mapping
from datetime import timedelta

from django.apps import apps
from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import IS_PERSON, Lockout, User
from assay.errors import Refused

BETWEEN_LINKS = timedelta(minutes=2)  # so that nobody can fill the mailbox of another person
BETWEEN_REPORTS = timedelta(hours=1)
BETWEEN_VISITS = timedelta(hours=1)
KEPT_LOCKOUTS = timedelta(days=30)


class LinkTokens(PasswordResetTokenGenerator):
    """Tokens of login links: signed, valid for half an hour, and void after the next login of their user.

    They contain the exact time of the latest login, because two logins may share a second.
    """

    key_salt = "accounts.links"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        last_login = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk}{user.password}{last_login}{user.email}{timestamp}"


tokens = LinkTokens()


def path_of_link(user: User) -> str:
    """The path of a new login link."""
    return reverse("login_link", args=[user.pk, tokens.make_token(user)])


def set_judging(
    *, user: User, uses_shortcuts: bool, accepts_next: bool, grade_submits: bool, shows_time_left: bool
) -> None:
    User.objects.filter(pk=user.pk).update(
        uses_shortcuts=uses_shortcuts,
        accepts_next=accepts_next,
        grade_submits=grade_submits,
        shows_time_left=shows_time_left,
    )


def set_language(*, user: User, language: str) -> None:
    """Set the language of a user's pages and e-mails; empty for that of the browser.

    Raises:
        Refused: The site is not translated into it.
    """
    known = [code for code, _ in settings.LANGUAGES]
    if language and language not in known:
        raise Refused(
            gettext("There is no language “{language}”; use one of {known}, or none.").format(
                language=language, known=", ".join(known)
            ),
            code="unknown-language",
        )
    user.language = language
    user.save(update_fields=["language"])


def set_mails(
    *,
    user: User,
    is_mailed_about_runs: bool,
    is_mailed_about_requests: bool,
    is_mailed_about_announcements: bool,
) -> None:
    """Set which e-mails a user gets; those about requests go to organizers only."""
    user.is_mailed_about_runs = is_mailed_about_runs
    user.is_mailed_about_announcements = is_mailed_about_announcements
    if user.is_organizer:
        user.is_mailed_about_requests = is_mailed_about_requests
    user.save(
        update_fields=["is_mailed_about_runs", "is_mailed_about_requests", "is_mailed_about_announcements"]
    )


def set_accepts_next(*, user: User, is_on: bool) -> None:
    User.objects.filter(pk=user.pk).update(accepts_next=is_on)


def set_keys(*, user: User, keys: Mapping[str, str]) -> None:
    """Keep a user's own keys on the judging page; an action without one has its usual key."""
    User.objects.filter(pk=user.pk).update(judging_keys=dict(keys))


def set_highlighting(*, user: User, is_on: bool) -> None:
    User.objects.filter(pk=user.pk).update(highlights_topic_words=is_on)


def note_visit(*, user: User) -> None:
    """Note that a user is there, at most once an hour."""
    now = timezone.now()
    latest = user.last_seen_at or user.last_login
    if latest is not None and latest < now - BETWEEN_VISITS:
        User.objects.filter(pk=user.pk).update(last_seen_at=now)


def clear_expired() -> None:
    """Delete expired sessions, which nothing else removes if a visitor never comes back, and old lockouts."""
    SessionStore.clear_expired()
    Lockout.objects.filter(locked_at__lt=timezone.now() - KEPT_LOCKOUTS).delete()
    letters.delete_old()


@transaction.atomic
def note_lockout(*, username: str, address: str | None, site: str) -> None:
    """Note that wrong passwords locked an account for an address. Tell its user by e-mail, at most once an hour."""
    user = User.objects.select_for_update().filter(username=username, is_active=True).first()
    if user is None:
        return
    now = timezone.now()
    recent = user.lockouts.filter(is_mailed=True, locked_at__gt=now - BETWEEN_REPORTS)
    is_mailed = bool(settings.SENDS_MAIL and user.email) and not recent.exists()
    values = {"locked_at": now} | ({"is_mailed": True} if is_mailed else {})
    Lockout.objects.update_or_create(user=user, address=address, defaults=values)
    if is_mailed:
        letters.post(kind="accounts.lockout", data={"user": user.pk, "address": address}, site=site)


def request_links(*, name: str, site: str) -> None:
    """Send a login link to the accounts with a user name or an e-mail address.

    Accounts are looked up by the worker, so that the response takes the same time whether there is one or not.
    """
    letters.post(kind="accounts.links", data={"name": name}, site=site)


def user_of_link(*, user_id: int, token: str) -> User | None:
    """The active user of a valid login link."""
    user = User.objects.filter(pk=user_id, is_active=True, **IS_PERSON).first()
    return user if tokens.check_token(user, token) else None


@transaction.atomic
def use_link(*, user_id: int, token: str) -> User | None:
    """The active user of a valid login link, which becomes void: the time of the login is part of it."""
    user = User.objects.select_for_update().filter(pk=user_id, is_active=True, **IS_PERSON).first()
    if user is None or not tokens.check_token(user, token):
        return None
    user.last_login = timezone.now()
    user.save(update_fields=["last_login"])
    return user


@transaction.atomic
def users_for_links(*, name: str) -> list[User]:
    """The accounts with a user name or an e-mail address that get a login link now, each at most every two minutes."""
    users = User.objects.select_for_update(no_key=True).filter(is_active=True, **IS_PERSON).exclude(email="")
    now = timezone.now()
    due = [
        user
        for user in users.filter(Q(username=name) | Q(email__iexact=name)).order_by("pk")
        if user.link_sent_at is None or user.link_sent_at < now - BETWEEN_LINKS
    ]
    User.objects.filter(pk__in=[user.pk for user in due]).update(link_sent_at=now)
    return due


def end_sessions(*, user: User) -> None:
    """End all sessions of a user. A page keeps its own one with `update_session_auth_hash`."""
    User.objects.filter(pk=user.pk).update(session_version=F("session_version") + 1)
    user.refresh_from_db(fields=["session_version"])


@transaction.atomic
def remove_second_factor(*, user: User) -> bool:
    """Remove the second factor of somebody who has lost the device and the recovery codes. False if there was none."""
    factors = apps.get_app_config("mfa").get_model("Authenticator")._default_manager
    rows, _ = factors.filter(user_id=user.pk).delete()
    if rows:
        end_sessions(user=user)
        audit.record(action="second-factor.removed", subject=user)
    return bool(rows)
