"""Change the settings of a user."""

from accounts.models import User


def set_shortcuts(*, user: User, is_on: bool) -> None:
    User.objects.filter(pk=user.pk).update(uses_shortcuts=is_on)
