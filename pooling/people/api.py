"""The people of a track for programs: everyone with a role, and lists of people to add."""

from typing import Any

from django.conf import settings
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from pooling.people import selectors, services
from pooling.people.pasted import MAX_CELL, MAX_LINES, of_program
from pooling.people.plans import Plan, Step, plan
from pooling.people.selectors import Person
from pooling.people.services import Sender
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, created
from web.pages import site_of


class PlaceInTeamSerializer(serializers.Serializer[Any]):
    """A team in which a person is."""

    team = serializers.IntegerField(source="team_id")
    name = serializers.CharField(source="team.name")
    may_submit = serializers.BooleanField()
    is_contact = serializers.BooleanField()


class RoleSerializer(serializers.Serializer[Person]):
    """Somebody with a role in a track."""

    username = serializers.CharField(source="user.username")
    name = serializers.CharField(source="user.get_full_name")
    email = serializers.CharField(source="user.email")
    is_assessor = serializers.SerializerMethodField()
    group = serializers.CharField(source="assessor.group", default="", help_text="Of an assessor.")
    teams = PlaceInTeamSerializer(source="memberships", many=True)
    has_password = serializers.BooleanField(
        help_text="Whether they have chosen one; until then they need their invitation."
    )
    has_agreed = serializers.BooleanField(help_text="To the data agreement in force.")
    last_seen = serializers.DateTimeField(allow_null=True)

    def get_is_assessor(self, person: Person) -> bool:
        return person.is_judging


class RolesSerializer(serializers.Serializer[Any]):
    """Everyone with a role in a track, by user name."""

    results = RoleSerializer(many=True)


class NewPersonSerializer(Strict):
    """A person to add, as a line of the list on the page."""

    name = serializers.CharField(
        max_length=MAX_CELL, required=False, allow_blank=True, help_text="Of a new account."
    )
    email = serializers.EmailField(help_text="Finds the account, or becomes that of a new one.")
    role = serializers.CharField(help_text="assessor, member, observer, contact or organizer.")
    team = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="Of a member, observer or contact; created if there is none of this name.",
    )
    group = serializers.CharField(
        required=False, allow_blank=True, help_text="Of an assessor: one of the groups of the protocol."
    )


class PeopleListSerializer(Strict):
    """People to add to a track: all of them, or nobody."""

    people = serializers.ListField(child=NewPersonSerializer(), allow_empty=False, max_length=MAX_LINES)


class NewPeopleSerializer(PeopleListSerializer):
    is_mailing = serializers.BooleanField(
        default=False, help_text="Send everyone an e-mail, to new accounts with the link for the first login."
    )

    def validate_is_mailing(self, value: bool) -> bool:
        if value and not settings.SENDS_MAIL:
            raise serializers.ValidationError("This site sends no e-mail. Read the links of the invitations.")
        return value


class StepSerializer(serializers.Serializer[Step]):
    """What is done for a person of the list."""

    line = serializers.IntegerField(source="row.line", help_text="Of the list, from 1.")
    username = serializers.SerializerMethodField()
    email = serializers.CharField(source="row.email")
    role = serializers.CharField(source="row.role")
    team = serializers.CharField(source="row.team")
    group = serializers.CharField(source="row.group")
    is_new_account = serializers.SerializerMethodField()
    is_new_team = serializers.BooleanField()
    is_done = serializers.BooleanField(help_text="They had this place already.")

    def get_username(self, step: Step) -> str:
        return step.user.username if step.user else step.username

    def get_is_new_account(self, step: Step) -> bool:
        return step.user is None


class ProblemOfPersonSerializer(serializers.Serializer[Any]):
    """What is wrong with a person of the list."""

    line = serializers.IntegerField()
    field = serializers.CharField(source="column")
    message = serializers.CharField()


class PlanSerializer(serializers.Serializer[Plan]):
    """What a list of people does, person by person; with problems, it does nothing."""

    steps = StepSerializer(many=True)
    problems = ProblemOfPersonSerializer(many=True)


class TrackPeople(ApiView):
    tag = "People"
    permission_classes = [Organizer]
    serializer_class = NewPeopleSerializer

    @operation("list_people_of_track", responses=RolesSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """List everyone with a role in a track, by user name."""
        return Response(RolesSerializer({"results": selectors.people_of(track_of(request, slug))}).data)

    @operation("add_people", responses={201: PlanSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Add people to a track: accounts, teams, assessors and invitations, all or nothing.

        Somebody without an account gets one, and an invitation with the link for their first login.
        """
        track, data = track_of(request, slug), self.validated(request)
        sender = Sender(person_of(request), site_of(request._request), data["is_mailing"])
        done = services.add(track=track, people=of_program(data["people"]), sender=sender)
        return created(PlanSerializer(done).data, reverse("api:people_of_track", args=[track.slug]))


class PeopleCheck(ApiView):
    tag = "People"
    permission_classes = [Organizer]
    serializer_class = PeopleListSerializer

    @operation("check_people", responses=PlanSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """See what adding a list of people would do, and what is wrong with it. Nothing is changed."""
        track = track_of(request, slug)
        return Response(PlanSerializer(plan(track, of_program(self.validated(request)["people"]))).data)


urlpatterns = [
    path("tracks/<slug:slug>/people/", TrackPeople.as_view(), name="people_of_track"),
    path("tracks/<slug:slug>/people/check/", PeopleCheck.as_view(), name="check_people"),
]
