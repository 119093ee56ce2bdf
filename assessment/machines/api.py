"""Machines for programs: add one, and let it judge a pool."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from accounts.selectors import user_named
from assessment.batches.selectors import pools_to_plan
from assessment.machines import selectors, services
from assessment.planning.api import BatchSerializer
from tracks.assessors import machines as machine_services
from tracks.models import Machine
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, get, post


class MachineSerializer(serializers.ModelSerializer[Machine]):
    """A program or a model that judges for a track."""

    url = Address("api:machine", help_text="The address of this machine in the API.")
    track = serializers.CharField(source="assessor.track.slug")
    account = serializers.CharField(
        source="assessor.user.username", help_text="The assessor of its judgments."
    )
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = Machine
        fields = ["id", "url", "track", "name", "version", "description", "account", "owner", "created_at"]


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


class Machines(Endpoints):
    tag = "Machines"
    permission_classes = [Organizer]

    @get("tracks/<slug:slug>/machines/", "machines", MachineSerializer, ordering=("pk",))
    def list_machines(self, request: Request, slug: str) -> Any:
        """List the programs and models that judge for a track, oldest first."""
        track = track_of(request, slug)
        return selectors.machines().filter(assessor__track=track)

    @post(
        "tracks/<slug:slug>/machines/", "machines", MachineSerializer, takes=NewMachineSerializer, status=201
    )
    def add_machine(self, request: Request, slug: str) -> Any:
        """Add a machine to a track. Create its tokens on its page."""
        user = person_of(request)
        track = track_of(request, slug)
        data = self.validated(request)
        named = data.pop("owner")
        owner = user_named(named) if named else user
        if owner is None:
            raise serializers.ValidationError({"owner": f"There is no user {named}."})
        return machine_services.add(track=track, owner=owner, by=user, **data)

    @get("machines/<int:machine_id>/", "machine", MachineSerializer)
    def get_machine(self, request: Request, machine_id: int) -> Any:
        """Read a machine."""
        return get_object_or_404(selectors.machines(), pk=machine_id)

    @post(
        "machines/<int:machine_id>/start/",
        "start_machine",
        BatchSerializer,
        takes=StartSerializer,
        status=201,
    )
    def start_machine(self, request: Request, machine_id: int) -> Any:
        """Let a machine judge a pool: it gets an open batch with all topics."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        pools = pools_to_plan().filter(track=machine.assessor.track_id)
        pool = get_object_or_404(pools, pk=self.validated(request)["pool"])
        return services.start(machine=machine, pool=pool, by=person_of(request))


urlpatterns = Machines.urls()
