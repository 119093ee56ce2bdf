"""Leaderboards for programs: score, read and release."""

from base64 import b64encode
from hashlib import sha256
from typing import Any, cast

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from pooling.runs.api import BY_ANSWER, BY_NAME, checked_answers
from pooling.runs.names import Names, names_for
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import classes, files, groups, schedules, selectors, services
from scoring.leaderboards.interaction import board_and_rules, interaction_file
from scoring.leaderboards.rows import BoardRow, Cell
from scoring.models import Evaluation, Leaderboard, ScheduledRelease
from scoring.qrels.selectors import qrels_for
from scoring.selectors import board_or_404, leaderboards_for
from tracks.tracks.api import track_of
from web import times
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Everyone, Organizer
from web.api.serializers import Address, Strict, check_zone, instant
from web.api.views import Endpoints, TsvRenderer, accepted, delete, get, get_file, post, put
from web.downloads import download, for_visitors

MAX_SEED = 2**63 - 1
OF_FAMILY = "Whether it declares a model of the family of the machine whose grades score it."


class LeaderboardSerializer(serializers.ModelSerializer[Leaderboard]):
    """The runs of a track scored against a version of its qrels."""

    url = Address("api:leaderboard", help_text="The address of this leaderboard in the API.")
    track = serializers.CharField(source="track.slug")
    qrels = serializers.IntegerField(source="qrels_id")
    version = serializers.IntegerField(source="qrels.version")
    machine = serializers.CharField(
        source="qrels.machine_name",
        help_text="The machine whose grades score the runs; empty for those of people.",
    )
    status = serializers.CharField(help_text="scoring, ready or failed.")
    released_to = serializers.CharField(
        source="release", help_text="Who sees it: hidden (organizers only), participants or public."
    )
    measures = serializers.ListField(child=serializers.CharField())
    average = serializers.CharField(help_text="Over which topics means are taken: judged or common.")

    class Meta:
        model = Leaderboard
        fields = [
            "id", "url", "track", "qrels", "version", "machine", "status", "released_to", "released_at", "measures",
            "average", "seed", "created_at",
        ]  # fmt: skip


CellSerializer = answer(
    Cell,
    "Cell",
    "value text low high tier",
    text="As trec_eval prints it.",
    low="Of the 95 % interval; empty if there is none.",
)


RowSerializer = answer(
    BoardRow,
    "Row",
    "evaluation=evaluation.id run=run.id team=run.team.name tag=run.tag kind=run.kind sha256=evaluation.run_sha256 "
    "n_topics=evaluation.n_topics n_missing=evaluation.n_missing is_of_judge_family answers=public_answers "
    "scores=cells",
    "A run on a leaderboard.",
    sha256="Of the file that was scored.",
    is_of_judge_family=OF_FAMILY,
    answers="The answers to the public questions of the protocol about runs, by key.",
    scores="In the order of the measures.",
)


class LeaderboardDetailSerializer(LeaderboardSerializer):
    """A leaderboard with its runs, by team and tag."""

    intervals = serializers.CharField(
        source="interval_note",
        help_text="How the intervals were computed, and how often they contain the mean; empty without intervals.",
    )
    agreement = serializers.DictField(
        source="qrels.agreement",
        allow_null=True,
        help_text="Of the people whose judgments were frozen: assessors, units, measure, alpha, interval. Or null.",
    )
    runs = serializers.SerializerMethodField(help_text="None until it is ready.")

    class Meta(LeaderboardSerializer.Meta):
        fields = [*LeaderboardSerializer.Meta.fields, "intervals", "agreement", "runs"]

    @extend_schema_field(RowSerializer(many=True))
    def get_runs(self, board: Leaderboard) -> Any:
        rows: Any = selectors.board_rows(self.context["user"], board)
        rows = [row for row in rows if self.context["chosen"].accept(row.run.answers)]
        return RowSerializer(rows, many=True).data


class ReleaseSerializer(Strict):
    """The people who may see a leaderboard."""

    released_to = serializers.ChoiceField(Leaderboard.Release.values, source="level")
    reason = serializers.CharField(
        max_length=500,
        required=False,
        allow_blank=True,
        default="",
        help_text="Needed if a check of the release fails, such as an open batch. The audit log keeps it.",
    )


class ScheduleSerializer(ReleaseSerializer):
    """A release at a set time. The checks run at that time."""

    release_at = serializers.CharField(
        max_length=40, help_text="As `2026-05-01T23:59` in the zone, or with an offset."
    )
    zone = serializers.CharField(
        max_length=64,
        default=times.AOE,
        validators=[check_zone],
        help_text="AoE, UTC, or a name of the IANA database.",
    )


