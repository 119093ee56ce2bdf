"""The people of a track for programs: everyone with a role, lists of people to add, and clones of the track."""

from typing import Any

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from accounts.selectors import people_named
from participation.people import selectors, services
from participation.people.pasted import MAX_CELL, MAX_LINES, read_entries
from participation.people.selectors import Person
from participation.people.services import Plan, Sender, Step, plan
from tracks.assessors import organizers
from tracks.models import Organizer as TrackOrganizer
from tracks.tracks.api import TrackDetailSerializer, track_of
from tracks.tracks.forms import CloneForm
from tracks.tracks.selectors import track_page
from web.api.permissions import ELSEWHERE, OfPeople, Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, created, delete, get, post, put
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
    last_seen_at = serializers.DateTimeField(source="last_seen", allow_null=True)

    def get_is_assessor(self, person: Person) -> bool:
        return person.is_judging


class NewPersonSerializer(Strict):
    """A person to add, as a line of the list on the page."""

    name = serializers.CharField(
        max_length=MAX_CELL, required=False, allow_blank=True, help_text="Of a new account."
    )
    email = serializers.EmailField(help_text="Finds the account, or becomes that of a new one.")
    username = serializers.CharField(
        required=False, allow_blank=True, help_text="Of a new account; if empty, the start of the address."
    )
    role = serializers.CharField(help_text="assessor, member, observer, contact, organizer or chair.")
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
    is_mailed = serializers.BooleanField(
        default=False, help_text="Send everyone an e-mail, to new accounts with the link for the first login."
    )

    def validate_is_mailed(self, value: bool) -> bool:
        if value and not settings.SENDS_MAIL:
            raise serializers.ValidationError("This site sends no e-mail. Read the links of the invitations.")
        return value


class StepSerializer(serializers.Serializer[Step]):
    """The changes for a person of the list."""

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
    """The errors of a person of the list."""

    line = serializers.IntegerField()
    field = serializers.CharField(source="column")
    message = serializers.CharField()


class PlanSerializer(serializers.Serializer[Plan]):
    """The effects of a list of people, person by person; with problems, there are none."""

    steps = StepSerializer(many=True)
    problems = ProblemOfPersonSerializer(many=True)


class OrganizerSerializer(serializers.ModelSerializer[TrackOrganizer]):
    """Somebody who organizes or chairs a track."""

    username = serializers.CharField(source="user.username")
    name = serializers.CharField(source="user.get_full_name")
    role = serializers.CharField(help_text="organizer, or chair: sees all and changes nothing.")

    class Meta:
        model = TrackOrganizer
        fields = ["username", "name", "role"]


class NewRoleSerializer(Strict):
    """A new role of somebody."""

    role = serializers.ChoiceField(organizers.ROLES)
    reason = serializers.CharField(
        max_length=300,
        default="",
        allow_blank=True,
        help_text="Needed for a member of a team of the track. The audit log keeps it.",
    )


class CloneSerializer(Strict):
    """The names of the new track, and who comes along."""

    name = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=100, help_text="For the address, such as arqmath-2021.")
    has_assessors = serializers.BooleanField(
        source="assessors", default=False, help_text="With its assessors and their groups."
    )
    has_teams = serializers.BooleanField(
        source="teams", default=False, help_text="With its teams and their members."
    )


class People(Endpoints):
    tag = "People"
    permission_classes = [OfPeople]

    @get("tracks/<slug:slug>/people/", "people_of_track", RoleSerializer(many=True))
    def list_track_people(self, request: Request, slug: str) -> Any:
        """List everyone with a role in a track, by user name."""
        return selectors.people_of(track_of(request, slug))

    @post(
        "tracks/<slug:slug>/people/", "people_of_track", PlanSerializer, takes=NewPeopleSerializer, status=201
    )
    def create_people(self, request: Request, slug: str) -> Any:
        """Add people to a track: accounts, teams, assessors and invitations, all or nothing.

        Somebody without an account gets one, and an invitation with the link for their first login.
        """
        track, data = track_of(request, slug), self.validated(request)
        sender = Sender(person_of(request), site_of(request._request), data["is_mailed"])
        done = services.add(track=track, people=read_entries(data["people"]), sender=sender)
        return created(PlanSerializer(done).data, reverse("api:people_of_track", args=[track.slug]))

    @get("tracks/<slug:slug>/organizers/", "organizers", OrganizerSerializer(many=True))
    def list_organizers(self, request: Request, slug: str) -> Any:
        """List the organizers and chairs of a track."""
        return track_of(request, slug).organizers.select_related("user").order_by("pk")

    @put(
        "tracks/<slug:slug>/organizers/<str:username>/",
        "organizer",
        OrganizerSerializer,
        takes=NewRoleSerializer,
    )
    def update_organizer(self, request: Request, slug: str, username: str) -> Any:
        """Make a person an organizer or a chair of a track, or change between the two."""
        track, data = track_of(request, slug), self.validated(request)
        user = get_object_or_404(people_named([username]))
        return organizers.appoint(track=track, user=user, by=person_of(request), **data)

    @delete("tracks/<slug:slug>/organizers/<str:username>/", "organizer")
    def delete_organizer(self, request: Request, slug: str, username: str) -> None:
        """Take the role from an organizer or chair. A track keeps at least one organizer."""
        track = track_of(request, slug)
        row = get_object_or_404(track.organizers.select_related("user"), user__username=username)
        organizers.dismiss(track=track, user=row.user, by=person_of(request))

    @post("tracks/<slug:slug>/people/check/", "check_people", PlanSerializer, takes=PeopleListSerializer)
    def check_people(self, request: Request, slug: str) -> Any:
        """See what adding a list of people would do, and what is wrong with it. Nothing is changed."""
        track = track_of(request, slug)
        return plan(track, read_entries(self.validated(request)["people"]))

    @post(
        "tracks/<slug:slug>/clone/",
        "clone_track",
        TrackDetailSerializer,
        takes=CloneSerializer,
        status=201,
        tag="Tracks",
        who=[Organizer],
        in_track=ELSEWHERE,
    )
    def clone_track(self, request: Request, slug: str) -> Any:
        """Create a draft with the protocol, the settings and the guidelines of another track."""
        user, data = person_of(request), self.validated(request)
        track = track_of(request, slug)
        require_valid(CloneForm(data))
        new = services.clone(track=track, by=user, **data)
        shown = TrackDetailSerializer(track_page(user, new)).data
        return created(shown, reverse("api:track", args=[new.slug]))


urlpatterns = People.urls()
