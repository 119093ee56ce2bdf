"""Protocols for programs."""

from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from tracks.models import StoredProtocol
from tracks.protocols import selectors, services
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import ELSEWHERE, EVERYWHERE, Creator, Everyone
from web.api.serializers import Strict
from web.api.views import Endpoints, created, delete, get, post

PROTOCOL = "slug title sha256=digest is_shipped"
ProtocolSerializer = answer(
    StoredProtocol, "Protocol", PROTOCOL, "The rules of a lab: run format, pooling, grades, measures."
)
ProtocolDetailSerializer = answer(
    StoredProtocol, "ProtocolDetail", f"{PROTOCOL} text", "A protocol with its text in TOML."
)


class ProtocolTextSerializer(Strict):
    text = serializers.CharField(trim_whitespace=False, max_length=1_000_000, help_text="TOML.")


PROTOCOLS = ("protocols/", "protocols")


class Protocols(Endpoints):
    tag = "Protocols"
    permission_classes = [Everyone]

    @get(
        *PROTOCOLS,
        ProtocolSerializer,
        in_track=EVERYWHERE,
        ordering=("slug",),
        filters=[Filter("is_shipped", kind="true or false")],
        orders=["slug"],
    )
    def list_protocols(self, request: Request) -> object:
        """List the protocols."""
        return selectors.protocols()

    @post(*PROTOCOLS, ProtocolDetailSerializer, takes=ProtocolTextSerializer, who=[Creator], status=201)
    def create_protocol(self, request: Request) -> object:
        """Add a protocol. The same text twice is one protocol."""
        protocol = services.store(text=self.validated(request)["text"], by=person_of(request))
        location = reverse("api:protocol", args=[protocol.slug])
        return created(ProtocolDetailSerializer(protocol).data, location)

    @get("protocols/<slug:slug>/", "protocol", ProtocolDetailSerializer, in_track=EVERYWHERE)
    def get_protocol(self, request: Request, slug: str) -> object:
        """Read a protocol with its text."""
        return get_object_or_404(selectors.protocols(), slug=slug)

    @delete("protocols/<slug:slug>/", "protocol", who=[Creator], in_track=ELSEWHERE)
    def delete_protocol(self, request: Request, slug: str) -> None:
        """Delete a protocol that you added and nothing uses. Administrators: anybody's."""
        user = person_of(request)
        services.delete(protocol=get_object_or_404(selectors.deletable_by(user), slug=slug), by=user)


urlpatterns = Protocols.urls()
