"""Samples, estimates and the alternative annotator test for programs."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay_extensions.estimates.site import alt_tests, selectors, services
from assay_extensions.estimates.site.forms import AltTestForm
from assay_extensions.estimates.site.models import Estimate, Sample
from assay_extensions.estimates.site.services import Plan
from assay_extensions.estimates.strata import STRATA, USUAL
from assay_extensions.metaevaluation.alt_test import SCORES, AltTest, Replaced
from assessment.agreement.machines import machines_of
from tracks.models import Machine, Track
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Address, JobAddress, Strict, require_valid
from web.api.views import Endpoints, accepted, get, get_file, parameter, post
from web.downloads import download

SampleSerializer = answer(
    Sample,
    "EstimateSample",
    "id machine=machine_id pool=pool_id name design arguments seed after=after_id fit batch=batch_id job created_at",
    "A sample of what a machine judged, for people.",
    design=serializers.ChoiceField(Sample.Design.values),
    batch="The batch that people judge; null until it is drawn.",
    job=JobAddress(help_text="The address of the job that draws it."),
)
ESTIMATE = "id url machine=machine_id pool=pool_id sample=sample_id measures job created_at"
OF_ESTIMATE = {
    "url": Address("api:estimate", "track.slug", "pk", help_text="The address of this estimate in the API."),
    "sample": "Null if people judged all units of some topics.",
    "job": JobAddress(help_text="The address of the job that computes it."),
}
EstimateSerializer = answer(
    Estimate, "Estimate", ESTIMATE, "Values of runs from a machine and people.", **OF_ESTIMATE
)
EstimateDetailSerializer = answer(
    Estimate,
    "EstimateDetail",
    f"{ESTIMATE} result",
    "An estimate with its tables.",
    **OF_ESTIMATE,
    result=serializers.DictField(help_text="Tables and remarks; empty until it is computed."),
)
ReplacedSerializer = answer(
    Replaced,
    "ReplacedPerson",
    "person n_units advantage at_least_as_good p is_replaced",
    "The test of one person.",
)
AltTestSerializer = answer(
    AltTest,
    "AltTest",
    "machine epsilon score least_units n_dropped omega rho is_passed verdict tests",
    "The alternative annotator test of a machine.",
    is_passed="Whether the machine can replace at least half of the people.",
)


class NewAuditSampleSerializer(Strict):
    """A sample to draw."""

    machine = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    pool = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    name = serializers.CharField(max_length=100, help_text="Of the batch.")
    design = serializers.ChoiceField(Sample.Design.values, default=Sample.Design.WEIGHT)
    share = serializers.FloatField(
        min_value=0.001,
        max_value=1,
        default=0.05,
        help_text="Of the units of each topic: by weight and uniform.",
    )
    n_units = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, default=0, help_text="For strata and next."
    )
    strata = serializers.ListField(
        child=serializers.ChoiceField(STRATA), required=False, default=list(USUAL), max_length=len(STRATA)
    )
    measures = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        default=list,
        max_length=20,
        help_text="Sums over ranks; without them, those of the protocol.",
    )
    has_fit = serializers.BooleanField(
        default=False, help_text="Keep half of the topics for fitting thresholds and prompts."
    )
    after = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1,
        help_text="For next: the sample to which units are added.",
    )  # fmt: skip
    seed = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=10**9
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Check that the design has its size.

        Raises ValidationError: the size is missing.
        """
        if attrs["design"] in {Sample.Design.STRATA, Sample.Design.NEXT} and not attrs["n_units"]:
            raise serializers.ValidationError({"n_units": "This design needs it."})
        return attrs


