"""Judges for programs: what a track accepts, submissions, boards of judges."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from assay.formats.runs.rows import MAX_TOPIC
from assay.measures.boards import FORMS
from assay_extensions.metaevaluation.comparison import MISSING, Coefficient, Fidelity
from assay_extensions.metaevaluation.judgments import SCORED
from assay_extensions.metaevaluation.site import comparing, releases, selectors, services
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeRun
from assay_extensions.metaevaluation.site.selectors import Drop, RunPlace, ShownResult
from assay_extensions.metaevaluation.site.views import file_of
from participation.teams.selectors import teams_of
from scoring.leaderboards.api import ReleaseSerializer
from tracks.tracks.api import track_of
from web import times
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Everyone, LoggedIn, Organizer
from web.api.serializers import Address, Strict, check_zone, instant, named
from web.api.views import Endpoints, accepted, created, get, get_file, parameter, post, put
from web.downloads import download, for_visitors
from web.forms import bytes_of
from web.models import Scope
from web.times import arrived_at

JudgeCallSerializer = answer(
    JudgeCall, "JudgeCall", "closes_at zone max_per_team topics", "A track accepts the judgments of programs."
)


class NewJudgeCallSerializer(Strict):
    """The deadline for judges, and how many are accepted. A time in the past closes the submission."""

    closes_at = serializers.CharField(
        max_length=40, help_text="As `2026-05-01T23:59` in the zone, or with an offset."
    )
    zone = serializers.CharField(
        max_length=64,
        default=times.AOE,
        validators=[check_zone],
        help_text="AoE, UTC, or a name of the IANA database.",
    )
    max_per_team = serializers.IntegerField(
        min_value=1, max_value=1000, default=5, help_text="The most judges that a team may have at a time."
    )
    topics = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TOPIC),
        default=list,
        max_length=100_000,
        help_text="Those that judges judge. Without them: all topics of the track.",
    )


class JudgeFileSerializer(serializers.Serializer[Any]):
    """A file of a judge."""

    name = serializers.CharField()
    kind = serializers.CharField(help_text="qrels, nuggets, scores, other or unknown.")
    rows = serializers.IntegerField(help_text="Lines of qrels, lists of nuggets, or measures of scores.")
    topics = serializers.IntegerField()


JudgeSerializer = answer(
    JudgeRun,
    "Judge",
    "id url track=track.slug team=team.name tag description status file_name sha256 n_bytes files "
    "submitted_by=submitted_by.username submitted_at withdrawn_at",
    "The judgments of a program, as a team submitted them.",
    url=Address("api:judge", "track.slug", "pk", help_text="The address of this judge in the API."),
    files=JudgeFileSerializer(source="parts", many=True),
)


class NewJudgeSerializer(Strict):
    """The judgments of a program."""

    tag = serializers.CharField(
        max_length=100,
        help_text="The name of the judge, one word. A judge of the team with this name is replaced.",
    )
    file = serializers.FileField(
        help_text="Qrels, lists of nuggets, a table of scores, or a ZIP file of the folder that a program of AutoJudge "
        "writes."
    )
    team = serializers.CharField(
        required=False, help_text="The name of the team. Without it: your only team of the track."
    )
    kind = serializers.ChoiceField(
        [*SCORED],
        required=False,
        allow_blank=True,
        default="",
        help_text="What the file contains, if its name does not say it.",
    )
    format = serializers.ChoiceField(
        [*FORMS],
        source="form",
        required=False,
        allow_blank=True,
        default="",
        help_text="The form of a table of scores. Without it, it is detected.",
    )
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True, default="")


BOARD = (
    "id url track=track.slug leaderboard=leaderboard_id measure topics missing seed status released_to=release "
    "released_at created_at"
)
OF_BOARD = {
    "url": Address("api:judge_board", "track.slug", "pk", help_text="The address of this board in the API."),
    "leaderboard": "The id of the leaderboard of people.",
}
JudgeBoardSerializer = answer(
    JudgeBoard, "JudgeBoard", BOARD, "The judges of a track compared with people.", **OF_BOARD
)
CoefficientSerializer = answer(
    Coefficient,
    "JudgeCorrelation",
    "name k n_runs value low high",
    "A correlation with the order of runs by people, with its 95 % interval over topics.",
    k="Of the k best runs of people; null for all runs.",
)
FidelitySerializer = answer(
    Fidelity,
    "JudgeFidelity",
    "alike reversed only_truth only_judge neither",
    "Pairs of runs that differ significantly by people and by the judge.",
)
DropSerializer = answer(
    Drop,
    "LargestDrop",
    "run places",
    "The run that loses most places with a judge.",
    run="Empty if you do not see the leaderboard of people.",
)
RunPlaceSerializer = answer(
    RunPlace,
    "RunPlace",
    "run mean_truth mean_judge place_truth place_judge",
    "A run by people and by a judge.",
)


class AgreementTableSerializer(serializers.Serializer[Any]):
    """A table about the agreement of grades."""

    name = serializers.CharField()
    description = serializers.CharField()
    header = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(help_text="The cells of each row; null where a number is undefined.")


ResultSerializer = answer(
    ShownResult,
    "JudgeResult",
    "id judge team tag source measure n_runs n_topics coefficients overlaps largest_drop fidelity runs tables notes",
    "A judge on a board.",
    judge="The id of the judge.",
    source="qrels: runs are scored with its qrels; scores: its own scores; nuggets: its lists of nuggets.",
    n_topics="Topics of the intervals; 0 without values by topic.",
    overlaps="Number of runs in the top k of both, by k.",
    runs=RunPlaceSerializer(many=True, help_text="Empty if you do not see the leaderboard of people."),
    tables=AgreementTableSerializer(many=True, help_text="About its grades or nuggets; empty for scores."),
    notes="What was left out, or set to 0.",
)
JudgeBoardDetailSerializer = answer(
    JudgeBoard,
    "JudgeBoardDetail",
    f"{BOARD} judges",
    "The judges of a track compared with people, best first.",
    **OF_BOARD,
    judges=ResultSerializer(many=True),
)


class NewJudgeBoardSerializer(Strict):
    """The leaderboard of people that judges are compared with."""

    leaderboard = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, help_text="The id of a leaderboard of people of the track."
    )
    measure = serializers.CharField(
        max_length=50, required=False, default="", help_text="Of the leaderboard; without it, its first."
    )
    topics = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TOPIC),
        default=list,
        max_length=100_000,
        help_text="Those that count, such as held-out topics. Without them: all.",
    )
    missing = serializers.ChoiceField(
        MISSING,
        default="refuse",
        help_text="If a judge lacks runs: refuse leaves the judge out, common compares only the others, zero gives "
        "them 0.",
    )
    seed = serializers.IntegerField(
        min_value=0, required=False, allow_null=True, default=None, help_text="Without it: a random one."
    )


JUDGES = ("tracks/<slug:slug>/judges/", "judges", JudgeSerializer)
JUDGE = "tracks/<slug:slug>/judges/<int:judge_run_id>/"
CALL = ("tracks/<slug:slug>/judge-call/", "judge_call", JudgeCallSerializer)
BOARDS = ("tracks/<slug:slug>/judge-boards/", "judge_boards", JudgeBoardSerializer)
ONE_BOARD = "tracks/<slug:slug>/judge-boards/<int:judge_board_id>/"


class Calls(Endpoints):
    tag = "Judges"
    permission_classes = [Everyone]

    @get(*CALL)
    def get_judge_call(self, request: Request, slug: str) -> object:
        """Read the deadline for the judges of a track. 404 if there never was one."""
        call = selectors.call_of(track_of(request, slug))
        if call is None:
            raise Http404
        return call

    @put(*CALL, takes=NewJudgeCallSerializer, who=[Organizer])
    def update_judge_call(self, request: Request, slug: str) -> object:
        """Accept judges until a time, instead of what was set before."""
        data = self.validated(request)
        data["closes_at"] = instant(data["closes_at"], data["zone"], "closes_at")
        return services.accept(track=track_of(request, slug), by=person_of(request), **data)


class Judges(Endpoints):
    tag = "Judges"
    permission_classes = [LoggedIn]
    read_scopes = (Scope.READ, Scope.RUNS)
    write_scopes = (Scope.RUNS,)

    @get(*JUDGES, ordering=("pk",), filters=[Filter("team", "team__name"), Filter("tag"), Filter("status")])
    def list_judges(self, request: Request, slug: str) -> object:
        """List the judges of a track, oldest first: organizers those of all teams, others their own."""
        return selectors.judges_for(person_of(request), track_of(request, slug))

    @post(*JUDGES, takes=NewJudgeSerializer, status=201, parsers=[MultiPartParser], stores_files=True)
    def submit_judge(self, request: Request, slug: str) -> object:
        """Submit the judgments of a program.

        A file with problems is refused with 422, and nothing is stored; `errors` lists them with file, line and key.
        """
        user, track = person_of(request), track_of(request, slug)
        teams = {team.name: team for team in teams_of(user, track)}
        if not teams:
            raise PermissionDenied("You are in no team of this track.")
        data = self.validated(request)
        only = next(iter(teams)) if len(teams) == 1 else ""
        team, file = named(teams, data.pop("team", only), "team"), data.pop("file")
        judge = services.submit(
            track=track,
            team=team,
            by=user,
            file=bytes_of(file),
            file_name=file.name or "judge",
            arrived_at=arrived_at(request._request),
            on_stored=lambda judge: self.keep_answer(_submitted(judge)),
            **data,
        )
        return _submitted(judge)

    @get(JUDGE, "judge", JudgeSerializer)
    def get_judge(self, request: Request, slug: str, judge_run_id: int) -> object:
        """Read the state of a judge. Its team, and organizers."""
        return selectors.judge_or_404(person_of(request), slug, judge_run_id)

    @get_file(f"{JUDGE}file/", "judge_file")
    def download_judge(self, request: Request, slug: str, judge_run_id: int) -> object:
        """Download the file of a judge as it was uploaded."""
        return file_of(request, selectors.judge_or_404(person_of(request), slug, judge_run_id))

    @post(f"{JUDGE}withdraw/", "withdraw_judge", JudgeSerializer)
    def withdraw_judge(self, request: Request, slug: str, judge_run_id: int) -> object:
        """Withdraw a judge: its team until the deadline, and organizers. Boards that have it do not change."""
        user = person_of(request)
        judge = selectors.judge_or_404(user, slug, judge_run_id)
        services.withdraw(judge_run=judge, by=user)
        return selectors.judge_or_404(user, slug, judge_run_id)


def _submitted(judge: JudgeRun) -> Response:
    data = JudgeSerializer(judge).data
    return created(data, data["url"])


class Boards(Endpoints):
    tag = "Judges"
    permission_classes = [Everyone]

    @get(*BOARDS, ordering=("-pk",), filters=[Filter("status", values=JudgeBoard.Status.values)])
    def list_judge_boards(self, request: Request, slug: str) -> object:
        """List the boards of the judges of a track that you may see, newest first."""
        return selectors.boards_for(user_of(request), track_of(request, slug))

    @post(*BOARDS, takes=NewJudgeBoardSerializer, status=202, who=[Organizer])
    def create_judge_board(self, request: Request, slug: str) -> object:
        """Compare the submitted judges of a track with a leaderboard of people, in a job."""
        data = self.validated(request)
        leaderboards = {str(row.pk): row for row in selectors.truths(track_of(request, slug))}
        data["leaderboard"] = named(leaderboards, str(data["leaderboard"]), "leaderboard")
        board = comparing.request(by=person_of(request), **data)
        return accepted(JudgeBoardSerializer(board).data, board.job_id)

    @get(ONE_BOARD, "judge_board", JudgeBoardDetailSerializer)
    def get_judge_board(self, request: Request, slug: str, judge_board_id: int) -> object:
        """Read a board of judges with every number and its interval."""
        user = user_of(request)
        board = selectors.board_or_404(user, slug, judge_board_id)
        results = selectors.board_page(user, board).results
        return Response(
            JudgeBoardSerializer(board).data | {"judges": ResultSerializer(results, many=True).data}
        )

    @get_file(
        f"{ONE_BOARD}file/",
        "judge_board_file",
        "text/csv",
        "text/tab-separated-values",
        parameters=[parameter("to", "The format: csv without it.", values=("csv", "tsv"))],
    )
    def download_judge_board(self, request: Request, slug: str, judge_board_id: int) -> object:
        """Download a board of judges as CSV or TSV: a row for each judge and measure."""
        user, kind = user_of(request), request.query_params.get("to", "csv")
        board = selectors.board_or_404(user, slug, judge_board_id)
        content = selectors.board_file(selectors.board_page(user, board), kind)
        return for_visitors(request, download(content, f"{slug}-judges-{board.pk}.{kind}"))

    @post(
        f"{ONE_BOARD}release/",
        "release_judge_board",
        JudgeBoardSerializer,
        takes=ReleaseSerializer,
        who=[Organizer],
    )
    def release_judge_board(self, request: Request, slug: str, judge_board_id: int) -> object:
        """Set who may see a board of judges. `hidden` withdraws a release."""
        user = person_of(request)
        board = selectors.board_or_404(user, slug, judge_board_id)
        releases.release(board=board, by=user, **self.validated(request))
        return selectors.board_or_404(user, slug, judge_board_id)


urlpatterns = [*Calls.urls(), *Judges.urls(), *Boards.urls()]
