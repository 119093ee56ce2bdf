"""Base classes of the admin."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import AutocompleteSelect, AutocompleteSelectMultiple
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import IntegrityError
from django.db.models import ForeignKey, ManyToManyField, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from assay.digests import sha256_of
from assay.errors import Refused
from web.caches import KEPT_SECONDS

MAX_DIGITS = 19  # a longer id does not fit into a column


def is_id(text: object) -> bool:
    """Return whether a submitted text can be the id of a row."""
    text = str(text)
    return len(text) < MAX_DIGITS and text.isascii() and text.isdigit()


class CheckedList(ChangeList):
    """A list that treats a year outside the calendar like any other bad filter: it shows all rows with a message."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)
        except (ValueError, OverflowError) as error:
            raise IncorrectLookupParameters from error


class CheckedSelect(AutocompleteSelect):
    """Django's widget, which looks up what was submitted: here only if it can be an id."""

    def optgroups(self, name: str, value: Iterable[Any], attr: Any = None) -> Any:
        return super().optgroups(name, [pk for pk in value if is_id(pk)], attr)


class CheckedSelectMultiple(AutocompleteSelectMultiple):
    """As `CheckedSelect`, for several rows."""

    def optgroups(self, name: str, value: Iterable[Any], attr: Any = None) -> Any:
        return super().optgroups(name, [pk for pk in value if is_id(pk)], attr)


class Checked:
    """Mixin for every admin: what its pages never send, and what two people do at once, causes no server error.

    Administrators see rows of the tracks that they organize, and no others: `track_way` leads from a row to its track.
    """

    track_way = ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]
        organized = getattr(request.user, "organized", [])
        return rows.filter(**{f"{self.track_way}__in": organized}) if self.track_way else rows

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> Any:
        self._set_widget(CheckedSelect, db_field, kwargs)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]

    def formfield_for_manytomany(
        self, db_field: "ManyToManyField[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> Any:
        self._set_widget(CheckedSelectMultiple, db_field, kwargs)
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]

    def _set_widget(self, widget: Any, db_field: Any, kwargs: dict[str, Any]) -> None:
        if db_field.name in self.autocomplete_fields:  # type: ignore[attr-defined]
            kwargs.setdefault("widget", widget(db_field, self.admin_site, using=kwargs.get("using")))  # type: ignore[attr-defined]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CheckedList

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Save; if another request has just saved the same, try once more: the form then finds it and says so."""
        try:
            return super().changeform_view(request, *args, **kwargs)  # type: ignore[misc]
        except (IntegrityError, Refused):
            for file in request.FILES.values():
                file.seek(0)  # type: ignore[union-attr]
        try:
            return super().changeform_view(request, *args, **kwargs)  # type: ignore[misc]
        except IntegrityError as error:
            raise Refused(
                "Somebody saved a conflicting row at the same time. Go back, check the list, and save again.",
                code="conflict",
                title="The row was not saved",
            ) from error

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *where: object
    ) -> HttpResponse | None:
        if all(is_id(pk) for pk in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            response: HttpResponse | None = super().response_action(request, queryset, *where)  # type: ignore[misc]
            return response
        messages.error(request, "The selection contains rows that are not in this list. Nothing was changed.")
        return HttpResponseRedirect(request.get_full_path())


Place = tuple[str, str]  # a label and an address


class OnTheSite:
    """Mixin for an admin whose rows are made and changed on the site: *Add* and the rows of the list lead there.

    Those pages belong to a track, so *Add* offers the tracks to choose from, unless there is only one page.
    """

    nothing_yet = ""  # what the page says without any place

    @abstractmethod
    def places(self) -> Sequence[Place]:
        """The pages on which a row can be made."""

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self.has_add_permission(request):  # type: ignore[attr-defined]
            raise PermissionDenied
        places = self.places()
        if len(places) == 1:
            return HttpResponseRedirect(places[0][1])
        opts = self.opts  # type: ignore[attr-defined]
        context = {
            **self.admin_site.each_context(request),  # type: ignore[attr-defined]
            "title": f"Add {opts.verbose_name}",
            "opts": opts,
            "places": places,
            "nothing_yet": self.nothing_yet,
        }
        return TemplateResponse(request, "admin/places.html", context)

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))  # type: ignore[attr-defined]
        if row is None or request.method == "POST" or not self.has_view_permission(request, row):  # type: ignore[attr-defined]
            return super().change_view(request, object_id, *args, **kwargs)  # type: ignore[misc,no-any-return]
        return HttpResponseRedirect(row.get_absolute_url())


class Undeletable(Checked):
    """Mixin for an admin whose rows are never deleted.

    Its lists do not load the wide columns; a form reads them when it shows them.
    """

    wide_columns: Sequence[str] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.wide_columns)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class ReadOnly(Undeletable):
    """Mixin for an admin whose rows are created and changed elsewhere. Excluded fields are not loaded."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.defer(*(self.exclude or ()))  # type: ignore[attr-defined]

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


MAX_COUNT = 10_000


class BoundedPaginator(Paginator[Any]):
    """Counts at most `MAX_COUNT` rows: counting a large table takes long, and nobody turns that many pages."""

    @property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        return rows.order_by()[:MAX_COUNT].count()


class KeptValues(admin.AllValuesFieldListFilter):
    """A filter by the values of a column, which are read again after some minutes: that reads the whole table."""

    def __init__(self, field: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(field, request, *args, **kwargs)
        values = self.lookup_choices
        organized = sorted(getattr(request.user, "organized", []))
        key = f"values:{self.field_path}:{sha256_of(json.dumps(organized).encode())}"
        kept: Any = cache.get_or_set(key, lambda: list(values), KEPT_SECONDS)
        self.lookup_choices = kept


class LargeTableAdmin(ReadOnly, admin.ModelAdmin[Any]):
    """A large table that organizers read, and never change here."""

    view_on_site = False  # the page of a task is for its assessor only
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
