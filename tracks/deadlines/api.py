"""The deadlines of tracks for programs."""

from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import organizer_of
from tracks.deadlines import services
from tracks.deadlines.services import MAX_GRACE_MINUTES, Window
from tracks.models import Deadline, Track
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web import times
from web.api.conditional import require_match
from web.api.permissions import Everyone
from web.api.serializers import Strict, instant
from web.api.views import Endpoints, get, put

MOST_KINDS = 100
ALL = "Empty for all kinds."
GRACE = "Minutes after the closing time in which runs are accepted, and marked as late."
LOCAL = "As `2026-05-01T23:59` in the zone, or with an offset as `2026-05-01T23:59:00+02:00`."


class DeadlineSerializer(serializers.ModelSerializer[Deadline]):
    """The start and end of the time in which runs of a kind are accepted."""

    kind = serializers.CharField(help_text=f"The kind of runs. {ALL}")

    class Meta:
        model = Deadline
        fields = ["kind", "opens_at", "closes_at", "grace_minutes"]


class DeadlinesSerializer(serializers.Serializer[Any]):
    """The deadlines of a track."""

    zone = serializers.CharField(help_text="In which pages show the times first. AoE: anywhere on earth.")
    deadlines = DeadlineSerializer(many=True)


class NewDeadlineSerializer(Strict):
    """The start and end of the time in which runs of a kind are accepted.

    A kind without a closing time has that of all kinds.
    """

    kind = serializers.CharField(default="", allow_blank=True, help_text=f"A kind of the protocol. {ALL}")
    opens_at = serializers.CharField(default=None, allow_null=True, max_length=40, help_text=LOCAL)
    closes_at = serializers.CharField(default=None, allow_null=True, max_length=40, help_text=LOCAL)
    grace_minutes = serializers.IntegerField(
        default=0, min_value=0, max_value=MAX_GRACE_MINUTES, help_text=GRACE
    )


class NewDeadlinesSerializer(Strict):
    """All deadlines of a track: a kind that is missing has none."""

    zone = serializers.CharField(
        default=times.AOE, help_text="AoE, UTC, or a name of the IANA database such as Europe/Prague."
    )
    deadlines = serializers.ListField(child=NewDeadlineSerializer(), max_length=MOST_KINDS)


def _shown(track: Track) -> Any:
    deadlines = track.deadlines.order_by("kind")
    zone = next((each.zone for each in deadlines), times.AOE)
    return DeadlinesSerializer({"zone": zone, "deadlines": deadlines}).data


def _windows(zone: str, deadlines: list[dict[str, Any]]) -> dict[str, Window]:
    """The window of each kind.

    Raises:
        ValidationError: A kind is there twice, or a time cannot be read.
    """
    windows: dict[str, Window] = {}
    for each in deadlines:
        if each["kind"] in windows:
            raise serializers.ValidationError({"deadlines": f"The kind “{each['kind']}” is there twice."})
        opens_at, closes_at = (
            each[name] and instant(each[name], zone, f"deadlines.{name}")
            for name in ("opens_at", "closes_at")
        )
        windows[each["kind"]] = Window(opens_at, closes_at, each["grace_minutes"])
    return windows


class Deadlines(Endpoints):
    tag = "Tracks"
    permission_classes = [Everyone]

    @get("tracks/<slug:slug>/deadlines/", "deadlines", DeadlinesSerializer)
    def get_deadlines(self, request: Request, slug: str) -> Any:
        """Read the deadlines of a track. What is accepted now is with the track itself."""
        return Response(_shown(track_of(request, slug)))

    @put("tracks/<slug:slug>/deadlines/", "deadlines", DeadlinesSerializer, takes=NewDeadlinesSerializer)
    @transaction.atomic
    def set_deadlines(self, request: Request, slug: str) -> Any:
        """Set all deadlines of a track. Organizers only."""
        organizer_of(request)
        track = track_services.lock(track_of(request, slug).pk)
        require_match(request, _shown(track))
        data = self.validated(request)
        services.set_deadlines(track=track, zone=data["zone"], windows=_windows(**data))
        return Response(_shown(track))


urlpatterns = Deadlines.urls()
