"""Base classes of the admin."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

MAX_DIGITS = 19  # an id of as many fits into no column


class Selecting:
    """Mixed into an admin whose list has actions: what was selected must be ids, not just anything."""

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *where: Any
    ) -> HttpResponse | None:
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if all(len(pk) < MAX_DIGITS and pk.isascii() and pk.isdigit() for pk in selected):
            answer: HttpResponse | None = super().response_action(request, queryset, *where)  # type: ignore[misc]
            return answer
        messages.error(request, "What was selected is not in this list. Nothing was done.")
        return HttpResponseRedirect(request.get_full_path())


class Kept(Selecting):
    """Mixed into an admin whose rows are never deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(Kept):
    """Mixed into an admin whose rows are made and changed elsewhere."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


COUNTED_AT_MOST = 10_000


class ShortCountPaginator(Paginator[Any]):
    """Counts a big table's rows no further than anybody turns pages."""

    @property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        return rows.order_by()[:COUNTED_AT_MOST].count()


class ReadOnlyAdmin(Selecting, admin.ModelAdmin[Any]):
    """A big table that is read, never written here."""

    view_on_site = False  # a task's page is its assessor's alone
    paginator = ShortCountPaginator
    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
