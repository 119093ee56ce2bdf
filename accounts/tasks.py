"""The Celery tasks of accounts, and the letters that they send."""

from collections.abc import Iterator, Mapping
from typing import Any

from celery import shared_task
from django.urls import reverse
from django.utils.translation import gettext_lazy

from accounts import services, tokens
from accounts.mail import letters
from accounts.mail.letters import Mail
from accounts.models import Login
from accounts.selectors import user_by_id
from accounts.services import path_of_link
from accounts.sessions import services as sessions
from web.api import idempotency


@shared_task(name="accounts.tasks.clear_expired", ignore_result=True)
def clear_expired() -> None:
    """Delete what has expired. Safe when delivered twice."""
    services.clear_expired()
    sessions.delete_old()
    tokens.delete_old()
    idempotency.delete_expired()


@shared_task(name="accounts.tasks.send_letters", ignore_result=True)
def send_letters() -> None:
    """Send the letters that are due. Delivered twice, it sends each once."""
    letters.send_due()


@letters.writer("accounts.links")
def links(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """A login link for each account with a name or an address."""
    for user in services.users_for_links(name=data["name"]):
        context = {"user": user.username, "link": f"{site}{path_of_link(user)}"}
        yield Mail(
            user.email, gettext_lazy("Your login link"), "accounts/mail_link.txt", context, user.language
        )


@letters.writer("accounts.login")
def new_login(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Report a login from a browser and a network from which there was none before."""
    login = Login.objects.select_related("user").get(pk=data["login"])
    context = {
        "user": login.user.username,
        "time": f"{login.at:%Y-%m-%d %H:%M} UTC",
        "browser": login.browser or gettext_lazy("an unknown browser"),
        "address": login.address or gettext_lazy("an unknown address"),
        "link": f"{site}{reverse('sessions')}",
    }
    subject = gettext_lazy("A login to your account")
    yield Mail(login.user.email, subject, "accounts/mail_login.txt", context, login.user.language)


@letters.writer("accounts.lockout")
def lockout(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Report wrong passwords to the user of an account, with a login link."""
    user = user_by_id(data["user"])
    address = data["address"] or gettext_lazy("an unknown address")
    context = {"user": user.username, "address": address, "link": f"{site}{path_of_link(user)}"}
    subject = gettext_lazy("Wrong passwords for your account")
    yield Mail(user.email, subject, "accounts/mail_lockout.txt", context, user.language)
