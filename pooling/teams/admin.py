"""Teams in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from pooling.models import Team
from pooling.teams import services
from pooling.teams.forms import TeamForm
from web.admin import Undeletable


@admin.register(Team)
class TeamAdmin(Undeletable, admin.ModelAdmin[Team]):
    """Teams, with their members."""

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
        """Save through the services; the admin continues with the row of a new team."""
        if change:
            services.rename(team=obj, name=obj.name)
            return
        created = services.create(track=obj.track, name=obj.name)
        obj.pk, obj.name = created.pk, created.name
        obj._state.adding = False

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Set members through the service, which refuses assessors of the track."""
        services.set_members(team=form.instance, members=list(form.cleaned_data["members"]))
