"""Change the settings of a user, and delete what is no longer needed."""

from django.contrib.sessions.backends.db import SessionStore

from accounts.models import User


def set_shortcuts(*, user: User, is_on: bool) -> None:
    User.objects.filter(pk=user.pk).update(uses_shortcuts=is_on)


def clear_expired() -> None:
    """Delete the sessions that have expired; nothing else removes those of visitors who never come back."""
    SessionStore.clear_expired()
