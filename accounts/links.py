"""Login links: signed, valid for half an hour, and void after the next login of their user."""

from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.urls import reverse

from accounts.models import User


class LinkTokens(PasswordResetTokenGenerator):
    """Django's tokens of password resets, with the exact time of the latest login: two may share a second."""

    key_salt = "accounts.links"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        last_login = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk}{user.password}{last_login}{user.email}{timestamp}"


tokens = LinkTokens()


def path_of(user: User) -> str:
    """The path of a new login link."""
    return reverse("login_link", args=[user.pk, tokens.make_token(user)])
