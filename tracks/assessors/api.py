"""The assessors of a track for programs."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from accounts.selectors import people_named
from tracks.assessors import selectors, services
from tracks.models import Assessor
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import OfPeople
from web.api.serializers import Strict, named
from web.api.views import Endpoints, delete, get, post, put

AssessorSerializer = answer(
    Assessor,
    "Assessor",
    "username=user.username name group",
    "Somebody who judges for a track.",
    name=serializers.CharField(source="user.get_full_name"),
)


class NewAssessorSerializer(Strict):
    """Somebody who is to judge for a track."""

    username = serializers.CharField()
    group = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="One of the groups of the protocol."
    )


class GroupsSerializer(Strict):
    """The groups of assessors. Who is left out stays in their group."""

    groups = serializers.DictField(
        child=serializers.CharField(allow_blank=True), help_text="By user name; empty for no group."
    )


ASSESSORS = ("tracks/<slug:slug>/assessors/", "assessors", AssessorSerializer)


class Assessors(Endpoints):
    tag = "Tracks"
    permission_classes = [OfPeople]

    @get(*ASSESSORS, ordering=("pk",), filters=[Filter("group")])
    def list_assessors(self, request: Request, slug: str) -> object:
        """List the people who judge for a track."""
        track = track_of(request, slug)
        return selectors.people_judging(track)

    @post(*ASSESSORS, takes=NewAssessorSerializer, status=201)
    def create_assessor(self, request: Request, slug: str) -> object:
        """Let a person judge for a track. Repeated, it changes nothing."""
        track = track_of(request, slug)
        data = self.validated(request)
        person = people_named([data["username"]]).first()
        if person is None:
            raise serializers.ValidationError({"username": f"There is nobody named {data['username']}."})
        return services.add(track=track, user=person, group=data["group"])

    @put(
        "tracks/<slug:slug>/assessor-groups/",
        "assessor_groups",
        AssessorSerializer(many=True),
        takes=GroupsSerializer,
    )
    def update_assessor_groups(self, request: Request, slug: str) -> object:
        """Move assessors to groups of the protocol: all of them, or nobody."""
        track = track_of(request, slug)
        groups = self.validated(request)["groups"]
        judging = {assessor.user.username: assessor.user for assessor in selectors.people_judging(track)}
        people = {named(judging, name, "groups"): group for name, group in groups.items()}
        services.set_groups(track=track, groups=people)
        return selectors.people_judging(track).order_by("pk")

    @delete("tracks/<slug:slug>/assessors/<str:username>/", "assessor")
    def delete_assessor(self, request: Request, slug: str, username: str) -> None:
        """Remove an assessor. Open tasks return to the queue; judgments stay."""
        track = track_of(request, slug)
        assessor = get_object_or_404(selectors.people_judging(track), user__username=username)
        services.remove(track=track, user=assessor.user, by=person_of(request))


urlpatterns = Assessors.urls()
