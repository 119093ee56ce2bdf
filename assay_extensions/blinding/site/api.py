"""The runs of a track under pseudonyms, for programs of organizers."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assay_extensions.blinding.package import GiveAway
from assay_extensions.blinding.pseudonyms import KEPT, REPLACED
from assay_extensions.blinding.site import services
from assay_extensions.blinding.site.models import Blinding
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Organizer
from web.api.serializers import JobAddress, Strict
from web.api.views import Endpoints, accepted, get, get_file, put
from web.downloads import download, stored_file

GiveAwaySerializer = answer(
    GiveAway,
    "GiveAway",
    "run term n example decision",
    "A term in the text of a run that may give its team away.",
    run="The pseudonym of the run.",
    n="How often it occurs.",
    decision="keep or replace; empty until somebody has decided.",
)
BlindingSerializer = answer(
    Blinding,
    "Blinding",
    "track=track.slug words first n_runs n_bytes=size sha256 n_undecided terms job",
    "The runs of a track under pseudonyms.",
    n_runs="In the package; 0 if there is none.",
    n_undecided=serializers.IntegerField(
        help_text="Terms without a decision. The package is made when it is 0."
    ),
    terms=GiveAwaySerializer(many=True, source="give_aways"),
    job=JobAddress(help_text="The address of the job that blinds the runs."),
)


class DecisionSerializer(Strict):
    """A decision about a term in the text of a run."""

    run = serializers.CharField(max_length=40)
    term = serializers.CharField(max_length=1_000)
    decision = serializers.ChoiceField([KEPT, REPLACED])


class BlindingUpdateSerializer(Strict):
    """The words to look for, the runs, and decisions about terms."""

    words = serializers.CharField(
        default="", allow_blank=True, max_length=100_000, help_text="Further words, one per line."
    )
    first = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=10_000,
        help_text="At most this many runs of each team, in its order.",
    )
    decisions = DecisionSerializer(many=True, default=list)


class Blindings(Endpoints):
    tag = "Blinded runs"
    permission_classes = [Organizer]

    def row(self, request: Request, slug: str) -> Blinding:
        return get_object_or_404(Blinding.objects.select_related("job"), track=track_of(request, slug))

    @get("tracks/<slug:slug>/blinding/", "blinding", BlindingSerializer)
    def get_blinding(self, request: Request, slug: str) -> object:
        """Read about the package of a track, with the terms in its runs."""
        return self.row(request, slug)

    @put(
        "tracks/<slug:slug>/blinding/",
        "blinding",
        BlindingSerializer,
        takes=BlindingUpdateSerializer,
        status=202,
    )
    def update_blinding(self, request: Request, slug: str) -> object:
        """Look for names in the runs, and make the package once there is a decision about each."""
        data = self.validated(request)
        decisions = {(row["run"], row["term"]): row["decision"] for row in data.pop("decisions")}
        row = services.request(
            track=track_of(request, slug), by=person_of(request), decisions=decisions, **data
        )
        return accepted(BlindingSerializer(row).data, row.job_id)

    @get_file("tracks/<slug:slug>/blinding/package/", "blinding_package", "application/zip")
    def download_blinding_package(self, request: Request, slug: str) -> object:
        """Download the runs under pseudonyms, to give them to judges."""
        row = get_object_or_404(Blinding.objects.exclude(file=""), track=track_of(request, slug))
        return stored_file(request, row.file, row.sha256, str(row))

    @get_file("tracks/<slug:slug>/blinding/map/", "blinding_map", "application/json")
    def download_blinding_map(self, request: Request, slug: str) -> object:
        """Download the names behind the pseudonyms, as `assay unblind` reads them. Keep them apart from the package."""
        return download(services.map_of(blinding=self.row(request, slug)), f"{slug}-map.json")


urlpatterns = Blindings.urls()
