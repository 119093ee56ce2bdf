"""The live board for programs. Organizers only."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from assessment.board import exports, selectors
from assessment.judging import services as task_services
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, get_file, parameter, post
from web.downloads import download

BATCH = parameter("batch", "The id of a batch; without it, all batches of people.", kind="whole number")


class PaceSerializer(serializers.Serializer[selectors.Pace]):
    """The pace of the last seven days, nights and pauses included."""

    n = serializers.IntegerField(help_text="Units judged in the window.")
    hours = serializers.FloatField(help_text="The length of the window.")
    per_hour = serializers.FloatField()
    per_day = serializers.FloatField()
    left = serializers.IntegerField(help_text="Units that are left.")
    finish = serializers.DateTimeField(
        allow_null=True, help_text="When the rest is judged at this pace; null if that cannot be said."
    )


class TimesSerializer(serializers.Serializer[selectors.Times]):
    """Seconds per unit, of the units whose time is known."""

    n = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    median = serializers.FloatField(allow_null=True)


class ChoiceShareSerializer(serializers.Serializer[Any]):
    """A choice, and the number of judgments with it."""

    choice = serializers.CharField(source="label")
    n = serializers.IntegerField()


class BoardAssessorSerializer(serializers.Serializer[selectors.AssessorRow]):
    """The work of an assessor."""

    assessor = serializers.CharField(source="name")
    judged = serializers.IntegerField()
    total = serializers.IntegerField()
    times = TimesSerializer()
    hours_left = serializers.FloatField(
        allow_null=True,
        help_text="Estimated time for the units that are left; null before 20 units of the track are timed.",
    )
    choices = ChoiceShareSerializer(source="mix", many=True)
    last_at = serializers.DateTimeField(allow_null=True)


class BoardTopicSerializer(serializers.Serializer[selectors.TopicRow]):
    """The judging of a topic."""

    topic = serializers.CharField(source="code")
    assessors = serializers.ListField(child=serializers.CharField())
    judged = serializers.IntegerField()
    total = serializers.IntegerField()
    times = TimesSerializer()
    n_relevant = serializers.IntegerField()
    n_without_grade = serializers.IntegerField(help_text="Non-answers.")


class BoardSerializer(serializers.Serializer[selectors.BoardPage]):
    """The progress of judging: totals, pace, and the work by assessor and topic."""

    judged = serializers.IntegerField()
    total = serializers.IntegerField()
    n_open = serializers.IntegerField(help_text="Tasks that somebody has open.")
    n_overdue = serializers.IntegerField(help_text="Of these, beyond their time.")
    n_skipped = serializers.IntegerField()
    n_unsettled = serializers.IntegerField(help_text="Non-answers that count and are not being adjudicated.")
    pace = PaceSerializer()
    times = TimesSerializer()
    hours_left = serializers.FloatField(
        allow_null=True,
        help_text="Estimated hours for all units that are left, of one person; null before 20 units are timed.",
    )
    assessors = BoardAssessorSerializer(many=True)
    topics = BoardTopicSerializer(many=True)


class ReturnSerializer(Strict):
    """The reason for judging a unit again. Its assessor reads it."""

    reason = serializers.CharField(max_length=500)


class Board(Endpoints):
    tag = "Batches"
    permission_classes = [Organizer]

    @get(
        "tracks/<slug:slug>/board/",
        "board",
        BoardSerializer,
        parameters=[BATCH],
    )
    def get_board(self, request: Request, slug: str) -> Any:
        """Read how far the judging of a track is, how fast it goes, and who has judged what."""
        return selectors.board_page(track_of(request, slug), request.query_params.get("batch", ""))

    @get_file(
        "tracks/<slug:slug>/board/<slug:table>/",
        "board_table",
        "text/tab-separated-values",
        parameters=[BATCH],
    )
    def download_board_table(self, request: Request, slug: str, table: str) -> Any:
        """Download a table of the live board as TSV: assessors, topics, days or hours."""
        batch = request.query_params.get("batch", "")
        return download(*exports.table_file(track_of(request, slug), table, batch))

    @get_file("tracks/<slug:slug>/judged-differently/", "judged_differently", "text/csv")
    def download_judged_differently(self, request: Request, slug: str) -> Any:
        """Download which documents are the same, or nearly, and were judged differently, as CSV."""
        return download(*exports.differences_file(track_of(request, slug)))

    @post("judgments/<int:judgment_id>/return/", "return_non_answer", takes=ReturnSerializer)
    def return_non_answer(self, request: Request, judgment_id: int) -> None:
        """Return the unit of a non-answer in an open batch to its queue. The judgment is kept, but no longer counts."""
        judgment = get_object_or_404(selectors.non_answers_to_return(), pk=judgment_id)
        task_services.return_non_answer(judgment=judgment, **self.validated(request))


urlpatterns = Board.urls()
