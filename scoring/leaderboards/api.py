"""Leaderboards for programs: score, read and release."""

from base64 import b64encode
from hashlib import sha256
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import files, selectors, services
from scoring.leaderboards.selectors import BoardRow, Cell
from scoring.models import Evaluation, Leaderboard
from scoring.qrels.selectors import qrels_for
from tracks.tracks.api import track_of
from web.api.files import TsvRenderer
from web.api.permissions import Everyone, Organizer
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, ListView, accepted

MAX_SEED = 2**63 - 1


class LeaderboardSerializer(serializers.ModelSerializer[Leaderboard]):
    """The runs of a track scored against a version of its qrels."""

    url = serializers.SerializerMethodField(help_text="The address of this leaderboard in the API.")
    track = serializers.CharField(source="track.slug")
    qrels = serializers.IntegerField(source="qrels_id")
    version = serializers.IntegerField(source="qrels.version")
    machine = serializers.CharField(
        source="qrels.machine_name",
        help_text="The machine whose grades score the runs; empty for those of people.",
    )
    status = serializers.CharField(help_text="scoring, ready or failed.")
    release = serializers.CharField(
        help_text="Who sees it: hidden (organizers only), participants or public."
    )
    measures = serializers.ListField(child=serializers.CharField())
    average = serializers.CharField(help_text="Over which topics means are taken: judged or common.")

    class Meta:
        model = Leaderboard
        fields = [
            "id",
            "url",
            "track",
            "qrels",
            "version",
            "machine",
            "status",
            "release",
            "released_at",
            "measures",
            "average",
            "seed",
            "created_at",
        ]

    def get_url(self, board: Leaderboard) -> str:
        return reverse("api:leaderboard", args=[board.pk])


class CellSerializer(serializers.Serializer[Cell]):
    """The mean of a measure. Runs that share a letter of `tier` do not differ significantly."""

    value = serializers.FloatField()
    text = serializers.CharField(help_text="As trec_eval prints it.")
    low = serializers.CharField(help_text="Of the 95 % interval; empty if there is none.")
    high = serializers.CharField()
    tier = serializers.CharField()


class RowSerializer(serializers.Serializer[BoardRow]):
    """A run on a leaderboard."""

    evaluation = serializers.IntegerField(source="evaluation.pk")
    run = serializers.IntegerField(source="run.pk")
    team = serializers.CharField(source="run.team.name")
    tag = serializers.CharField(source="run.tag")
    kind = serializers.CharField(source="run.kind")
    sha256 = serializers.CharField(source="evaluation.run_sha256", help_text="Of the file that was scored.")
    n_topics = serializers.IntegerField(source="evaluation.n_topics")
    n_missing = serializers.IntegerField(source="evaluation.n_missing")
    scores = CellSerializer(source="cells", many=True, help_text="In the order of the measures.")


class LeaderboardDetailSerializer(LeaderboardSerializer):
    """A leaderboard with its runs, by team and tag."""

    runs = serializers.SerializerMethodField(help_text="None until it is ready.")

    class Meta(LeaderboardSerializer.Meta):
        fields = [*LeaderboardSerializer.Meta.fields, "runs"]

    @extend_schema_field(RowSerializer(many=True))
    def get_runs(self, board: Leaderboard) -> Any:
        rows: Any = selectors.board_rows(self.context["user"], board)
        return RowSerializer(rows, many=True).data


class ReleaseSerializer(Strict):
    """Who may see a leaderboard."""

    level = serializers.ChoiceField(Leaderboard.Release.values)
    reason = serializers.CharField(
        max_length=500,
        required=False,
        allow_blank=True,
        default="",
        help_text="Needed if something speaks against the release, such as an open batch. The audit log keeps it.",
    )


class EvaluationSerializer(serializers.Serializer[Evaluation]):
    """A run on a leaderboard, with the value of each measure for each topic."""

    id = serializers.IntegerField(source="pk")
    leaderboard = serializers.IntegerField(source="leaderboard_id")
    run = serializers.IntegerField(source="run_id")
    team = serializers.CharField(source="run.team.name")
    tag = serializers.CharField(source="run.tag")
    n_topics = serializers.IntegerField(help_text="Topics in the means.")
    n_missing = serializers.IntegerField(help_text="Topics of the qrels that are missing from the run.")
    topics = serializers.SerializerMethodField(
        help_text="Topic, or `all` for the means, to measure to value."
    )

    def get_topics(self, evaluation: Evaluation) -> dict[str, dict[str, float]]:
        return evaluation_selectors.values_by_topic(evaluation)


