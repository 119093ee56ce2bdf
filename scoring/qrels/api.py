"""Qrels for programs: versions, their files, and freezing."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.shortcuts import get_object_or_404
from django.utils.datastructures import MultiValueDict
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from accounts.visitors import file_of
from assay.formats.qrels.exports import SplitError
from assessment.batches.selectors import pools_to_plan
from scoring.models import Qrels
from scoring.qrels import exports, selectors, services
from scoring.qrels.forms import ExportForm, ImportForm
from tracks.downloads.api import DownloadPartSerializer
from tracks.models import Machine, Track
from tracks.topics.api import TopicSerializer
from tracks.tracks.api import track_of
from tracks.tracks.selectors import tracks_organized_by
from web.api.answers import answer
from web.api.conditional import FOREVER
from web.api.filters import Filter
from web.api.permissions import Everyone, Organizer
from web.api.serializers import Address, Strict, require_valid
from web.api.views import Endpoints, TsvRenderer, get, get_file, parameter, post
from web.downloads import download, for_visitors

QrelsSerializer = answer(
    Qrels,
    "Qrels",
    "id url track=track.slug version name source machine=machine_name sha256 n_topics n_judged "
    "supersedes=supersedes_id supersedes_reason created_at",
    "A version of a track's qrels. Its entries never change.",
    url=Address("api:qrels", help_text="The address of this version in the API."),
    source=serializers.CharField(help_text="frozen or imported."),
    machine="The machine whose judgments these are; empty for those of people.",
    sha256="Of the TSV file.",
    supersedes="The id of the earlier version that it corrects.",
)


TopicCountsSerializer = answer(
    selectors.TopicCounts, "TopicCounts", "topic n counts", counts="In the order of `grades`."
)


QrelsDetailSerializer = answer(
    selectors.QrelsPage,
    "QrelsDetail",
    "qrels grades=grade_values topics=rows report",
    "A version with its grades by topic, and the report on how it was made.",
    qrels=QrelsSerializer(),
    grades="The grades, highest first.",
    report="What was left out and why; for organizers, also the inputs.",
)


class ChosenSerializer(Strict):
    """The judgments that become qrels."""

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
    left_out = serializers.DictField(
        child=serializers.CharField(max_length=2_000),
        required=False,
        default=dict,
        help_text="Topics that do not become qrels: the reason of each by its code.",
    )


class FreezeSerializer(ChosenSerializer):
    """A version to freeze."""

    name = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")
    sha256 = serializers.CharField(
        max_length=64,
        required=False,
        allow_blank=True,
        default="",
        help_text="Of the preview that you read: refuses to freeze something else.",
    )


class QrelsFileSerializer(Strict):
    """A qrels file to import."""

    file = serializers.FileField(
        help_text="Topic, 0, docno, grade; TSV or CSV with a header; or a judged pool in XML."
    )
    name = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")


class OfferSerializer(Strict):
    """The track that offers a version, such as that of the next year."""

    track = serializers.SlugField(max_length=100)


PreviewSerializer = answer(
    selectors.FreezePreview,
    "Preview",
    "sha256=digest n_judged n_topics report n_short short same=same.id",
    report="Dropped topics, unjudged units, non-answers.",
    n_short="Judged units with fewer judgments than a batch asked for.",
    short="The first of them.",
    same="A version that has the same entries already.",
)


def _chosen(track: Track, data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the freezing, with the pool and the machine that the ids name."""
    pool = get_object_or_404(pools_to_plan().filter(track=track), pk=data["pool"])
    machines = Machine.objects.filter(assessor__track=track)
    machine = get_object_or_404(machines, pk=data["machine"]) if data["machine"] else None
    left_out = data["left_out"]
    return {"pool": pool, "also": sorted(data["also"]), "machine": machine, "left_out": left_out}


class SupersedeSerializer(Strict):
    """The earlier version that a version corrects."""

    supersedes = serializers.IntegerField(min_value=1, help_text="Its id.")
    reason = serializers.CharField(
        max_length=2_000, help_text="Everybody who sees one of the versions reads it."
    )


