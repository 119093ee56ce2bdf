"""The live board for programs. Organizers only."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from assessment.board import exports, selectors
from assessment.judging import services as task_services
from assessment.judgments.statistics import ChoiceShare
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, get_file, parameter, post
from web.downloads import download

BATCH = parameter("batch", "The id of a batch; without it, all batches of people.", kind="whole number")


PaceSerializer = answer(
    selectors.Pace,
    "Pace",
    "n hours per_hour per_day n_left=left ends_at=finish",
    n="Units judged in the window.",
    hours="The length of the window.",
    n_left="Units that are left.",
    ends_at="When the rest is judged at this pace; null if that cannot be said.",
)
TimesSerializer = answer(selectors.Times, "Times", "n mean median")
ChoiceShareSerializer = answer(ChoiceShare, "ChoiceShare", "choice=label n")
BoardAssessorSerializer = answer(
    selectors.AssessorRow,
    "BoardAssessor",
    "assessor=name n_judged=judged n_units=total times hours_left choices=mix last_judged_at=last_at",
    hours_left="Estimated time for the units that are left; null before 20 units of the track are timed.",
)
BoardTopicSerializer = answer(
    selectors.TopicRow,
    "BoardTopic",
    "topic=code assessors n_judged=judged n_units=total times n_relevant n_without_grade",
    n_without_grade="Non-answers.",
)
BoardSerializer = answer(
    selectors.BoardPage,
    "Board",
    "n_judged=judged n_units=total n_open n_overdue n_skipped n_unsettled pace times hours_left assessors topics",
    n_open="Tasks that somebody has open, within their time.",
    n_overdue="Tasks beyond their time, which are not in `n_open`.",
    n_unsettled="Non-answers that count and are not being adjudicated.",
    hours_left="Estimated hours for all units that are left, of one person; null before 20 units are timed.",
)


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
    def get_board(self, request: Request, slug: str) -> object:
        """Read how far the judging of a track is, how fast it goes, and who has judged what."""
        return selectors.board_page(track_of(request, slug), request.query_params.get("batch", ""))

    @get_file(
        "tracks/<slug:slug>/board/<slug:table>/",
        "board_table",
        "text/tab-separated-values",
        parameters=[BATCH],
    )
    def download_board_table(self, request: Request, slug: str, table: str) -> object:
        """Download a table of the live board as TSV: assessors, topics, days or hours."""
        batch = request.query_params.get("batch", "")
        return download(*exports.table_file(track_of(request, slug), table, batch))

    @get_file("tracks/<slug:slug>/judged-differently/", "judged_differently", "text/csv")
    def download_judged_differently(self, request: Request, slug: str) -> object:
        """Download which documents are the same, or nearly, and were judged differently, as CSV."""
        return download(*exports.differences_file(track_of(request, slug)))

    @post("judgments/<int:judgment_id>/return/", "return_non_answer", takes=ReturnSerializer)
    def return_non_answer(self, request: Request, judgment_id: int) -> None:
        """Return the unit of a non-answer in an open batch to its queue. The judgment is kept, but no longer counts."""
        judgment = get_object_or_404(selectors.non_answers_to_return(), pk=judgment_id)
        task_services.return_non_answer(judgment=judgment, **self.validated(request))


urlpatterns = Board.urls()
