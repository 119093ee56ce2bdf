"""Machines for programs: add one, and let it judge a pool."""

from datetime import timedelta

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from accounts.api import CreatedTokenSerializer, KnownTokenSerializer, NewTokenSerializer, created_token
from accounts.selectors import tokens_of, user_named
from accounts.tokens import MAX_DAYS
from assay_extensions.machines.site import selectors, services
from assessment.batches.selectors import pools_to_plan
from assessment.planning.api import BatchSerializer
from tracks.assessors import machines as machine_services
from tracks.models import Machine
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, created, get, post

FIRST = "judging"  # name of the first token, as the page of the machine proposes


MACHINE = (
    "id url track=assessor.track.slug name version description account=assessor.user.username owner=owner.username "
    "created_at"
)
OF_MACHINE = {
    "url": Address("api:machine", help_text="The address of this machine in the API."),
    "account": "The assessor of its judgments.",
}
MachineSerializer = answer(
    Machine, "Machine", MACHINE, "A program or a model that judges for a track.", **OF_MACHINE
)


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
    days = serializers.IntegerField(
        min_value=1, max_value=MAX_DAYS, default=30, help_text="Until its first token expires."
    )


CreatedMachineSerializer = answer(
    Machine,
    "CreatedMachine",
    f"{MACHINE} token",
    "A new machine with its first token.",
    **OF_MACHINE,
    token=CreatedTokenSerializer(
        allow_null=True,
        help_text="With it, the program judges as this machine. Null if the request was repeated.",
    ),
)


class StartSerializer(Strict):
    """The pool that the machine judges."""

    pool = serializers.IntegerField(min_value=1, help_text="The id of a pool that is ready.")


MACHINES = ("tracks/<slug:slug>/machines/", "machines")
MACHINE_TOKENS = ("machines/<int:machine_id>/tokens/", "machine_tokens")


class Machines(Endpoints):
    tag = "Machines"
    permission_classes = [Organizer]

    @get(*MACHINES, MachineSerializer, ordering=("pk",), filters=[Filter("name")])
    def list_machines(self, request: Request, slug: str) -> object:
        """List the programs and models that judge for a track, oldest first."""
        track = track_of(request, slug)
        return selectors.machines().filter(assessor__track=track)

    @post(*MACHINES, CreatedMachineSerializer, takes=NewMachineSerializer, status=201, secrets=("token",))
    def create_machine(self, request: Request, slug: str) -> object:
        """Add a machine to a track. The answer has the token of its program."""
        user = person_of(request)
        track = track_of(request, slug)
        data = self.validated(request)
        named = data.pop("owner")
        owner = user_named(named) if named else user
        if owner is None:
            raise serializers.ValidationError({"owner": f"There is no user {named}."})
        days = timedelta(days=data.pop("days"))
        machine = machine_services.add(track=track, owner=owner, by=user, **data)
        new = machine_services.create_token(machine=machine, name=FIRST, expires_at=timezone.now() + days)
        shown = {**MachineSerializer(machine).data, "token": created_token(new)}
        return created(shown, shown["url"])

    @get("machines/<int:machine_id>/", "machine", MachineSerializer)
    def get_machine(self, request: Request, machine_id: int) -> object:
        """Read a machine."""
        return get_object_or_404(selectors.machines(), pk=machine_id)

    @post(
        "machines/<int:machine_id>/start/",
        "start_machine",
        BatchSerializer,
        takes=StartSerializer,
        status=201,
    )
    def start_machine(self, request: Request, machine_id: int) -> object:
        """Let a machine judge a pool: it gets an open batch with all topics."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        pools = pools_to_plan().filter(track=machine.assessor.track_id)
        pool = get_object_or_404(pools, pk=self.validated(request)["pool"])
        return services.start(machine=machine, pool=pool, by=person_of(request))

    @get(*MACHINE_TOKENS, KnownTokenSerializer, ordering=("-pk",), filters=[Filter("name")])
    def list_machine_tokens(self, request: Request, machine_id: int) -> object:
        """List the tokens of a machine, newest first, without their texts."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        return tokens_of(machine.assessor.user)

    @post(*MACHINE_TOKENS, CreatedTokenSerializer, takes=NewTokenSerializer, status=201, secrets=("token",))
    def create_machine_token(self, request: Request, machine_id: int) -> object:
        """Create another token of a machine, for example before the first one ends."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        data = self.validated(request)
        expires_at = timezone.now() + timedelta(days=data["days"])
        new = machine_services.create_token(machine=machine, name=data["name"], expires_at=expires_at)
        return created(created_token(new), reverse("api:machine_tokens", args=[machine.pk]))

    @post(
        "machines/<int:machine_id>/tokens/<int:token_id>/revoke/",
        "revoke_machine_token",
        KnownTokenSerializer,
    )
    def revoke_machine_token(self, request: Request, machine_id: int, token_id: int) -> object:
        """End the validity of a token of a machine."""
        machine = get_object_or_404(selectors.machines(), pk=machine_id)
        token = get_object_or_404(tokens_of(machine.assessor.user), pk=token_id)
        machine_services.revoke_token(machine=machine, token=token)
        token.refresh_from_db()
        return token


urlpatterns = Machines.urls()
