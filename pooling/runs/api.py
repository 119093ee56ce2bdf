"""Runs for programs: check, submit, read, describe, withdraw."""

import json
from collections.abc import Sequence
from dataclasses import Field, fields
from io import BytesIO
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.formats.declaration import STATEMENTS, Declaration, RunFacts
from assay.formats.reports import Complaint, Line, Report
from assay.protocols.schema import RunQuestion
from participation.models import Team
from participation.teams import selectors as team_selectors
from pooling.errors import RunRefused
from pooling.models import Run
from pooling.runs import changes, selectors, services
from pooling.runs.answers import ChosenAnswers, chosen_answers, unknown_answers
from pooling.runs.views import file_of
from tracks.models import Track
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.parsers import FileParser
from web.api.permissions import Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, created, get, get_file, parameter, patch, post
from web.forms import bytes_of
from web.models import Scope
from web.times import arrived_at

READ = (Scope.READ, Scope.RUNS)
WRITE = (Scope.RUNS,)


BY_ANSWER = OpenApiParameter(
    "answer",
    OpenApiTypes.STR,
    many=True,
    description="Only runs with this answer, as `question:choice`: of questions with choices, and yes or no.",
)


BY_NAME = [
    Filter(name).parameter for name in ("team", "tag")
]  # as the reader reads them: see `Names.filtered`


def checked_answers(questions: Sequence[RunQuestion], request: Request) -> ChosenAnswers:
    """The answers by which a request filters runs.

    Raises ValidationError.
    """
    if problem := unknown_answers(questions, request._request.GET):
        raise serializers.ValidationError({"answer": problem})
    return chosen_answers(questions, request._request.GET)


SOURCES = {"team": "team.name", "uses": "stated_use"}  # of the facts that a run has elsewhere
FACTS = " ".join(f"{fact.name}={SOURCES.get(fact.name, fact.name)}" for fact in fields(RunFacts))
RUN = f"id url track=track.slug {FACTS} phase=phase.key submitted_by=submitted_by.username"
MEANINGS = {
    "url": Address("api:run", help_text="The address of this run in the API."),
    "phase": "The phase of its kind; empty if the protocol has none.",
    "uses": "One of the `uses` of the track; empty if it has none.",
    "answers": serializers.DictField(
        read_only=True, help_text="The answers to the questions of the protocol about runs, by key."
    ),
}
RunSerializer = answer(Run, "Run", RUN, "A submitted run.", **MEANINGS)
PooledSerializer = answer(selectors.PooledTo, "Pooled", "pool depth", depth="Null: every rank.")


class ChangeSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    text = serializers.CharField(help_text="The reason, or the earlier description.")
    created_at = serializers.DateTimeField(source="at")
    created_by = serializers.CharField(source="by.username")


RunDetailSerializer = answer(
    Run,
    "RunDetail",
    f"{RUN} is_accepting_runs pools pool_note changes",
    "A run with its pools and what happened to it.",
    **MEANINGS,
    is_accepting_runs=serializers.BooleanField(
        help_text="Whether runs of its kind can be submitted and withdrawn now."
    ),
    pools=PooledSerializer(many=True),
    pool_note=serializers.CharField(
        help_text="Why the run is in no pool although one was built, as a sentence; empty otherwise."
    ),
    changes=ChangeSerializer(many=True, help_text="What happened after the submission, oldest first."),
)
LineSerializer = answer(Line, "Line", "number text note")
ComplaintSerializer = answer(
    Complaint,
    "Complaint",
    "code severity message accepted n lines is_repairable",
    accepted="What is accepted instead.",
    lines="The first of these lines.",
)
ReportSerializer = answer(
    Report,
    "Report",
    "is_acceptable file_name n_bytes sha256 format tag kind n_lines n_topics topic_lines seconds metadata errors "
    "warnings",
    format="The run format that was detected.",
    tag="The tag in the file.",
    kind="The kind of run that the file declares; empty in most formats.",
    topic_lines="Lines of each topic.",
    seconds="Of each topic, if the protocol asks for them.",
    metadata="What the file says about itself: a header of ir_metadata, by path, or attributes of XML.",
)


