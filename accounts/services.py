"""Change the settings of a person."""

from accounts.models import User


def set_shortcuts(*, user: User, is_on: bool) -> None:
    """Let a person judge with single keys, or not."""
    User.objects.filter(pk=user.pk).update(uses_shortcuts=is_on)
