"""Baselines for programs: make one, fuse runs, and offer a baseline to participants."""

from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.fusion import NORMS
from assay_extensions.baselines.site import services
from assay_extensions.baselines.site.forms import METHODS, BaselineForm, FusionForm
from assay_extensions.baselines.site.selectors import FORMULAS, LINKED, TEAM, TEXT
from jobs.api import JobSerializer
from pooling.runs.selectors import run_or_404
from tracks.downloads.api import DownloadPartSerializer
from tracks.tracks.api import track_of
from web.api.parsers import JSONParser
from web.api.permissions import Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, accepted, post


class MadeRunSerializer(Strict):
    """Fields of every run that Assay makes."""

    team = serializers.CharField(
        max_length=100,
        required=False,
        default=TEAM,
        help_text="The team that submits it. It is created if it does not exist.",
    )
    depth = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        help_text="Documents per topic. Without it: as many as the protocol accepts.",
    )


class NewBaselineSerializer(MadeRunSerializer):
    """The baseline to make."""

    method = serializers.ChoiceField([*TEXT, *FORMULAS, *LINKED])
    tag = serializers.CharField(
        max_length=100,
        required=False,
        help_text="The run's name, one word. Without it: that of the baseline.",
    )
    links = serializers.FileField(
        required=False, help_text="For linked posts: a table of question, linked question and kind of link."
    )
    has_related = serializers.BooleanField(
        source="related",
        required=False,
        default=False,
        help_text="For linked posts: follow links to related questions too.",
    )
    pool = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        help_text="For Tangent-S: the id of a pool of a track of questions; only formulas of its posts are ranked.",
    )


class NewFusionSerializer(MadeRunSerializer):
    """The runs to fuse, and how."""

    runs = serializers.ListField(
        child=serializers.IntegerField(), help_text="The ids of submitted runs of the track."
    )
    method = serializers.ChoiceField(list(METHODS), required=False, default="sum")
    norm = serializers.ChoiceField(
        list(NORMS), required=False, default="min-max", help_text="How the scores are normalized."
    )
    weights = serializers.ListField(
        child=serializers.FloatField(),
        required=False,
        default=list,
        help_text="One for each run, in the order in which they were submitted.",
    )
    tag = serializers.CharField(max_length=100, help_text="The run's name, one word.")


class Baselines(Endpoints):
    tag = "Runs"
    permission_classes = [Organizer]

    @post(
        "tracks/<slug:slug>/baselines/",
        "baselines",
        JobSerializer,
        takes=NewBaselineSerializer,
        status=202,
        parsers=[MultiPartParser, JSONParser],
    )
    def create_baseline(self, request: Request, slug: str) -> Response:
        """Make a baseline of a track in a job, which submits it as a run."""
        data = self.validated(request)
        files = MultiValueDict({"links": [data.pop("links")]} if data.get("links") else {})
        track = track_of(request, slug)
        form = BaselineForm(data, files, track=track, user=person_of(request))
        if data["pool"] is not None and "pool" not in form.fields:
            raise serializers.ValidationError({"pool": f"{track} ranks no formulas of a pool of questions."})
        require_valid(form)
        job = services.request(track=track, by=person_of(request), **form.arguments)
        return accepted(JobSerializer(job).data, job.pk)

    @post(
        "tracks/<slug:slug>/fusions/",
        "fusions",
        JobSerializer,
        takes=NewFusionSerializer,
        status=202,
    )
    def create_fusion(self, request: Request, slug: str) -> Response:
        """Fuse submitted runs of a track in a job, which submits the result as a run."""
        data = self.validated(request)
        data["weights"] = ",".join(map(repr, data["weights"]))
        track = track_of(request, slug)
        form = FusionForm(data, track=track)
        require_valid(form)
        job = services.request_fusion(track=track, by=person_of(request), **form.arguments)
        return accepted(JobSerializer(job).data, job.pk)

    @post("runs/<int:run_id>/offer/", "offer_baseline", DownloadPartSerializer)
    def offer_baseline(self, request: Request, run_id: int) -> object:
        """Attach the file of a baseline to the downloads of its track, not released yet."""
        user = person_of(request)
        return services.offer(run=run_or_404(user, run_id), by=user)


urlpatterns = Baselines.urls()
