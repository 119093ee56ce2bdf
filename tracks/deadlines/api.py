"""The deadlines and milestones of tracks for programs."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tracks.deadlines import services
from tracks.deadlines.services import MAX_GRACE_MINUTES, MAX_REMINDER_DAYS, MOST, NewMilestone, Window
from tracks.models import Deadline, Milestone, Track
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web import times
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.permissions import Everyone, Organizer
from web.api.serializers import Strict, instant
from web.api.views import Endpoints, get, put

MOST_KINDS = 100
ALL = "Empty for all kinds."
GRACE = "Minutes after the closing time in which runs are accepted, and marked as late."
REMINDER = "Days before a closing time at which teams get an e-mail about what they owe; null: no e-mail."
HIDDEN = "Until then, only organizers and the team itself read the names of a team and its runs; null: everybody does."
LOCAL = "As `2026-05-01T23:59` in the zone, or with an offset as `2026-05-01T23:59:00+02:00`."


DeadlineSerializer = answer(
    Deadline,
    "Deadline",
    "kind opens_at closes_at grace_minutes",
    "The start and end of the time in which runs of a kind are accepted.",
    kind=serializers.CharField(help_text=f"The kind of runs. {ALL}"),
)


class DeadlinesSerializer(serializers.Serializer[Any]):
    """The deadlines of a track."""

    zone = serializers.CharField(help_text="In which pages show the times first. AoE: anywhere on earth.")
    reminder_days = serializers.IntegerField(allow_null=True, help_text=REMINDER)
    names_hidden_until = serializers.DateTimeField(allow_null=True, help_text=HIDDEN)
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
    reminder_days = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_REMINDER_DAYS,
        help_text=f"{REMINDER} If it is missing, it stays.",
    )
    names_hidden_until = serializers.CharField(
        required=False, allow_null=True, max_length=40, help_text=f"{HIDDEN} If it is missing, it stays."
    )
    deadlines = serializers.ListField(child=NewDeadlineSerializer(), max_length=MOST_KINDS)


MilestoneSerializer = answer(
    Milestone, "Milestone", "title starts_on ends_on", "A date that the organizers announce."
)


class MilestonesSerializer(serializers.Serializer[Any]):
    """The milestones of a track, by day."""

    milestones = MilestoneSerializer(many=True)


class NewMilestoneSerializer(Strict):
    """A date that the organizers announce."""

    title = serializers.CharField(max_length=200)
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(
        default=None, allow_null=True, help_text="The last day; null for a single day."
    )


class NewMilestonesSerializer(Strict):
    """All milestones of a track: one that is missing is removed."""

    milestones = serializers.ListField(child=NewMilestoneSerializer(), max_length=MOST)


def _deadlines(track: Track) -> Any:
    deadlines = track.deadlines.order_by("kind")
    zone = next((deadline.zone for deadline in deadlines), times.AOE)
    of_track = {name: getattr(track, name) for name in ("reminder_days", "names_hidden_until")}
    return DeadlinesSerializer({"zone": zone, "deadlines": deadlines} | of_track).data


def _milestones(track: Track) -> Any:
    return MilestonesSerializer({"milestones": track.milestones.all()}).data


DEADLINES = ("tracks/<slug:slug>/deadlines/", "deadlines", DeadlinesSerializer)
MILESTONES = ("tracks/<slug:slug>/milestones/", "milestones", MilestonesSerializer)


class Dates(Endpoints):
    tag = "Tracks"
    permission_classes = [Everyone]

    @get(*DEADLINES)
    def get_deadlines(self, request: Request, slug: str) -> object:
        """Read the deadlines of a track. What is accepted now is with the track itself."""
        return Response(_deadlines(track_of(request, slug)))

    @put(*DEADLINES, takes=NewDeadlinesSerializer, who=[Organizer])
    @transaction.atomic
    def update_deadlines(self, request: Request, slug: str) -> object:
        """Set all deadlines of a track."""
        track, data = self._change(request, slug, _deadlines)
        # The window of each kind
        zone = data["zone"]
        windows: dict[str, Window] = {}
        for deadline in data["deadlines"]:
            if deadline["kind"] in windows:
                raise serializers.ValidationError(
                    {"deadlines": f"The kind “{deadline['kind']}” is there twice."}
                )
            opens_at, closes_at = (
                deadline[name] and instant(deadline[name], zone, f"deadlines.{name}")
                for name in ("opens_at", "closes_at")
            )
            windows[deadline["kind"]] = Window(opens_at, closes_at, deadline["grace_minutes"])
        hidden_until = track.names_hidden_until
        if "names_hidden_until" in data:
            text = data["names_hidden_until"]
            hidden_until = text and instant(text, zone, "names_hidden_until")
        services.set_deadlines(
            track=track,
            zone=zone,
            windows=windows,
            reminder_days=data.get("reminder_days", track.reminder_days),
            names_hidden_until=hidden_until,
        )
        return Response(_deadlines(track_of(request, slug)))

    @get(*MILESTONES)
    def get_milestones(self, request: Request, slug: str) -> object:
        """Read the milestones of a track. Its page has them with the deadlines as an iCalendar file."""
        return Response(_milestones(track_of(request, slug)))

    @put(*MILESTONES, takes=NewMilestonesSerializer, who=[Organizer])
    @transaction.atomic
    def update_milestones(self, request: Request, slug: str) -> object:
        """Set all milestones of a track."""
        track, data = self._change(request, slug, _milestones)
        services.set_milestones(
            track=track, milestones=[NewMilestone(**milestone) for milestone in data["milestones"]]
        )
        return Response(_milestones(track))

    def _change(
        self, request: Request, slug: str, shown: Callable[[Track], Any]
    ) -> tuple[Track, dict[str, Any]]:
        """The locked track and what to set, if the request knows what is `shown`."""
        track = track_services.lock(track_of(request, slug).pk)
        require_match(request, shown(track))
        return track, self.validated(request)


urlpatterns = Dates.urls()
