"""Teams in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.db.models import Sum
from django.http import HttpRequest

from accounts.models import User
from assay.errors import Refused
from participation.models import Team
from participation.teams import selectors, services
from web.admin import Undeletable
from web.pages import size


class TeamForm(forms.ModelForm[Team]):
    """A team. Refusals of the services become errors of the form."""

    members = forms.ModelMultipleChoiceField(User.objects, required=False)

    class Meta:
        model = Team
        fields = ["track", "name", "organization", "max_megabytes"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["members"] = list(self.instance.members.all())

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        track = self.instance.track if self.instance.pk else data.get("track")
        if track is None or self.errors:
            return data
        try:
            services.check_name(
                track=track, name=data["name"], team=self.instance if self.instance.pk else None
            )
            services.check_members(track=track, members=list(data["members"]))
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return data


@admin.register(Team)
class TeamAdmin(Undeletable, admin.ModelAdmin[Team]):
    track_way = "track"
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

    def save_model(self, request: HttpRequest, obj: Team, form: object, change: bool) -> None:
        """Save through the services; the admin continues with the row of a new team."""
        if change:
            services.describe(team=obj, name=obj.name, organization=obj.organization, documents={})
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