class NewEstimateSerializer(Strict):
    """An estimate to compute, from a sample or from topics of a pool of which people judged all units."""

    sample = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1
    )
    machine = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1,
        help_text="Without a sample.",
    )  # fmt: skip
    pool = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1,
        help_text="Without a sample.",
    )  # fmt: skip
    measures = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, default=list, max_length=20
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Check that the source is named once.

        Raises ValidationError: it is not.
        """
        if (attrs["sample"] is None) != (attrs["machine"] is not None and attrs["pool"] is not None):
            raise serializers.ValidationError({"sample": "Name a sample, or a machine and a pool."})
        return attrs


SAMPLES = ("tracks/<slug:slug>/estimate-samples/", "estimate_samples", SampleSerializer)
ESTIMATES = ("tracks/<slug:slug>/estimates/", "estimates", EstimateSerializer)


def _machine(track: Track, machine_id: int) -> Machine:
    machine = next((each for each in machines_of(track) if each.pk == machine_id), None)
    if machine is None:
        raise serializers.ValidationError({"machine": f"The track has no machine {machine_id}."})
    return machine


class Estimates(Endpoints):
    tag = "Machines"
    permission_classes = [Organizer]

    @get(*SAMPLES, ordering=("-pk",), filters=[Filter("design", values=Sample.Design.values)])
    def list_estimate_samples(self, request: Request, slug: str) -> object:
        """List the samples of what machines judged, newest first."""
        return selectors.samples_of(track_of(request, slug))

    @post(*SAMPLES, takes=NewAuditSampleSerializer, status=202)
    def create_estimate_sample(self, request: Request, slug: str) -> object:
        """Draw a sample for people in a job, which makes a batch of it."""
        track, data = track_of(request, slug), self.validated(request)
        machine = _machine(track, data.pop("machine"))
        pool = selectors.judged_pools(machine).filter(pk=data["pool"]).first()
        if pool is None:
            raise serializers.ValidationError({"pool": f"{machine} judges no pool {data['pool']}."})
        after = selectors.samples_of(track).filter(pk=data["after"]).first() if data["after"] else None
        if data["after"] and after is None:
            raise serializers.ValidationError({"after": f"The track has no sample {data['after']}."})
        plan = Plan(
            **{name: data[name] for name in ("design", "share", "n_units", "strata", "measures", "has_fit")},
            after=after,
        )
        sample = services.request_sample(
            machine=machine, pool=pool, name=data["name"], plan=plan, by=person_of(request), seed=data["seed"]
        )
        return accepted(SampleSerializer(sample).data, sample.job_id)

    @get_file(
        "tracks/<slug:slug>/estimate-samples/<int:sample_id>/file/",
        "estimate_sample_file",
        "text/tab-separated-values",
    )
    def download_estimate_sample(self, request: Request, slug: str, sample_id: int) -> object:
        """Download a sample with the probability of each unit, as `assay estimate` reads it."""
        drawn = Sample.objects.filter(track=track_of(request, slug)).exclude(batch=None)
        sample = get_object_or_404(drawn, pk=sample_id)
        return download(selectors.sample_file(sample), f"{slug}-sample-{sample.pk}.tsv")

    @get(*ESTIMATES, ordering=("-pk",), filters=[Filter("machine", kind="whole number")])
    def list_estimates(self, request: Request, slug: str) -> object:
        """List the estimates from machines and people, newest first."""
        return selectors.estimates_of(track_of(request, slug))

    @post(*ESTIMATES, takes=NewEstimateSerializer, status=202)
    def create_estimate(self, request: Request, slug: str) -> object:
        """Estimate values of runs in a job."""
        track, data = track_of(request, slug), self.validated(request)
        if data["sample"] is not None:
            sample = selectors.samples_of(track).filter(pk=data["sample"]).first()
            if sample is None:
                raise serializers.ValidationError({"sample": f"The track has no sample {data['sample']}."})
            machine, pool = sample.machine, sample.pool
        else:
            sample, machine = None, _machine(track, data["machine"])
            judged = selectors.judged_pools(machine).filter(pk=data["pool"]).first()
            if judged is None:
                raise serializers.ValidationError({"pool": f"{machine} judges no pool {data['pool']}."})
            pool = judged
        estimate = services.request_estimate(
            machine=machine, pool=pool, sample=sample, measures=data["measures"], by=person_of(request)
        )
        return accepted(EstimateSerializer(estimate).data, estimate.job_id)

    @get("tracks/<slug:slug>/estimates/<int:estimate_id>/", "estimate", EstimateDetailSerializer)
    def get_estimate(self, request: Request, slug: str, estimate_id: int) -> object:
        """Read an estimate with its tables."""
        return get_object_or_404(selectors.estimates_of(track_of(request, slug)), pk=estimate_id)

    @get(
        "machines/<int:machine_id>/alt-test/",
        "alt_test",
        {200: AltTestSerializer, 204: None},
        parameters=[
            parameter("epsilon", "The advantage of a person that is given up (default: 0.1).", kind="number"),
            parameter("score", "The agreement with a person.", values=SCORES),
        ],
    )
    def get_alt_test(self, request: Request, machine_id: int) -> object:
        """Test whether a machine may take the place of people. 204 if it has graded nothing."""
        form = AltTestForm(request.query_params)
        require_valid(form)
        test = alt_tests.alt_test_of(alt_tests.machine_or_404(machine_id), **form.options)
        return Response(status=204) if test is None else test


urlpatterns = Estimates.urls()
