"""Checks for leaks, for programs."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assay_extensions.building.leaks import KINDS, OVERLAP, Leak
from assay_extensions.building.site.leaks import selectors, services
from tracks.models import LeakCheck
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Organizer
from web.api.serializers import JobAddress, Strict
from web.api.views import Endpoints, accepted, get, post

LeakSerializer = answer(
    Leak,
    "Leak",
    "kind topic docno thread overlap title is_forbidden",
    topic="The code of the topic.",
    kind=serializers.ChoiceField(list(KINDS)),
    docno="The post of the collection.",
    thread="The docno of its question.",
    overlap="Of near-duplicates, else empty.",
    title="That of the thread.",
    is_forbidden="True if you have to remove or accept it before the track opens.",
)


class LeakCheckSerializer(serializers.ModelSerializer[LeakCheck]):
    """A check of the topics of a track against its collection. Its report comes when its job is done."""

    job = JobAddress(help_text="The address of the job that checks.")
    leaks = serializers.SerializerMethodField()
    is_outdated = serializers.SerializerMethodField()
    unknown = serializers.ListField(
        child=serializers.CharField(),
        help_text="Topics whose own question is not known: only texts are compared.",
    )

    class Meta:
        model = LeakCheck
        fields = [
            *("job", "overlap", "is_complete", "n_topics", "n_forbidden", "leaks", "unknown", "reason"),
            *("is_outdated", "created_at"),
        ]

    @extend_schema_field(LeakSerializer(many=True))
    def get_leaks(self, check: LeakCheck) -> Any:
        """The leaks by topic and kind."""
        return LeakSerializer(selectors.report_of(check).leaks, many=True).data

    def get_is_outdated(self, check: LeakCheck) -> bool:
        """True if topics or the collection changed since: check again before the track opens."""
        return selectors.is_outdated(check)


class CheckSerializer(Strict):
    """The least similarity of a near-duplicate."""

    overlap = serializers.FloatField(
        required=False,
        default=OVERLAP,
        min_value=0.01,
        max_value=1,
        help_text="The part of their sequences of three words that a question and a topic share.",
    )


class AcceptSerializer(Strict):
    """The reason to open a track although its collection gives topics away."""

    reason = serializers.CharField(max_length=2000)


class Leaks(Endpoints):
    tag = "Topics"
    permission_classes = [Organizer]

    @get("tracks/<slug:slug>/leaks/", "leaks", LeakCheckSerializer)
    def get_leaks(self, request: Request, slug: str) -> object:
        """The latest check of the topics of a track for leaks in its collection."""
        return get_object_or_404(track_of(request, slug).leak_checks.all()[:1])

    @post(
        "tracks/<slug:slug>/leaks/check/",
        "check_leaks",
        LeakCheckSerializer,
        takes=CheckSerializer,
        status=202,
    )
    def check_leaks(self, request: Request, slug: str) -> object:
        """Check the topics of a track against its collection in a job."""
        data = self.validated(request)
        check = services.request(track=track_of(request, slug), by=person_of(request), **data)
        return accepted(LeakCheckSerializer(check).data, check.job_id)

    @post("tracks/<slug:slug>/leaks/accept/", "accept_leaks", LeakCheckSerializer, takes=AcceptSerializer)
    def accept_leaks(self, request: Request, slug: str) -> object:
        """Accept the leaks of the latest check, so that the track can open."""
        data = self.validated(request)
        return services.accept(track=track_of(request, slug), by=person_of(request), **data)


urlpatterns = Leaks.urls()