REPLACES = "The tag of a submitted run of the team. It is withdrawn when this one is stored."


class RunSubmissionSerializer(Strict):
    """A run and what its team declares about it."""

    file = serializers.FileField(
        help_text="The run, plain or compressed with gz, xz, bz2 or zip (of one file)."
    )
    team = serializers.CharField(
        required=False, help_text="The name of the team. Without it: your only team of the track."
    )
    seconds = serializers.FileField(
        required=False, help_text="A file with one line for each topic: the topic and its seconds."
    )
    metadata = serializers.FileField(
        required=False,
        help_text="A file of ir_metadata. Its models and answers count where the fields are empty; the rest is kept.",
    )
    replaces = serializers.CharField(required=False, default="", help_text=REPLACES)

    def get_fields(self) -> dict[str, Any]:
        """The files and the team, and what `Declaration` asks for."""
        return super().get_fields() | {field.name: _declared(field) for field in fields(Declaration)}


def _declared(field: "Field[Any]") -> "serializers.Field[Any, Any, Any, Any]":
    statement = STATEMENTS[field.name]
    options: dict[str, Any] = {"help_text": statement.help}
    if field.name != "kind":
        options |= {"required": False, "default": field.default}
    if field.type is bool:
        return serializers.BooleanField(**options)
    if statement.may_be_blank:
        options |= {"allow_blank": True, "max_length": statement.limit}
    return serializers.CharField(**options)


DECLARED = ("team", "replaces", *STATEMENTS)
AS_PARAMETERS = [
    OpenApiParameter(name, OpenApiTypes.STR, description="If the body is the file itself: see the field.")
    for name in DECLARED
]
BODIES = {"multipart/form-data": RunSubmissionSerializer, "application/octet-stream": OpenApiTypes.BINARY}
HEADER = parameter(
    "header",
    "`ir_metadata`: with what is stated about the run as comments before its lines. `alone`: only that, as YAML.",
    values=["ir_metadata", "alone"],
)
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


def _team(teams: list[Team], name: str | None) -> Team:
    matching = [team for team in teams if name is None or team.name.lower() == name.strip().lower()]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(team.name for team in teams[:20])
    message = (
        f"You submit for several teams: name one of {names}." if name is None else f"Name one of {names}."
    )
    raise serializers.ValidationError({"team": message})


def _submitted(run: Run) -> Response:
    return created(RunSerializer(run).data, reverse("api:run", args=[run.pk]))


def _detail(request: Request, run: Run) -> Any:
    page = selectors.run_page(person_of(request), run)
    data = RunSerializer(run).data
    more = {
        "is_accepting_runs": page.is_accepting_runs,
        "pools": PooledSerializer(page.pooled, many=True).data,
        "pool_note": page.pool_note,
        "changes": ChangeSerializer(page.changes, many=True).data,
    }
    return data | more


class RunChangeSerializer(Strict):
    """The fields of a run that a team may change. What is missing stays."""

    description = serializers.CharField(required=False, allow_blank=True, max_length=10_000)
    models_used = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=STATEMENTS["models_used"].limit,
        help_text=STATEMENTS["models_used"].help,
    )
    metadata = serializers.CharField(
        required=False,
        max_length=100_000,
        trim_whitespace=False,
        help_text="The text of a file of ir_metadata. Its models replace those of the run, unless `models_used` has "
        "others.",
    )
    answers = serializers.DictField(
        required=False,
        help_text="The answers to the questions of the protocol about runs; if missing, they stay.",
    )


class MoveSerializer(Strict):
    to = serializers.ChoiceField(["up", "down"], help_text="Up: pooled earlier.")


class ReasonSerializer(Strict):
    reason = serializers.CharField(max_length=2_000, help_text="The team sees it.")


class WithdrawalSerializer(Strict):
    reason = serializers.CharField(
        max_length=2_000,
        required=False,
        default="",
        help_text="After the deadline: why the team withdraws it. The team sees it.",
    )


OwedRunsSerializer = answer(
    selectors.OwedRuns,
    "OwedRuns",
    "kind name n",
    kind="As in submissions of runs.",
    n="The number of runs that are missing.",
)


