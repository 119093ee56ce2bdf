"""User accounts in the admin."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.audit import services as audit
from accounts.models import User
from accounts.selectors import lockouts_of
from accounts.services import path_of_link, remove_second_factor
from web.admin import Undeletable
from web.pages import site_of


@admin.register(User)
class AssayUserAdmin(Undeletable, UserAdmin[User]):
    """Accounts are deactivated, never deleted: judgments and runs refer to them."""

    list_display = ["username", "first_name", "last_name", "email", "is_staff", "is_active", "last_login"]
    list_filter = ["is_staff", "is_active"]
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (
            "Person",
            {
                "fields": (
                    *("first_name", "last_name", "email", "uses_shortcuts", "accepts_next"),
                    *("grade_submits", "shows_time_left"),
                )
            },
        ),
        (
            "Role",
            {
                "fields": ("is_active", "is_staff"),
                "description": "Staff are administrators of the site: accounts, collections, the people of "
                "tracks, jobs. They see no runs, judgments or qrels of a track that they do not organize. "
                "Organizers are appointed on the page People of a track.",
            },
        ),
        ("Dates", {"fields": ("last_login", "date_joined", "locked")}),
    )
    readonly_fields = ("last_login", "date_joined", "locked")
    actions = ["make_link", *(["remove_second_factor"] if settings.SECOND_FACTOR else [])]

    @admin.display(description="Locked after wrong passwords", empty_value="never")
    def locked(self, user: User) -> SafeString:
        """The latest lockouts, a line each."""
        return format_html_join("", "<div>{}</div>", ((str(lockout),) for lockout in lockouts_of(user)))

    @admin.action(description="Create a login link", permissions=["change"])
    def make_link(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """Show a link with which a user can log in once. It works while wrong passwords lock the account."""
        for user in users:
            has_login = user.is_active and not (user.is_machine or user.guest_until)
            if not has_login or not self.has_change_permission(request, user):
                self.message_user(request, f"You cannot create a login link for {user}.", messages.ERROR)
                continue
            link = f"{site_of(request)}{path_of_link(user)}"
            text = format_html(
                "Send this link to {}. It works once, for 30 minutes: <code>{}</code>", user, link
            )
            self.message_user(request, text)

    @admin.action(description="Remove the second factor", permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """Let people whose device is lost log in without it. They can set up a new one."""
        for user in users:
            if self.has_change_permission(request, user) and remove_second_factor(user=user):
                self.message_user(request, f"The second factor of {user} is removed.")
            else:
                self.message_user(
                    request, f"{user} has no second factor that you can remove.", messages.ERROR
                )

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Record what changed; new passwords only by the name of their field."""
        if "email" in form.changed_data:
            obj.has_stated_email = False
        super().save_model(request, obj, form, change)
        action, details = (
            ("account.edited", {"fields": form.changed_data}) if change else ("account.created", {})
        )
        audit.record(action=action, subject=obj, details=details)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Administrators cannot change a superuser, so they cannot take over such an account."""
        is_above = obj is not None and obj.is_superuser and not getattr(request.user, "is_superuser", False)
        return not is_above and super().has_change_permission(request, obj)