class LeaderboardList(ListView):
    tag = "Leaderboards"
    permission_classes = [Everyone]
    serializer_class = LeaderboardSerializer
    ordering = ("-pk",)

    @operation("list_leaderboards", responses=LeaderboardSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the leaderboards of a track that you may see, newest first."""
        user = user_of(request)
        track = track_of(request, slug)
        return self.listed(selectors.leaderboards_for(user).filter(track=track), LeaderboardSerializer)


class LeaderboardDetail(ApiView):
    tag = "Leaderboards"
    permission_classes = [Everyone]
    serializer_class = LeaderboardDetailSerializer

    @operation("get_leaderboard")
    def get(self, request: Request, board_id: int) -> Response:
        """Read a leaderboard with the means of all its runs."""
        user = user_of(request)
        board = get_object_or_404(selectors.leaderboards_for(user), pk=board_id)
        return Response(LeaderboardDetailSerializer(board, context={"user": user}).data)


class LeaderboardFile(ApiView):
    tag = "Leaderboards"
    permission_classes = [Everyone]
    renderer_classes = [TsvRenderer, JSONRenderer]

    @operation("download_leaderboard", responses={(200, "text/tab-separated-values"): OpenApiTypes.STR})
    def get(self, request: Request, board_id: int) -> Response:
        """Download a leaderboard as the file of its page. `Repr-Digest` (RFC 9530) has its SHA-256."""
        user = user_of(request)
        board = get_object_or_404(selectors.leaderboards_for(user), pk=board_id)
        content = files.leaderboard_file(user, board, "tsv").encode()
        headers = {
            "Content-Disposition": f'attachment; filename="{board.track.slug}-leaderboard-{board.pk}.tsv"',
            "Repr-Digest": f"sha-256=:{b64encode(sha256(content).digest()).decode()}:",
        }
        return Response(content, headers=headers, content_type=TsvRenderer.media_type)


class ScoringSerializer(Strict):
    """How the runs are scored."""

    seed = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=MAX_SEED,
        help_text="Of intervals and tests: the same seed gives the same leaderboard. Without it: a random one.",
    )


class Scoring(ApiView):
    tag = "Leaderboards"
    permission_classes = [Organizer]
    serializer_class = ScoringSerializer

    @operation("score_runs", responses={202: LeaderboardSerializer})
    def post(self, request: Request, qrels_id: int) -> Response:
        """Score the runs of the track against a version of the qrels, and against those of its groups of assessors."""
        user = person_of(request)
        qrels = get_object_or_404(qrels_for(user), pk=qrels_id)
        board = services.request_with_groups(qrels=qrels, by=user, **self.validated(request))
        return accepted(LeaderboardSerializer(board).data, board.job_id)


class Release(ApiView):
    tag = "Leaderboards"
    permission_classes = [Organizer]
    serializer_class = ReleaseSerializer

    @operation("release_leaderboard", responses=LeaderboardSerializer)
    def post(self, request: Request, board_id: int) -> Response:
        """Set who may see a leaderboard, its qrels and its scores. `hidden` withdraws a release."""
        user = person_of(request)
        board = get_object_or_404(selectors.leaderboards_for(user), pk=board_id)
        services.release(leaderboard=board, by=user, **self.validated(request))
        return Response(LeaderboardSerializer(selectors.leaderboards_for(user).get(pk=board.pk)).data)


class EvaluationList(ListView):
    tag = "Leaderboards"
    permission_classes = [Everyone]
    serializer_class = EvaluationSerializer
    ordering = ("pk",)

    @operation("list_evaluations", responses=EvaluationSerializer(many=True))
    def get(self, request: Request, board_id: int) -> Response:
        """List the values by topic of each run of a leaderboard: before its public release, of your own runs only."""
        user = user_of(request)
        board = get_object_or_404(selectors.leaderboards_for(user), pk=board_id)
        rows = evaluation_selectors.evaluations_for(user).filter(leaderboard=board)
        return self.listed(rows, EvaluationSerializer)


class EvaluationDetail(ApiView):
    tag = "Leaderboards"
    permission_classes = [Everyone]
    serializer_class = EvaluationSerializer

    @operation("get_evaluation")
    def get(self, request: Request, evaluation_id: int) -> Response:
        """Read the values of a run by topic."""
        evaluations = evaluation_selectors.evaluations_for(user_of(request))
        return Response(EvaluationSerializer(get_object_or_404(evaluations, pk=evaluation_id)).data)


urlpatterns = [
    path("tracks/<slug:slug>/leaderboards/", LeaderboardList.as_view(), name="leaderboards"),
    path("leaderboards/<int:board_id>/", LeaderboardDetail.as_view(), name="leaderboard"),
    path("leaderboards/<int:board_id>/file/", LeaderboardFile.as_view(), name="leaderboard_file"),
    path("leaderboards/<int:board_id>/evaluations/", EvaluationList.as_view(), name="evaluations"),
    path("leaderboards/<int:board_id>/release/", Release.as_view(), name="release_leaderboard"),
    path("qrels/<int:qrels_id>/score/", Scoring.as_view(), name="score_runs"),
    path("evaluations/<int:evaluation_id>/", EvaluationDetail.as_view(), name="evaluation"),
]
