"""Qrels for programs: versions, their files, and freezing."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from assessment.machines.selectors import machines
from assessment.planning.selectors import pools_to_plan
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Qrels
from scoring.qrels import exports, selectors, services
from tracks.models import Track
from tracks.tracks.api import track_of
from web.api.files import TsvRenderer
from web.api.permissions import Everyone, Organizer
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, ListView, created


class QrelsSerializer(serializers.ModelSerializer[Qrels]):
    """A version of a track's qrels. Its entries never change."""

    url = serializers.SerializerMethodField(help_text="The address of this version in the API.")
    track = serializers.CharField(source="track.slug")
    source = serializers.CharField(help_text="frozen or imported.")  # type: ignore[assignment]
    machine = serializers.CharField(
        source="machine_name", help_text="The machine whose judgments these are; empty for those of people."
    )
    sha256 = serializers.CharField(help_text="Of the TSV file.")

    class Meta:
        model = Qrels
        fields = [
            "id",
            "url",
            "track",
            "version",
            "name",
            "source",
            "machine",
            "sha256",
            "n_topics",
            "n_judged",
            "created_at",
        ]

    def get_url(self, qrels: Qrels) -> str:
        return reverse("api:qrels", args=[qrels.pk])


class TopicCountsSerializer(serializers.Serializer[selectors.TopicCounts]):
    """How many units of a topic have each grade, in the order of `grades`."""

    topic = serializers.CharField()
    n = serializers.IntegerField()
    counts = serializers.ListField(child=serializers.IntegerField())


class QrelsDetailSerializer(serializers.Serializer[selectors.QrelsPage]):
    """A version with its grades by topic, and the report on how it was made."""

    qrels = QrelsSerializer()
    grades = serializers.SerializerMethodField(help_text="The grades, highest first.")
    topics = TopicCountsSerializer(source="rows", many=True)
    report = serializers.DictField(help_text="What was left out and why; for organizers, also the inputs.")

    def get_grades(self, page: selectors.QrelsPage) -> list[int]:
        return [grade for grade, _ in page.grades]


class ChosenSerializer(Strict):
    """Which judgments become qrels."""

    pool = serializers.IntegerField(min_value=1, help_text="The id of a pool that is ready.")
    also = serializers.MultipleChoiceField(
        choices=["dual", "training"],
        required=False,
        default=set(),
        help_text="Kinds of batches that count for units without main judgment and adjudication.",
    )
    machine = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        help_text="The id of a machine; null: people.",
    )


class FreezeSerializer(ChosenSerializer):
    """A version to freeze."""

    name = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")
    digest = serializers.CharField(
        max_length=64,
        required=False,
        allow_blank=True,
        default="",
        help_text="Of the preview that you read: refuses to freeze something else.",
    )


class PreviewSerializer(serializers.Serializer[Any]):
    """What a version would contain if it were frozen now."""

    digest = serializers.CharField()
    n_judged = serializers.IntegerField()
    n_topics = serializers.IntegerField()
    report = serializers.DictField(help_text="Dropped topics, unjudged units, non-answers.")
    same = serializers.IntegerField(
        source="same.pk",
        default=None,
        allow_null=True,
        help_text="A version that has the same entries already.",
    )


class QrelsList(ListView):
    tag = "Qrels"
    permission_classes = [Everyone]
    serializer_class = QrelsSerializer
    ordering = ("-version",)

    @operation("list_qrels", responses=QrelsSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the versions of a track's qrels, newest first.

        Organizers see all that are not archived, others those of a leaderboard that they may see.
        """
        user = user_of(request)
        track = track_of(request, slug)
        return self.listed(selectors.qrels_of(user, track), QrelsSerializer)


class QrelsDetail(ApiView):
    tag = "Qrels"
    permission_classes = [Everyone]
    serializer_class = QrelsDetailSerializer

    @operation("get_qrels")
    def get(self, request: Request, qrels_id: int) -> Response:
        """Read a version: its grades by topic, and how it was made."""
        user = user_of(request)
        version = get_object_or_404(selectors.qrels_for(user), pk=qrels_id)
        return Response(QrelsDetailSerializer(selectors.qrels_page(user, version)).data)


class QrelsFile(ApiView):
    tag = "Qrels"
    permission_classes = [Everyone]
    renderer_classes = [TsvRenderer, JSONRenderer]

    @operation("download_qrels", responses={(200, "text/tab-separated-values"): OpenApiTypes.STR})
    def get(self, request: Request, qrels_id: int) -> Response:
        """Download a version: topic, 0, docno and grade per line. Always the same bytes."""
        version = get_object_or_404(selectors.qrels_for(user_of(request)), pk=qrels_id)
        name = f"{exports.file_stem(version)}.tsv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        content = selectors.qrels_tsv(version)
        return Response(content, headers=headers, content_type=TsvRenderer.media_type)


def _chosen(track: Track, data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the freezing, with the pool and the machine that the ids name."""
    pool = get_object_or_404(pools_to_plan().filter(track=track), pk=data["pool"])
    of_track = machines().filter(assessor__track=track)
    machine = get_object_or_404(of_track, pk=data["machine"]) if data["machine"] else None
    return {"pool": pool, "also": sorted(data["also"]), "machine": machine}


class Preview(ApiView):
    tag = "Qrels"
    permission_classes = [Organizer]
    serializer_class = ChosenSerializer

    @operation("preview_qrels", responses=PreviewSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Show what freezing would store now, and store nothing."""
        track = track_of(request, slug)
        preview = selectors.freeze_preview(track, **_chosen(track, self.validated(request)))
        return Response(PreviewSerializer(preview).data)


class Freeze(ApiView):
    tag = "Qrels"
    permission_classes = [Organizer]
    serializer_class = FreezeSerializer

    @operation("freeze_qrels", responses={201: QrelsSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Freeze judgments into a version. If the track has a leaderboard, scoring against the version starts."""
        user = person_of(request)
        track = track_of(request, slug)
        data = self.validated(request)
        named = {"name": data["name"], "digest": data["digest"]}
        version = services.freeze_judgments(by=user, **_chosen(track, data), **named)
        leaderboard_services.rescore(qrels=version, by=user)
        shown = QrelsSerializer(version).data
        return created(shown, shown["url"])


urlpatterns = [
    path("tracks/<slug:slug>/qrels/", QrelsList.as_view(), name="qrels_of_track"),
    path("tracks/<slug:slug>/qrels/preview/", Preview.as_view(), name="preview_qrels"),
    path("tracks/<slug:slug>/qrels/freeze/", Freeze.as_view(), name="freeze_qrels"),
    path("qrels/<int:qrels_id>/", QrelsDetail.as_view(), name="qrels"),
    path("qrels/<int:qrels_id>/file/", QrelsFile.as_view(), name="qrels_file"),
]
