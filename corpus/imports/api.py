"""Imports of collections for programs."""

from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from corpus.collections.selectors import check_change, collection_named
from corpus.imports import services
from corpus.imports.forms import ImportForm
from jobs.api import JobSerializer
from jobs.models import Job
from web.api.parsers import JSONParser
from web.api.permissions import Creator
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, accepted, post


class SourceSerializer(Strict):
    """A new collection, and its files."""

    slug = serializers.SlugField(max_length=100, help_text="The short name of the collection.")
    name = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=200, help_text="Of a new collection."
    )
    license = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=200, help_text="Of a new collection."
    )
    hosts = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=1000,
        help_text="Of a new collection: links to these hosts, separated by spaces, lead into it.",
    )
    files = serializers.ListField(
        child=serializers.FileField(),
        required=False,
        default=list,
        help_text="All files of a dump, one archive of them, or other files. Either `files` or `path`.",
    )
    path = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="A file or folder in the import folder of the server.",
    )


class ImportSerializer(SourceSerializer):
    """Files to import into a collection, which is created if there is none with the short name."""

    representation = serializers.ChoiceField(["latex", "slt", "opt"], required=False, default="")


def _requested(job: Job) -> Response:
    return accepted(JobSerializer(job).data, job.pk)


class Imports(Endpoints):
    tag = "Collections"
    permission_classes = [Creator]

    @post(
        "collections/import/",
        "import_collection",
        JobSerializer,
        takes=ImportSerializer,
        status=202,
        parsers=[MultiPartParser, JSONParser],
        stores_files=True,
    )
    def import_collection(self, request: Request) -> object:
        """Import documents, formulas or images into a collection.

        Rows that exist already are updated, not duplicated.
        """
        data = self.validated(request)
        collection, files = collection_named(data["slug"]), MultiValueDict({"upload": data.pop("files")})
        if collection is not None:
            check_change(person_of(request), collection)
        target = {"collection": collection.pk, "slug": ""} if collection else {}
        form = ImportForm(data | target, files, user=person_of(request))
        require_valid(form)
        job = services.import_upload_or_path(
            by=person_of(request),
            **form.arguments,
            on_stored=lambda job: self.keep_answer(_requested(job)),
        )
        return _requested(job)


urlpatterns = Imports.urls()
