"""Runs for programs: check, submit, read, describe, withdraw."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.formats.reports import Report
from pooling.models import Run, Team
from pooling.runs import selectors, services
from pooling.runs.changes import services as change_services
from pooling.runs.errors import RunRefused
from pooling.runs.forms import bytes_of
from pooling.runs.services import Declaration
from pooling.teams import selectors as team_selectors
from tracks.models import Track
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web.api.conditional import require_match, unless_known
from web.api.parsers import FileParser
from web.api.permissions import Organizer
from web.api.schema import FILE, operation
from web.api.scopes import Scope
from web.api.serializers import Strict
from web.api.views import ApiView, FileView, ListView, created
from web.arrivals import arrived_at
from web.downloads import download

READ = (Scope.READ, Scope.RUNS)
WRITE = (Scope.RUNS,)


class RunSerializer(serializers.ModelSerializer[Run]):
    """A submitted run."""

    url = serializers.SerializerMethodField(help_text="The address of this run in the API.")
    track = serializers.CharField(source="track.slug")
    team = serializers.CharField(source="team.name")
    submitted_by = serializers.CharField(source="submitted_by.username")
    uses = serializers.CharField(
        source="stated_use", help_text="One of the `uses` of the track; empty if it has none."
    )

    class Meta:
        model = Run
        fields = [
            "id",
            "url",
            "track",
            "team",
            "tag",
            "kind",
            "status",
            "priority",
            "is_manual",
            "uses",
            "pooled_as",
            "description",
            "is_late",
            "file_name",
            "sha256",
            "n_lines",
            "n_topics",
            "submitted_at",
            "submitted_by",
            "withdrawn_at",
        ]

    def get_url(self, run: Run) -> str:
        return reverse("api:run", args=[run.pk])


class PooledSerializer(serializers.Serializer[Any]):
    pool = serializers.CharField()
    depth = serializers.IntegerField(allow_null=True, help_text="Null: every rank.")


class ChangeSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    text = serializers.CharField(help_text="The reason, or the earlier description.")
    by = serializers.CharField(source="by.username")
    at = serializers.DateTimeField()


class RunDetailSerializer(RunSerializer):
    """A run with its pools and what happened to it."""

    is_accepting_runs = serializers.BooleanField(
        help_text="Whether runs of its kind can be submitted and withdrawn now."
    )
    pools = PooledSerializer(many=True)
    changes = ChangeSerializer(many=True, help_text="What happened after the submission, oldest first.")

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "is_accepting_runs", "pools", "changes"]


class LineSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    text = serializers.CharField()
    note = serializers.CharField()


class ComplaintSerializer(serializers.Serializer[Any]):
    """What is wrong with a file, on `n` lines."""

    code = serializers.CharField()
    severity = serializers.ChoiceField(["error", "warning"])
    message = serializers.CharField()
    accepted = serializers.CharField(help_text="What is accepted instead.")
    n = serializers.IntegerField()
    lines = LineSerializer(many=True, help_text="The first of these lines.")
    is_repairable = serializers.BooleanField()


class ReportSerializer(serializers.Serializer[Report]):
    """The result of the check of a file."""

    is_acceptable = serializers.BooleanField()
    name = serializers.CharField()
    size = serializers.IntegerField(help_text="In bytes.")
    sha256 = serializers.CharField()
    form = serializers.CharField(help_text="The run format that was detected.")
    tag = serializers.CharField(help_text="The tag in the file.")
    kind = serializers.CharField(help_text="The kind of run that the file declares; empty in most formats.")
    n_lines = serializers.IntegerField()
    n_topics = serializers.IntegerField()
    topic_lines = serializers.DictField(child=serializers.IntegerField(), help_text="Lines of each topic.")
    seconds = serializers.DictField(
        child=serializers.FloatField(), help_text="Of each topic, if the protocol asks for them."
    )
    errors = ComplaintSerializer(many=True)  # type: ignore[assignment]  # a field, not those of the serializer
    warnings = ComplaintSerializer(many=True)


class RunSubmissionSerializer(Strict):
    """A run and what its team declares about it."""

    file = serializers.FileField(help_text="The run, plain or compressed with gz, xz or zip (of one file).")
    kind = serializers.CharField(help_text="One of the `kinds` of the track.")
    team = serializers.CharField(
        required=False, help_text="The name of the team. Without it: your only team of the track."
    )
    tag = serializers.CharField(required=False, default="", help_text="Empty: the tag in the file.")
    is_manual = serializers.BooleanField(
        required=False, default=False, help_text="Whether a person changed anything after seeing the topics."
    )
    uses = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="One of the `uses` of the track, if it has any. Empty: the last of them.",
    )
    description = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=10_000, help_text="How the run was made."
    )
    pooled_as = serializers.CharField(
        required=False,
        default="",
        help_text="The kind as which it is pooled, where the protocol pools its kind as another one.",
    )
    seconds = serializers.FileField(
        required=False, help_text="A file with one line for each topic: the topic and its seconds."
    )


DECLARED = ("kind", "team", "tag", "is_manual", "uses", "description", "pooled_as")
AS_PARAMETERS = [
    OpenApiParameter(name, OpenApiTypes.STR, description="If the body is the file itself: see the field.")
    for name in DECLARED
]
BODIES = {
    "multipart/form-data": RunSubmissionSerializer,
    "application/octet-stream": OpenApiTypes.BINARY,
}
REFUSED = OpenApiExample(
    "A file with errors",
    {
        "type": "/help/reference/api.html#status-422",
        "title": "The run was not accepted",
        "status": 422,
        "code": "run-refused",
        "detail": "run.tsv has 1 error. The first: line 17: expected 6 columns, got 5",
        "errors": [
            {
                "line": 17,
                "code": "columns",
                "message": "expected 6 columns, got 5",
                "accepted": "topic Q0 docno rank score tag",
                "n": 1,
            }
        ],
    },
    status_codes=["422"],
    media_type="application/problem+json",
)


def _track(request: Request, slug: str) -> Track:
    """A track whose runs the user may see."""
    user = person_of(request)
    track = track_of(request, slug)
    if not selectors.may_see_runs(user, track):
        raise PermissionDenied("Assessors do not see which runs there are.")
    return track


class SubmissionView(ApiView):
    """The base of the endpoints that take a run file."""

    tag = "Runs"
    read_scopes, write_scopes = READ, WRITE
    serializer_class = RunSubmissionSerializer
    parser_classes = [MultiPartParser, FileParser]
    parameters = DECLARED

    def submission(self, request: Request, slug: str) -> dict[str, Any]:
        """The arguments of the services that check and submit."""
        user, track = person_of(request), _track(request, slug)
        teams = team_selectors.teams_of(user, track)
        if not teams:
            raise PermissionDenied("You are in no team of this track.")
        serializer = self.get_serializer(data={**request.query_params.dict(), **_body(request)})
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        file, seconds = data.pop("file"), data.pop("seconds", None)
        team = _team(list(teams), data.pop("team", None))
        declared = Declaration(**data, seconds=bytes_of(seconds) if seconds else None)
        return {
            "track": track,
            "team": team,
            "by": user,
            "file": bytes_of(file),
            "file_name": file.name or "run",
            "declared": declared,
            "arrived_at": arrived_at(request._request),
        }


def _body(request: Request) -> dict[str, Any]:
    """The fields and files of the body."""
    data: Any = request.data
    return {name: data[name] for name in data}


def _team(teams: list[Team], name: str | None) -> Team:
    matching = [team for team in teams if name is None or team.name.lower() == name.strip().lower()]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(team.name for team in teams[:20])
    message = (
        f"You submit for several teams: name one of {names}." if name is None else f"Name one of {names}."
    )
    raise serializers.ValidationError({"team": message})


class RunList(ListView, SubmissionView):
    tag = "Runs"
    ordering = ("pk",)
    stores_files = True

    @operation("list_runs", responses=RunSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the runs of a track, oldest first.

        Organizers see the runs of all teams, others those of their own teams.
        """
        runs = selectors.runs_of(person_of(request), _track(request, slug))
        return self.listed(runs, RunSerializer)

    @operation(
        "submit_run",
        parameters=AS_PARAMETERS,
        request=BODIES,
        responses={201: RunSerializer},
        examples=[REFUSED],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Submit a run.

        Send a form (`multipart/form-data`), or the file itself as the body (`application/octet-stream`) with the other
        fields as parameters of the address. A file with errors is refused with 422, and nothing is stored. `errors`
        then lists each distinct error with its first line.
        """
        submission = self.submission(request, slug)
        return _submitted(
            services.submit(**submission, on_stored=lambda run: self.keep_answer(_submitted(run)))
        )

    def accepted_parameters(self) -> tuple[str, ...]:
        return DECLARED if self.request.method == "POST" else ("cursor", "page_size")


def _submitted(run: Run) -> Response:
    return created(RunSerializer(run).data, reverse("api:run", args=[run.pk]))


class RunCheck(SubmissionView):
    @operation("check_run", parameters=AS_PARAMETERS, request=BODIES, responses={200: ReportSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Check a run as if it were submitted, and store nothing.

        The answer has a report also if the file has errors: see `is_acceptable`. What else would refuse the run, such
        as a taken tag, is answered as for a submission.
        """
        try:
            report = services.check_submission(**self.submission(request, slug)).report
        except RunRefused as refusal:
            report = refusal.checked.report
        return Response(ReportSerializer(report).data)


class RunView(ApiView):
    """The base of the endpoints of one run."""

    tag = "Runs"
    read_scopes, write_scopes = READ, WRITE

    def run(self, request: Request, run_id: int) -> Run:
        return get_object_or_404(selectors.runs_for(person_of(request)), pk=run_id)


def _detail(request: Request, run: Run) -> Any:
    page = selectors.run_page(person_of(request), run)
    data = RunSerializer(run).data
    more = {
        "is_accepting_runs": page.is_accepting_runs,
        "pools": PooledSerializer(page.pooled, many=True).data,
        "changes": ChangeSerializer(page.changes, many=True).data,
    }
    return data | more


class DescriptionSerializer(Strict):
    """What a team may change about a run."""

    description = serializers.CharField(allow_blank=True, max_length=10_000)


class RunDetail(RunView):
    serializer_class = RunDetailSerializer

    @operation("get_run")
    def get(self, request: Request, run_id: int) -> Response:
        """Read the state of a run: its pools, and what happened to it.

        Its team, and organizers.
        """
        return Response(_detail(request, self.run(request, run_id)))

    @operation("describe_run", request=DescriptionSerializer)
    @transaction.atomic
    def patch(self, request: Request, run_id: int) -> Response:
        """Change the description of a run.

        Its team until the deadline, and organizers. The earlier description is kept in `changes`.
        """
        track_services.lock(self.run(request, run_id).track_id)
        serializer = DescriptionSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        run = self.run(request, run_id)
        require_match(request, _detail(request, run))
        change_services.describe(run=run, by=person_of(request), **serializer.validated_data)
        return Response(_detail(request, self.run(request, run_id)))


class RunReport(RunView):
    serializer_class = ReportSerializer

    @operation("get_run_report")
    def get(self, request: Request, run_id: int) -> Response:
        """Read the report of the check of a run."""
        page = selectors.run_page(person_of(request), self.run(request, run_id))
        return Response(ReportSerializer(page.report).data)


class RunFile(FileView, RunView):
    serializer_class = RunSerializer

    @operation("get_run_file", responses=FILE)
    def get(self, request: Request, run_id: int) -> HttpResponseBase:
        """Download a run as it was uploaded."""
        run = self.run(request, run_id)
        return unless_known(
            request,
            f'"{run.sha256}"',
            lambda: download(run.original.open("rb"), run.file_name, is_checked=False),
        )


class RunWithdrawal(RunView):
    serializer_class = RunSerializer

    @operation("withdraw_run", request=None, responses={200: RunSerializer})
    def post(self, request: Request, run_id: int) -> Response:
        """Withdraw a run.

        Its team, and organizers, until the deadline. The run stays in the history of the team.
        """
        run = self.run(request, run_id)
        services.withdraw(run=run, by=person_of(request))
        return Response(RunSerializer(self.run(request, run_id)).data)


class MoveSerializer(Strict):
    to = serializers.ChoiceField(["up", "down"], help_text="Up: pooled earlier.")


class RunMove(RunView):
    serializer_class = MoveSerializer

    @operation("move_run", responses={200: RunSerializer})
    def post(self, request: Request, run_id: int) -> Response:
        """Move a run up or down in the order of its team.

        A pool with a limit of runs takes the first runs of each team.
        """
        run, data = self.run(request, run_id), self.validated(request)
        change_services.move(run=run, is_up=data["to"] == "up", by=person_of(request))
        return Response(RunSerializer(self.run(request, run_id)).data)


class ReasonSerializer(Strict):
    reason = serializers.CharField(max_length=2_000, help_text="The team sees it.")


class RunDisqualification(RunView):
    permission_classes = [Organizer]
    write_scopes = (Scope.MANAGE,)
    serializer_class = ReasonSerializer

    @operation("disqualify_run", responses={200: RunSerializer})
    def post(self, request: Request, run_id: int) -> Response:
        """Leave a run out of new pools and leaderboards, after its deadline."""
        run, data = self.run(request, run_id), self.validated(request)
        change_services.disqualify(run=run, by=person_of(request), **data)
        return Response(RunSerializer(self.run(request, run_id)).data)


class RunReinstatement(RunView):
    permission_classes = [Organizer]
    write_scopes = (Scope.MANAGE,)
    serializer_class = ReasonSerializer

    @operation("reinstate_run", responses={200: RunSerializer})
    def post(self, request: Request, run_id: int) -> Response:
        """Reverse a disqualification."""
        run, data = self.run(request, run_id), self.validated(request)
        change_services.reinstate(run=run, by=person_of(request), **data)
        return Response(RunSerializer(self.run(request, run_id)).data)


urlpatterns = [
    path("tracks/<slug:slug>/runs/", RunList.as_view(), name="runs"),
    path("tracks/<slug:slug>/runs/check/", RunCheck.as_view(), name="check_run"),
    path("runs/<int:run_id>/", RunDetail.as_view(), name="run"),
    path("runs/<int:run_id>/report/", RunReport.as_view(), name="run_report"),
    path("runs/<int:run_id>/file/", RunFile.as_view(), name="run_file"),
    path("runs/<int:run_id>/withdraw/", RunWithdrawal.as_view(), name="withdraw_run"),
    path("runs/<int:run_id>/move/", RunMove.as_view(), name="move_run"),
    path("runs/<int:run_id>/disqualify/", RunDisqualification.as_view(), name="disqualify_run"),
    path("runs/<int:run_id>/reinstate/", RunReinstatement.as_view(), name="reinstate_run"),
]