ScheduledReleaseSerializer = answer(
    ScheduledRelease,
    "ScheduledRelease",
    "released_to release_at zone reason problem",
    "The release of a leaderboard at a set time.",
    released_to=serializers.CharField(source="level", help_text="participants or public."),
    problem="Why it was refused at that time; empty otherwise.",
)


class EvaluationSerializer(serializers.Serializer[Evaluation]):
    """A run on a leaderboard, with the value of each measure for each topic."""

    id = serializers.IntegerField(source="pk")
    leaderboard = serializers.IntegerField(source="leaderboard_id")
    run = serializers.IntegerField(source="run_id")
    team = serializers.CharField(source="run.team.name")
    tag = serializers.CharField(source="run.tag")
    is_of_judge_family = serializers.BooleanField(help_text=OF_FAMILY)
    n_topics = serializers.IntegerField(help_text="Topics in the means.")
    n_missing = serializers.IntegerField(help_text="Topics of the qrels that are missing from the run.")
    topics = serializers.SerializerMethodField(
        help_text="Topic, or `all` for the means, to measure to value."
    )

    def to_representation(self, evaluation: Evaluation) -> dict[str, Any]:
        known, track = cast("dict[str, Names]", self.context), evaluation.leaderboard.track
        if "names" not in known:  # of the first of its rows, which are all of one track
            known["names"] = names_for(user_of(self.context["request"]), track)
        evaluation.run = known["names"].run(evaluation.run)
        return super().to_representation(evaluation)

    def get_topics(self, evaluation: Evaluation) -> dict[str, dict[str, float]]:
        return evaluation_selectors.values_by_topic(evaluation)


class ScoringSerializer(Strict):
    """The options of scoring."""

    seed = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=MAX_SEED,
        help_text="Of intervals and tests: the same seed gives the same leaderboard. Without it: a random one.",
    )


SCHEDULED_RELEASE = ("leaderboards/<int:board_id>/scheduled-release/", "scheduled_release")


