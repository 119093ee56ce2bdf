"""Agreement for programs."""

from typing import Any, get_args

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assay.statistics import agreement_report as report
from assessment.agreement import discussions, exports, selectors, services
from assessment.agreement.forms import ORDERS, DisagreementsForm
from assessment.agreement.machines import Comparison
from assessment.agreement.preferences import TopicPreferences
from assessment.batches.selectors import batch_or_404
from assessment.judgments.api import AnswersField
from assessment.judgments.disagreements import Rule, round_of, scale_of
from assessment.models import Batch
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, get, get_file, parameter, post
from web.downloads import download

answer(
    report.Value,
    "Alpha",
    "grades=name alpha=value low=interval.low high=interval.high",
    "Krippendorff's alpha with a distance of grades.",
    grades="nominal, ordinal, interval or two-way.",
)
answer(
    report.AcValue,
    "GwetAC",
    "weights=name ac=value low=interval.low high=interval.high",
    "Gwet's AC1, or AC2 with weights.",
    weights="none, linear, quadratic or two-way.",
)
answer(
    report.Pair,
    "Pair",
    "first second units=kappa.n agreement=kappa.observed kappa=kappa.value kappa_linear=linear.value "
    "kappa_quadratic=quadratic.value kappa_two_way=two_way.value",
    "Cohen's kappa of two judges.",
    agreement="The share of equal grades.",
)
answer(
    report.AssessorAgreement,
    "AssessorAgreement",
    "assessor=name other_assessors=n_pairs units=n_units kappa kappa_two_way=two_way",
    "The mean kappa of an assessor with the others.",
)
answer(
    report.TopicAgreement,
    "TopicAgreement",
    "topic units=n_units agreement=observed alpha_nominal=nominal alpha_ordinal=ordinal alpha_two_way=two_way",
    "The agreement on a topic.",
    alpha_ordinal="Null if what is compared has no order.",
)
answer(
    Comparison,
    "MachineAgreement",
    "machine=machine.id name n_judged pair topics",
    "A machine against people's grades.",
    name=serializers.CharField(source="machine"),
    pair="Null if no document has the grades of both.",
)
answer(
    TopicPreferences,
    "Preferences",
    "topic judged=consistency.judged pairs=consistency.pairs circular=consistency.circular triads=consistency.triads "
    "zeta=consistency.zeta repeated=consistency.repeated repeated_alike=consistency.repeated_alike "
    "left=consistency.left",
    "The consistency of the preferences of a topic.",
    judged="Pairs with a preference.",
    pairs="Pairs that the documents have.",
    circular="Circular triads.",
    triads="Triads whose three sides are decided.",
    zeta="Kendall's coefficient; null unless all pairs are decided.",
    repeated="Pairs that an assessor judged twice.",
    left="The share of the left among preferences for one of the two.",
)
AgreementSerializer = answer(
    selectors.AgreementPage,
    "Agreement",
    "round=current.key rounds=round_keys level judgments=n_judgments without_grade=n_without_grade "
    "units_judged_twice=graded.n_shared_units alphas acs pairs assessors topics machines preferences",
    "The agreement of the assessors of a track in a round.",
    rounds="The keys of all rounds.",
    level="The grade from which a unit is relevant in two-way values.",
    judgments="All, also those without a grade.",
    machines="In the main round.",
    preferences="Of pairs; otherwise empty.",
)

SCALE = "A question with choices, or `question:choice` of any-of; the grade without it."


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
    def get_agreement(self, request: Request, slug: str) -> object:
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
    def download_disagreements(self, request: Request, slug: str) -> object:
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
    def list_discussion(self, request: Request, batch_id: int) -> object:
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
