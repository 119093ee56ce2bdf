"""Imports of judgments for programs: check a file, say what its words mean, import it."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.formats.judgments.reader import MAPPED
from assessment.imports import selectors, services
from assessment.imports.forms import StartForm
from assessment.models import Batch, JudgmentImport
from pooling.models import Pool
from tracks.models import Track
from tracks.tracks.api import track_of
from web.api.conditional import require_match
from web.api.forms import require_valid
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, ListView, created

POOL = "The id of the pool of all judgments; null: as the file says."


class JudgmentImportSerializer(serializers.ModelSerializer[JudgmentImport]):
    """A file of judgments: the result of its latest check, or what was imported."""

    url = serializers.SerializerMethodField(help_text="The address of this import in the API.")
    track = serializers.CharField(source="track.slug")
    pool = serializers.IntegerField(source="pool_id", allow_null=True, help_text=POOL)
    mapping = serializers.DictField(help_text="What words of the file mean here, by kind.")
    report = serializers.DictField(
        help_text="The result of the check: `new` judgments, `complaints` with their lines. Empty while a job checks."
    )
    is_ready = serializers.BooleanField(help_text="Whether it can be imported.")
    job = serializers.SerializerMethodField(help_text="The address of the job of a large file.")

    class Meta:
        model = JudgmentImport
        fields = [
            "id",
            "url",
            "track",
            "name",
            "size",
            "sha256",
            "pool",
            "batch",
            "kind",
            "mapping",
            "report",
            "is_ready",
            "job",
            "n_imported",
            "imported_at",
            "created_at",
        ]

    def get_url(self, source: JudgmentImport) -> str:
        return reverse("api:judgment_import", args=[source.pk])

    def get_job(self, source: JudgmentImport) -> str | None:
        return reverse("api:job", args=[source.job_id]) if source.job_id else None


class NewImportSerializer(Strict):
    """A file of judgments, and the batch of those for which the file names none."""

    file = serializers.FileField(
        help_text="Turkle's results, Assay's export (CSV or lines of JSON), or a CSV with the columns topic, docno, "
        "assessor, and grade or choice. It may be compressed."
    )
    pool = serializers.IntegerField(required=False, min_value=1, help_text=POOL)
    batch = serializers.CharField(max_length=100, default="Imported")
    kind = serializers.ChoiceField(Batch.Kind.choices, default=Batch.Kind.MAIN.value)


class Words(serializers.DictField):
    """What words of one kind mean here, by word."""

    child = serializers.CharField(max_length=300)

    def __init__(self) -> None:
        super().__init__(required=False)


class MeaningsSerializer(Strict):
    """What words of the file mean here, and the batch of judgments for which it names none."""

    columns = Words()
    assessors = Words()
    answers = Words()
    pool = serializers.IntegerField(required=False, allow_null=True, min_value=1, help_text=POOL)
    batch = serializers.CharField(max_length=100, required=False)
    kind = serializers.ChoiceField(Batch.Kind.choices, required=False)

    def validate_columns(self, value: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(set(value) - set(MAPPED)):
            raise serializers.ValidationError(
                f"No column can be named for {unknown[0]}. Accepted: {', '.join(MAPPED)}."
            )
        return value


class JudgmentImports(ListView):
    tag = "Judgments"
    permission_classes = [Organizer]
    parser_classes = [MultiPartParser]
    serializer_class = NewImportSerializer
    ordering = ("-pk",)
    stores_files = True

    @operation("list_judgment_imports", responses=JudgmentImportSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the imports of judgments of a track, newest first."""
        return self.listed(
            selectors.imports().filter(track=track_of(request, slug)), JudgmentImportSerializer
        )

    @operation("start_judgment_import", responses={201: JudgmentImportSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Upload a file of judgments and check it. Nothing is imported yet. A large file is checked by a job."""
        track, data = track_of(request, slug), self.validated(request)
        form = StartForm(data, MultiValueDict({"upload": [data.pop("file")]}), track=track)
        require_valid(form)
        source = services.start(track=track, by=person_of(request), **form.cleaned_data)
        shown = JudgmentImportSerializer(_import(source.pk)).data
        return created(shown, shown["url"])


class JudgmentImportDetail(ApiView):
    tag = "Judgments"
    permission_classes = [Organizer]
    serializer_class = MeaningsSerializer

    @operation("get_judgment_import", responses=JudgmentImportSerializer)
    def get(self, request: Request, import_id: int) -> Response:
        """Read the result of the latest check of a file, or what was imported."""
        return Response(JudgmentImportSerializer(_import(import_id)).data)

    @operation("map_judgment_import", responses=JudgmentImportSerializer)
    def patch(self, request: Request, import_id: int) -> Response:
        """Say what words of the file mean here, and check it again. What is left out stays."""
        source = _import(import_id)
        require_match(request, JudgmentImportSerializer(source).data)
        data = self.validated(request)
        words = {kind: data.pop(kind) for kind in ("columns", "assessors", "answers") if kind in data}
        pool = _pool(source.track, data.pop("pool")) if "pool" in data else source.pool
        place: dict[str, Any] = {"batch": source.batch, "kind": source.kind} | data
        services.remap(source=source, mapping=source.mapping | words, pool=pool, **place)
        return Response(JudgmentImportSerializer(_import(import_id)).data)

    @operation("discard_judgment_import", responses={204: None})
    def delete(self, request: Request, import_id: int) -> Response:
        """Delete a file that was not imported."""
        source = _import(import_id)
        require_match(request, JudgmentImportSerializer(source).data)
        services.discard(source=source)
        return Response(status=204)


class JudgmentImportRun(ApiView):
    tag = "Judgments"
    permission_classes = [Organizer]
    serializer_class = JudgmentImportSerializer
    stores_files = True

    @operation("run_judgment_import", request=None, responses={200: JudgmentImportSerializer})
    def post(self, request: Request, import_id: int) -> Response:
        """Import the judgments of a checked file: all of them, or none. A large file is imported by its `job`."""
        services.request_import(source=_import(import_id))
        return Response(JudgmentImportSerializer(_import(import_id)).data)


def _import(import_id: int) -> JudgmentImport:
    return get_object_or_404(selectors.imports(), pk=import_id)


def _pool(track: Track, pool_id: int | None) -> Pool | None:
    pools = selectors.pools_for_import(track)
    return None if pool_id is None else get_object_or_404(pools, pk=pool_id)


urlpatterns = [
    path("tracks/<slug:slug>/judgment-imports/", JudgmentImports.as_view(), name="judgment_imports"),
    path("judgment-imports/<int:import_id>/", JudgmentImportDetail.as_view(), name="judgment_import"),
    path("judgment-imports/<int:import_id>/run/", JudgmentImportRun.as_view(), name="run_judgment_import"),
]
