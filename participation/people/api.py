"""The people of a track for programs: everyone with a role, lists of people to add, and clones of the track."""

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from accounts.selectors import people_named
from participation.models import Membership
from participation.people import selectors, services
from participation.people.pasted import MAX_CELL, MAX_LINES, Problem, read_entries
from participation.people.selectors import Person
from participation.people.services import Plan, Sender, Step, plan
from tracks.assessors import organizers
from tracks.models import Organizer as TrackOrganizer
from tracks.tracks.api import TrackDetailSerializer, track_of
from tracks.tracks.forms import CloneForm
from tracks.tracks.selectors import track_page
from web.api.answers import answer
from web.api.permissions import ELSEWHERE, OfPeople, Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, created, delete, get, post, put
from web.pages import site_of

PlaceInTeamSerializer = answer(
    Membership,
    "PlaceInTeam",
    "team=team.id name=team.name may_submit is_contact",
    "A team in which a person is.",
)
RoleSerializer = answer(
    Person,
    "Role",
    "username=user.username name email=user.email is_assessor=is_judging group teams=memberships has_password "
    "has_agreed last_seen_at=last_seen",
    "Somebody with a role in a track.",
    name=serializers.CharField(source="user.get_full_name"),
    group=serializers.CharField(source="assessor.group", default="", help_text="Of an assessor."),
    has_password="Whether they have chosen one; until then they need their invitation.",  # noqa: S106  no password
    has_agreed="To the data agreement in force.",
)


class NewPersonSerializer(Strict):
    """A person to add, as a line of the list on the page."""

    name = serializers.CharField(
        max_length=MAX_CELL, required=False, allow_blank=True, help_text="Of a new account."
    )
    email = serializers.EmailField(
        required=False,
        allow_blank=True,
        help_text="Finds the account, or becomes that of a new one. Empty: the user name finds it.",
    )
    username = serializers.CharField(
        required=False, allow_blank=True, help_text="Of a new account: if empty, the start of the address."
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


StepSerializer = answer(
    Step,
    "Step",
    "line=row.line username=account email=row.email role=row.role team=row.team group=row.group is_new_account "
    "is_new_team is_done",
    "The changes for a person of the list.",
    line="Of the list, from 1.",
    is_done="They had this place already.",
)
ProblemOfPersonSerializer = answer(
    Problem, "ProblemOfPerson", "line field=column message", "The errors of a person of the list."
)
PlanSerializer = answer(
    Plan,
    "Plan",
    "steps problems",
    "The effects of a list of people, person by person; with problems, there are none.",
)


OrganizerSerializer = answer(
    TrackOrganizer,
    "Organizer",
    "username=user.username name role",
    "Somebody who organizes or chairs a track.",
    name=serializers.CharField(source="user.get_full_name"),
    role=serializers.CharField(help_text="organizer, or chair: sees all and changes nothing."),
)


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
    def list_track_people(self, request: Request, slug: str) -> object:
        """List everyone with a role in a track, by user name."""
        return selectors.people_of(track_of(request, slug))

    @post(
        "tracks/<slug:slug>/people/", "people_of_track", PlanSerializer, takes=NewPeopleSerializer, status=201
    )
    def create_people(self, request: Request, slug: str) -> object:
        """Add people to a track: accounts, teams, assessors and invitations, all or nothing.

        Somebody without an account gets one, and an invitation with the link for their first login.
        """
        track, data = track_of(request, slug), self.validated(request)
        sender = Sender(person_of(request), site_of(request._request), data["is_mailed"])
        done = services.add(track=track, people=read_entries(data["people"]), sender=sender)
        return created(PlanSerializer(done).data, reverse("api:people_of_track", args=[track.slug]))

    @get("tracks/<slug:slug>/organizers/", "organizers", OrganizerSerializer(many=True))
    def list_organizers(self, request: Request, slug: str) -> object:
        """List the organizers and chairs of a track."""
        return track_of(request, slug).organizers.select_related("user").order_by("pk")

    @put(
        "tracks/<slug:slug>/organizers/<str:username>/",
        "organizer",
        OrganizerSerializer,
        takes=NewRoleSerializer,
    )
    def update_organizer(self, request: Request, slug: str, username: str) -> object:
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
    def check_people(self, request: Request, slug: str) -> object:
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
    def clone_track(self, request: Request, slug: str) -> object:
        """Create a draft with the protocol, the settings and the guidelines of another track."""
        user, data = person_of(request), self.validated(request)
        track = track_of(request, slug)
        require_valid(CloneForm(data))
        new = services.clone(track=track, by=user, **data)
        shown = TrackDetailSerializer(track_page(user, new)).data
        return created(shown, reverse("api:track", args=[new.slug]))


urlpatterns = People.urls()
