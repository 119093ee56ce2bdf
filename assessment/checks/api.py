"""Hidden checks and known grades for programs. Organizers only: nothing here is shown to an assessor."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from assessment.batches.selectors import batch_or_404
from assessment.checks import results, selectors, services
from assessment.checks.forms import MOST_AFTER, GoldForm
from assessment.models import Batch, GoldUnit
from assessment.models.batches import MOST_CHECKS
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, delete, get, get_file, post, put
from web.downloads import download

ChecksSerializer = answer(
    Batch,
    "Checks",
    "gold_percent repeat_percent repeat_after",
    "The share of hidden checks among the tasks of each assessor of a batch.",
)


class NewChecksSerializer(Strict):
    """Hidden tasks for every 100 units of an assessor."""

    gold_percent = serializers.IntegerField(
        min_value=0, max_value=MOST_CHECKS, help_text="Units with known grades. 0: none."
    )
    repeat_percent = serializers.IntegerField(
        min_value=0, max_value=MOST_CHECKS, help_text="Repeats of own units. 0: none."
    )
    repeat_after = serializers.IntegerField(
        min_value=1,
        max_value=MOST_AFTER,
        help_text="At least so many units between a judgment and its repeat.",
    )


GoldSerializer = answer(
    GoldUnit,
    "Gold",
    "id topic=topic.code docno grade answers origin",
    "A unit with a known grade.",
    origin=serializers.CharField(source="source", help_text="training or imported."),
)


class GoldFileSerializer(Strict):
    """A file of known grades: qrels, or judgments, whose answers to questions are known too."""

    file = serializers.FileField(
        help_text="Topic, 0, docno, grade; TSV or CSV with a header; or judgments as CSV or lines of JSON. UTF-8."
    )


class CountSerializer(serializers.Serializer[Any]):
    """The number of known grades that were stored."""

    n = serializers.IntegerField()


class Checks(Endpoints):
    tag = "Hidden checks"
    permission_classes = [Organizer]

    @get("batches/<int:batch_id>/checks/", "checks", ChecksSerializer)
    def get_checks(self, request: Request, batch_id: int) -> object:
        """Read how many hidden checks a batch has."""
        return batch_or_404(batch_id)

    @put("batches/<int:batch_id>/checks/", "checks", ChecksSerializer, takes=NewChecksSerializer)
    def update_checks(self, request: Request, batch_id: int) -> object:
        """Set how many hidden checks a batch has. In an open batch, the rest is planned again."""
        batch = batch_or_404(batch_id)
        return services.configure(batch=batch, **self.validated(request))

    @get_file("tracks/<slug:slug>/checks/", "check_results", "text/tab-separated-values")
    def download_check_results(self, request: Request, slug: str) -> object:
        """Download the results of the hidden checks by assessor, as TSV."""
        return download(*results.results_file(track_of(request, slug)))

    @get(
        "tracks/<slug:slug>/known-grades/",
        "known_grades",
        GoldSerializer,
        ordering=("pk",),
        filters=[Filter("topic", "topic__code"), Filter("grade", kind="whole number")],
    )
    def list_known_grades(self, request: Request, slug: str) -> object:
        """List the units with known grades of a track."""
        return GoldUnit.objects.filter(track=track_of(request, slug)).select_related("topic")

    @post(
        "tracks/<slug:slug>/known-grades/import/",
        "import_known_grades",
        CountSerializer,
        takes=GoldFileSerializer,
        parsers=[MultiPartParser],
    )
    def import_known_grades(self, request: Request, slug: str) -> object:
        """Import a file of known grades, which replace earlier ones of the same units."""
        track = track_of(request, slug)
        form = GoldForm({}, MultiValueDict({"file": [self.validated(request)["file"]]}), track=track)
        require_valid(form)
        return {
            "n": services.import_gold(
                track=track, columns=form.columns, answers=form.answers, by=person_of(request)
            )
        }

    @post("tracks/<slug:slug>/known-grades/agreed/", "add_agreed_grades", CountSerializer)
    def adopt_agreed_grades(self, request: Request, slug: str) -> object:
        """Take the agreed grades of all closed training rounds as known grades."""
        track = track_of(request, slug)
        notes = selectors.agreed_notes(track)
        return {"n": services.add_agreed(track=track, notes=notes, by=person_of(request))}

    @delete("tracks/<slug:slug>/known-grades/<int:unit_id>/", "known_grade")
    def delete_known_grade(self, request: Request, slug: str, unit_id: int) -> None:
        """Forget a known grade. Answers are kept, but not compared with it any more."""
        track = track_of(request, slug)
        unit = get_object_or_404(GoldUnit, track=track, pk=unit_id)
        services.remove_gold(track=track, ids=[unit.pk])


urlpatterns = Checks.urls()
