"""Permissions in the admin: an organizer (`is_staff`) has every permission on the models of Assay.

Also the name for which django-axes counts wrong passwords.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from accounts.models import User
from web.statements import Statement, Table

_USER = Table(User, "account")
_ACCOUNT = Statement(f"SELECT {_USER.columns} FROM accounts_user account WHERE account.id = %(id)s")  # noqa: S608

APPS = {"accounts", "jobs", "corpus", "tracks", "pooling", "assessment", "scoring", "archives"}


MAX_NAME = 150  # characters of a user name


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """The submitted user name, short enough to be stored: no account has a longer one."""
    entered = request.POST if credentials is None else credentials
    return str(entered.get("username") or "")[:MAX_NAME]


class OrganizerBackend(ModelBackend):
    """Gives organizers every permission on our apps. The admin of each model decides what may be deleted."""

    def get_user(self, user_id: int) -> User | None:
        """The user of a session. Every request needs it."""
        rows = _ACCOUNT.rows(id=user_id)
        user = _USER.read(rows[0]) if rows else None
        return user if self.user_can_authenticate(user) else None

    def user_can_authenticate(self, user: Any) -> bool:
        """Active people only: a machine has tokens for the API, and opens no pages."""
        return super().user_can_authenticate(user) and not getattr(user, "is_machine", False)

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        is_organizer = user_obj.is_active and user_obj.is_staff
        return (is_organizer and perm.split(".")[0] in APPS) or super().has_perm(user_obj, perm, obj)

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        is_organizer = user_obj.is_active and user_obj.is_staff
        return (is_organizer and app_label in APPS) or super().has_module_perms(user_obj, app_label)
