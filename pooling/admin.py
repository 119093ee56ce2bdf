"""Runs and pools in the admin: lists of all tracks that lead to the pages of the site."""

from django.contrib import admin
from django.urls import reverse

from assay.formats.declaration import LISTED
from pooling.models import Nugget, NuggetVersion, Pool, Run
from tracks.models import Track
from web.admin import OnTheSite, Place, ReadOnly, Undeletable


@admin.register(Run)
class RunAdmin(OnTheSite, Undeletable, admin.ModelAdmin[Run]):
    """Lists the runs of all tracks. Runs are submitted, and shown with their reports, on the pages of their tracks."""

    track_way = "track"
    list_display = ["tag", "track", *(fact for fact in LISTED if fact != "tag"), "submitted_by"]
    list_filter = ["track", "kind", "status"]
    list_select_related = ["team", "track", "submitted_by"]
    search_fields = ["tag", "team__name"]
    date_hierarchy = "submitted_at"
    wide_columns = ["report"]
    show_full_result_count = False
    nothing_yet = "No track has a team yet. Add teams on the page People of a track, then submit their runs."

    def places(self) -> list[Place]:
        tracks = Track.objects.filter(teams__isnull=False).distinct().order_by("-pk")
        return [(str(track), reverse("pooling:submit", args=[track.slug])) for track in tracks]


@admin.register(Pool)
class PoolAdmin(ReadOnly, admin.ModelAdmin[Pool]):
    """Shows pools. Organizers request them on the pools page of the track."""

    track_way = "track"
    list_display = ["name", "track", "status", "seed", "created_by", "created_at"]
    list_filter = ["track", "status"]
    list_select_related = ["track", "created_by"]
    search_fields = ["name"]
    exclude = ["statistics"]


@admin.register(Nugget)
class NuggetAdmin(ReadOnly, admin.ModelAdmin[Nugget]):
    """Lists the nuggets of all tracks, also removed and merged ones. People edit them on the pages of the track."""

    list_display = [
        "text", "topic", "topic__track", "importance", "creator", "is_removed", "replaced_by", "created_at",
    ]  # fmt: skip
    list_filter = ["topic__track", "importance", "is_removed"]
    list_select_related = ["topic__track", "replaced_by"]
    search_fields = ["text", "key", "creator", "topic__code"]


@admin.register(NuggetVersion)
class NuggetVersionAdmin(ReadOnly, admin.ModelAdmin[NuggetVersion]):
    list_display = ["topic", "topic__track", "version", "frozen_by", "frozen_at"]
    list_filter = ["topic__track"]
    list_select_related = ["topic__track", "frozen_by"]
    search_fields = ["topic__code"]
