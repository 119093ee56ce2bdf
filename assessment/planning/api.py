"""Batches for programs: create, plan, open and close them, and see their progress."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from accounts.models import User
from assessment.batches import selectors, services
from assessment.batches.selectors import batch_or_404, batches_for, pools_to_plan
from assessment.judging.selectors import batch_counts
from assessment.models import MOST_JUDGES, Batch, TopicAssignment
from assessment.planning import services as assignments
from assessment.planning.rules import Change
from assessment.planning.selectors import judges_of
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.permissions import LoggedIn, Organizer
from web.api.serializers import Address, Strict, named
from web.api.views import Endpoints, delete, get, patch, post

FILTERS = [
    Filter("status", values=Batch.Status.values),
    Filter("kind", values=Batch.Kind.values),
    Filter("pool", "pool_id", kind="whole number"),
]
JOINED = "Assessors of the track join a main batch by themselves."
PER_UNIT = "The number of people who judge each unit"
KINDS = [Batch.Kind.MAIN, Batch.Kind.DUAL, Batch.Kind.TRAINING, Batch.Kind.ADJUDICATION]


BATCH = (
    "id url track=pool.track.slug pool=pool_id name kind status minutes_allotted n_judges is_shared created_at "
    "closed_at"
)
OF_BATCH = {
    "url": Address("api:batch", help_text="The address of this batch in the API."),
    "kind": serializers.CharField(help_text="training, main, dual, adjudication or machine."),
    "status": serializers.CharField(help_text="draft, open or closed."),
    "n_judges": f"{PER_UNIT}, of a main batch.",
}
BatchSerializer = answer(Batch, "Batch", BATCH, "A round of judging on a pool.", **OF_BATCH)
BatchDetailSerializer = answer(
    Batch,
    "BatchDetail",
    f"{BATCH} n_judged n_units",
    "A batch with its progress in units: for organizers that of all assessors, for others their own.",
    **OF_BATCH,
    n_judged=serializers.IntegerField(read_only=True, help_text="Units that are judged."),
    n_units=serializers.IntegerField(read_only=True, help_text="Units to judge."),
)


class NewBatchSerializer(Strict):
    """A batch of a pool of the track. Machines get theirs from their own endpoint."""

    pool = serializers.IntegerField(min_value=1, help_text="The id of a pool that is ready.")
    name = serializers.CharField(max_length=100)
    kind = serializers.ChoiceField(
        [(kind.value, kind.label) for kind in KINDS], default=Batch.Kind.MAIN.value
    )
    minutes_allotted = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, default=120, help_text="The time for a task."
    )
    n_judges = serializers.IntegerField(
        source="judges",
        min_value=1,
        max_value=MOST_JUDGES,
        allow_null=True,
        default=None,
        help_text=f"{PER_UNIT}, of a main batch; without it, as many as the protocol asks for.",
    )
    is_shared = serializers.BooleanField(default=False, help_text=JOINED)


class BatchChangeSerializer(Strict):
    """The fields of a batch that can change. A field that is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    minutes_allotted = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    n_judges = serializers.IntegerField(
        source="judges",
        min_value=1,
        max_value=MOST_JUDGES,
        required=False,
        allow_null=True,
        help_text=f"{PER_UNIT}; null: as many as the protocol asks for. Without it, nothing changes.",
    )
    is_shared = serializers.BooleanField(
        required=False,
        help_text=f"{JOINED} It is fixed once somebody has a topic. Without it, nothing changes.",
    )


AssignmentSerializer = answer(
    TopicAssignment,
    "Assignment",
    "topic=topic.code assessor=assessor.username seat is_withdrawn",
    "A topic of a batch, and who judges it.",
    seat="Which of the judges of the topic this is, from 1.",
    is_withdrawn="The topic was taken from the assessor.",
)


class ChangeSerializer(Strict):
    """A topic that is assigned to an assessor, or taken from them."""

    topic = serializers.CharField(max_length=100)
    assessor = serializers.CharField(max_length=150)
    is_withdrawn = serializers.BooleanField(default=False)


class ChangesSerializer(Strict):
    """Changes of assignments: all of them are made, or none."""

    changes = serializers.ListField(child=ChangeSerializer(), allow_empty=False, max_length=5_000)


class ShareSerializer(Strict):
    """The assessors who share the topics that nobody has."""

    assessors = serializers.ListField(
        child=serializers.CharField(max_length=150), allow_empty=False, max_length=1_000
    )
    shares = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=20_000,
        help_text="Percents or the most units, such as `ada 50%, emmy 200`; the others share the rest evenly.",
    )


def _people(batch: Batch) -> dict[str, User]:
    """Return who can judge in a batch, by name."""
    judges = judges_of(batch.pool.track, machines=batch.kind == Batch.Kind.MACHINE)
    return {judge.user.username: judge.user for judge in judges.values()}


BATCHES_OF_TRACK = ("tracks/<slug:slug>/batches/", "batches_of_track", BatchSerializer)


