"""Users by name."""

from accounts.models import User


def user_named(username: str) -> User | None:
    return User.objects.filter(username=username).first()


def organizer_named(username: str) -> User | None:
    user = user_named(username)
    return user if user is not None and user.is_organizer else None
