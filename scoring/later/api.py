"""The later runs of leaderboards for programs."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from assay.formats.declaration import STATEMENTS
from scoring.later import selectors, services
from scoring.leaderboards.api import OF_FAMILY
from scoring.models import LaterRun, Leaderboard
from scoring.selectors import leaderboards_for
from web.api.answers import answer
from web.api.filters import Filter
from web.api.serializers import Strict
from web.api.views import Endpoints, get, post
from web.forms import bytes_of
from web.models import Scope

LaterRunSerializer = answer(
    LaterRun,
    "LaterRun",
    "id track=team.track.slug team=team.name tag models_used is_of_judge_family sha256 n_topics n_missing values "
    "scored_at",
    "A run of a team of another track, scored against the qrels of a leaderboard.",
    is_of_judge_family=OF_FAMILY,
    track="The track of the team.",
    values=serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="Topic, or `all` for the means, to measure to value.",
    ),
)


class NewLaterRunSerializer(Strict):
    """A run on the topics of the leaderboard's track."""

    file = serializers.FileField(
        help_text="The run, plain or compressed with gz, xz, bz2 or zip (of one file)."
    )
    track = serializers.CharField(help_text="The short name of the team's track, which is another one.")
    team = serializers.CharField(help_text="The name of the team.")
    tag = serializers.CharField(
        default="", allow_blank=True, max_length=100, help_text="By default the file's."
    )
    models_used = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=STATEMENTS["models_used"].limit,
        help_text=STATEMENTS["models_used"].help,
    )


LATER_RUNS = ("leaderboards/<int:board_id>/later-runs/", "later_runs", LaterRunSerializer)


class LaterRuns(Endpoints):
    tag = "Leaderboards"
    read_scopes = (Scope.READ, Scope.RUNS)
    write_scopes = (Scope.RUNS,)

    def board(self, request: Request, board_id: int) -> Leaderboard:
        ready = leaderboards_for(person_of(request)).filter(status=Leaderboard.Status.READY)
        return get_object_or_404(ready, pk=board_id)

    @get(
        *LATER_RUNS,
        ordering=("pk",),
        filters=[Filter("track", "team__track__slug"), Filter("team", "team__name"), Filter("tag")],
    )
    def list_later_runs(self, request: Request, board_id: int) -> object:
        """List runs of other tracks' teams that were scored here: organizers see all, others those of their teams."""
        return selectors.later_runs_for(person_of(request), self.board(request, board_id))

    @post(*LATER_RUNS, takes=NewLaterRunSerializer, status=201, parsers=[MultiPartParser])
    def create_later_run(self, request: Request, board_id: int) -> object:
        """Score a run of a team of another track. The leaderboard and its track stay as they are.

        A run with the tag of an earlier one of the team replaces it.
        """
        board, data = self.board(request, board_id), self.validated(request)
        teams = selectors.later_teams(person_of(request), board.track)
        team = get_object_or_404(teams, track__slug=data["track"], name=data["team"])
        return services.score(
            leaderboard=board,
            team=team,
            by=person_of(request),
            file=bytes_of(data["file"]),
            file_name=data["file"].name or "run",
            tag=data["tag"],
            models_used=data["models_used"],
        )


urlpatterns = LaterRuns.urls()
