"""The access tokens of a user."""

from django.db.models import QuerySet

from accounts.models import Token, User


def tokens_of(user: User) -> QuerySet[Token]:
    """The tokens of a user: valid ones first, then by their end."""
    return user.tokens.order_by("revoked_at", "-expires_at", "-pk")