OwingSerializer = answer(
    selectors.Owing,
    "Owing",
    "team=team.name missing=runs documents",
    "A team that lacks runs or documents.",
    documents="The titles of missing documents.",
)


RUNS_ADDRESS = ("tracks/<slug:slug>/runs/", "runs", RunSerializer)


class Runs(Endpoints):
    tag = "Runs"
    read_scopes = READ
    write_scopes = WRITE

    def submission(self, request: Request, slug: str) -> dict[str, Any]:
        """The arguments of the services that check and submit."""
        user, track = person_of(request), _track(request, slug)
        teams = team_selectors.teams_of(user, track)
        if not teams:
            raise PermissionDenied("You are in no team of this track.")
        sent: Any = request.data
        fields_and_files = {name: sent[name] for name in sent}
        serializer = self.get_serializer(data={**request.query_params.dict(), **fields_and_files})
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        file, seconds, metadata = data.pop("file"), data.pop("seconds", None), data.pop("metadata", None)
        team, replaces = _team(list(teams), data.pop("team", None)), data.pop("replaces")
        return {
            "track": track,
            "team": team,
            "by": user,
            "file": bytes_of(file),
            "file_name": file.name or "run",
            "declared": Declaration(**data),
            "replaces": replaces,
            "seconds": bytes_of(seconds) if seconds else None,
            "metadata": bytes_of(metadata) if metadata else None,
            "arrived_at": arrived_at(request._request),
        }

    def run(self, request: Request, run_id: int) -> Run:
        return selectors.run_or_404(person_of(request), run_id)

    @get(
        *RUNS_ADDRESS,
        ordering=("pk",),
        filters=[
            Filter("team", "team__name"),
            Filter("kind"),
            Filter("tag"),
            Filter("status", values=Run.Status.values),
            Filter("is_late", kind="true or false"),
            Filter("is_manual", kind="true or false"),
        ],
        orders=["submitted_at", "tag"],
        searches=("tag", "team__name", "description"),
        parameters=[BY_ANSWER],
    )
    def list_runs(self, request: Request, slug: str) -> object:
        """List the runs of a track, oldest first.

        Organizers see the runs of all teams, others those of their own teams.
        """
        track = _track(request, slug)
        chosen = checked_answers(track.protocol.parsed.runs.questions, request)
        runs = selectors.runs_of(person_of(request), track).select_related("track__protocol")
        return selectors.with_answers(runs, chosen)

    @post(
        *RUNS_ADDRESS,
        takes=RunSubmissionSerializer,
        status=201,
        parameters=AS_PARAMETERS,
        examples=[REFUSED],
        request=BODIES,
        parsers=[MultiPartParser, FileParser],
        stores_files=True,
    )
    def submit_run(self, request: Request, slug: str) -> object:
        """Submit a run.

        Send a form (`multipart/form-data`), or the file itself as the body (`application/octet-stream`) with the other
        fields as parameters of the address. A file with errors is refused with 422, and nothing is stored. `errors`
        then lists each distinct error with its first line, and what else is wrong, such as a taken tag.

        With `replaces`, an earlier run of the team is withdrawn in the same step, or nothing changes.
        """
        submission = self.submission(request, slug)
        return _submitted(
            services.submit(**submission, on_stored=lambda run: self.keep_answer(_submitted(run)))
        )

    @post(
        "tracks/<slug:slug>/runs/check/",
        "check_run",
        ReportSerializer,
        takes=RunSubmissionSerializer,
        parameters=AS_PARAMETERS,
        request=BODIES,
        parsers=[MultiPartParser, FileParser],
    )
    def check_run(self, request: Request, slug: str) -> object:
        """Check a run as if it were submitted, and store nothing.

        The answer has a report also if the file has errors: see `is_acceptable`. What else is wrong, such as a taken
        tag, is among these errors; if nothing else is, it is answered as for a submission.
        """
        try:
            report = services.check_submission(**self.submission(request, slug)).report
        except RunRefused as refusal:
            report = refusal.report
        return report

    @get("tracks/<slug:slug>/owed-runs/", "owed_runs", OwingSerializer(many=True), who=[Organizer])
    def list_owed_runs(self, request: Request, slug: str) -> object:
        """List the teams that lack runs or documents that the protocol asks of each team."""
        return selectors.owing_teams(_track(request, slug))

    @post("tracks/<slug:slug>/owed-runs/remind/", "remind_teams", OwingSerializer(many=True), who=[Organizer])
    def remind_teams(self, request: Request, slug: str) -> object:
        """Write to the members of the teams that lack something, if they want e-mails about runs; these teams."""
        return services.remind(track=_track(request, slug), by=person_of(request))

    @get("runs/<int:run_id>/", "run", RunDetailSerializer)
    def get_run(self, request: Request, run_id: int) -> object:
        """Read the state of a run: its pools, and what happened to it.

        Its team, and organizers.
        """
        return Response(_detail(request, self.run(request, run_id)))

    @patch("runs/<int:run_id>/", "run", RunDetailSerializer, takes=RunChangeSerializer)
    @transaction.atomic
    def update_run(self, request: Request, run_id: int) -> object:
        """Change the description, the models and the answers of a run.

        Its team until the deadline, and organizers. What was stated before is kept in `changes`.
        """
        track_services.lock(self.run(request, run_id).track_id)
        data = self.validated(request)
        run = self.run(request, run_id)
        require_match(request, _detail(request, run))
        answers = json.dumps(data.pop("answers")) if "answers" in data else None
        if "metadata" in data:
            data["metadata"] = BytesIO(data["metadata"].encode())
        changes.describe(run=run, by=person_of(request), answers=answers, **data)
        return Response(_detail(request, self.run(request, run_id)))

    @get("runs/<int:run_id>/report/", "run_report", ReportSerializer)
    def get_run_report(self, request: Request, run_id: int) -> object:
        """Read the report of the check of a run."""
        page = selectors.run_page(person_of(request), self.run(request, run_id))
        return page.report

    @get_file("runs/<int:run_id>/file/", "run_file", parameters=[HEADER])
    def download_run(self, request: Request, run_id: int) -> object:
        """Download a run as it was uploaded, or its lines below a header that says how it was made."""
        return file_of(request, self.run(request, run_id))

    @post("runs/<int:run_id>/withdraw/", "withdraw_run", RunSerializer, takes=WithdrawalSerializer)
    def withdraw_run(self, request: Request, run_id: int) -> object:
        """Withdraw a run.

        Its team, and organizers, until the deadline; afterwards organizers, with a reason. The run stays in the history
        of the team.
        """
        run, reason = self.run(request, run_id), self.validated(request)["reason"]
        if reason:
            changes.withdraw_for_team(run=run, reason=reason, by=person_of(request))
        else:
            services.withdraw(run=run, by=person_of(request))
        return self.run(request, run_id)

    @post("runs/<int:run_id>/move/", "move_run", RunSerializer, takes=MoveSerializer)
    def move_run(self, request: Request, run_id: int) -> object:
        """Move a run up or down in the order of its team.

        A pool with a limit of runs takes the first runs of each team.
        """
        run, data = self.run(request, run_id), self.validated(request)
        changes.move(run=run, is_up=data["to"] == "up", by=person_of(request))
        return self.run(request, run_id)

    @post(
        "runs/<int:run_id>/disqualify/",
        "disqualify_run",
        RunSerializer,
        takes=ReasonSerializer,
        who=[Organizer],
        write_scopes=(Scope.MANAGE,),
    )
    def disqualify_run(self, request: Request, run_id: int) -> object:
        """Leave a run out of new pools and leaderboards, after its deadline."""
        run, data = self.run(request, run_id), self.validated(request)
        changes.disqualify(run=run, by=person_of(request), **data)
        return self.run(request, run_id)

    @post(
        "runs/<int:run_id>/reinstate/",
        "reinstate_run",
        RunSerializer,
        takes=ReasonSerializer,
        who=[Organizer],
        write_scopes=(Scope.MANAGE,),
    )
    def reinstate_run(self, request: Request, run_id: int) -> object:
        """Reverse a disqualification."""
        run, data = self.run(request, run_id), self.validated(request)
        changes.reinstate(run=run, by=person_of(request), **data)
        return self.run(request, run_id)


urlpatterns = Runs.urls()
