"""Imports of projects of Turkle for programs: check an upload, name its tracks and accounts, import it."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from assay_extensions.turkle.site import services
from assay_extensions.turkle.site.forms import NAME, SLUG, USERNAME
from assessment.imports.selectors import project_imports
from assessment.models import ProjectImport
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.permissions import Creator
from web.api.serializers import Address, JobAddress, Strict
from web.api.views import Endpoints, accepted, delete, get, patch, post

ProjectImportSerializer = answer(
    ProjectImport,
    "ProjectImport",
    "id url file_name=name n_bytes=size sha256 mapping report is_ready job imported_at created_at",
    "An upload of projects: the result of its latest check, or what was imported.",
    url=Address("api:project_import", help_text="The address of this import in the API."),
    mapping=serializers.DictField(help_text="The chosen names, by kind: `titles`, `slugs` and `accounts`."),
    report=serializers.DictField(
        help_text="The result of the check: `projects`, `people` and `problems`. Empty while a job checks."
    ),
    is_ready="Whether it can be imported.",
    job=JobAddress(help_text="The address of the job that checks or imports it."),
)


class NewProjectsSerializer(Strict):
    """The projects to import."""

    file = serializers.FileField(
        help_text="A zip file with a folder for each project: its template as HTML, and the input and the results "
        "of its batches as CSV; or the files that `assay turkle` makes."
    )


class ProjectImportChangeSerializer(Strict):
    """The titles and short names of tracks by folder of the upload, and the accounts by worker."""

    titles = serializers.DictField(child=serializers.CharField(max_length=NAME), required=False)
    slugs = serializers.DictField(child=serializers.SlugField(max_length=SLUG), required=False)
    accounts = serializers.DictField(child=serializers.CharField(max_length=USERNAME), required=False)


def _import(request: Request, upload_id: int) -> ProjectImport:
    return get_object_or_404(project_imports(person_of(request)), pk=upload_id)


class Projects(Endpoints):
    tag = "Judgments"
    permission_classes = [Creator]

    @get("project-imports/", "project_imports", ProjectImportSerializer, ordering=("-pk",))
    def list_project_imports(self, request: Request) -> object:
        """List the imports of projects, newest first."""
        return project_imports(person_of(request))

    @post(
        "project-imports/",
        "project_imports",
        ProjectImportSerializer,
        takes=NewProjectsSerializer,
        status=201,
        parsers=[MultiPartParser],
        stores_files=True,
    )
    def create_project_import(self, request: Request) -> object:
        """Upload projects of Turkle and check them. Nothing is imported yet. A large file is checked by a job."""
        source = services.start(uploads=[self.validated(request)["file"]], by=person_of(request))
        return _import(request, source.pk)

    @get("project-imports/<int:upload_id>/", "project_import", ProjectImportSerializer)
    def get_project_import(self, request: Request, upload_id: int) -> object:
        """Read the result of the latest check, or what was imported."""
        return _import(request, upload_id)

    @patch(
        "project-imports/<int:upload_id>/",
        "project_import",
        ProjectImportSerializer,
        takes=ProjectImportChangeSerializer,
    )
    def update_project_import(self, request: Request, upload_id: int) -> object:
        """Set titles, short names and accounts, and check the upload again. What is left out stays."""
        source = _import(request, upload_id)
        require_match(request, ProjectImportSerializer(source).data)
        services.remap(source=source, mapping=source.mapping | self.validated(request))
        return _import(request, upload_id)

    @delete("project-imports/<int:upload_id>/", "project_import", takes=ProjectImportChangeSerializer)
    def delete_project_import(self, request: Request, upload_id: int) -> None:
        """Delete an upload that was not imported."""
        source = _import(request, upload_id)
        require_match(request, ProjectImportSerializer(source).data)
        services.discard(source=source)

    @post("project-imports/<int:upload_id>/run/", "run_project_import", ProjectImportSerializer, status=202)
    def run_project_import(self, request: Request, upload_id: int) -> object:
        """Import checked projects as tracks with rows, people and judgments, in one job: all of them, or none."""
        services.request_import(source=_import(request, upload_id))
        source = _import(request, upload_id)
        return accepted(ProjectImportSerializer(source).data, source.job_id)


urlpatterns = Projects.urls()