class TrainingSerializer(Strict):
    """A track whose assessors see examples of the grades."""

    track = serializers.SlugField(help_text="Another track, such as that of the next year.")
    is_shown = serializers.BooleanField(default=True, help_text="False: they no longer see them.")


class QrelsVersions(Endpoints):
    tag = "Qrels"
    permission_classes = [Everyone]

    @get(
        "tracks/<slug:slug>/qrels/",
        "qrels_of_track",
        QrelsSerializer,
        ordering=("-version",),
        filters=[Filter("source", values=Qrels.Source.values)],
        orders=["created_at", "version"],
    )
    def list_qrels(self, request: Request, slug: str) -> object:
        """List the versions of a track's qrels, newest first.

        Organizers see all that are not hidden, others those of a leaderboard that they may see.
        """
        user = user_of(request)
        track = track_of(request, slug)
        return selectors.qrels_of(user, track)

    @post(
        "tracks/<slug:slug>/qrels/preview/",
        "preview_qrels",
        PreviewSerializer,
        takes=ChosenSerializer,
        who=[Organizer],
    )
    def preview_qrels(self, request: Request, slug: str) -> object:
        """Show what freezing would store now, and store nothing."""
        track = track_of(request, slug)
        return selectors.freeze_preview(track, **_chosen(track, self.validated(request)))

    @post(
        "tracks/<slug:slug>/qrels/freeze/",
        "freeze_qrels",
        QrelsSerializer,
        takes=FreezeSerializer,
        status=201,
        who=[Organizer],
    )
    def freeze_qrels(self, request: Request, slug: str) -> object:
        """Freeze judgments into a version. If the track has a leaderboard, scoring against the version starts."""
        user = person_of(request)
        track = track_of(request, slug)
        data = self.validated(request)
        named = {"name": data["name"], "digest": data["sha256"]}
        version = services.freeze_judgments(by=user, **_chosen(track, data), **named)
        services.rescore(qrels=version, by=user)
        return version

    @post(
        "qrels/<int:qrels_id>/supersede/",
        "supersede_qrels",
        QrelsSerializer,
        takes=SupersedeSerializer,
        who=[Organizer],
    )
    def supersede_qrels(self, request: Request, qrels_id: int) -> object:
        """State that a version corrects an earlier one, and why."""
        new, data = (
            get_object_or_404(selectors.qrels_for(user_of(request)), pk=qrels_id),
            self.validated(request),
        )
        old = get_object_or_404(Qrels.objects.filter(track=new.track_id), pk=data["supersedes"])
        return services.supersede(old=old, new=new, reason=data["reason"], by=person_of(request))

    @post(
        "tracks/<slug:slug>/qrels/import/",
        "import_qrels",
        QrelsSerializer,
        takes=QrelsFileSerializer,
        status=201,
        who=[Organizer],
        parsers=[MultiPartParser],
    )
    def import_qrels(self, request: Request, slug: str) -> object:
        """Import a file as a version. If the track has a leaderboard, scoring against the version starts."""
        user, track = person_of(request), track_of(request, slug)
        data = self.validated(request)
        form = ImportForm(data, MultiValueDict({"file": [data.pop("file")]}), track=track)
        require_valid(form)
        version = services.import_file(track=track, by=user, **form.contents)
        services.rescore(qrels=version, by=user)
        return version

    @post("qrels/<int:qrels_id>/archive/", "archive_qrels", QrelsSerializer, who=[Organizer])
    def archive_qrels(self, request: Request, qrels_id: int) -> object:
        """Hide a version from lists. Its leaderboards and files stay."""
        user = person_of(request)
        return services.archive(qrels=get_object_or_404(selectors.qrels_for(user), pk=qrels_id), by=user)

    @post("qrels/<int:qrels_id>/restore/", "restore_qrels", QrelsSerializer, who=[Organizer])
    def restore_qrels(self, request: Request, qrels_id: int) -> object:
        """Show a hidden version in lists again."""
        user = person_of(request)
        return services.restore(qrels=get_object_or_404(selectors.qrels_for(user), pk=qrels_id), by=user)

    @post(
        "qrels/<int:qrels_id>/offer/",
        "offer_qrels",
        DownloadPartSerializer,
        takes=OfferSerializer,
        who=[Organizer],
    )
    def offer_qrels(self, request: Request, qrels_id: int) -> object:
        """Attach a copy of a version to the downloads of another track, not released yet."""
        user = person_of(request)
        version = get_object_or_404(selectors.qrels_for(user), pk=qrels_id)
        track = get_object_or_404(tracks_organized_by(user), slug=self.validated(request)["track"])
        return services.offer(qrels=version, track=track, by=user)

    @get_file(
        "qrels/<int:qrels_id>/export/",
        "export_qrels",
        "application/zip",
        parameters=[
            parameter("to", "The format: one of those that the page of the version offers, such as `trec`."),
            parameter(
                "test_share",
                "The share of topics in a test part, such as 0.3. Without it: one file.",
                kind="number",
            ),
            parameter("seed", "Of the random choice of test topics; 1 without it.", kind="whole number"),
        ],
    )
    def download_qrels_export(self, request: Request, qrels_id: int) -> object:
        """Download a version in another format, optionally split by topic, as a zip with README and checksums."""
        version = get_object_or_404(selectors.qrels_for(user_of(request)), pk=qrels_id)
        form = ExportForm(request.query_params, qrels=version)
        require_valid(form)
        try:
            package = exports.qrels_package(version, **form.cleaned_data)
        except SplitError as error:
            raise serializers.ValidationError({"test_share": f"{error}."}) from error
        return for_visitors(request, download(package, f"{exports.file_stem(version)}.zip"))

    @get_file("qrels/<int:qrels_id>/judgments/", "qrels_judgments", "application/zip", who=[Organizer])
    def download_qrels_judgments(self, request: Request, qrels_id: int) -> object:
        """Download the judgments of a version's track as a zip, with code names of assessors, without comments."""
        version = get_object_or_404(selectors.qrels_for(user_of(request)), pk=qrels_id)
        return download(*exports.noted_package(version))

    @get("qrels/<int:qrels_id>/", "qrels", QrelsDetailSerializer)
    def get_qrels(self, request: Request, qrels_id: int) -> object:
        """Read a version: its grades by topic, and how it was made."""
        user = user_of(request)
        version = get_object_or_404(selectors.qrels_for(user), pk=qrels_id)
        return selectors.qrels_page(user, version)

    @post(
        "qrels/<int:qrels_id>/train/",
        "train_with_qrels",
        QrelsSerializer,
        takes=TrainingSerializer,
        who=[Organizer],
    )
    def train_with_qrels(self, request: Request, qrels_id: int) -> object:
        """Show examples of a version's grades to the assessors of another track, or no longer."""
        version = get_object_or_404(selectors.qrels_for(person_of(request)), pk=qrels_id)
        data = self.validated(request)
        track = get_object_or_404(tracks_organized_by(person_of(request)), slug=data["track"])
        services.set_training(qrels=version, track=track, is_shown=data["is_shown"], by=person_of(request))
        return version

    @get(
        "qrels/<int:qrels_id>/topics/",
        "complete_topics",
        TopicSerializer,
        ordering=("code",),
        filters=[Filter("split")],
    )
    def list_qrels_topics(self, request: Request, qrels_id: int) -> object:
        """List the topics of the qrels' track with all parts, also those that participants did not see."""
        version = get_object_or_404(selectors.qrels_for(user_of(request)), pk=qrels_id)
        return version.track.topics.all()

    @get(
        "qrels/<int:qrels_id>/file/",
        "qrels_file",
        {(200, "text/tab-separated-values"): OpenApiTypes.STR},
        renderers=[TsvRenderer, JSONRenderer],
    )
    def download_qrels(self, request: Request, qrels_id: int) -> object:
        """Download a version: topic, 0, docno and grade per line. Always the same bytes."""
        version = get_object_or_404(selectors.qrels_for(user_of(request)), pk=qrels_id)
        name = f"{exports.file_stem(version)}.tsv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        if selectors.qrels_for(AnonymousUser()).filter(pk=qrels_id).exists():
            headers["Cache-Control"] = FOREVER
        content = file_of(version.sha256, lambda: selectors.qrels_tsv(version))
        return Response(content, headers=headers, content_type=TsvRenderer.media_type)


urlpatterns = QrelsVersions.urls()
