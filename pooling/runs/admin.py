"""Teams, runs and pools in the organizers' workshop. What teams have handed in is looked at, never edited."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from corpus.admin import Kept, ReadOnly
from pooling import services
from pooling.forms import AdminRunForm, TeamForm
from pooling.models import Pool, Run, Team


@admin.register(Team)
class TeamAdmin(Kept, admin.ModelAdmin[Team]):
    """Who submits. A person without a team is put into one here."""

    form = TeamForm
    list_display = ["name", "track", "people"]
    list_filter = ["track"]
    list_select_related = ["track"]
    search_fields = ["name", "track__name"]
    autocomplete_fields = ["track", "members"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("members")

    @admin.display(description="members")
    def people(self, team: Team) -> str:
        return ", ".join(member.username for member in team.members.all())

    def get_readonly_fields(self, request: HttpRequest, obj: Team | None = None) -> list[str]:
        return [] if obj is None else ["track"]

    def save_model(self, request: HttpRequest, obj: Team, form: Any, change: bool) -> None:
        """Through the services; the row of a new team is the one that the admin goes on with."""
        if change:
            services.rename_team(team=obj, name=obj.name)
            return
        made = services.create_team(track=obj.track, name=obj.name)
        obj.pk, obj.name = made.pk, made.name
        obj._state.adding = False

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Members through the service, which refuses assessors of the track."""
        services.set_members(team=form.instance, members=list(form.cleaned_data["members"]))


@admin.register(Run)
class RunAdmin(Kept, admin.ModelAdmin[Run]):
    """Look at runs; hand one in for a team through the same checks as on the team's own page."""

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
    show_full_result_count = False

    def has_change_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def get_form(
        self, request: HttpRequest, obj: Run | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is not None:
            return super().get_form(request, obj, change, **kwargs)
        fields = ["team", "file", "tag", "kind", "pooled_as", "is_manual", "uses", "description"]
        form = super().get_form(request, None, change, form=AdminRunForm, exclude=None, fields=fields)
        return type(form.__name__, (form,), {"submitter": request.user})

    def get_fields(self, request: HttpRequest, obj: Run | None = None) -> Any:
        if obj is None:
            return ["team", "file", "tag", "kind", "pooled_as", "is_manual", "uses", "description"]
        return super().get_fields(request, obj)

    def save_model(self, request: HttpRequest, obj: Run, form: Any, change: bool) -> None:
        """Hand the run in through the service; the admin goes on with the row that it made."""
        made = services.submit_run(**form.submission)
        obj.__dict__.update(
            {field.attname: getattr(made, field.attname) for field in Run._meta.concrete_fields}
        )
        obj._state.adding = False

    @admin.display(description="report")
    def page(self, run: Run) -> SafeString:
        return format_html('<a href="{}">report</a>', run.get_absolute_url())


@admin.register(Pool)
class PoolAdmin(ReadOnly, admin.ModelAdmin[Pool]):
    """Look at pools; they are asked for on the track's pools page."""

    list_display = ["name", "track", "status", "seed", "sha256", "created_by", "created_at"]
    list_filter = ["track", "status"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name"]
    exclude = ["statistics"]
