"""Tracks in the admin, and the headings of the admin site."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.forms import BaseModelFormSet
from django.http import HttpRequest

from assay.errors import Refused
from tracks.assessors import services as assessor_services
from tracks.assessors.admin import AssessorInline
from tracks.models import Track
from tracks.tracks import services
from tracks.tracks.forms import TrackForm
from web.admin import Undeletable

admin.site.site_header = "Assay administration"
admin.site.site_title = "Assay"
admin.site.index_title = "Users, tracks, runs, batches"
admin.site.unregister(Group)  # permissions follow from roles in tracks, not from groups


@admin.register(Track)
class TrackAdmin(Undeletable, admin.ModelAdmin[Track]):
    """Correct a track and the groups of its assessors, open and close several. Tracks are created on the site."""

    form = TrackForm
    list_display = ["name", "slug", "status", "protocol", "collection"]
    list_filter = ["status"]
    search_fields = ["name", "slug"]
    autocomplete_fields = ["protocol", "collection", "topic_collection"]
    list_select_related = ["protocol", "collection"]
    inlines = [AssessorInline]
    actions = ["open_tracks", "close_tracks"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Track | None = None) -> list[str]:
        """Fields that cannot change once the track was opened, because runs are checked against them."""
        if obj is None or obj.status == Track.Status.DRAFT:
            return []
        return sorted(services.FIXED_ONCE_OPENED)

    def save_model(self, request: HttpRequest, obj: Track, form: Any, change: bool) -> None:
        services.edit(track=obj, changed=form.changed_data)

    def save_formset(
        self, request: HttpRequest, form: Any, formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        """Save assessors through the services; after a refusal the form is shown again, and nothing is saved."""
        formset.save(commit=False)
        for assessor in formset.new_objects:
            assessor_services.add(track=assessor.track, user=assessor.user, group=assessor.group)
        assessor_services.set_groups(track=form.instance, groups=formset.changed_groups)  # type: ignore[attr-defined]

    @admin.action(description="Open for runs")
    def open_tracks(self, request: HttpRequest, queryset: QuerySet[Track]) -> None:
        self._apply(request, queryset, services.open_for_runs)

    @admin.action(description="Close for runs")
    def close_tracks(self, request: HttpRequest, queryset: QuerySet[Track]) -> None:
        self._apply(request, queryset, services.close)

    def _apply(self, request: HttpRequest, tracks: QuerySet[Track], service: Any) -> None:
        for track in tracks:
            try:
                self.message_user(request, f"{track}: {service(track=track).get_status_display()}.")
            except Refused as refusal:
                self.message_user(request, refusal.message, messages.ERROR)
