"""Agreement for programs."""

import math
from typing import Any, get_args

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assay.statistics import agreement_report as report
from assessment.agreement import discussions, exports, selectors, services
from assessment.agreement.forms import ORDERS, DisagreementsForm
from assessment.batches.selectors import batch_or_404
from assessment.judgments.api import AnswersField
from assessment.judgments.disagreements import Rule, round_of, scale_of
from assessment.models import Batch
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, get, get_file, parameter, post
from web.downloads import download


class Number(serializers.FloatField):
    """A number; null where it is undefined."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: Any) -> Any:
        return float(value) if math.isfinite(value) else None


class AlphaSerializer(serializers.Serializer[report.Value]):
    """Krippendorff's alpha with a distance of grades."""

    grades = serializers.CharField(source="name", help_text="nominal, ordinal, interval or two-way.")
    alpha = Number(source="value")
    low = Number(source="interval.low")
    high = Number(source="interval.high")


class PairSerializer(serializers.Serializer[report.Pair]):
    """Cohen's kappa of two judges."""

    first = serializers.CharField()
    second = serializers.CharField()
    units = serializers.IntegerField(source="kappa.n")
    agreement = Number(source="kappa.observed", help_text="The share of equal grades.")
    kappa = Number(source="kappa.value")
    kappa_linear = Number(source="linear.value")
    kappa_quadratic = Number(source="quadratic.value")
    kappa_two_way = Number(source="two_way.value")


class AssessorAgreementSerializer(serializers.Serializer[report.AssessorAgreement]):
    """The mean kappa of an assessor with the others."""

    assessor = serializers.CharField(source="name")
    other_assessors = serializers.IntegerField(source="n_pairs")
    units = serializers.IntegerField(source="n_units")
    kappa = Number()
    kappa_two_way = Number(source="two_way")


class TopicAgreementSerializer(serializers.Serializer[report.TopicAgreement]):
    """The agreement on a topic."""

    topic = serializers.CharField()
    units = serializers.IntegerField(source="n_units")
    agreement = Number(source="observed")
    alpha_nominal = Number(source="nominal")
    alpha_ordinal = Number(source="ordinal", help_text="Null if what is compared has no order.")
    alpha_two_way = Number(source="two_way")


class MachineAgreementSerializer(serializers.Serializer[Any]):
    """A machine against people's grades."""

    machine = serializers.IntegerField(source="machine.pk")
    name = serializers.CharField(source="machine")
    n_judged = serializers.IntegerField()
    pair = PairSerializer(allow_null=True, help_text="Null if no document has the grades of both.")
    topics = TopicAgreementSerializer(many=True)


class PreferencesSerializer(serializers.Serializer[Any]):
    """The consistency of the preferences of a topic."""

    topic = serializers.CharField()
    judged = serializers.IntegerField(source="consistency.judged", help_text="Pairs with a preference.")
    pairs = serializers.IntegerField(source="consistency.pairs", help_text="Pairs that the documents have.")
    circular = serializers.IntegerField(source="consistency.circular", help_text="Circular triads.")
    triads = serializers.IntegerField(
        source="consistency.triads", help_text="Triads whose three sides are decided."
    )
    zeta = Number(
        source="consistency.zeta", help_text="Kendall's coefficient; null unless all pairs are decided."
    )
    repeated = serializers.IntegerField(
        source="consistency.repeated", help_text="Pairs that an assessor judged twice."
    )
    repeated_alike = serializers.IntegerField(source="consistency.repeated_alike")
    left = Number(
        source="consistency.left", help_text="The share of the left among preferences for one of the two."
    )


SCALE = "A question with choices, or `question:choice` of any-of; the grade without it."


class AgreementSerializer(serializers.Serializer[Any]):
    """The agreement of the assessors of a track in a round."""

    round = serializers.CharField(source="current.key")
    rounds = serializers.SerializerMethodField(help_text="The keys of all rounds.")
    level = serializers.IntegerField(help_text="The grade from which a unit is relevant in two-way values.")
    judgments = serializers.IntegerField(source="n_judgments", help_text="All, also those without a grade.")
    without_grade = serializers.IntegerField(source="n_without_grade")
    units_judged_twice = serializers.IntegerField(source="graded.n_shared_units")
    alphas = AlphaSerializer(many=True)
    pairs = PairSerializer(many=True)
    assessors = AssessorAgreementSerializer(many=True)
    topics = TopicAgreementSerializer(many=True)
    machines = MachineAgreementSerializer(many=True, help_text="In the main round.")
    preferences = PreferencesSerializer(many=True, help_text="Of pairs; otherwise empty.")

    def get_rounds(self, page: selectors.AgreementPage) -> list[str]:
        return [of_round.key for of_round in page.rounds]


