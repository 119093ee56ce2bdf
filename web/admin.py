"""Base classes of the admin."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

MAX_DIGITS = 19  # a longer id does not fit into a column


class SelectionCheck:
    """Mixin for an admin with actions: rejects a selection that contains anything but ids."""

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *where: Any
    ) -> HttpResponse | None:
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if all(len(pk) < MAX_DIGITS and pk.isascii() and pk.isdigit() for pk in selected):
            response: HttpResponse | None = super().response_action(request, queryset, *where)  # type: ignore[misc]
            return response
        messages.error(request, "The selection contains rows that are not in this list. Nothing was changed.")
        return HttpResponseRedirect(request.get_full_path())


class Undeletable(SelectionCheck):
    """Mixin for an admin whose rows are never deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(Undeletable):
    """Mixin for an admin whose rows are created and changed elsewhere."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


MAX_COUNT = 10_000


class BoundedPaginator(Paginator[Any]):
    """Counts at most `MAX_COUNT` rows: counting a large table takes long, and nobody turns that many pages."""

    @property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        return rows.order_by()[:MAX_COUNT].count()


class LargeTableAdmin(ReadOnly, admin.ModelAdmin[Any]):
    """A large table that organizers read, and never change here."""

    view_on_site = False  # the page of a task is for its assessor only
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
