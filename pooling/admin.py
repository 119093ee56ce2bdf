"""Runs and pools in the admin. Organizers can submit a run for a team, but never edit one."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from assay.formats.declaration import STATEMENTS
from pooling.models import Pool, Run
from pooling.runs import services
from pooling.runs.forms import AdminRunForm
from web.admin import ReadOnly, Undeletable


@admin.register(Run)
class RunAdmin(Undeletable, admin.ModelAdmin[Run]):
    """Shows runs; a new run goes through the same checks as on the submission page."""

    list_display = [
        "tag",
        "team",
        "track",
        "kind",
        "status",
        "n_lines",
        "submitted_by",
        "submitted_at",
        "page",
    ]
    list_filter = ["track", "kind", "status"]
    list_select_related = ["team", "track", "submitted_by"]
    search_fields = ["tag", "team__name"]
    date_hierarchy = "submitted_at"
    autocomplete_fields = ["team"]
    exclude = ["report", "original", "columns"]
    wide_columns = ["report"]
    show_full_result_count = False

    def has_change_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def get_form(
        self, request: HttpRequest, obj: Run | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is not None:
            return super().get_form(request, obj, change, **kwargs)
        fields = self.get_fields(request)
        form = super().get_form(request, None, change, form=AdminRunForm, exclude=None, fields=fields)
        return type(form.__name__, (form,), {"submitter": request.user})

    def get_fields(self, request: HttpRequest, obj: Run | None = None) -> Any:
        return ["team", "file", *STATEMENTS] if obj is None else super().get_fields(request, obj)

    def save_model(self, request: HttpRequest, obj: Run, form: Any, change: bool) -> None:
        """Submit the run through the service; the admin continues with the row that it created."""
        created = services.submit(**form.submission)
        obj.__dict__.update(
            {field.attname: getattr(created, field.attname) for field in Run._meta.concrete_fields}
        )
        obj._state.adding = False

    @admin.display(description="report")
    def page(self, run: Run) -> SafeString:
        return format_html('<a href="{}">report</a>', run.get_absolute_url())


@admin.register(Pool)
class PoolAdmin(ReadOnly, admin.ModelAdmin[Pool]):
    """Shows pools. Organizers request them on the pools page of the track."""

    list_display = ["name", "track", "status", "seed", "created_by", "created_at"]
    list_filter = ["track", "status"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name"]
    exclude = ["statistics"]
