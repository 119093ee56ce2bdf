"""Imports of judgments for programs: check a file, say what its words mean, import it."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from assay.formats.judgments.reader import MAPPED
from assessment.imports import selectors, services
from assessment.imports.forms import StartForm
from assessment.models import Batch, JudgmentImport
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Address, JobAddress, Strict, require_valid
from web.api.views import Endpoints, delete, get, patch, post

POOL = "The id of the pool of all judgments; null: as the file says."


JudgmentImportSerializer = answer(
    JudgmentImport,
    "JudgmentImport",
    "id url track=track.slug file_name=name n_bytes=size sha256 pool=pool_id batch kind mapping report is_ready job "
    "n_imported imported_at created_at",
    "A file of judgments: the result of its latest check, or what was imported.",
    url=Address("api:judgment_import", help_text="The address of this import in the API."),
    pool=POOL,
    mapping=serializers.DictField(help_text="What words of the file mean here, by kind."),
    report=serializers.DictField(
        help_text="The result of the check: `new` judgments, `complaints` with their lines. Empty while a job checks."
    ),
    is_ready="Whether it can be imported.",
    job=JobAddress(help_text="The address of the job of a large file."),
)


class NewImportSerializer(Strict):
    """A file of judgments, and the batch of those for which the file names none."""

    file = serializers.FileField(
        help_text="Turkle's results, Assay's export (CSV or lines of JSON), or a CSV with the columns topic, docno, "
        "assessor, and grade or choice; in tracks of battles also a table with the columns topic, model_a, model_b and "
        "winner, or RAGDoll's judgments.jsonl, and in tracks of rubrics lines of JSON with the keys qid and criteria. "
        "It may be compressed."
    )
    pool = serializers.IntegerField(
        required=False, min_value=1, help_text=POOL.replace("; null", ". Without it")
    )
    batch = serializers.CharField(max_length=100, default="Imported")
    kind = serializers.ChoiceField(Batch.Kind.choices, default=Batch.Kind.MAIN.value)


def meanings() -> serializers.DictField:
    """The meanings of words of one kind, by word."""
    return serializers.DictField(child=serializers.CharField(max_length=300), required=False)


class JudgmentImportChangeSerializer(Strict):
    """The meanings of the words of the file, and the batch of judgments for which it names none."""

    columns = meanings()
    assessors = meanings()
    answers = meanings()
    pool = serializers.IntegerField(required=False, allow_null=True, min_value=1, help_text=POOL)
    batch = serializers.CharField(max_length=100, required=False)
    kind = serializers.ChoiceField(Batch.Kind.choices, required=False)

    def validate_columns(self, value: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(set(value) - set(MAPPED)):
            raise serializers.ValidationError(
                f"No column can be named for {unknown[0]}. Accepted: {', '.join(MAPPED)}."
            )
        return value


class RunImportSerializer(Strict):
    """The treatment of judgments that conflict with existing ones."""

    may_skip_conflicts = serializers.BooleanField(
        default=False,
        help_text="If all `complaints` are conflicts: keep the existing judgments, and import the others.",
    )


JUDGMENT_IMPORTS = ("tracks/<slug:slug>/judgment-imports/", "judgment_imports", JudgmentImportSerializer)


class Imports(Endpoints):
    tag = "Judgments"
    permission_classes = [Organizer]

    @get(
        *JUDGMENT_IMPORTS,
        ordering=("-pk",),
        filters=[Filter("kind", values=Batch.Kind.values), Filter("pool", "pool_id", kind="whole number")],
    )
    def list_judgment_imports(self, request: Request, slug: str) -> object:
        """List the imports of judgments of a track, newest first."""
        return selectors.imports().filter(track=track_of(request, slug))

    @post(
        *JUDGMENT_IMPORTS, takes=NewImportSerializer, status=201, parsers=[MultiPartParser], stores_files=True
    )
    def create_judgment_import(self, request: Request, slug: str) -> object:
        """Upload a file of judgments and check it. Nothing is imported yet. A large file is checked by a job."""
        track, data = track_of(request, slug), self.validated(request)
        form = StartForm(data, MultiValueDict({"upload": [data.pop("file")]}), track=track)
        require_valid(form)
        source = services.start(track=track, by=person_of(request), **form.cleaned_data)
        return selectors.import_or_404(source.pk)

    @get("judgment-imports/<int:import_id>/", "judgment_import", JudgmentImportSerializer)
    def get_judgment_import(self, request: Request, import_id: int) -> object:
        """Read the result of the latest check of a file, or what was imported."""
        return selectors.import_or_404(import_id)

    @patch(
        "judgment-imports/<int:import_id>/",
        "judgment_import",
        JudgmentImportSerializer,
        takes=JudgmentImportChangeSerializer,
    )
    def update_judgment_import(self, request: Request, import_id: int) -> object:
        """Say what words of the file mean here, and check it again. What is left out stays."""
        source = selectors.import_or_404(import_id)
        require_match(request, JudgmentImportSerializer(source).data)
        data = self.validated(request)
        words = {kind: data.pop(kind) for kind in ("columns", "assessors", "answers") if kind in data}
        pool = source.pool
        if "pool" in data:
            pk = data.pop("pool")
            pool = pk and get_object_or_404(selectors.pools_for_import(source.track), pk=pk)
        place: dict[str, Any] = {"batch": source.batch, "kind": source.kind} | data
        services.remap(source=source, mapping=source.mapping | words, pool=pool, **place)
        return selectors.import_or_404(import_id)

    @delete("judgment-imports/<int:import_id>/", "judgment_import", takes=JudgmentImportChangeSerializer)
    def delete_judgment_import(self, request: Request, import_id: int) -> None:
        """Delete a file that was not imported."""
        source = selectors.import_or_404(import_id)
        require_match(request, JudgmentImportSerializer(source).data)
        services.discard(source=source)

    @post(
        "judgment-imports/<int:import_id>/run/",
        "run_judgment_import",
        JudgmentImportSerializer,
        takes=RunImportSerializer,
        stores_files=True,
    )
    def run_judgment_import(self, request: Request, import_id: int) -> object:
        """Import the judgments of a checked file: all of them, or none. A large file is imported by its `job`."""
        keeps_stored = self.validated(request)["may_skip_conflicts"]
        services.request_import(source=selectors.import_or_404(import_id), keeps_stored=keeps_stored)
        return selectors.import_or_404(import_id)


urlpatterns = Imports.urls()
