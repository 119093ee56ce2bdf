"""Machines for programs: add one, and let it judge a pool."""

from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from accounts.selectors import user_named
from assessment.batches.api import BatchSerializer
from assessment.machines import selectors, services
from assessment.planning.selectors import pools_to_plan
from tracks.machines import services as machine_services
from tracks.models import Machine
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, ListView, created


class MachineSerializer(serializers.ModelSerializer[Machine]):
    """A program or a model that judges for a track."""

    url = serializers.SerializerMethodField(help_text="The address of this machine in the API.")
    track = serializers.CharField(source="assessor.track.slug")
    account = serializers.CharField(
        source="assessor.user.username", help_text="The assessor of its judgments."
    )
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = Machine
        fields = ["id", "url", "track", "name", "version", "description", "account", "owner", "created_at"]

    def get_url(self, machine: Machine) -> str:
        return reverse("api:machine", args=[machine.pk])


class NewMachineSerializer(Strict):
    """A new machine. None of this can be changed later."""

    name = serializers.CharField(max_length=60)
    version = serializers.CharField(max_length=60)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True, default="")
    owner = serializers.CharField(
        max_length=150,
        required=False,
        default="",
        help_text="User name of the person who answers for it; yours.",
    )


class StartSerializer(Strict):
    """The pool that the machine judges."""

    pool = serializers.IntegerField(min_value=1, help_text="The id of a pool that is ready.")


class MachineList(ListView):
    tag = "Machines"
    permission_classes = [Organizer]
    serializer_class = NewMachineSerializer
    ordering = ("pk",)

    @operation("list_machines", responses=MachineSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the programs and models that judge for a track, oldest first."""
        track = track_of(request, slug)
        return self.listed(selectors.machines().filter(assessor__track=track), MachineSerializer)

    @operation("add_machine", responses={201: MachineSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Add a machine to a track. Create its tokens on its page."""
        user = person_of(request)
        track = track_of(request, slug)
        data = self.validated(request)
        named = data.pop("owner")
        owner = user_named(named) if named else user
        if owner is None:
            raise serializers.ValidationError({"owner": f"There is no user {named}."})
        machine = machine_services.add(track=track, owner=owner, by=user, **data)
        shown = MachineSerializer(machine).data
        return created(shown, shown["url"])


class MachineDetail(ApiView):
    tag = "Machines"
    permission_classes = [Organizer]
    serializer_class = MachineSerializer

    @operation("get_machine")
    def get(self, request: Request, machine_id: int) -> Response:
        """Read a machine."""
        return Response(MachineSerializer(get_object_or_404(selectors.machines(), pk=machine_id)).data)


class MachineStart(ApiView):
    tag = "Machines"
    permission_classes = [Organizer]
    serializer_class = StartSerializer

    @operation("start_machine", responses={201: BatchSerializer})
    def post(self, request: Request, machine_id: int) -> Response:
        """Let a machine judge a pool: it gets an open batch with all topics."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        pools = pools_to_plan().filter(track=machine.assessor.track_id)
        pool = get_object_or_404(pools, pk=self.validated(request)["pool"])
        batch = services.start(machine=machine, pool=pool, by=person_of(request))
        shown = BatchSerializer(batch).data
        return created(shown, shown["url"])


urlpatterns = [
    path("tracks/<slug:slug>/machines/", MachineList.as_view(), name="machines"),
    path("machines/<int:machine_id>/", MachineDetail.as_view(), name="machine"),
    path("machines/<int:machine_id>/start/", MachineStart.as_view(), name="start_machine"),
]
