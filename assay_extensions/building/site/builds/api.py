"""Builds of collections for programs."""

from django.shortcuts import get_object_or_404
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from assay_extensions.building.settings import OVERLAP
from assay_extensions.building.site.builds import selectors, services
from assay_extensions.building.site.builds.forms import CONVERTERS, DUPLICATES, BuildForm, OptionsForm
from corpus.imports.api import SourceSerializer
from corpus.models import Build, BuildFile
from web.api.answers import answer
from web.api.parsers import JSONParser
from web.api.permissions import Creator
from web.api.serializers import Address, JobAddress, Strict, require_valid
from web.api.views import Endpoints, accepted, delete, get, get_file, post
from web.downloads import stored_file

BuildFileSerializer = answer(
    BuildFile,
    "BuildFile",
    "url name description is_private n_bytes sha256",
    "A file of a build.",
    url=Address(
        "api:build_file", "build.collection.slug", "name", help_text="The address of the file in the API."
    ),
)


BuildSerializer = answer(
    Build,
    "Build",
    "collection=collection.slug job import_job=import_job_id settings removed converter conversion manifest files "
    "work_bytes work_host created_at",
    "A collection that is cut from a source. Counts and files come when its job is done.",
    job=JobAddress(help_text="The address of the job that builds it."),
    import_job="The id of the job that imports it; null until it is built.",
    settings=serializers.DictField(help_text="As the manifest has them."),
    removed=serializers.ListField(child=serializers.CharField(), help_text="Posts that are left out."),
    conversion=serializers.DictField(help_text="The converter, and the number of formulas without MathML."),
    manifest=serializers.DictField(help_text="Counts before and after the cut, and the digest of each file."),
    files=BuildFileSerializer(many=True),
)


class OptionsSerializer(Strict):
    """The dates at which a source is cut, and what is made of it."""

    first = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="First year, month or day of the collection."
    )
    last = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Last year, month or day, which belongs to it.",
    )
    topics_first = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Of candidates; without it: after the collection.",
    )
    topics_last = serializers.CharField(required=False, default="", allow_blank=True)
    duplicates = serializers.ChoiceField(list(DUPLICATES), required=False, default="keep")
    overlap = serializers.FloatField(
        required=False,
        default=OVERLAP,
        min_value=0.01,
        max_value=1,
        help_text="The part of their sequences of three words that two near-duplicates share.",
    )
    has_formulas = serializers.BooleanField(required=False, default=True, help_text="Look for formulas.")
    converter = serializers.ChoiceField(
        list(CONVERTERS), required=False, default="", allow_blank=True, help_text="Of LaTeX to MathML."
    )
    has_pages = serializers.BooleanField(
        required=False, default=True, help_text="Write a page of HTML for each thread."
    )
    removed = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=1_000_000,
        trim_whitespace=False,
        help_text="The ids of posts to leave out, one per line, or a report of leaks.",
    )


class NewBuildSerializer(OptionsSerializer, SourceSerializer):
    """A source, the dates at which it is cut, and what is made of it."""


class Builds(Endpoints):
    tag = "Collections"
    permission_classes = [Creator]

    @post(
        "collections/build/",
        "build_collection",
        BuildSerializer,
        takes=NewBuildSerializer,
        status=202,
        parsers=[MultiPartParser, JSONParser],
        stores_files=True,
    )
    def build_collection(self, request: Request) -> object:
        """Build a collection from a dump or from documents in a job, which then imports it."""
        data = self.validated(request)
        form = BuildForm(data, MultiValueDict({"upload": data.pop("files")}))
        require_valid(form)
        build = services.request(by=person_of(request), **form.arguments)
        return accepted(BuildSerializer(build).data, build.job_id)

    @get("collections/<slug:slug>/build/", "build", BuildSerializer)
    def get_build(self, request: Request, slug: str) -> object:
        """A build with its counts and files."""
        return get_object_or_404(selectors.builds_for(person_of(request)), collection__slug=slug)

    @post(
        "collections/<slug:slug>/build/again/",
        "change_build",
        BuildSerializer,
        takes=OptionsSerializer,
        status=202,
    )
    def rebuild_collection(self, request: Request, slug: str) -> object:
        """Start a failed build of the same source again with other options."""
        build = get_object_or_404(selectors.builds_for(person_of(request)), collection__slug=slug)
        form = OptionsForm(self.validated(request))
        require_valid(form)
        changed = services.change(build=build, by=person_of(request), **form.options)
        return accepted(BuildSerializer(changed).data, changed.job_id)

    @delete("collections/<slug:slug>/build/", "build")
    def delete_build(self, request: Request, slug: str) -> None:
        """Delete a build that has ended, and its collection, which must have no documents."""
        build = get_object_or_404(selectors.builds_for(person_of(request)), collection__slug=slug)
        services.delete(build=build, by=person_of(request))

    @get_file(
        "collections/<slug:slug>/build/files/<str:name>/",
        "build_file",
        "application/octet-stream",
        "application/zip",
        "application/json",
        "text/tab-separated-values",
        "application/jsonl",
    )
    def download_build_file(self, request: Request, slug: str, name: str) -> object:
        """A file of a build."""
        build = get_object_or_404(selectors.builds_for(person_of(request)), collection__slug=slug)
        file = get_object_or_404(build.files, name=name)
        return stored_file(request, file.file, file.sha256, file.name)


urlpatterns = Builds.urls()
