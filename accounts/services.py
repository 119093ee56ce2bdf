"""Change the settings of a user, lock and unlock the login, and delete what is no longer needed."""

import logging
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from celery import current_app
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from accounts.links import path_of, tokens
from accounts.models import Lockout, User

logger = logging.getLogger(__name__)

BETWEEN_LINKS = timedelta(minutes=2)  # so that nobody can fill the mailbox of another person
BETWEEN_REPORTS = timedelta(hours=1)
KEPT_LOCKOUTS = timedelta(days=30)


def set_judging(*, user: User, uses_shortcuts: bool, accepts_next: bool) -> None:
    User.objects.filter(pk=user.pk).update(uses_shortcuts=uses_shortcuts, accepts_next=accepts_next)


def set_accepts_next(*, user: User, is_on: bool) -> None:
    User.objects.filter(pk=user.pk).update(accepts_next=is_on)


def set_keys(*, user: User, keys: Mapping[str, str]) -> None:
    """Keep a user's own keys on the judging page; an action without one has its usual key."""
    User.objects.filter(pk=user.pk).update(judging_keys=dict(keys))


def set_highlighting(*, user: User, is_on: bool) -> None:
    User.objects.filter(pk=user.pk).update(highlights_topic_words=is_on)


def clear_expired() -> None:
    """Delete expired sessions, which nothing else removes if a visitor never comes back, and old lockouts."""
    SessionStore.clear_expired()
    Lockout.objects.filter(locked_at__lt=timezone.now() - KEPT_LOCKOUTS).delete()


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
        transaction.on_commit(partial(_launch, "accounts.tasks.mail_lockout", user.pk, address, site))


@transaction.atomic
def request_links(*, name: str, site: str) -> None:
    """Send a login link to the accounts with a user name or an e-mail address, to each at most every two minutes."""
    users = User.objects.select_for_update(no_key=True).filter(is_active=True).exclude(email="")
    now = timezone.now()
    for user in users.filter(Q(username=name) | Q(email__iexact=name)).order_by("pk"):
        if user.link_sent_at is None or user.link_sent_at < now - BETWEEN_LINKS:
            user.link_sent_at = now
            user.save(update_fields=["link_sent_at"])
            transaction.on_commit(partial(_launch, "accounts.tasks.mail_link", user.pk, site))


def _launch(task: str, *arguments: object) -> None:
    try:
        current_app.send_task(task, args=arguments, retry=False)
    except BrokerError as error:
        logger.error("no e-mail was sent, because the queue cannot be reached: %s", error)


def mail_link(*, user: User, site: str) -> None:
    """Send a login link by e-mail."""
    _mail(user, "Your login link", "accounts/mail_link.txt", {"link": f"{site}{path_of(user)}"})


def mail_lockout(*, user: User, address: str | None, site: str) -> None:
    """Tell a user by e-mail that wrong passwords locked their account, with a login link."""
    context = {"address": address or "an unknown address", "link": f"{site}{path_of(user)}"}
    _mail(user, "Wrong passwords for your account", "accounts/mail_lockout.txt", context)


def _mail(user: User, subject: str, template: str, context: dict[str, str]) -> None:
    text = render_to_string(template, context | {"user": user.username})
    send_mail(f"Assay: {subject}", text, None, [user.email])


def user_of_link(*, user_id: int, token: str) -> User | None:
    """The active user of a valid login link."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return user if tokens.check_token(user, token) else None


@transaction.atomic
def use_link(*, user_id: int, token: str) -> User | None:
    """The active user of a valid login link, which becomes void: the time of the login is part of it."""
    user = User.objects.select_for_update().filter(pk=user_id, is_active=True).first()
    if user is None or not tokens.check_token(user, token):
        return None
    user.last_login = timezone.now()
    user.save(update_fields=["last_login"])
    return user