class Leaderboards(Endpoints):
    tag = "Leaderboards"
    permission_classes = [Everyone]

    @get(
        "tracks/<slug:slug>/leaderboards/",
        "leaderboards",
        LeaderboardSerializer,
        ordering=("-pk",),
        filters=[
            Filter("status", values=Leaderboard.Status.values),
            Filter("released_to", "release", values=Leaderboard.Release.values),
            Filter("qrels", "qrels_id", kind="whole number"),
        ],
        orders=["created_at"],
    )
    def list_leaderboards(self, request: Request, slug: str) -> object:
        """List the leaderboards of a track that you may see, newest first."""
        user = user_of(request)
        track = track_of(request, slug)
        return leaderboards_for(user).filter(track=track)

    @get("leaderboards/<int:board_id>/", "leaderboard", LeaderboardDetailSerializer, parameters=[BY_ANSWER])
    def get_leaderboard(self, request: Request, board_id: int) -> object:
        """Read a leaderboard with the means of all its runs."""
        user = user_of(request)
        board = board_or_404(user, board_id)
        questions = selectors.public_of(board)
        context = {"user": user, "chosen": checked_answers(questions, request)}
        return Response(LeaderboardDetailSerializer(board, context=context).data)

    @get(
        "leaderboards/<int:board_id>/file/",
        "leaderboard_file",
        {(200, "text/tab-separated-values"): OpenApiTypes.STR},
        renderers=[TsvRenderer, JSONRenderer],
    )
    def download_leaderboard(self, request: Request, board_id: int) -> object:
        """Download a leaderboard as the file of its page. `Repr-Digest` (RFC 9530) has its SHA-256."""
        user = user_of(request)
        board = board_or_404(user, board_id)
        content = files.kept_file(user, board, "tsv").encode()
        headers = {
            "Content-Disposition": f'attachment; filename="{board.file_stem}.tsv"',
            "Repr-Digest": f"sha-256=:{b64encode(sha256(content).digest()).decode()}:",
        }
        return for_visitors(request, Response(content, headers=headers, content_type=TsvRenderer.media_type))

    @get_file("leaderboards/<int:board_id>/groups/", "leaderboard_groups", "text/csv")
    def download_groups(self, request: Request, board_id: int) -> object:
        """Download the means by group of assessors as CSV. 404 if the qrels have no groups that you may see."""
        user = user_of(request)
        board = board_or_404(user, board_id)
        content = groups.groups_file(user, board)
        return for_visitors(request, download(content, f"{board.file_stem}-groups.csv"))

    @get_file("leaderboards/<int:board_id>/classes/", "leaderboard_classes", "text/csv")
    def download_classes(self, request: Request, board_id: int) -> object:
        """Download the means by topic class as CSV: before the public release, of your own runs only."""
        user = user_of(request)
        board = board_or_404(user, board_id)
        content = classes.classes_file(user, board)
        return for_visitors(request, download(content, f"{board.file_stem}-classes.csv"))

    @get_file(
        "leaderboards/<int:board_id>/interaction/", "leaderboard_interaction", "text/tab-separated-values"
    )
    def download_interaction(self, request: Request, board_id: int) -> object:
        """Download how sessions changed the runs of each team, as TSV. 404 if the track has no interaction."""
        user = user_of(request)
        board, rules = board_and_rules(user, board_id)
        return for_visitors(
            request, download(interaction_file(user, board, rules), f"{board.track.slug}-interaction.tsv")
        )

    @get(
        "leaderboards/<int:board_id>/evaluations/",
        "evaluations",
        EvaluationSerializer,
        ordering=("pk",),
        parameters=BY_NAME,
        filters=[Filter("run", "run_id", kind="whole number")],
    )
    def list_evaluations(self, request: Request, board_id: int) -> object:
        """List the values by topic of each run of a leaderboard: before its public release, of your own runs only."""
        user = user_of(request)
        board = board_or_404(user, board_id)
        evaluations = evaluation_selectors.evaluations_for(user).filter(leaderboard=board)
        return names_for(user, board.track).filtered(evaluations, request.query_params)

    @post(
        "leaderboards/<int:board_id>/release/",
        "release_leaderboard",
        LeaderboardSerializer,
        takes=ReleaseSerializer,
        who=[Organizer],
    )
    def release_leaderboard(self, request: Request, board_id: int) -> object:
        """Set who may see a leaderboard, its qrels and its scores. `hidden` withdraws a release."""
        user = person_of(request)
        board = board_or_404(user, board_id)
        services.release(leaderboard=board, by=user, **self.validated(request))
        return leaderboards_for(user).get(pk=board.pk)

    @get(*SCHEDULED_RELEASE, ScheduledReleaseSerializer, who=[Organizer])
    def get_scheduled_release(self, request: Request, board_id: int) -> object:
        """Read when a leaderboard is to be released. 404 if no time is set."""
        board = board_or_404(user_of(request), board_id)
        return get_object_or_404(ScheduledRelease, leaderboard=board)

    @put(*SCHEDULED_RELEASE, ScheduledReleaseSerializer, takes=ScheduleSerializer, who=[Organizer])
    def update_scheduled_release(self, request: Request, board_id: int) -> object:
        """Release a leaderboard at a set time, instead of a time that was set before."""
        user = person_of(request)
        board = board_or_404(user, board_id)
        data = self.validated(request)
        data["release_at"] = instant(data["release_at"], data["zone"], "release_at")
        return schedules.schedule(leaderboard=board, by=user, **data)

    @delete(*SCHEDULED_RELEASE, who=[Organizer])
    def delete_scheduled_release(self, request: Request, board_id: int) -> None:
        """Release a leaderboard at no set time."""
        user = person_of(request)
        schedules.cancel(leaderboard=board_or_404(user, board_id), by=user)

    @post(
        "qrels/<int:qrels_id>/score/",
        "score_runs",
        LeaderboardSerializer,
        takes=ScoringSerializer,
        status=202,
        who=[Organizer],
    )
    def score_runs(self, request: Request, qrels_id: int) -> object:
        """Score the runs of the track against a version of the qrels, and against those of its groups of assessors."""
        user = person_of(request)
        qrels = get_object_or_404(qrels_for(user), pk=qrels_id)
        board = services.request_with_parts(qrels=qrels, by=user, **self.validated(request))
        return accepted(LeaderboardSerializer(board).data, board.job_id)

    @get("evaluations/<int:evaluation_id>/", "evaluation", EvaluationSerializer)
    def get_evaluation(self, request: Request, evaluation_id: int) -> object:
        """Read the values of a run by topic."""
        evaluations = evaluation_selectors.evaluations_for(user_of(request))
        return get_object_or_404(evaluations, pk=evaluation_id)


urlpatterns = Leaderboards.urls()
