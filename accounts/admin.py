"""User accounts in the admin."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from accounts.models import User
from web.admin import Undeletable


@admin.register(User)
class AssayUserAdmin(Undeletable, UserAdmin[User]):
    """Accounts are deactivated, never deleted: judgments and runs refer to them."""

    list_display = ["username", "first_name", "last_name", "email", "is_staff", "is_active", "last_login"]
    list_filter = ["is_staff", "is_active"]
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email", "uses_shortcuts")}),
        (
            "Role",
            {
                "fields": ("is_active", "is_staff"),
                "description": "Staff members are organizers of every track.",
            },
        ),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Organizers cannot change a superuser, so they cannot take over such an account."""
        is_above = obj is not None and obj.is_superuser and not getattr(request.user, "is_superuser", False)
        return not is_above and super().has_change_permission(request, obj)
