"""Dual batches and training rounds for programs."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from accounts.models import User
from assessment.batches.api import BatchSerializer
from assessment.batches.selectors import assessors_of
from assessment.models import Batch
from assessment.planning import services
from assessment.planning.dual import DualTopic, dual_proposal, rule_in_words
from assessment.planning.forms import MOST_UNITS
from assessment.planning.selectors import pools_to_plan, topics_to_train, training_topics
from pooling.models import Pool
from tracks.models import Topic
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.serializers import Strict, named
from web.api.views import ApiView, created

MOST = 5_000
MINUTES = serializers.IntegerField(
    min_value=1, max_value=100_000, default=120, help_text="The time for a task."
)


class DualTopicSerializer(serializers.Serializer[DualTopic]):
    """A topic of the main batches, with its proposed second assessor."""

    topic = serializers.CharField(source="topic.code")
    judged_by = serializers.SerializerMethodField(help_text="Who has it in a main batch.")
    second = serializers.SerializerMethodField(help_text="Who has it in another dual batch.")
    judged = serializers.IntegerField(help_text="Units that are judged.")
    total = serializers.IntegerField()
    n_relevant = serializers.IntegerField()
    able = serializers.SerializerMethodField(help_text="Who can judge it a second time.")
    proposed = serializers.CharField(
        source="proposed.username", default=None, allow_null=True, help_text="By the rule of the protocol."
    )

    def get_judged_by(self, topic: DualTopic) -> list[str]:
        return _names(topic.judged_by)

    def get_second(self, topic: DualTopic) -> list[str]:
        return _names(topic.second)

    def get_able(self, topic: DualTopic) -> list[str]:
        return _names(topic.able)


class DualProposalSerializer(serializers.Serializer[Any]):
    """What the rule of the protocol proposes for dual judging, topic by topic."""

    rule = serializers.CharField(help_text="In words.")
    topics = DualTopicSerializer(many=True)


class SecondSerializer(Strict):
    """The second assessor of a topic."""

    topic = serializers.CharField(max_length=100)
    assessor = serializers.CharField(max_length=150)


class DualBatchSerializer(Strict):
    """A dual batch: by the rule of the protocol, or with the second assessors that you name."""

    name = serializers.CharField(max_length=100, default="Second judgments")
    minutes_allotted = MINUTES
    second = serializers.ListField(
        child=SecondSerializer(),
        required=False,
        allow_empty=False,
        max_length=MOST,
        help_text="Without it: as the rule proposes.",
    )


class TrainingBatchSerializer(Strict):
    """A training round, in which every assessor judges the same units."""

    name = serializers.CharField(max_length=100)
    minutes_allotted = MINUTES
    topics = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        allow_empty=False,
        max_length=MOST,
        help_text="Codes. Without it: the first topics, as many as the protocol states.",
    )
    assessors = serializers.ListField(
        child=serializers.CharField(max_length=150),
        required=False,
        allow_empty=False,
        max_length=MOST,
        help_text="User names. Without it: all assessors of the track.",
    )
    n_units = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_UNITS,
        help_text="Of each topic, spread over the ranks at which runs retrieved them. Without it: 10.",
    )
    docnos = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        allow_empty=False,
        max_length=MOST_UNITS,
        help_text="The documents to judge, instead of `n_units`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a field that would be ignored.

        Raises
        ------
        ValidationError
            Both kinds of choices are there.
        """
        if "docnos" in attrs and "n_units" in attrs:
            raise serializers.ValidationError({"n_units": "Name the documents or their number, not both."})
        return attrs


class _Planned(ApiView):
    """An endpoint that creates a batch of a pool."""

    tag = "Batches"
    permission_classes = [Organizer]

    def pool(self, pool_id: int) -> Pool:
        return get_object_or_404(pools_to_plan(), pk=pool_id)

    def answer(self, batch: Batch) -> Response:
        shown = BatchSerializer(batch).data
        return created(shown, shown["url"])


class DualBatches(_Planned):
    serializer_class = DualBatchSerializer

    @operation("get_dual_proposal", responses=DualProposalSerializer)
    def get(self, request: Request, pool_id: int) -> Response:
        """Read which topics the rule of the protocol has judged twice, and by which second assessor."""
        pool = self.pool(pool_id)
        proposal = {"rule": rule_in_words(pool), "topics": dual_proposal(pool)}
        return Response(DualProposalSerializer(proposal).data)

    @operation("create_dual_batch", responses={201: BatchSerializer})
    def post(self, request: Request, pool_id: int) -> Response:
        """Create a dual batch as a draft. Change its assignments as you like, then open it."""
        pool, data = self.pool(pool_id), self.validated(request)
        rows = {row.topic.code: row for row in dual_proposal(pool)}
        if "second" in data:
            data["second"] = dict(_second(rows, each) for each in data["second"])
        else:
            data["second"] = {row.topic: row.proposed for row in rows.values() if row.proposed}
        return self.answer(services.create_dual(pool=pool, by=person_of(request), **data))


class TrainingBatches(_Planned):
    serializer_class = TrainingBatchSerializer

    @operation("create_training_batch", responses={201: BatchSerializer})
    def post(self, request: Request, pool_id: int) -> Response:
        """Create a training round as a draft. Open it to give out its tasks."""
        pool, data = self.pool(pool_id), self.validated(request)
        topics = {topic.code: topic for topic in topics_to_train(pool)}
        people = {user.username: user for user in assessors_of(pool.track)}
        usual = {"topics": [topic.code for topic in training_topics(pool)], "assessors": list(people)}
        data = usual | {"n_units": None if "docnos" in data else 10} | data
        data["topics"] = [named(topics, code, "topics") for code in data["topics"]]
        data["assessors"] = [named(people, name, "assessors") for name in data["assessors"]]
        return self.answer(services.create_training(pool=pool, by=person_of(request), **data))


def _second(rows: dict[str, DualTopic], chosen: dict[str, str]) -> tuple[Topic, User]:
    row = named(rows, chosen["topic"], "second")
    able = {user.username: user for user in row.able}
    return row.topic, named(able, chosen["assessor"], "second")


def _names(people: list[User]) -> list[str]:
    return [user.username for user in people]


urlpatterns = [
    path("pools/<int:pool_id>/dual-batches/", DualBatches.as_view(), name="dual_batches"),
    path("pools/<int:pool_id>/training-batches/", TrainingBatches.as_view(), name="training_batches"),
]
