"""Batches of second judgments, training rounds and adjudication batches for programs."""

from typing import Any, get_args

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assessment.batches.selectors import assessors_of, pools_to_plan
from assessment.judgments.disagreements import MAIN_ROUND, Difference, Rule, round_of, rules_for, scale_of
from assessment.judgments.forms import MOST_STEPS
from assessment.planning.api import BatchSerializer
from assessment.rounds import services
from assessment.rounds.dual import DualTopic, dual_proposal, rule_in_words
from assessment.rounds.forms import MOST_UNITS
from assessment.rounds.selectors import topics_to_train, training_topics
from pooling.models import Pool
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Organizer
from web.api.serializers import Strict, named
from web.api.views import Endpoints, get, post

MOST = 5_000
MINUTES = serializers.IntegerField(
    min_value=1, max_value=100_000, default=120, help_text="The time for a task."
)


def texts(length: int, **options: Any) -> serializers.ListField:
    """A list of texts of at most some length, which is not empty."""
    child = serializers.CharField(max_length=length)
    return serializers.ListField(child=child, allow_empty=False, **({"max_length": MOST} | options))


class Names(serializers.ListField):
    """The user names of people."""

    child = serializers.CharField()


DualTopicSerializer = answer(
    DualTopic,
    "DualTopic",
    "topic=topic.code judged_by second n_judged=judged n_units=total n_relevant able proposed=proposed.username",
    "A topic of the main batches, with its proposed second assessor.",
    judged_by=Names(read_only=True, help_text="Who has it in a main batch."),
    second=Names(read_only=True, help_text="Who has it in other second judgments."),
    n_judged="Units that are judged.",
    able=Names(read_only=True, help_text="Who can judge it a second time."),
    proposed="By the rule of the protocol.",
)


class DualProposalSerializer(serializers.Serializer[Any]):
    """The proposal of the protocol's rule for dual judging, topic by topic."""

    rule = serializers.CharField(help_text="In words.")
    topics = DualTopicSerializer(many=True)


class SecondSerializer(Strict):
    """The second assessor of a topic."""

    topic = serializers.CharField(max_length=100)
    assessor = serializers.CharField(max_length=150)


class DualBatchSerializer(Strict):
    """Second judgments: by the rule of the protocol, or with the second assessors that you name."""

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
    topics = texts(
        100, required=False, help_text="Codes. Without it: the first topics, as many as the protocol states."
    )
    assessors = texts(150, required=False, help_text="User names. Without it: all assessors of the track.")
    n_units = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_UNITS,
        help_text="Of each topic, spread over the ranks at which runs retrieved them. Without it: 10.",
    )
    docnos = texts(
        300,
        required=False,
        max_length=MOST_UNITS,
        help_text="The documents to judge, instead of `n_units`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a field that would be ignored.

        Raises:
            ValidationError: Both kinds of choices are there.
        """
        if "docnos" in attrs and "n_units" in attrs:
            raise serializers.ValidationError({"n_units": "Name the documents or their number, not both."})
        return attrs


class AdjudicationSerializer(Strict):
    """The disagreements that are judged once more, and their assessors."""

    name = serializers.CharField(max_length=100, default="Adjudication")
    round = serializers.CharField(
        max_length=50, default=MAIN_ROUND, help_text="A key of `rounds` of the agreement of the track."
    )
    rule = serializers.ChoiceField(
        get_args(Rule), default=Difference().rule, help_text="As of disagreements."
    )
    steps = serializers.IntegerField(
        min_value=1, max_value=MOST_STEPS, default=Difference().steps, help_text="For the rule `steps`."
    )
    scale = serializers.CharField(
        max_length=101,
        default="",
        allow_blank=True,
        help_text="A question with choices, or `question:choice` of any-of; the grade without it.",
    )
    adjudicators = texts(
        150, max_length=1_000, help_text="User names of assessors, who share the topics evenly."
    )
    is_blind = serializers.BooleanField(
        default=False, help_text="Adjudicators do not see the judgments that disagree."
    )
    minutes_allotted = MINUTES


DUAL_BATCHES = ("pools/<int:pool_id>/dual-batches/", "dual_batches")


class Planning(Endpoints):
    tag = "Batches"
    permission_classes = [Organizer]

    def pool(self, pool_id: int) -> Pool:
        return get_object_or_404(pools_to_plan(), pk=pool_id)

    @get(*DUAL_BATCHES, DualProposalSerializer)
    def get_dual_proposal(self, request: Request, pool_id: int) -> object:
        """Read which topics the rule of the protocol has judged twice, and by which second assessor."""
        pool = self.pool(pool_id)
        return {"rule": rule_in_words(pool), "topics": dual_proposal(pool)}

    @post(*DUAL_BATCHES, BatchSerializer, takes=DualBatchSerializer, status=201)
    def create_dual_batch(self, request: Request, pool_id: int) -> object:
        """Create a batch of second judgments as a draft. Change its assignments as you like, then open it."""
        pool, data = self.pool(pool_id), self.validated(request)
        rows = {row.topic.code: row for row in dual_proposal(pool)}
        second = {row.topic: row.proposed for row in rows.values() if row.proposed}
        if "second" in data:
            second = {}
            for pair in data.pop("second"):
                row = named(rows, pair["topic"], "second")
                able = {user.username: user for user in row.able}
                second[row.topic] = named(able, pair["assessor"], "second")
        return services.create_dual(pool=pool, second=second, by=person_of(request), **data)

    @post(
        "pools/<int:pool_id>/training-batches/",
        "training_batches",
        BatchSerializer,
        takes=TrainingBatchSerializer,
        status=201,
    )
    def create_training_batch(self, request: Request, pool_id: int) -> object:
        """Create a training round as a draft. Open it to give out its tasks."""
        pool, data = self.pool(pool_id), self.validated(request)
        topics = {topic.code: topic for topic in topics_to_train(pool)}
        people = {user.username: user for user in assessors_of(pool.track)}
        usual = {"topics": [topic.code for topic in training_topics(pool)], "assessors": list(people)}
        data = usual | {"n_units": None if "docnos" in data else 10} | data
        data["topics"] = [named(topics, code, "topics") for code in data["topics"]]
        data["assessors"] = [named(people, name, "assessors") for name in data["assessors"]]
        return services.create_training(pool=pool, by=person_of(request), **data)

    @post(
        "tracks/<slug:slug>/adjudication-batches/",
        "adjudication_batches",
        BatchSerializer(many=True),
        takes=AdjudicationSerializer,
        status=201,
    )
    def create_adjudication_batches(self, request: Request, slug: str) -> object:
        """Create a draft for each pool with disagreements, with these units only. Open it to give out its tasks.

        Units that an adjudication batch has already are left out.
        """
        user, data = person_of(request), self.validated(request)
        track = track_of(request, slug)
        people = {assessor.username: assessor for assessor in assessors_of(track)}
        difference = Difference(*(data.pop(name) for name in Difference._fields))
        protocol = track.protocol.parsed
        named(rules_for(protocol, scale_of(protocol, difference.scale)), difference.rule, "rule")
        return services.create_adjudications(
            track=track,
            of_round=round_of(track, data.pop("round")),
            difference=difference,
            adjudicators=[named(people, name, "adjudicators") for name in data.pop("adjudicators")],
            by=user,
            **data,
        )


urlpatterns = Planning.urls()
