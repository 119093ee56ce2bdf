"""Disagreements and adjudication batches for programs."""

from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assessment.adjudication import services
from assessment.agreement.forms import MOST_STEPS, RULES
from assessment.agreement.rules import Difference
from assessment.agreement.selectors import MAIN_ROUND, round_of
from assessment.batches.api import BatchSerializer
from assessment.batches.selectors import assessors_of
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.serializers import Strict, named
from web.api.views import ApiView


class AdjudicationSerializer(Strict):
    """Which disagreements are judged once more, and by which assessors."""

    name = serializers.CharField(max_length=100, default="Adjudication")
    round = serializers.CharField(
        max_length=50, default=MAIN_ROUND, help_text="A key of `rounds` of the agreement of the track."
    )
    rule = serializers.ChoiceField(list(RULES.items()), default=Difference().rule)
    steps = serializers.IntegerField(
        min_value=1, max_value=MOST_STEPS, default=Difference().steps, help_text="For the rule `steps`."
    )
    adjudicators = serializers.ListField(
        child=serializers.CharField(max_length=150),
        allow_empty=False,
        max_length=1_000,
        help_text="User names of assessors, who share the topics evenly.",
    )
    is_blind = serializers.BooleanField(
        default=False, help_text="Adjudicators do not see the judgments that disagree."
    )
    minutes_allotted = serializers.IntegerField(
        min_value=1, max_value=100_000, default=120, help_text="The time for a task."
    )


class AdjudicationBatchesSerializer(serializers.Serializer[Any]):
    """The batches, one for each pool with disagreements."""

    results = BatchSerializer(many=True)


class AdjudicationBatches(ApiView):
    tag = "Batches"
    permission_classes = [Organizer]
    serializer_class = AdjudicationSerializer

    @operation("create_adjudication_batches", responses={200: AdjudicationBatchesSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Create a draft for each pool with disagreements, with these units only. Open it to give out its tasks.

        Units that an adjudication batch has already are left out.
        """
        user, data = person_of(request), self.validated(request)
        track = track_of(request, slug)
        people = {each.username: each for each in assessors_of(track)}
        batches = services.create(
            track=track,
            of_round=round_of(track, data.pop("round")),
            difference=Difference(data.pop("rule"), data.pop("steps")),
            adjudicators=[named(people, name, "adjudicators") for name in data.pop("adjudicators")],
            by=user,
            **data,
        )
        return Response(AdjudicationBatchesSerializer({"results": batches}).data)


urlpatterns = [
    path(
        "tracks/<slug:slug>/adjudication-batches/",
        AdjudicationBatches.as_view(),
        name="adjudication_batches",
    )
]
