"""Teams in the admin."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.db.models import Sum
from django.http import HttpRequest

from pooling.models import Team
from pooling.teams import selectors, services
from pooling.teams.forms import TeamForm
from web.admin import Undeletable
from web.counting import size


@admin.register(Team)
class TeamAdmin(Undeletable, admin.ModelAdmin[Team]):
    """Teams, with their members."""

    form = TeamForm
    list_display = ["name", "track", "people", "disk_use"]
    list_filter = ["track"]
    list_select_related = ["track"]
    search_fields = ["name", "track__name"]
    autocomplete_fields = ["track"]

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Choose members by name: there may be thousands of users."""
        form = super().get_form(request, *args, **kwargs)
        field = Team._meta.get_field("members")
        form.base_fields["members"].widget = AutocompleteSelectMultiple(field, self.admin_site)
        return form

    def get_queryset(self, request: HttpRequest) -> Any:
        return (
            super().get_queryset(request).prefetch_related("members").annotate(n_bytes=Sum("runs__n_bytes"))
        )

    @admin.display(description="members")
    def people(self, team: Team) -> str:
        return ", ".join(member.username for member in team.members.all())

    @admin.display(description="disk use")
    def disk_use(self, team: Team) -> str:
        return f"{size(team.n_bytes or 0)} of {size(selectors.disk_limit(team))}"  # type: ignore[attr-defined]

    def get_readonly_fields(self, request: HttpRequest, obj: Team | None = None) -> list[str]:
        return [] if obj is None else ["track"]

    def save_model(self, request: HttpRequest, obj: Team, form: Any, change: bool) -> None:
        """Save through the services; the admin continues with the row of a new team."""
        if change:
            services.describe(team=obj, name=obj.name, organization=obj.organization)
            services.set_disk_limit(team=obj, max_megabytes=obj.max_megabytes)
            return
        created = services.create(track=obj.track, name=obj.name, organization=obj.organization)
        services.set_disk_limit(team=created, max_megabytes=obj.max_megabytes)
        obj.pk, obj.name = created.pk, created.name
        obj._state.adding = False

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Set members through the service, which refuses assessors of the track."""
        members = list(form.cleaned_data["members"])
        services.set_members(team=form.instance, members=members, by=request.user)  # type: ignore[arg-type]