class Agreement(Endpoints):
    tag = "Agreement"
    permission_classes = [Organizer]

    @get(
        "tracks/<slug:slug>/agreement/",
        "agreement",
        AgreementSerializer,
        parameters=[
            parameter("round", "One of `rounds`; the main round without it."),
            parameter("scale", SCALE),
        ],
    )
    def get_agreement(self, request: Request, slug: str) -> Any:
        """Read kappa and alpha of a track, of the main round or of the training round `round`."""
        track = track_of(request, slug)
        of_round = round_of(track, request.query_params.get("round"))
        scale = scale_of(track.protocol.parsed, request.query_params.get("scale"))
        return selectors.agreement_page(track, of_round, scale)

    @get_file(
        "tracks/<slug:slug>/disagreements/",
        "disagreements",
        "text/csv",
        parameters=[
            parameter("round", "One of `rounds` of the agreement; the main round without it."),
            parameter(
                "rule",
                "any without it. threshold and steps need a scale with an order, non-answer a protocol with them.",
                values=list(get_args(Rule)),
            ),
            parameter(
                "steps", "For the rule `steps`: grades at least so many steps apart.", kind="whole number"
            ),
            parameter("scale", SCALE),
            parameter("order", "By topic without it; or the largest difference first.", values=list(ORDERS)),
        ],
    )
    def download_disagreements(self, request: Request, slug: str) -> Any:
        """Download the units on which assessors disagree, as CSV with every judgment and comment."""
        track = track_of(request, slug)
        form = DisagreementsForm.from_query(request.query_params, track.protocol.parsed)
        require_valid(form)
        of_round, order = request.query_params.get("round"), form.cleaned_data["order"]
        return download(*exports.disagreements_file(track, of_round, form.difference, order))


class ReplySerializer(serializers.Serializer[Any]):
    """An assessor's answer, under the name that you see. Null: they did not judge the unit."""

    assessor = serializers.CharField(source="column.name")
    choice = serializers.CharField(source="reply.label", default=None, allow_null=True)
    grade = serializers.IntegerField(source="reply.grade", default=None, allow_null=True)
    comment = serializers.CharField(source="reply.comment", default="")
    answers = AnswersField(source="reply.given", default=dict, help_text="To the questions of the protocol.")


class DiscussedSerializer(serializers.Serializer[discussions.DiscussedUnit]):
    """A unit of a training round with everyone's answers, and the outcome."""

    topic = serializers.CharField()
    docno = serializers.CharField()
    answers = ReplySerializer(many=True)
    agreed_grade = serializers.IntegerField(source="note.grade", default=None, allow_null=True)
    text = serializers.CharField(source="note.text", default="", help_text="Why.")


class SharingSerializer(Strict):
    """The people who see a discussion."""

    discussion = serializers.ChoiceField(Batch.Discussion.values)


class OutcomeSerializer(Strict):
    """The outcome for a unit. Without grade and text, it is deleted."""

    topic = serializers.CharField(max_length=100, help_text="The code.")
    docno = serializers.CharField(max_length=500)
    grade = serializers.IntegerField(required=False, allow_null=True, default=None)
    text = serializers.CharField(max_length=10_000, required=False, allow_blank=True, default="")


class Discussions(Endpoints):
    tag = "Agreement"

    @get("batches/<int:batch_id>/discussion/", "discussion", DiscussedSerializer(many=True))
    def list_discussion(self, request: Request, batch_id: int) -> Any:
        """Read the answers of a training round: organizers, and its assessors while it is shared with them."""
        user = person_of(request)
        batch = get_object_or_404(discussions.discussions_for(user), pk=batch_id)
        return discussions.discussed_units(batch, discussions.round_of_batch(batch), user)[1]

    @post(
        "batches/<int:batch_id>/discussion/share/",
        "share_discussion",
        takes=SharingSerializer,
        who=[Organizer],
    )
    def share_discussion(self, request: Request, batch_id: int) -> None:
        """Set who sees the discussion of a training round."""
        batch = batch_or_404(batch_id)
        services.share(batch=batch, **self.validated(request))

    @post(
        "batches/<int:batch_id>/discussion/outcome/", "set_outcome", takes=OutcomeSerializer, who=[Organizer]
    )
    def record_outcome(self, request: Request, batch_id: int) -> None:
        """Store the agreed grade of a unit and why, instead of an earlier outcome."""
        batch = batch_or_404(batch_id)
        services.note(batch=batch, by=person_of(request), **self.validated(request))


urlpatterns = Discussions.urls() + Agreement.urls()
