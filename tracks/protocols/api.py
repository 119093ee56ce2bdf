"""Protocols for programs."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import organizer_of
from tracks.models import StoredProtocol
from tracks.protocols import selectors, services
from web.api.permissions import Everyone
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, ListView, created


class ProtocolSerializer(serializers.ModelSerializer[StoredProtocol]):
    """How a lab evaluates: run format, pooling, grades, measures."""

    class Meta:
        model = StoredProtocol
        fields = ["slug", "title", "digest", "is_shipped"]


class ProtocolDetailSerializer(ProtocolSerializer):
    """A protocol with its text in TOML."""

    class Meta(ProtocolSerializer.Meta):
        fields = [*ProtocolSerializer.Meta.fields, "text"]


class ProtocolTextSerializer(Strict):
    text = serializers.CharField(trim_whitespace=False, max_length=1_000_000, help_text="TOML.")


class ProtocolList(ListView):
    tag = "Protocols"
    permission_classes = [Everyone]
    serializer_class = ProtocolSerializer
    ordering = ("slug",)

    @operation("list_protocols")
    def get(self, request: Request) -> Response:
        """List the protocols."""
        return self.listed(selectors.protocols(), ProtocolSerializer)

    @operation("add_protocol", request=ProtocolTextSerializer, responses={201: ProtocolDetailSerializer})
    def post(self, request: Request) -> Response:
        """Add a protocol. Organizers only. The same text twice is one protocol."""
        user = organizer_of(request)
        serializer = ProtocolTextSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data: dict[str, Any] = serializer.validated_data
        protocol = services.store(text=data["text"], by=user)
        location = reverse("api:protocol", args=[protocol.slug])
        return created(ProtocolDetailSerializer(protocol).data, location)


class ProtocolDetail(ApiView):
    tag = "Protocols"
    permission_classes = [Everyone]
    serializer_class = ProtocolDetailSerializer

    @operation("get_protocol")
    def get(self, request: Request, slug: str) -> Response:
        """Read a protocol with its text."""
        protocol = get_object_or_404(selectors.protocols(), slug=slug)
        return Response(ProtocolDetailSerializer(protocol).data)


urlpatterns = [
    path("protocols/", ProtocolList.as_view(), name="protocols"),
    path("protocols/<slug:slug>/", ProtocolDetail.as_view(), name="protocol"),
]