class Batches(Endpoints):
    tag = "Batches"
    permission_classes = [Organizer]

    def with_counts(self, user: User, batch_id: int) -> Batch:
        batch = get_object_or_404(batches_for(user), pk=batch_id)
        vars(batch).update(zip(("n_judged", "n_units"), batch_counts(batch, user), strict=True))
        return batch

    def answer(self, batch: Batch) -> Response:
        return Response(BatchSerializer(batch_or_404(batch.pk)).data)

    @get(
        "batches/",
        "batches",
        BatchSerializer,
        who=[LoggedIn],
        in_track="pool__track",
        ordering=("-pk",),
        filters=[Filter("track", "pool__track__slug"), *FILTERS],
        orders=["created_at", "name"],
    )
    def list_batches(self, request: Request) -> object:
        """List batches, newest first.

        Organizers see all batches, assessors and machines those in which they judge.
        """
        return batches_for(person_of(request))

    @get(*BATCHES_OF_TRACK, ordering=("-pk",), filters=FILTERS, orders=["created_at", "name"])
    def list_track_batches(self, request: Request, slug: str) -> object:
        """List the batches of a track, newest first."""
        track = track_of(request, slug)
        return selectors.batches_for_organizer().filter(pool__track=track)

    @post(*BATCHES_OF_TRACK, takes=NewBatchSerializer, status=201)
    def create_batch(self, request: Request, slug: str) -> object:
        """Create a batch as a draft. Assign its topics, then open it."""
        track = track_of(request, slug)
        data = self.validated(request)
        pool = get_object_or_404(pools_to_plan().filter(track=track), pk=data.pop("pool"))
        return services.create(pool=pool, by=person_of(request), **data)

    @get("batches/<int:batch_id>/", "batch", BatchDetailSerializer, who=[LoggedIn])
    def get_batch(self, request: Request, batch_id: int) -> object:
        """Read a batch and its progress."""
        return self.with_counts(person_of(request), batch_id)

    @delete("batches/<int:batch_id>/", "batch", who=[Organizer])
    def delete_batch(self, request: Request, batch_id: int) -> None:
        """Delete a batch that was never opened, with its assignments."""
        services.delete(batch=batch_or_404(batch_id), by=person_of(request))

    @patch("batches/<int:batch_id>/", "batch", BatchSerializer, takes=BatchChangeSerializer)
    def update_batch(self, request: Request, batch_id: int) -> object:
        """Change the name of a batch, the time for a task, the people per unit, and whether it is open to join."""
        require_match(request, BatchDetailSerializer(self.with_counts(person_of(request), batch_id)).data)
        batch = batch_or_404(batch_id)
        kept = {name: getattr(batch, name) for name in ("name", "minutes_allotted", "judges", "is_shared")}
        return self.answer(services.edit(batch=batch, **kept | self.validated(request)))

    @post("batches/<int:batch_id>/open/", "open_batch", BatchSerializer)
    def open_batch(self, request: Request, batch_id: int) -> object:
        """Let assessors take tasks."""
        return self.answer(services.open_for_judging(batch=batch_or_404(batch_id)))

    @post("batches/<int:batch_id>/close/", "close_batch", BatchSerializer)
    def close_batch(self, request: Request, batch_id: int) -> object:
        """Give out no more tasks. Tasks that are taken can still be submitted, once."""
        return self.answer(services.close(batch=batch_or_404(batch_id)))

    @get(
        "batches/<int:batch_id>/assignments/",
        "assignments",
        AssignmentSerializer,
        ordering=("pk",),
        filters=[Filter("topic", "topic__code"), Filter("assessor", "assessor__username")],
    )
    def list_assignments(self, request: Request, batch_id: int) -> object:
        """List who judges which topic of a batch, oldest first."""
        batch = batch_or_404(batch_id)
        return batch.topic_assignments.select_related("topic", "assessor")

    @post("batches/<int:batch_id>/assign/", "assign_topics", takes=ChangesSerializer)
    def assign_topics(self, request: Request, batch_id: int) -> None:
        """Assign topics, and take topics back: all of it, or nothing.

        A topic that is taken from one assessor and assigned to another in one request is moved: the other judges what
        the first has not judged.
        """
        batch = batch_or_404(batch_id)
        people, topics = _people(batch), {topic.code: topic for topic in selectors.pooled_topics(batch)}
        changes = [
            Change(
                named(topics, row["topic"], "changes"),
                named(people, row["assessor"], "changes"),
                is_withdrawn=row["is_withdrawn"],
            )
            for row in self.validated(request)["changes"]
        ]
        assignments.change(batch=batch, changes=changes)

    @post("batches/<int:batch_id>/share/", "share_topics", takes=ShareSerializer)
    def share_topics(self, request: Request, batch_id: int) -> None:
        """Share the topics that nobody has evenly among assessors. In a training batch, each gets all topics."""
        batch = batch_or_404(batch_id)
        people, data = _people(batch), self.validated(request)
        assessors = [named(people, name, "assessors") for name in data["assessors"]]
        assignments.share(batch=batch, assessors=assessors, shares=data["shares"])


urlpatterns = Batches.urls()
